//! Compares two files by their bytes, where the kernel does not tell whether they are one.
//!
//! Costs [`SAMPLES`] reads of each at most, and usually one: other files differ in the first place.

use crate::target::without_access_time;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Places that are compared, evenly over the file, its first and last bytes among them.
const SAMPLES: u64 = 16;
/// Bytes that are compared at each.
const SAMPLE_BYTES: u64 = 4096;

/// Returns whether two files have the same length and the same bytes in every place that is looked at. Files that have
/// zeros in all of these are not the same: there is nothing by which to tell them apart, and new files are such. Where
/// one cannot be read, they may be the same.
pub(super) fn may_be_equal(one: &Path, other: &Path) -> bool {
    equal(one, other).unwrap_or(true)
}

fn equal(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (open(one)?, open(other)?);
    let length_bytes = one.metadata()?.size();
    if other.metadata()?.size() != length_bytes {
        return Ok(false);
    }
    let last = length_bytes.saturating_sub(SAMPLE_BYTES);
    let [mut here, mut there] = [[0_u8; SAMPLE_BYTES as usize]; 2];
    let mut is_zero = true;
    for nth in 0..SAMPLES {
        let at = (u128::from(last) * u128::from(nth) / u128::from(SAMPLES - 1)) as u64;
        let bytes = SAMPLE_BYTES.min(length_bytes - at) as usize;
        one.read_exact_at(&mut here[..bytes], at)?;
        other.read_exact_at(&mut there[..bytes], at)?;
        if here[..bytes] != there[..bytes] {
            return Ok(false);
        }
        is_zero &= here[..bytes].iter().all(|&byte| byte == 0);
    }
    Ok(!is_zero)
}

/// Opens a file for reading, which changes its access time only where another user owns it.
fn open(path: &Path) -> io::Result<File> {
    without_access_time(|flag| File::options().read(true).custom_flags(libc::O_NONBLOCK | flag).open(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_equal_in_length_and_in_every_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let bytes: Vec<u8> = (0..100_003_u32).map(|at| at as u8).collect();
        let one = file("one", &bytes);
        assert!(may_be_equal(&one, &file("copy", &bytes)));
        assert!(!may_be_equal(&one, &file("longer", &[&bytes[..], b"!"].concat())));
        for at in [0, 51_150, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(!may_be_equal(&one, &file("changed", &changed)), "{at}");
        }
        for (byte, expected) in [(0, false), (1, true)] {
            for length in [1, 4096, 100_000] {
                let [one, other] = ["a", "b"].map(|name| file(name, &vec![byte; length]));
                assert_eq!(may_be_equal(&one, &other), expected, "{length} of {byte}");
            }
        }
        assert!(!may_be_equal(&file("a", b""), &file("b", b"")));
        assert!(may_be_equal(&one, &folder.path().join("none")), "what cannot be read");
    }
}
