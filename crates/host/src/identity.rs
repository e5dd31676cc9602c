//! What a result says about the drive and the machine it was measured on. Serial numbers are left out: a result
//! is made to be shown.

use crate::target::{self, Target};
use crate::usage::{Mount, mounts};
use flashlane_result::Machine;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads what the kernel tells of the drive below `path`. Never fails: what cannot be read is left out.
pub fn identity(path: &Path) -> Machine {
    let name = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let kernel = Some([word(name.sysname()), word(name.release()), word(name.machine())].join(" "));
    let Ok(target) = Target::resolve(path) else { return Machine { kernel, ..Machine::default() } };
    let mount = (!target.block).then(|| mount_of(&target)).flatten();
    // Some file systems (Btrfs) have a number of their own instead of their drive's.
    let source = mount.as_ref().and_then(|mount| target::device_number_of(&mount.source));
    let folder = drive_folder(target.device_number()).or_else(|| drive_folder(source?));
    let kind = if target.block { "block device" } else { "file" };
    let told = folder.map(|folder| of_drive(&folder)).unwrap_or_default();
    Machine { kind: Some(kind.into()), file_system: mount.map(|mount| mount.file_system), kernel, ..told }
}

/// The kernel's folder for a drive; for a partition, its drive's.
fn drive_folder((major, minor): (u32, u32)) -> Option<PathBuf> {
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if folder.join("partition").exists() { folder.parent().map(Into::into) } else { Some(folder) }
}

/// The serial number of the drive below `path`, where the kernel tells it. No part of [`identity`]: it is told only
/// to those who ask for it.
pub fn serial(path: &Path) -> Option<String> {
    let target = Target::resolve(path).ok()?;
    let mount = (!target.block).then(|| mount_of(&target)).flatten();
    let source = mount.and_then(|mount| target::device_number_of(&mount.source));
    let folder = drive_folder(target.device_number()).or_else(|| drive_folder(source?))?;
    serial_of(&folder)
}

/// NVMe drives have it beside their model; of virtio disks it stands beside the disk.
fn serial_of(folder: &Path) -> Option<String> {
    word_of(folder, "device/serial").or_else(|| word_of(folder, "serial"))
}

/// What a file of the kernel's says, its spaces tidied; nothing where there is none.
fn word_of(folder: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn of_drive(folder: &Path) -> Machine {
    let read = |name: &str| word_of(folder, name);
    let number = |name| read(name).and_then(|text| text.parse::<u64>().ok());
    let maker = read("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
    let model = read("device/model").map(|model| maker.map_or(model.clone(), |m| format!("{m} {model}")));
    Machine {
        drive: folder.file_name().map(|name| name.to_string_lossy().into_owned()),
        model,
        firmware: read("device/firmware_rev").or_else(|| read("device/rev")),
        rotational: number("queue/rotational").map(|n| n != 0),
        // The kernel counts in sectors of 512 bytes, whatever the drive does.
        drive_size_bytes: number("size").map(|sectors| sectors * 512),
        logical_block_bytes: number("queue/logical_block_size"),
        physical_block_bytes: number("queue/physical_block_size"),
        scheduler: read("queue/scheduler").map(|text| chosen(&text)),
        write_cache: read("queue/write_cache"),
        ..Machine::default()
    }
}

/// The kernel lists all schedulers, the chosen one in brackets.
fn chosen(list: &str) -> String {
    let inside = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(list, |(name, _)| name).to_owned()
}

/// The mount that a file lies on: the one with the longest mount point above it.
fn mount_of(target: &Target) -> Option<Mount> {
    let above = mounts(Path::new("/proc")).into_iter().filter(|mount| target.real.starts_with(&mount.at));
    above.max_by_key(|mount| mount.at.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_scheduler_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn a_drive_is_described_from_the_kernels_folder_without_its_serial_number() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("nvme0n1");
        for (name, text) in [
            ("size", "2048\n"),
            ("device/model", "FAST  DRIVE 1TB   \n"),
            ("device/serial", "S3CR3T\n"),
            ("device/firmware_rev", "1B2QEXM7\n"),
            ("queue/rotational", "0\n"),
            ("queue/scheduler", "[none] mq-deadline\n"),
            ("queue/logical_block_size", "512\n"),
            ("queue/write_cache", "write back\n"),
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let told = of_drive(&folder);
        assert_eq!(told.drive.as_deref(), Some("nvme0n1"));
        assert_eq!(told.model.as_deref(), Some("FAST DRIVE 1TB"));
        assert_eq!(told.firmware.as_deref(), Some("1B2QEXM7"));
        assert_eq!((told.rotational, told.drive_size_bytes), (Some(false), Some(1 << 20)));
        assert_eq!(told.scheduler.as_deref(), Some("none"));
        assert_eq!(told.write_cache.as_deref(), Some("write back"));
        assert_eq!(told.physical_block_bytes, None);
        assert!(!format!("{told:?}").contains("S3CR3T"));
        assert_eq!(serial_of(&folder).as_deref(), Some("S3CR3T"));
    }

    #[test]
    fn a_file_is_known_by_its_file_system_and_nothing_fails_where_nothing_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let told = identity(file.path());
        assert_eq!(told.kind.as_deref(), Some("file"));
        assert!(told.file_system.is_some() && told.kernel.is_some_and(|kernel| kernel.starts_with("Linux ")));
        assert_eq!(identity(Path::new("/no/such/thing")).kind, None);
    }
}
