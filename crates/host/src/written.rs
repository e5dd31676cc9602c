//! Estimates the share of a file or block device that was never written, without help of the drive.

use crate::identity;
use crate::target::{self, Target};
use flashlane_base::Seed;
use flashlane_result::Machine;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Number and length of the samples of a block device.
const PLACES: usize = 64;
const LOOK_BYTES: u64 = 4096;

/// Returns the share of a device that was never written, 0 to 1: the holes of a file, or the fraction of random samples
/// of a block device that are all zeros, as drives return for trimmed and unwritten ranges. `None` where the path
/// cannot be read.
pub fn never_written_share(path: &Path) -> Option<f64> {
    let target = Target::resolve(path).ok()?;
    let file = File::open(&target.real).ok()?;
    if !target.block {
        let length = file.metadata().ok()?.len().max(1);
        let written = target::written_bytes(&file).ok()?.min(length);
        return Some((length - written) as f64 / length as f64);
    }
    let places = target::block_device_length(&file).ok()? / LOOK_BYTES;
    let mut random = Seed(0).derive("never-written").source();
    let (mut zeros, mut bytes) = (0, [0; LOOK_BYTES as usize]);
    for _ in 0..PLACES {
        file.read_exact_at(&mut bytes, random.below(places.max(1)) * LOOK_BYTES).ok()?;
        zeros += usize::from(bytes.iter().all(|&byte| byte == 0));
    }
    Some(zeros as f64 / PLACES as f64)
}

/// Returns whether the drive below a path is the disk of a virtual machine, by its driver's name or its model.
pub fn is_virtual(path: &Path) -> bool {
    looks_virtual(&identity(path))
}

fn looks_virtual(identity: &Machine) -> bool {
    let drive = identity.drive.as_deref().unwrap_or_default();
    let model = identity.model.as_deref().unwrap_or_default().to_ascii_lowercase();
    ["vd", "xvd"].iter().any(|prefix| drive.starts_with(prefix))
        || ["qemu", "vbox", "vmware", "virtual", "msft"].iter().any(|word| model.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn holes_of_a_file_count_as_never_written() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(8 << 20).unwrap();
        assert_eq!(never_written_share(file.path()), Some(1.0));
        file.seek(SeekFrom::Start(2 << 20)).unwrap();
        file.write_all(&vec![7; 2 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        assert_eq!(never_written_share(file.path()), Some(0.75));
        assert_eq!(never_written_share(Path::new("/does/not/exist")), None);
    }

    #[test]
    fn virtual_disks_are_detected_by_driver_or_model() {
        let of = |drive: &str, model: &str| Machine {
            drive: Some(drive.into()),
            model: Some(model.into()),
            ..Machine::default()
        };
        assert!(looks_virtual(&of("vda", "")) && looks_virtual(&of("sda", "QEMU HARDDISK")));
        assert!(!looks_virtual(&of("nvme0n1", "INTEL SSDPE2KX010T8")) && !looks_virtual(&Machine::default()));
    }
}
