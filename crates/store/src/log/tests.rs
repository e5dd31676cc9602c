//! Tests of the log on a disk in memory whose cache loses sectors in any mixture.

use super::*;
use crate::entry::{Body, Entry, Version};
use crate::error::OpenError;
use flashlane_base::Seed;
use flashlane_device::Device;
use flashlane_device_testing::{MemoryDisk, MemoryFaults, cycle_power};
use std::sync::Arc;

fn config() -> LogConfig {
    LogConfig::new(9, vec![Vec::new(), b"m".to_vec()])
}

/// Pages before the ring: two copies of the header, and two marks.
const BEFORE_RING: u64 = 4;

fn create(pages: u64, seed: u64) -> Log<MemoryDisk> {
    let mut disk = MemoryDisk::new((BEFORE_RING + pages) * 4096, 512, Seed(seed));
    let layout = LogLayout::new(disk.info(), &config()).expect("the disk has pages");
    write_header(&mut disk, &layout, &config()).expect("the disk is sound");
    Log::new(disk, layout, 9, &Recovered::empty())
}

fn open(mut disk: MemoryDisk) -> Result<(Log<MemoryDisk>, Vec<Record>), OpenError> {
    let FoundHeader { config: found, layout, damaged } = read_header(&mut disk)?;
    assert_eq!((found.store, &found.bounds), (9, &config().bounds));
    let read_again = recover(&mut disk.clone(), &layout, &found, 0, false);
    let recovered = recover(&mut disk, &layout, &found, u64::MAX, false)?;
    assert!(
        read_again.is_ok_and(|again| again == recovered),
        "a ring that is kept has the pages of one that is read again"
    );
    Ok((Log::new(disk, layout, 9, &recovered).with_damaged_header(damaged), recovered.records))
}

fn after_a_power_cut(log: &Log<MemoryDisk>) -> MemoryDisk {
    let mut disk = log.device().clone();
    cycle_power(&mut disk);
    disk
}

fn record(sequence: u64, bytes: u64) -> [Entry; 1] {
    let version =
        Version { sequence, expiry_ms: 0, body: Body::Value(Arc::new(vec![sequence as u8; bytes as usize])) };
    [Entry { key: sequence.to_be_bytes().to_vec(), version }]
}

/// Waits until everything is written, and durable where that was requested.
fn settle(log: &mut Log<MemoryDisk>) {
    log.dispatch();
    while !log.is_idle() {
        log.step(Instant::FAR);
        log.dispatch();
    }
}

#[test]
fn log_returns_the_first_records_after_power_cuts() {
    for seed in 0..25 {
        let mut random = Seed(seed).source();
        let mut log = create(40, seed);
        // The page of each record, with its number; those before the tail are freed.
        let (mut written, mut next): (Vec<(u64, u64, u64)>, u64) = (Vec::new(), 1);
        for _ in 0..120 {
            let bytes = if random.chance(0.1) { random.below(20_000) } else { random.below(600) };
            let entries = record(next, bytes);
            if log.has_room(Record::encoded_bytes(&entries)) {
                let level = [Durability::Memory, Durability::Device][random.below(2) as usize];
                let pages = log.append(1, next, &entries, level);
                written.push((next, pages.start, pages.end));
                next += 1;
            }
            log.dispatch();
            if random.chance(0.6) {
                log.step(Instant::FAR);
                log.dispatch();
            }
            if random.chance(0.2) {
                log.want_durable(log.written_to());
                log.dispatch();
            }
            if random.chance(0.2) {
                log.want_durable(log.written_to());
                settle(&mut log);
                let most =
                    written.iter().map(|record| record.1).filter(|&page| page <= log.durable_to()).max();
                let tail = most.unwrap_or(0).saturating_sub(random.below(4)).max(log.tail);
                log.free_below(tail.min(log.durable_to()));
            }
            let (copy, found) =
                open(after_a_power_cut(&log)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(copy.overwritten(), None, "seed {seed}: nothing but pages of the log is there");
            let found: Vec<u64> = found.iter().map(|record| record.sequence).collect();
            let needed = written.iter().filter(|record| record.1 >= log.tail && record.2 <= log.durable_to());
            for (sequence, ..) in needed {
                assert!(
                    found.contains(sequence),
                    "seed {seed}: record {sequence} was durable, and {found:?} are found"
                );
            }
            assert!(found.windows(2).all(|pair| pair[0] + 1 == pair[1]), "seed {seed}: {found:?} has gaps");
            assert!(found.last().is_none_or(|&last| last < next), "seed {seed}: {found:?} beyond {next}");
            if random.chance(0.1) {
                next = found.last().map_or(next, |last| last + 1);
                written.retain(|record| record.0 < next && found.contains(&record.0));
                log = copy;
            }
        }
    }
}

#[test]
fn group_goes_beside_a_flush_that_does_not_cover_it() {
    let mut log = create(40, 1);
    let append = |log: &mut Log<MemoryDisk>, sequence, durability| {
        log.append(1, sequence, &record(sequence, 600), durability);
        log.dispatch();
    };
    append(&mut log, 1, Durability::System);
    settle(&mut log);
    log.want_durable(log.written_to());
    log.dispatch();
    append(&mut log, 2, Durability::System);
    assert!(log.flush.is_some() && log.group.is_some());
    settle(&mut log);
    assert_eq!((log.durable_to(), log.written_to()), (1, 2), "the second page was written during the flush");
    // A durable group waits, as the flush spares it one of its own.
    log.want_durable(log.written_to());
    log.dispatch();
    append(&mut log, 3, Durability::Device);
    assert!(log.flush.is_some() && log.group.is_none());
    settle(&mut log);
    assert_eq!((log.durable_to(), log.written_to()), (3, 3));
}

#[test]
fn log_calls_nothing_durable_whose_flush_failed() {
    let mut failed = 0;
    for seed in 0..40 {
        let mut log = create(40, seed);
        let faults = MemoryFaults { flush_fails: 0.2, ..MemoryFaults::default() };
        log.device = log.device.with_faults(faults);
        for sequence in 1..20 {
            log.append(1, sequence, &record(sequence, 600), Durability::System);
            settle(&mut log);
            if sequence % 2 == 0 {
                log.want_durable(log.written_to());
                settle(&mut log);
            }
        }
        failed += u32::from(log.failure().is_some());
        let durable = log.durable_to();
        let (copy, _) = open(log.into_device().with_faults(MemoryFaults::default()))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(copy.written_to() >= durable, "seed {seed}: {durable} pages were durable");
    }
    assert!(failed > 20, "{failed} of 40 logs had a flush that failed");
}

/// A log with three groups, of which all are durable.
fn three_groups() -> Log<MemoryDisk> {
    let mut log = create(40, 1);
    for sequence in 1..=3 {
        log.append(1, sequence, &record(sequence, 5000), Durability::Device);
        settle(&mut log);
    }
    assert_eq!((log.durable_to(), log.written_to()), (6, 6));
    log
}

fn opened_with_damage(page: u64) -> Result<Vec<u64>, OpenError> {
    let log = three_groups();
    let mut disk = log.device().clone();
    disk.bytes_mut()[(BEFORE_RING + page) as usize * 4096 + 1000] ^= 1;
    open(disk).map(|(_, found)| found.iter().map(|record| record.sequence).collect())
}

#[test]
fn damage_before_the_tail_end_is_loud() {
    for page in 0..4 {
        let error = opened_with_damage(page).expect_err("a durable page is damaged");
        assert!(
            matches!(error, OpenError::LogDamaged { page: own, durable_to: 4, .. } if own == page),
            "{error}"
        );
    }
    // Nothing says that the last group was durable: it could have been torn.
    assert_eq!(opened_with_damage(4), Ok(vec![1, 2]));
    assert_eq!(opened_with_damage(5), Ok(vec![1, 2]));
}

#[test]
fn second_copy_of_the_header_is_enough() {
    let mut disk = three_groups().into_device();
    disk.bytes_mut()[30] ^= 1;
    assert_eq!(open(disk.clone()).map(|(_, found)| found.len()), Ok(3));
    disk.bytes_mut()[4096 + 30] ^= 1;
    assert!(matches!(open(disk).map(drop), Err(OpenError::LogHeaderDamaged { .. })));
    let none = MemoryDisk::new(1 << 20, 512, Seed(1));
    assert!(matches!(open(none).map(drop), Err(OpenError::NoLog { .. })));
}

#[test]
fn ring_is_used_again_where_it_is_freed() {
    let (mut log, mut random) = (create(24, 3), Seed(3).source());
    for sequence in 1..400 {
        let entries = record(sequence, random.below(9000));
        while !log.has_room(Record::encoded_bytes(&entries)) {
            log.want_durable(log.written_to());
            settle(&mut log);
            log.free_below(log.durable_to());
            settle(&mut log);
        }
        log.append(1, sequence, &entries, Durability::Device);
        log.dispatch();
    }
    settle(&mut log);
    assert!(log.written_to() > 300, "{} pages were written", log.written_to());
    let (_, found) = open(log.into_device()).expect("a closed log is opened");
    assert_eq!(found.last().map(|record| record.sequence), Some(399));
}

#[test]
fn groups_of_mixed_lengths_share_a_buffer() {
    let mut log = create(64, 1);
    let mut memory = None;
    for (nth, bytes) in [40_000, 100, 20_000, 39_000, 9000].into_iter().enumerate() {
        log.append(1, nth as u64 + 1, &record(nth as u64 + 1, bytes), Durability::System);
        settle(&mut log);
        let buffer = log.buffer.as_ref().expect("the disk gives it back");
        let own = buffer.as_slice().as_ptr();
        assert_eq!(*memory.get_or_insert(own), own, "group {nth}");
    }
}

/// Returns a disk with the first pages of another one.
fn cut_to(pages: u64, disk: &mut MemoryDisk) -> MemoryDisk {
    let mut cut = MemoryDisk::new(pages * 4096, 512, Seed(1));
    cut.bytes_mut().copy_from_slice(&disk.bytes_mut()[..(pages * 4096) as usize]);
    cut
}

/// Appends durable records of 3,000 bytes, about a page each, with these sequence numbers.
fn append_durably(log: &mut Log<MemoryDisk>, sequences: std::ops::RangeInclusive<u64>) {
    for sequence in sequences {
        log.append(1, sequence, &record(sequence, 3000), Durability::Device);
        log.want_durable(log.written_to());
        settle(log);
    }
}

/// It is the log of a store all the same, whatever stands in place of its header.
#[test]
fn log_without_its_header_is_told_from_other_data() {
    let mut log = create(20, 1);
    append_durably(&mut log, 1..=3);
    let whole = after_a_power_cut(&log);
    // Of the rest there are the marks, or the pages.
    for gone in [0..8192, 0..16_384] {
        for fill in [0, b'x'] {
            let mut disk = whole.clone();
            disk.bytes_mut()[gone.clone()].fill(fill);
            let error = open(disk).map(drop);
            assert!(matches!(error, Err(OpenError::LogHeaderDamaged { .. })), "{gone:?}: {error:?}");
        }
    }
    let mut disk = whole;
    disk.bytes_mut().fill(b'x');
    assert!(matches!(open(disk).map(drop), Err(OpenError::NoLog { .. })));
}

/// Writes both copies of the header as version 1 does: without the length of the ring.
fn write_header_of_version_1(disk: &mut MemoryDisk) {
    let mut fields = 9u128.to_le_bytes().to_vec();
    fields.extend([2, 0, 1, b'm']);
    let mut header = b"flashkvh".to_vec();
    header.extend(crc32c::crc32c(&fields).to_le_bytes());
    header.extend(1u32.to_le_bytes());
    header.extend((fields.len() as u32).to_le_bytes());
    header.extend(fields);
    for copy in 0..2 {
        let place = &mut disk.bytes_mut()[copy * 4096..(copy + 1) * 4096];
        place.fill(0);
        place[..header.len()].copy_from_slice(&header);
    }
}

#[test]
fn log_on_a_device_that_was_cut_is_refused() {
    let mut log = create(40, 1);
    append_durably(&mut log, 1..=20);
    let mut whole = after_a_power_cut(&log);
    for pages in [5, 10, 12, 22, 43] {
        let error = open(cut_to(pages, &mut whole)).err().expect("the log was cut");
        assert_eq!(
            error,
            OpenError::LogTooShort {
                device: whole.info().name.clone(),
                given_bytes: pages * 4096,
                least_bytes: 44 * 4096
            }
        );
    }
    assert_eq!(open(whole).unwrap().1.len(), 20);
}

#[test]
fn log_on_a_device_that_grew_keeps_its_ring() {
    let mut log = create(16, 1);
    append_durably(&mut log, 1..=8);
    log.free_below(6);
    append_durably(&mut log, 9..=18);
    assert!(log.written_to() > 16, "the ring is used again");
    let mut disk = after_a_power_cut(&log);
    let mut grown = MemoryDisk::new(50 * 4096, 512, Seed(1));
    let bytes = disk.bytes_mut();
    grown.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    let (log, records) = open(grown).unwrap();
    assert_eq!(log.layout.pages, 16);
    assert_eq!(records.last().unwrap().sequence, 18);
}

#[test]
fn any_damaged_byte_of_one_header_copy_is_harmless() {
    let disk = create(8, 1).device().clone();
    for copy in 0..2 {
        for at in 0..64 {
            let mut damaged = disk.clone();
            damaged.bytes_mut()[copy * 4096 + at] ^= 0x5a;
            assert!(open(damaged).is_ok(), "byte {at} of copy {copy}");
        }
    }
}

#[test]
fn freed_records_are_found_while_they_are_in_the_ring() {
    let mut log = create(16, 1);
    append_durably(&mut log, 1..=8);
    log.free_below(log.durable_to());
    append_durably(&mut log, 9..=12);
    log.free_below(log.durable_to());
    append_durably(&mut log, 13..=20);
    let mut disk = after_a_power_cut(&log);
    let FoundHeader { config, layout, .. } = read_header(&mut disk).unwrap();
    let Recovered { freed, records, .. } = recover(&mut disk, &layout, &config, 0, false).unwrap();
    assert_eq!(records.first().map(|record| record.sequence), Some(13));
    // A page each; the ring has those of the last 16.
    let expected: Vec<(u32, u64)> = (5..=12).map(|sequence| (1, sequence)).collect();
    assert_eq!(freed, Freed { writes: expected, first: Some(5), last: Some(20) });
}

/// A log as versions before 4 create it, but for its header.
fn create_without_marks(pages: u64, seed: u64) -> Log<MemoryDisk> {
    let mut disk = MemoryDisk::new((2 + pages) * 4096, 512, Seed(seed));
    let layout = LogLayout::new(disk.info(), &config()).expect("the disk has pages").without_marks();
    write_header(&mut disk, &layout, &config()).expect("the disk is sound");
    Log::new(disk, layout, 9, &Recovered { marks: None, ..Recovered::empty() })
}

#[test]
fn version_1_is_read_and_refused_once_it_is_cut_to_full_pages() {
    let mut log = create_without_marks(40, 1);
    append_durably(&mut log, 1..=20);
    let mut disk = after_a_power_cut(&log);
    write_header_of_version_1(&mut disk);
    assert!(!read_header(&mut disk).unwrap().config.patches_cover_log);
    assert_eq!(open(disk.clone()).unwrap().1.len(), 20);
    let error = open(cut_to(12, &mut disk)).err().expect("the log was cut");
    assert!(matches!(error, OpenError::LogFull { .. }), "{error}");
}

#[test]
fn two_newer_headers_are_reported_as_newer() {
    let mut disk = create(8, 1).device().clone();
    for copy in 0..2 {
        disk.bytes_mut()[copy * 4096 + 12] = 6;
    }
    let error = open(disk).err().expect("the version is not supported");
    assert!(matches!(error, OpenError::NewerLog { found: 6, known: 5, .. }), "{error}");
}

/// A log that was closed with records 1 to 3, in pages 0 to 5.
fn closed() -> Log<MemoryDisk> {
    let mut log = three_groups();
    log.close();
    settle(&mut log);
    log
}

#[test]
fn damage_of_the_last_group_is_loud_after_a_close() {
    for pages in 1..=6 {
        let mut disk = after_a_power_cut(&closed());
        let from = (BEFORE_RING + 6 - pages) as usize * 4096;
        disk.bytes_mut()[from..].fill(0);
        let error = open(disk).err().expect("records are missing");
        let is_told = matches!(error, OpenError::LogDamaged { page, durable_to: 6, .. } if page == 6 - pages);
        assert!(is_told, "{pages} pages: {error}");
    }
    // The same of a log that was cut behind its marks, and extended again.
    let mut disk = after_a_power_cut(&closed());
    let mut extended = MemoryDisk::new(disk.bytes_mut().len() as u64, 512, Seed(1));
    extended.bytes_mut()[..5 * 4096].copy_from_slice(&disk.bytes_mut()[..5 * 4096]);
    assert!(matches!(open(extended), Err(OpenError::LogDamaged { page: 1, durable_to: 6, .. })));
}

#[test]
fn mark_stays_true_while_the_log_is_used_again() {
    let (mut log, _) = open(after_a_power_cut(&closed())).expect("it is sound");
    log.append(1, 4, &record(4, 100), Durability::System);
    settle(&mut log);
    let mut disk = after_a_power_cut(&log);
    assert!(open(disk.clone()).expect("a torn tail is no damage").1.len() >= 3);
    disk.bytes_mut()[(BEFORE_RING + 5) as usize * 4096] ^= 1;
    assert!(matches!(open(disk), Err(OpenError::LogDamaged { page: 4 | 5, durable_to: 6, .. })));
}

#[test]
fn close_writes_nothing_where_nothing_was_written() {
    let mut disk = after_a_power_cut(&closed());
    let before = disk.bytes_mut().to_vec();
    let (mut log, _) = open(disk).expect("it is sound");
    log.close();
    settle(&mut log);
    assert!(log.into_device().bytes_mut() == before);
}

/// The power is cut after each operation of writing, closing and writing again, on a disk that keeps any mixture of
/// what was not flushed.
#[test]
fn power_cuts_while_a_log_is_closed_are_no_damage() {
    for seed in 0..20 {
        let mut log = create(12, seed);
        // The last record that a close made durable, and its page; and the number of closes.
        let (mut durable, mut closes) = ((0, 0), 0);
        for sequence in 1..=40 {
            let entries = record(sequence, 3000);
            if !log.has_room(Record::encoded_bytes(&entries)) {
                log.want_durable(log.written_to());
                settle(&mut log);
                log.free_below(log.durable_to());
                settle(&mut log);
            }
            let pages = log.append(1, sequence, &entries, Durability::System);
            let is_closing = sequence % 3 == 0;
            if is_closing {
                log.close();
            }
            log.dispatch();
            loop {
                let (_, found) =
                    open(after_a_power_cut(&log)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let last = found.last().map_or(0, |record| record.sequence);
                let is_needed = durable.1 >= log.tail;
                assert!(last <= sequence && (last >= durable.0 || !is_needed), "{last} of {sequence}");
                if log.is_idle() {
                    break;
                }
                log.step(Instant::FAR);
                log.dispatch();
            }
            if is_closing {
                (durable, closes) = ((sequence, pages.start), closes + 1);
                assert_eq!(log.durable_to(), log.written_to());
                log = open(after_a_power_cut(&log)).expect("it was closed").0;
            }
        }
        assert!(closes == 13 && log.written_to() > 12, "the ring is used again");
    }
}

#[test]
fn logs_of_one_damaged_mark_open_and_of_two_are_refused() {
    let disk = after_a_power_cut(&closed());
    let with_damage = |places: &[u64]| {
        let mut disk = disk.clone();
        places.iter().for_each(|place| disk.bytes_mut()[(2 + place) as usize * 4096 + 20] ^= 1);
        open(disk).map(|(_, records)| records.len())
    };
    assert_eq!([with_damage(&[0]), with_damage(&[1])], [Ok(3), Ok(3)]);
    assert!(matches!(with_damage(&[0, 1]), Err(OpenError::LogMarksDamaged { .. })));
}

#[test]
fn log_without_marks_is_closed_without_them() {
    let mut log = create_without_marks(20, 1);
    append_durably(&mut log, 1..=3);
    log.close();
    settle(&mut log);
    let mut disk = after_a_power_cut(&log);
    // The fields of version 3 are those of version 4.
    for copy in [0, 4096] {
        let header = &mut disk.bytes_mut()[copy..copy + config().encode(20).len()];
        header[12..16].copy_from_slice(&3_u32.to_le_bytes());
        let checksum = crc32c::crc32c(&header[12..]);
        header[8..12].copy_from_slice(&checksum.to_le_bytes());
    }
    let (log, records) = open(disk).expect("versions before 4 are read");
    assert_eq!((records.len(), log.layout.pages, log.marks, log.damaged_header()), (3, 20, None, None));
}

/// What opening says of a log with one other byte.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Refused,
    /// A copy of the header is damaged.
    Header,
    /// Nothing: these are the records that it returns.
    Nothing(Vec<Record>),
}

fn with_other_byte(disk: &MemoryDisk, at: usize) -> Said {
    let mut disk = disk.clone();
    disk.bytes_mut()[at] ^= 0x20;
    match open(disk) {
        Err(_) => Said::Refused,
        Ok((log, _)) if log.damaged_header().is_some() => Said::Header,
        Ok((_, records)) => Said::Nothing(records),
    }
}

#[test]
fn every_damaged_byte_that_means_something_is_told() {
    let mut log = create(24, 3);
    for sequence in 1..=8 {
        log.append(1, sequence, &record(sequence, 900), Durability::Device);
        settle(&mut log);
    }
    let disk = log.into_device();
    let (_, all) = open(disk.clone()).expect("it is sound");
    assert_eq!(all.len(), 8);
    let header_bytes = config().encode(24).len();
    for at in [0, 4096].into_iter().flat_map(|copy| copy..copy + header_bytes) {
        assert_eq!(with_other_byte(&disk, at), Said::Header, "byte {at} of the header");
    }
    // What follows in its page is zeros that mean nothing.
    assert_eq!(with_other_byte(&disk, header_bytes), Said::Nothing(all.clone()));
    for page in 0..8 {
        for at in (0..900).step_by(37) {
            let said = with_other_byte(&disk, (BEFORE_RING as usize + page) * 4096 + at);
            match page {
                // No later page says that it was durable: it cannot be told from a torn write.
                7 => assert_eq!(said, Said::Nothing(all[..7].to_vec()), "byte {at} of the last page"),
                _ => assert_eq!(said, Said::Refused, "byte {at} of page {page}"),
            }
        }
    }
}

#[test]
fn damaged_copy_of_the_header_is_repaired_by_the_next_write() {
    // The last ones are over the end of the header and behind it.
    for (at, length) in [(0, 1), (4110, 1), (20, 16), (4104, 2), (0, 4096), (4131, 4061), (4131, 40)] {
        let is_ours = length == 1;
        let mut disk = create(24, 4).into_device();
        let sound = disk.bytes_mut()[..8192].to_vec();
        match is_ours {
            true => disk.bytes_mut()[at] ^= 1,
            false => disk.bytes_mut()[at..at + length].fill(b'x'),
        }
        let damaged = disk.bytes_mut()[..8192].to_vec();
        let (mut log, _) = open(disk).expect("one copy is sound");
        assert_eq!(log.damaged_header(), Some(is_ours));
        log.append(1, 1, &record(1, 100), Durability::Device);
        settle(&mut log);
        let mut disk = after_a_power_cut(&log);
        assert!(disk.bytes_mut()[..8192] == if is_ours { sound } else { damaged }, "at {at}");
        let (log, records) = open(disk).expect("it is sound");
        assert_eq!((records.len(), log.damaged_header().is_none()), (1, is_ours));
    }
}

#[test]
fn copy_of_the_header_from_before_a_salvage_is_ours() {
    use crate::salvage::{LostKeys, LostRange, Salvage};
    let range = |nth: u8| LostRange {
        keys: crate::Gap { from: vec![nth; 40], to: vec![nth, 255] },
        last_write: u64::from(nth),
    };
    let lost = LostKeys { ranges: (0..12).map(range).collect(), blocks: 1 };
    let salvage = Salvage { last_write: 20, number: 3, is_acknowledged: false, lost: lost.clone() };
    let lost = LostKeys { ranges: lost.ranges[1..].to_vec(), ..lost };
    let shorter = Salvage { last_write: 21, number: 4, is_acknowledged: false, lost };
    // A power cut left either copy as it was, or tore it between two sectors.
    for (copy, old_sectors) in [(0, 8), (4096, 8), (4096, 1), (0, 1)] {
        let mut disk = create(24, 4).into_device();
        let before = disk.bytes_mut()[..8192].to_vec();
        let header = read_header(&mut disk).expect("it is sound");
        let config = LogConfig { salvage: Some(salvage.clone()), ..header.config };
        write_header(&mut disk, &header.layout, &config).expect("the disk is sound");
        let old = copy..copy + old_sectors * 512;
        disk.bytes_mut()[old.clone()].copy_from_slice(&before[old]);
        let found = read_header(&mut disk).expect("one copy is sound");
        let damaged = found.damaged.expect("the copies differ");
        assert!(damaged.repair.is_some(), "{old_sectors} old sectors at {copy}");
        // The next statement is shorter: the cut leaves the end of the one before it.
        write_header(&mut disk, &header.layout, &config).expect("the disk is sound");
        let before = disk.bytes_mut()[copy + 512..copy + 4096].to_vec();
        let config = LogConfig { salvage: Some(shorter.clone()), ..config };
        write_header(&mut disk, &header.layout, &config).expect("the disk is sound");
        assert!(disk.bytes_mut()[copy + 512..copy + 4096] != before[..], "it has several sectors");
        disk.bytes_mut()[copy + 512..copy + 4096].copy_from_slice(&before);
        let found = read_header(&mut disk).expect("one copy is sound");
        assert!(found.damaged.expect("the copies differ").repair.is_some(), "at {copy}");
    }
}
