//! Signatures found by libblkid, where the library is installed. It detects more formats than our own table
//! (`signature`) and follows their changes. It is loaded at run time, so that the program does not depend on it.

use crate::signature::Signature;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;

type Probe = *mut c_void;

/// Functions of the library, as <blkid/blkid.h> declares them.
struct Library {
    new_probe: unsafe extern "C" fn() -> Probe,
    free_probe: unsafe extern "C" fn(Probe),
    set_device: unsafe extern "C" fn(Probe, c_int, i64, i64) -> c_int,
    enable_superblocks: unsafe extern "C" fn(Probe, c_int) -> c_int,
    set_superblocks_flags: unsafe extern "C" fn(Probe, c_int) -> c_int,
    enable_partitions: unsafe extern "C" fn(Probe, c_int) -> c_int,
    set_partitions_flags: unsafe extern "C" fn(Probe, c_int) -> c_int,
    do_probe: unsafe extern "C" fn(Probe) -> c_int,
    lookup_value: unsafe extern "C" fn(Probe, *const c_char, *mut *const c_char, *mut usize) -> c_int,
}

// BLKID_SUBLKS_LABEL, _UUID, _TYPE, _USAGE, _VERSION and _MAGIC; BLKID_PARTS_MAGIC.
const SUPERBLOCK_VALUES: c_int = (1 << 1) | (1 << 3) | (1 << 5) | (1 << 7) | (1 << 8) | (1 << 9);
const PARTITION_VALUES: c_int = 1 << 3;

/// Limit of signatures per device, far above the number any device carries.
const SIGNATURES_MAX: usize = 64;

impl Library {
    // Each function has the type of its field.
    #[allow(clippy::missing_transmute_annotations)]
    fn load() -> Option<Self> {
        // SAFETY: the name ends with a zero byte; the library is never unloaded.
        let library = unsafe { libc::dlopen(c"libblkid.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return None;
        }
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: the handle is open and the name ends with a zero byte.
                let found = unsafe { libc::dlsym(library, $name.as_ptr()) };
                if found.is_null() {
                    return None;
                }
                // SAFETY: the library declares this name with the type of the field (libblkid 2.15 and later).
                unsafe { std::mem::transmute::<*mut c_void, _>(found) }
            }};
        }
        Some(Self {
            new_probe: function!(c"blkid_new_probe"),
            free_probe: function!(c"blkid_free_probe"),
            set_device: function!(c"blkid_probe_set_device"),
            enable_superblocks: function!(c"blkid_probe_enable_superblocks"),
            set_superblocks_flags: function!(c"blkid_probe_set_superblocks_flags"),
            enable_partitions: function!(c"blkid_probe_enable_partitions"),
            set_partitions_flags: function!(c"blkid_probe_set_partitions_flags"),
            do_probe: function!(c"blkid_do_probe"),
            lookup_value: function!(c"blkid_probe_lookup_value"),
        })
    }

    fn value(&self, probe: Probe, name: &CStr) -> Option<String> {
        let mut value = std::ptr::null();
        let mut length = 0;
        // SAFETY: the probe is open; the pointers are valid for one pointer and one length.
        let result = unsafe { (self.lookup_value)(probe, name.as_ptr(), &raw mut value, &raw mut length) };
        if result != 0 || value.is_null() || length == 0 {
            return None;
        }
        // SAFETY: the library returns `length` bytes, which are valid until the next step of the probe.
        let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), length) };
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(length);
        let text = String::from_utf8_lossy(&bytes[..end]).trim().to_owned();
        (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
    }

    fn signature(&self, probe: Probe) -> Option<Signature> {
        let number = |name| self.value(probe, name).and_then(|text| text.parse().ok());
        if let Some(kind) = self.value(probe, c"TYPE") {
            let usage = self.value(probe, c"USAGE").unwrap_or_default();
            return Some(Signature {
                what: named(&kind, &usage),
                offset_bytes: number(c"SBMAGIC_OFFSET").unwrap_or(0),
                uuid: self.value(probe, c"UUID"),
                label: self.value(probe, c"LABEL"),
            });
        }
        let kind = self.value(probe, c"PTTYPE")?;
        let offset_bytes = number(c"PTMAGIC_OFFSET").unwrap_or(0);
        Some(Signature { what: named(&kind, "partition table"), offset_bytes, uuid: None, label: None })
    }
}

/// Returns the signatures that libblkid finds on `file`; `None` where it is not installed or cannot read the file.
pub(crate) fn find(file: &File) -> Option<Vec<Signature>> {
    let library = Library::load()?;
    // SAFETY: the functions have the types of libblkid's header; the probe is freed below and used by this thread only.
    let probe = unsafe { (library.new_probe)() };
    if probe.is_null() {
        return None;
    }
    // SAFETY: as above; the file stays open until the probe is freed.
    let ready = unsafe {
        (library.set_device)(probe, file.as_raw_fd(), 0, 0) == 0
            && (library.enable_superblocks)(probe, 1) == 0
            && (library.set_superblocks_flags)(probe, SUPERBLOCK_VALUES) == 0
            && (library.enable_partitions)(probe, 1) == 0
            && (library.set_partitions_flags)(probe, PARTITION_VALUES) == 0
    };
    let mut found = Vec::new();
    // SAFETY: as above. It returns 0 for each signature found.
    while ready && found.len() < SIGNATURES_MAX && unsafe { (library.do_probe)(probe) } == 0 {
        found.extend(library.signature(probe));
    }
    // SAFETY: made above and freed once.
    unsafe { (library.free_probe)(probe) };
    ready.then_some(found)
}

/// Translates libblkid's name of a format to the name in our own table; unknown names get their usage appended.
fn named(kind: &str, usage: &str) -> String {
    let known = match kind {
        "ext2" => "ext2 file system",
        "ext3" => "ext3 file system",
        "ext4" => "ext4 file system",
        "jbd" => "ext journal device",
        "xfs" => "XFS file system",
        "btrfs" => "Btrfs file system",
        "f2fs" => "F2FS file system",
        "ntfs" => "NTFS file system",
        "exfat" => "exFAT file system",
        "vfat" => "FAT file system",
        "ReFS" => "ReFS file system",
        "BitLocker" => "BitLocker volume",
        "apfs" => "APFS container",
        "hfsplus" => "HFS+ file system",
        "jfs" => "JFS file system",
        "reiserfs" => "ReiserFS file system",
        "erofs" => "EROFS file system",
        "gfs2" => "GFS2 file system",
        "ocfs2" => "OCFS2 file system",
        "squashfs" => "SquashFS file system",
        "iso9660" => "ISO 9660 file system",
        "udf" => "UDF file system",
        "bcachefs" => "bcachefs file system",
        "ceph_bluestore" => "Ceph BlueStore volume",
        "crypto_LUKS" => "LUKS encrypted volume",
        "DM_integrity" => "dm-integrity volume",
        "vdo" => "VDO volume",
        "stratis" => "Stratis volume",
        "oracleasm" => "Oracle ASM disk",
        "linux_raid_member" => "Linux RAID member",
        "swap" => "swap space",
        "LVM2_member" => "LVM physical volume",
        "zfs_member" => "ZFS pool member",
        "gpt" => "GPT partition table",
        "dos" => "MBR partition table",
        _ if usage.is_empty() => return kind.to_owned(),
        _ => return format!("{kind} {}", if usage == "filesystem" { "file system" } else { usage }),
    };
    known.to_owned()
}

#[cfg(test)]
#[path = "blkid_tests.rs"]
mod tests;
