//! Detects existing data on a device or file: the magic numbers of file systems, volume managers, partition tables,
//! archives, programs, documents and Flashlane's own blocks. Only reads.
//!
//! Magic numbers are at fixed offsets near the beginning or the end; two reads fetch them all. The offsets are from the
//! documentation of each on-disk format. Our own blocks, and pages of a store's log, remain readable where both ends
//! are lost: they are searched for wherever recovery searches ([`UnitHead::search_ranges`]), and where the data of a
//! sparse file begins. Where a magic number is short (ext's two bytes, the master boot record's, gzip's three), a few
//! nearby fields must be valid too, so that random data rarely matches.

use flashlane_device::UnitHead;
use std::fmt;
use std::io;
use std::ops::Range;

/// A file system, volume, table, archive or database found on a device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name of the format: `ext4 file system`.
    pub what: String,
    /// Offset of the magic number.
    pub offset_bytes: u64,
    /// The UUID, for formats where it is read.
    pub uuid: Option<String>,
    /// The label, for formats where it is read.
    pub label: Option<String>,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        let name = |f: &mut fmt::Formatter<'_>, kind, value: &Option<String>| {
            value.as_ref().map_or(Ok(()), |value| write!(f, ", {kind} {value}"))
        };
        write!(f, " (at byte {}", self.offset_bytes)?;
        name(f, "UUID", &self.uuid)?;
        name(f, "label", &self.label)?;
        f.write_str(")")
    }
}

impl Signature {
    /// Returns whether this is data stored by Flashlane.
    pub(crate) fn is_own(&self) -> bool {
        [OWN_LANES, OWN_BLOCKS, OWN_LOG].contains(&self.what.as_str())
    }

    /// Whether this is the log of a store of ours.
    pub(crate) fn is_log(&self) -> bool {
        self.what == OWN_LOG
    }

    /// Returns whether this is a partition table, which covers no bytes of the partitions.
    pub(crate) fn is_table(&self) -> bool {
        [GPT, MBR].contains(&self.what.as_str())
    }
}

/// Names of partition tables.
const GPT: &str = "GPT partition table";
const MBR: &str = "MBR partition table";

/// Names of our own formats.
const OWN_LANES: &str = "Flashlane lanes";
const OWN_BLOCKS: &str = "Flashlane blocks";
const OWN_LOG: &str = "log of a Flashlane store";

/// Length of the searched range at either end.
const REACH_BYTES: u64 = 1 << 20;

/// Units of stored blocks begin at multiples of this.
const OWN_STEP_BYTES: u64 = UnitHead::ALIGNMENT_BYTES;

/// Our own data is searched at multiples of this: a device that it was written to may be a part of this one, which
/// begins at any sector, or an image of it stand behind a header.
const SECTOR_BYTES: u64 = 512;

/// A format with fixed bytes at a fixed offset.
struct Mark {
    what: &'static str,
    offset_bytes: u64,
    bytes: &'static [u8],
    uuid: Uuid,
    /// Offset and length of the label; length zero where there is none.
    label: (u64, usize),
}

/// Location and encoding of a format's UUID.
#[derive(Clone, Copy)]
enum Uuid {
    None,
    /// Sixteen bytes at this offset.
    Binary(u64),
    /// Text at this offset, of at most this length.
    Text(u64, usize),
}

const NO_LABEL: (u64, usize) = (0, 0);

const fn mark(what: &'static str, offset_bytes: u64, bytes: &'static [u8]) -> Mark {
    Mark { what, offset_bytes, bytes, uuid: Uuid::None, label: NO_LABEL }
}

const fn named(mut mark: Mark, uuid: Uuid, label: (u64, usize)) -> Mark {
    mark.uuid = uuid;
    mark.label = label;
    mark
}

const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

const MARKS: &[Mark] = &[
    named(mark("XFS file system", 0, b"XFSB"), Uuid::Binary(32), (108, 12)),
    named(mark("Btrfs file system", 65_600, b"_BHRfS_M"), Uuid::Binary(65_568), (65_835, 256)),
    named(mark("F2FS file system", 1024, b"\x10\x20\xf5\xf2"), Uuid::Binary(1132), NO_LABEL),
    mark("NTFS file system", 3, b"NTFS    "),
    mark("exFAT file system", 3, b"EXFAT   "),
    mark("FAT file system", 54, b"FAT12   "),
    mark("FAT file system", 54, b"FAT16   "),
    mark("FAT file system", 82, b"FAT32   "),
    mark("ReFS file system", 3, b"ReFS\0\0\0\0"),
    mark("BitLocker volume", 3, b"-FVE-FS-"),
    mark("APFS container", 32, b"NXSB"),
    mark("HFS+ file system", 1024, b"H+\0\x04"),
    mark("HFSX file system", 1024, b"HX\0\x05"),
    mark("JFS file system", 32_768, b"JFS1"),
    mark("ReiserFS file system", 65_588, b"ReIsErFs"),
    mark("ReiserFS file system", 65_588, b"ReIsEr2Fs"),
    mark("ReiserFS file system", 65_588, b"ReIsEr3Fs"),
    mark("EROFS file system", 1024, b"\xe2\xe1\xf5\xe0"),
    mark("GFS2 file system", 65_536, b"\x01\x16\x19\x70"),
    mark("OCFS2 file system", 8192, b"OCFSV2"),
    mark("SquashFS file system", 0, b"hsqs"),
    mark("ISO 9660 file system", 32_769, b"CD001"),
    mark("UDF file system", 32_769, b"BEA01"),
    named(mark("bcachefs file system", 4120, BCACHEFS), Uuid::Binary(4152), NO_LABEL),
    mark("bcache or bcachefs volume", 4120, BCACHE),
    mark("Ceph BlueStore volume", 0, b"bluestore block device"),
    named(mark("LUKS encrypted volume", 0, b"LUKS\xba\xbe"), Uuid::Text(168, 40), NO_LABEL),
    mark("LUKS encrypted volume (second header)", 16_384, b"SKUL\xba\xbe"),
    mark("dm-integrity volume", 0, b"integrt\0"),
    mark("VDO volume", 0, b"dmvdo001"),
    mark("Stratis volume", 4, b"!Stra0tis\x86\xff\x02^\x41rh"),
    mark("Oracle ASM disk", 32, b"ORCLDISK"),
    named(mark("Linux RAID member", 0, b"\xfc\x4e\x2b\xa9\x01\0\0\0"), Uuid::Binary(16), (32, 32)),
    named(mark("Linux RAID member", 4096, b"\xfc\x4e\x2b\xa9\x01\0\0\0"), Uuid::Binary(4112), (4128, 32)),
    mark("SQLite database", 0, b"SQLite format 3\0"),
    mark("qcow2 disk image", 0, b"QFI\xfb"),
    mark("VMDK disk image", 0, b"KDMV"),
    mark("VMDK disk image", 0, b"COWD"),
    mark("VHDX disk image", 0, b"vhdxfile"),
    mark("VHD disk image", 0, b"conectix"),
    mark("VirtualBox disk image", 64, b"\x7f\x10\xda\xbe"),
    mark("tar archive", 257, b"ustar\0"),
    mark("tar archive", 257, b"ustar  \0"),
    mark("cpio archive", 0, b"070701"),
    mark("cpio archive", 0, b"070702"),
    mark("cpio archive", 0, b"070707"),
    mark("ar archive", 0, b"!<arch>\n"),
    mark("RAR archive", 0, b"Rar!\x1a\x07"),
    mark("zip archive", 0, b"PK\x03\x04"),
    mark("7z archive", 0, b"7z\xbc\xaf\x27\x1c"),
    mark("xz archive", 0, b"\xfd7zXZ\0"),
    mark("zstd archive", 0, b"\x28\xb5\x2f\xfd"),
    mark("lz4 archive", 0, b"\x04\x22\x4d\x18"),
    mark("PDF document", 0, b"%PDF-"),
    mark("PNG image", 0, b"\x89PNG\r\n\x1a\n"),
    // Any segment may be the first.
    mark("JPEG image", 0, b"\xff\xd8\xff"),
    mark("GIF image", 0, b"GIF87a"),
    mark("GIF image", 0, b"GIF89a"),
    // WAV, AVI and WebP.
    mark("RIFF media file", 0, b"RIFF"),
    mark("Ogg media file", 0, b"OggS\0"),
    mark("FLAC audio file", 0, b"fLaC"),
    mark("MPEG-4 media file", 4, b"ftyp"),
    mark("Matroska media file", 0, b"\x1a\x45\xdf\xa3"),
    mark("PostgreSQL dump", 0, b"PGDMP"),
    mark("Redis dump", 0, b"REDIS"),
    mark("Parquet table", 0, b"PAR1"),
    mark("HDF5 data file", 0, b"\x89HDF\r\n\x1a\n"),
    mark("git pack", 0, b"PACK\0\0\0\x02"),
    mark("Java class file or Mach-O program", 0, b"\xca\xfe\xba\xbe"),
    mark("WebAssembly module", 0, b"\0asm\x01\0\0\0"),
];

/// The bytes at both ends of a device.
struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_at: u64,
    length_bytes: u64,
}

impl Ends {
    /// Returns `count` bytes at `at`, if they were read.
    fn bytes(&self, at: u64, count: usize) -> Option<&[u8]> {
        let from = |part: &'_ [u8], begin: u64| {
            let start = usize::try_from(at.checked_sub(begin)?).ok()?;
            (start.checked_add(count)? <= part.len()).then_some(start)
        };
        from(&self.head, 0)
            .map(|s| &self.head[s..s + count])
            .or_else(|| from(&self.tail, self.tail_at).map(|s| &self.tail[s..s + count]))
    }

    fn has(&self, at: u64, bytes: &[u8]) -> bool {
        self.bytes(at, bytes.len()) == Some(bytes)
    }

    fn u16(&self, at: u64) -> Option<u16> {
        self.bytes(at, 2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }

    fn u32(&self, at: u64) -> Option<u32> {
        self.bytes(at, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&self, at: u64) -> Option<u64> {
        self.bytes(at, 8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes were asked for")))
    }

    fn uuid(&self, at: Uuid) -> Option<String> {
        match at {
            Uuid::None => None,
            Uuid::Text(at, count) => self.text((at, count)),
            Uuid::Binary(at) => {
                let hex: String = self.bytes(at, 16)?.iter().map(|b| format!("{b:02x}")).collect();
                let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
                hex.bytes().any(|c| c != b'0').then(|| parts.join("-"))
            }
        }
    }

    fn text(&self, (at, count): (u64, usize)) -> Option<String> {
        let bytes = self.bytes(at, count)?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(count);
        let text = String::from_utf8_lossy(&bytes[..end]).trim().to_owned();
        // Labels are printed to a terminal: a hostile one must not contain control sequences.
        (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
    }
}

/// Returns all signatures on a device of `length_bytes`, whose data begins behind holes at `data_starts`. `read_at`
/// fills a buffer from an offset and returns the number of bytes read.
///
/// # Errors
/// An error of `read_at` at either end of the device.
pub(crate) fn find(
    length_bytes: u64,
    data_starts: &[u64],
    mut read_at: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<Vec<Signature>> {
    let mut part = |at: u64, count: u64| -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match read_at(at + filled as u64, &mut bytes[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    };
    let tail_at = length_bytes.saturating_sub(REACH_BYTES);
    let reach = REACH_BYTES.min(length_bytes);
    let ends = Ends { head: part(0, reach)?, tail: part(tail_at, reach)?, tail_at, length_bytes };
    let mut found = Vec::new();
    for mark in MARKS.iter().filter(|mark| ends.has(mark.offset_bytes, mark.bytes)) {
        found.push(Signature {
            what: mark.what.into(),
            offset_bytes: mark.offset_bytes,
            uuid: ends.uuid(mark.uuid),
            label: ends.text(mark.label),
        });
    }
    let computed =
        [ext, swap, lvm, raid_at_the_end, vhd_at_the_end, zfs, gpt, mbr, old_tar, gzip, bzip2, elf, pe, own];
    found.extend(computed.iter().filter_map(|look| look(&ends)));
    if !found.iter().any(Signature::is_own) {
        found.extend(own_further_in(&ends, data_starts, part));
    }
    Ok(found)
}

/// Merges libblkid's signatures with those that only our own table has.
pub(crate) fn merge(mut named: Vec<Signature>, own: Vec<Signature>) -> Vec<Signature> {
    for signature in own {
        if !named.iter().any(|other| other.what == signature.what) {
            named.push(signature);
        }
    }
    named
}

fn plain(what: &'static str, offset_bytes: u64) -> Signature {
    Signature { what: what.into(), offset_bytes, uuid: None, label: None }
}

fn ext(ends: &Ends) -> Option<Signature> {
    let superblock = 1024;
    let (inodes, block_size_log) = (ends.u32(superblock)?, ends.u32(superblock + 24)?);
    if ends.u16(superblock + 56)? != 0xef53 || inodes == 0 || block_size_log > 6 {
        return None;
    }
    let (compatible, incompatible) = (ends.u32(superblock + 92)?, ends.u32(superblock + 96)?);
    let what = match (compatible & 0x4 != 0, incompatible) {
        (_, i) if i & 0x8 != 0 => "ext journal device",
        // Extents, 64 bit, flexible block groups: features that only ext4 has.
        (_, i) if i & (0x40 | 0x80 | 0x200) != 0 => "ext4 file system",
        (true, _) => "ext3 file system",
        (false, _) => "ext2 file system",
    };
    Some(Signature {
        what: what.into(),
        offset_bytes: superblock + 56,
        uuid: ends.uuid(Uuid::Binary(superblock + 104)),
        label: ends.text((superblock + 120, 16)),
    })
}

/// The magic number is at the end of the first page, whose size depends on the machine.
fn swap(ends: &Ends) -> Option<Signature> {
    let page = [4096_u64, 8192, 16_384, 32_768, 65_536]
        .into_iter()
        .find(|page| ends.has(page - 10, b"SWAPSPACE2") || ends.has(page - 10, b"SWAP-SPACE"))?;
    let uuid = ends.uuid(Uuid::Binary(1036));
    Some(Signature { what: "swap space".into(), offset_bytes: page - 10, uuid, label: ends.text((1052, 16)) })
}

fn lvm(ends: &Ends) -> Option<Signature> {
    let label = (0..4).map(|sector| sector * 512).find(|&at| ends.has(at, b"LABELONE"))?;
    let uuid = ends.uuid(Uuid::Text(label + 32, 32));
    Some(Signature { what: "LVM physical volume".into(), offset_bytes: label, uuid, label: None })
}

/// Version 1.0 is 8 to 12 KiB before the end, version 0.90 in the last whole 64 KiB.
fn raid_at_the_end(ends: &Ends) -> Option<Signature> {
    const MAGIC: u32 = 0xa92b_4efc;
    let sectors = ends.length_bytes / 512;
    let version_1 = (sectors.checked_sub(16)? & !7) * 512;
    let version_0 = (ends.length_bytes & !0xffff).checked_sub(1 << 16);
    let at = if ends.u32(version_1) == Some(MAGIC) {
        Some(version_1)
    } else {
        version_0.filter(|&at| ends.u32(at) == Some(MAGIC))
    }?;
    Some(plain("Linux RAID member", at))
}

/// A disk image of fixed size has its footer in its last sector only, of 512 bytes, or 511 in old ones.
fn vhd_at_the_end(ends: &Ends) -> Option<Signature> {
    let places = [512, 511].into_iter().filter_map(|footer| ends.length_bytes.checked_sub(footer));
    places.into_iter().find(|&at| at > 0 && ends.has(at, b"conectix")).map(|at| plain("VHD disk image", at))
}

/// ZFS has four labels of 256 KiB, two at each end; the second half of each is a ring of uberblocks.
fn zfs(ends: &Ends) -> Option<Signature> {
    const MAGIC: u64 = 0x00ba_b10c;
    const LABEL: u64 = 256 << 10;
    let whole = ends.length_bytes & !(LABEL - 1);
    let labels = [Some(0), Some(LABEL), whole.checked_sub(2 * LABEL), whole.checked_sub(LABEL)];
    let uberblocks = labels.into_iter().flatten().flat_map(|label| (128..256).map(move |k| label + k * 1024));
    uberblocks
        .into_iter()
        .find(|&at| {
            let (magic, version) = (ends.u64(at).unwrap_or(0), ends.u64(at + 8).unwrap_or(0));
            (magic == MAGIC && (1..=5000).contains(&version))
                || (magic == MAGIC.swap_bytes() && (1..=5000).contains(&version.swap_bytes()))
        })
        .map(|at| plain("ZFS pool member", at))
}

/// The header is in the second sector, or in the last one as a copy.
fn gpt(ends: &Ends) -> Option<Signature> {
    let places = [
        Some(512),
        Some(4096),
        (ends.length_bytes & !511).checked_sub(512),
        (ends.length_bytes & !4095).checked_sub(4096),
    ];
    let at = places.into_iter().flatten().find(|&at| ends.has(at, b"EFI PART"))?;
    Some(plain(GPT, at))
}

/// FAT and many boot sectors have the same last two bytes, so at least one entry must be a partition, and all must be
/// valid.
fn mbr(ends: &Ends) -> Option<Signature> {
    if !ends.has(510, b"\x55\xaa") {
        return None;
    }
    let entries: Vec<&[u8]> = (0..4).filter_map(|n| ends.bytes(446 + n * 16, 16)).collect();
    let sane = entries.iter().all(|entry| matches!(entry[0], 0 | 0x80));
    let used = entries.iter().any(|entry| entry[4] != 0 && entry[12..16] != [0; 4]);
    (sane && used).then(|| plain(MBR, 510))
}

/// A tar header older than `ustar` has no magic number, but a checksum: the sum of the header's bytes in octal, where
/// its own field counts as spaces.
fn old_tar(ends: &Ends) -> Option<Signature> {
    const CHECKSUM: Range<usize> = 148..156;
    let header = ends.bytes(0, 512)?;
    let digits = std::str::from_utf8(&header[CHECKSUM]).ok()?.trim_matches(['\0', ' ']);
    let checksum = u32::from_str_radix(digits, 8).ok()?;
    let others = [&header[..CHECKSUM.start], &header[CHECKSUM.end..]];
    let sum: u32 = others.into_iter().flatten().map(|&byte| u32::from(byte)).sum();
    let has_name = header[0] != 0;
    let is_old = !header[257..].starts_with(b"ustar");
    let agrees = checksum == sum + 8 * u32::from(b' ');
    (has_name && is_old && agrees).then(|| plain("tar archive", CHECKSUM.start as u64))
}

/// The flags, the level and the system must also be values of RFC 1952.
fn gzip(ends: &Ends) -> Option<Signature> {
    let header = ends.bytes(0, 10)?;
    let sane = header[3] & 0xe0 == 0 && matches!(header[8], 0 | 2 | 4) && matches!(header[9], 0..=13 | 255);
    (header.starts_with(b"\x1f\x8b\x08") && sane).then(|| plain("gzip archive", 0))
}

/// The header is a level, then the magic number of the first block (digits of pi) or of the end (digits of its root).
fn bzip2(ends: &Ends) -> Option<Signature> {
    let header = ends.bytes(0, 10)?;
    let begins = header.starts_with(b"BZh") && matches!(header[3], b'1'..=b'9');
    let goes_on = matches!(&header[4..], b"1AY&SY" | b"\x17\x72\x45\x38\x50\x90");
    (begins && goes_on).then(|| plain("bzip2 archive", 0))
}

/// The class, the byte order and the version must also be valid.
fn elf(ends: &Ends) -> Option<Signature> {
    let header = ends.bytes(0, 7)?;
    let sane = matches!(header[4], 1 | 2) && matches!(header[5], 1 | 2) && header[6] == 1;
    (header.starts_with(b"\x7fELF") && sane).then(|| plain("ELF program", 0))
}

/// The header of DOS gives the place of the one that counts.
fn pe(ends: &Ends) -> Option<Signature> {
    let at = u64::from(ends.u32(60)?);
    (ends.has(0, b"MZ") && ends.has(at, b"PE\0\0")).then(|| plain("PE program", at))
}

/// Magic numbers of our own formats.
const LANES: &[u8] = b"flashlane lanes\0";
const LOG: &[u8] = b"flashkvh";
const LOG_PAGES: [&[u8]; 2] = [b"flashend", b"flashlog"];

/// Flashlane's own data at the ends: the superblock of lanes at either end; the header of a store's log, or where it is
/// lost a mark or a page of the log; or a header (of a block or of the blocks' superblock) where a unit may begin.
/// Deleted blocks match too, because deletion moves no bytes.
fn own(ends: &Ends) -> Option<Signature> {
    let copy = (ends.length_bytes / OWN_STEP_BYTES * OWN_STEP_BYTES).checked_sub(OWN_STEP_BYTES);
    if let Some(at) = [Some(0), copy].into_iter().flatten().find(|&at| ends.has(at, LANES)) {
        return Some(plain(OWN_LANES, at));
    }
    // The second copy of a short header.
    if let Some(at) = [0, OWN_STEP_BYTES].into_iter().find(|&at| ends.has(at, LOG)) {
        return Some(plain(OWN_LOG, at));
    }
    let parts = [(0, &ends.head), (ends.tail_at, &ends.tail)];
    let first = |what| parts.iter().find_map(|&(at, part)| own_in(part, at, what));
    OWN.into_iter().find_map(first)
}

/// Our own formats, in the order in which they are named.
const OWN: [&str; 3] = [OWN_LANES, OWN_BLOCKS, OWN_LOG];

/// Returns the first superblock of lanes, head of a unit, or header, page or mark of a log, in `bytes`, which are at
/// `begin`.
fn own_in(bytes: &[u8], begin: u64, what: &'static str) -> Option<Signature> {
    let is_own = |bytes: &[u8]| match what {
        OWN_LANES => bytes.starts_with(LANES),
        OWN_BLOCKS => UnitHead::decode(bytes).is_some_and(|head| head.is_of_blocks()),
        // The version of pages and marks is at byte 12.
        _ => {
            let is_page = || LOG_PAGES.iter().any(|magic| bytes.starts_with(magic));
            bytes.starts_with(LOG) || (bytes.get(12..16) == Some(&1_u32.to_le_bytes()) && is_page())
        }
    };
    let first = (begin.next_multiple_of(SECTOR_BYTES) - begin) as usize;
    let mut places = (first..bytes.len()).step_by(SECTOR_BYTES as usize);
    places.find(|&at| is_own(&bytes[at..])).map(|at| plain(what, begin + at as u64))
}

/// Flashlane's own data behind the first MiB. What cannot be read is passed over, as in recovery.
fn own_further_in(
    ends: &Ends,
    data_starts: &[u64],
    mut part: impl FnMut(u64, u64) -> io::Result<Vec<u8>>,
) -> Option<Signature> {
    let whole = ends.length_bytes / OWN_STEP_BYTES * OWN_STEP_BYTES;
    let starts = data_starts.iter().map(|at| at / OWN_STEP_BYTES * OWN_STEP_BYTES);
    let starts = starts.filter(|at| (REACH_BYTES..whole).contains(at)).map(|at| at..at + OWN_STEP_BYTES);
    let searched = UnitHead::search_ranges(ends.length_bytes).filter(|range| range.start >= REACH_BYTES);
    for Range { start, end } in starts.chain(searched) {
        let pieces = match part(start, end - start) {
            Ok(bytes) => vec![(start, bytes)],
            // Sector by sector, so that an unreadable one hides no other.
            Err(_) => (start..end)
                .step_by(OWN_STEP_BYTES as usize)
                .filter_map(|at| Some((at, part(at, OWN_STEP_BYTES).ok()?)))
                .collect(),
        };
        for (at, bytes) in pieces {
            if let Some(found) = OWN.into_iter().find_map(|what| own_in(&bytes, at, what)) {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
