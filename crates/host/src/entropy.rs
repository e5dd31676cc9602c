//! Randomness from the system, for names that must not collide with those of another run.

use flashlane_base::Seed;
use std::io;

/// Returns a fresh random seed. Never use it for anything that affects a result: results must be reproducible.
///
/// # Errors
/// The system provides no randomness.
pub fn fresh_seed() -> io::Result<Seed> {
    let mut bytes = [0; 8];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    assert_eq!(got, bytes.len(), "so few bytes come at once");
    Ok(Seed(u64::from_le_bytes(bytes)))
}
