//! The kernel's report of a drive's zones: the ioctls, and the layout of their results (<linux/blkzoned.h>).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const BLKREPORTZONE: libc::Ioctl = 0xc010_1282_u32 as libc::Ioctl;
const BLKGETZONESZ: libc::Ioctl = 0x8004_1284_u32 as libc::Ioctl;
const BLKGETNRZONES: libc::Ioctl = 0x8004_1285_u32 as libc::Ioctl;

/// The kernel counts in sectors of 512 bytes, for any logical block size.
const SECTOR_BYTES: u64 = 512;

const HEADER_BYTES: usize = 16;
const ZONE_BYTES: usize = 64;

/// Flag of a report whose zones have a capacity.
const REPORTS_CAPACITY: u32 = 1;

/// Condition of a zone, which decides the operations allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Has no write pointer and is written at any offset.
    Conventional,
    Empty,
    /// Partly written; the drive has it open or closed.
    Active,
    Full,
    ReadOnly,
    Offline,
    /// Not known here.
    Unknown,
}

/// A reported zone, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub start: u64,
    /// Distance to the start of the next zone.
    pub length: u64,
    /// Length of the writable part.
    pub capacity: u64,
    /// Length of the written part.
    pub written: u64,
    pub condition: Condition,
}

/// Returns the length of a zone and the number of zones; `None` where the device has none.
pub(crate) fn zones_of(file: &File) -> io::Result<Option<(u64, u32)>> {
    let number = |request| {
        let mut number = 0_u32;
        // SAFETY: the request writes one u32 through the pointer, which is valid for it.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), request, &raw mut number) };
        match io::Error::last_os_error() {
            _ if result >= 0 => Ok(number),
            // The kernel does not support zones, or the file is not a block device.
            e if matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => Ok(0),
            e => Err(e),
        }
    };
    let (sectors, count) = (number(BLKGETZONESZ)?, number(BLKGETNRZONES)?);
    Ok((sectors > 0 && count > 0).then_some((u64::from(sectors) * SECTOR_BYTES, count)))
}

/// Returns at most `count` zones from byte `start` on.
pub(crate) fn report(file: &File, start: u64, count: usize) -> io::Result<Vec<Zone>> {
    let mut zones: Vec<Zone> = Vec::with_capacity(count);
    let mut from = start;
    while zones.len() < count {
        // A buffer of u64 is aligned for the kernel's structures.
        let portion = (count - zones.len()).min(4096);
        let mut buffer = vec![0_u64; (HEADER_BYTES + portion * ZONE_BYTES) / 8];
        buffer[0] = from / SECTOR_BYTES;
        let header = [(portion as u32).to_ne_bytes(), [0; 4]].concat();
        buffer[1] = u64::from_ne_bytes(header.try_into().expect("eight bytes"));
        // SAFETY: the header gives the number of zones that fit behind it.
        if unsafe { libc::ioctl(file.as_raw_fd(), BLKREPORTZONE, buffer.as_mut_ptr()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let found = parse(&bytes);
        let Some(last) = found.last() else { break };
        let next = last.start + last.length;
        if next <= from {
            return Err(io::Error::other("the report of zones goes backwards"));
        }
        from = next;
        zones.extend(found);
    }
    zones.truncate(count);
    Ok(zones)
}

/// Parses the zones of a report: the number in its header, but no more than there are bytes for.
pub(crate) fn parse(report: &[u8]) -> Vec<Zone> {
    let u32_at =
        |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let u64_at =
        |bytes: &[u8], at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let Some((header, zones)) = report.split_at_checked(HEADER_BYTES) else { return Vec::new() };
    let (count, flags) = (u32_at(header, 8) as usize, u32_at(header, 12));
    let zone = |zone: &[u8]| {
        let sectors = |at| u64_at(zone, at).saturating_mul(SECTOR_BYTES);
        let (start, length, pointer) = (sectors(0), sectors(8), sectors(16));
        let capacity = if flags & REPORTS_CAPACITY != 0 { sectors(32) } else { length };
        // Type 1 is conventional; the condition numbers are those of the drive standards.
        let condition = match (zone[24], zone[25]) {
            (1, _) | (_, 0) => Condition::Conventional,
            (_, 1) => Condition::Empty,
            (_, 2..=4) => Condition::Active,
            (_, 0xd) => Condition::ReadOnly,
            (_, 0xe) => Condition::Full,
            (_, 0xf) => Condition::Offline,
            _ => Condition::Unknown,
        };
        let written = match condition {
            Condition::Full => capacity,
            Condition::Active => pointer.saturating_sub(start).min(capacity),
            _ => 0,
        };
        Zone { start, length, capacity, written, condition }
    };
    zones.chunks_exact(ZONE_BYTES).take(count).map(zone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of a zone, from numbers in sectors.
    fn bytes(start: u64, length: u64, pointer: u64, kind: u8, condition: u8, capacity: u64) -> Vec<u8> {
        let mut zone = [start, length, pointer].map(u64::to_ne_bytes).concat();
        zone.extend([kind, condition, 0, 0, 0, 0, 0, 0]);
        zone.extend(capacity.to_ne_bytes());
        zone.resize(ZONE_BYTES, 0);
        zone
    }

    fn header(count: u32, flags: u32) -> Vec<u8> {
        [&0_u64.to_ne_bytes()[..], &count.to_ne_bytes(), &flags.to_ne_bytes()].concat()
    }

    #[test]
    fn report_is_parsed_in_the_kernels_layout() {
        let mut report = header(7, REPORTS_CAPACITY);
        for zone in [
            bytes(0, 128, 0, 1, 0, 128),
            bytes(128, 128, 128, 2, 1, 96),
            bytes(256, 128, 256 + 40, 2, 2, 96),
            bytes(384, 128, 384 + 8, 2, 4, 96),
            bytes(512, 128, u64::MAX, 2, 0xe, 96),
            bytes(640, 128, u64::MAX, 2, 0xd, 96),
            bytes(768, 128, u64::MAX, 3, 0xf, 96),
            bytes(896, 128, 896, 2, 1, 96),
        ] {
            report.extend(zone);
        }
        let zones = parse(&report);
        assert_eq!(zones.len(), 7, "no more than the header says");
        let seen: Vec<_> = zones.iter().map(|z| (z.start / 512, z.written / 512, z.condition)).collect();
        assert_eq!(
            seen,
            [
                (0, 0, Condition::Conventional),
                (128, 0, Condition::Empty),
                (256, 40, Condition::Active),
                (384, 8, Condition::Active),
                (512, 96, Condition::Full),
                (640, 0, Condition::ReadOnly),
                (768, 0, Condition::Offline),
            ]
        );
        assert!(zones.iter().skip(1).all(|zone| (zone.capacity, zone.length) == (96 * 512, 128 * 512)));
    }

    #[test]
    fn zone_without_a_capacity_is_writable_to_its_end() {
        let report = [header(1, 0), bytes(0, 128, u64::MAX, 2, 0xe, 0)].concat();
        let zone = parse(&report)[0];
        assert_eq!((zone.capacity, zone.written), (65_536, 65_536));
    }

    #[test]
    fn truncated_and_unknown_zones_are_not_used() {
        let report = [header(9, 1), bytes(0, 128, 0, 2, 7, 96), bytes(128, 128, 0, 2, 1, 96)].concat();
        assert_eq!(parse(&report)[0].condition, Condition::Unknown);
        for length in 0..report.len() {
            assert_eq!(parse(&report[..length]).len(), length.saturating_sub(HEADER_BYTES) / ZONE_BYTES);
        }
        let wild = [header(1, 1), bytes(u64::MAX, u64::MAX, 0, 2, 2, u64::MAX)].concat();
        assert_eq!(parse(&wild)[0].written, 0);
    }
}
