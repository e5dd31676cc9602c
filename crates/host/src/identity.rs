//! Describes the drive and the machine of a measurement. Serial numbers are left out, because results are published.

use crate::target::{self, Target};
use crate::usage::{Mount, mounts};
use flashlane_result::Machine;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads the kernel's description of the drive below `path`. Never fails: unreadable fields are left out.
pub fn identity(path: &Path) -> Machine {
    let name = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let kernel = Some([word(name.sysname()), word(name.release()), word(name.machine())].join(" "));
    let Ok(target) = Target::resolve(path) else { return Machine { kernel, ..Machine::default() } };
    let mount = (!target.block).then(|| mount_of(&target)).flatten();
    // Some file systems (Btrfs) report a device number that is not their drive's.
    let source = mount.as_ref().and_then(|mount| target::device_number_of(&mount.source));
    let folder = drive_folder(target.device_number()).or_else(|| drive_folder(source?));
    let kind = if target.block { "block device" } else { "file" };
    let drive = folder.map(|folder| of_drive(&folder)).unwrap_or_default();
    Machine { kind: Some(kind.into()), file_system: mount.map(|mount| mount.file_system), kernel, ..drive }
}

/// Returns the sysfs folder of a drive; for a partition, that of its drive.
fn drive_folder((major, minor): (u32, u32)) -> Option<PathBuf> {
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if folder.join("partition").exists() { folder.parent().map(Into::into) } else { Some(folder) }
}

/// Returns the serial number of the drive below `path`, where the kernel reports it. [`identity`] leaves it out;
/// callers must ask for it.
pub fn serial(path: &Path) -> Option<String> {
    let target = Target::resolve(path).ok()?;
    let mount = (!target.block).then(|| mount_of(&target)).flatten();
    let source = mount.and_then(|mount| target::device_number_of(&mount.source));
    let folder = drive_folder(target.device_number()).or_else(|| drive_folder(source?))?;
    serial_of(&folder)
}

/// NVMe drives report it beside their model, virtio disks in the folder of the disk.
fn serial_of(folder: &Path) -> Option<String> {
    word_of(folder, "device/serial").or_else(|| word_of(folder, "serial"))
}

/// Returns the text of a sysfs file with spaces normalized; `None` where there is no text.
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
        // The kernel counts in sectors of 512 bytes for every drive.
        drive_size_bytes: number("size").map(|sectors| sectors * 512),
        logical_block_bytes: number("queue/logical_block_size"),
        physical_block_bytes: number("queue/physical_block_size"),
        scheduler: read("queue/scheduler").map(|text| chosen(&text)),
        write_cache: read("queue/write_cache"),
        ..Machine::default()
    }
}

/// Returns the chosen scheduler, which the kernel lists in brackets among all.
fn chosen(list: &str) -> String {
    let inside = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(list, |(name, _)| name).to_owned()
}

/// Returns the mount that holds a file: the one with the longest mount point above it.
fn mount_of(target: &Target) -> Option<Mount> {
    let above = mounts(Path::new("/proc")).into_iter().filter(|mount| target.real.starts_with(&mount.at));
    above.max_by_key(|mount| mount.at.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_scheduler_is_the_one_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn drive_description_leaves_out_the_serial_number() {
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
        let drive = of_drive(&folder);
        assert_eq!(drive.drive.as_deref(), Some("nvme0n1"));
        assert_eq!(drive.model.as_deref(), Some("FAST DRIVE 1TB"));
        assert_eq!(drive.firmware.as_deref(), Some("1B2QEXM7"));
        assert_eq!((drive.rotational, drive.drive_size_bytes), (Some(false), Some(1 << 20)));
        assert_eq!(drive.scheduler.as_deref(), Some("none"));
        assert_eq!(drive.write_cache.as_deref(), Some("write back"));
        assert_eq!(drive.physical_block_bytes, None);
        assert!(!format!("{drive:?}").contains("S3CR3T"));
        assert_eq!(serial_of(&folder).as_deref(), Some("S3CR3T"));
    }

    #[test]
    fn file_reports_its_file_system_and_a_missing_path_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let machine = identity(file.path());
        assert_eq!(machine.kind.as_deref(), Some("file"));
        assert!(
            machine.file_system.is_some()
                && machine.kernel.is_some_and(|kernel| kernel.starts_with("Linux "))
        );
        assert_eq!(identity(Path::new("/no/such/thing")).kind, None);
    }
}
