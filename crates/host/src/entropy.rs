//! Randomness from the system, for names that must not meet those of another run.

use flashlane_base::Seed;
use std::io;

/// A seed that nobody had before. Never for anything that a result follows from: that has to repeat.
///
/// # Errors
/// The system has no randomness to give.
pub fn fresh_seed() -> io::Result<Seed> {
    let mut bytes = [0; 8];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    assert_eq!(got, bytes.len(), "so few bytes come at once");
    Ok(Seed(u64::from_le_bytes(bytes)))
}
