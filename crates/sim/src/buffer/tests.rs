use super::*;
use crate::profile::load;
use std::collections::VecDeque;

/// A buffer over `ssd-s` with these settings.
fn make(settings: &[(&str, &str)]) -> WriteBuffer {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let config = load("ssd-s", &settings).unwrap_or_else(|error| panic!("{error}"));
    WriteBuffer::new(&config, &Geometry::new(&config), DrainCounters::default()).expect("it has one")
}

/// The write of a whole unit with this handle and number.
fn whole(handle: u16, write_number: u64) -> Write {
    Write { present: UnitParts::WHOLE, bytes: 4096, handle: PlacementHandle(handle), write_number }
}

#[test]
fn rewriting_a_unit_does_not_delay_a_waiting_flush() {
    let one_die =
        [("flash.channels", "1"), ("flash.packages", "1"), ("flash.dies", "1"), ("capacity", "1GiB")];
    let mut settings = one_die.to_vec();
    settings.extend([("buffer.policy", "lru"), ("buffer.size", "32KiB"), ("buffer.drain_per_die", "1")]);
    let mut buffer = make(&settings);
    (0..4).for_each(|unit| assert_eq!(buffer.admit(Lpn(unit), whole(0, 0), || None), Admission::New));
    let epoch = buffer.begin_flush();
    for new in 4..12 {
        buffer.admit(Lpn(0), whole(0, 0), || None);
        let (slot, _) = buffer.start_next_drain(Some(DrainCause::Flush), Instant::ZERO, |_| None).unwrap();
        buffer.release(slot, Instant::ZERO);
        if buffer.is_flushed(epoch) {
            return;
        }
        buffer.admit(Lpn(new), whole(0, 0), || None);
    }
    panic!("the flush still waits");
}

/// A buffer of eight units before one die, which programs two of them at a time, with or without coalescing.
fn small(coalesce: bool) -> WriteBuffer {
    make(&[
        ("buffer.coalesce", if coalesce { "true" } else { "false" }),
        ("flash.channels", "1"),
        ("flash.packages", "1"),
        ("flash.dies", "1"),
        ("capacity", "1GiB"),
        ("buffer.policy", "lru"),
        ("buffer.size", "32KiB"),
        ("buffer.drain_per_die", "2"),
    ])
}

#[test]
fn bypassing_write_supersedes_buffered_versions() {
    let mut buffer = small(false);
    buffer.admit(Lpn(0), whole(0, 0), || None);
    let (chosen, _) = buffer.start_next_drain(Some(DrainCause::Flush), Instant::ZERO, |_| None).unwrap();
    let epoch = buffer.begin_flush();
    assert_eq!(buffer.admit(Lpn(0), whole(0, 1), || None), Admission::New);
    assert_eq!(buffer.forget(Lpn(0)), Some(Unflushed { first_write: 0, epoch }));
    assert_eq!(buffer.admit(Lpn(0), whole(0, 2), || None), Admission::New);
    assert!(!buffer.is_wanted(chosen), "it would be programmed over what is newer");
}

#[test]
fn superseded_version_is_not_programmed_after_a_newer_one() {
    let mut buffer = small(false);
    buffer.admit(Lpn(0), whole(0, 0), || None);
    let (first, _) = buffer.start_next_drain(Some(DrainCause::Flush), Instant::ZERO, |_| None).unwrap();
    let epoch = buffer.begin_flush();
    buffer.admit(Lpn(0), whole(0, 1), || None);
    let (second, _) = buffer.start_next_drain(Some(DrainCause::Flush), Instant::ZERO, |_| None).unwrap();
    buffer.start_program(second, PlaneId(0), Instant::ZERO);
    buffer.admit(Lpn(0), whole(0, 2), || None);
    assert!(!buffer.is_wanted(first));
    buffer.release(first, Instant::ZERO);
    assert!(!buffer.is_flushed(epoch), "the second version has what the first had and is not on flash");
    buffer.release(second, Instant::ZERO);
    assert!(buffer.is_flushed(epoch));
}

/// A unit at random: written, chosen, programmed, flushed, and written by a bypassing write. What flash has is the
/// model.
#[test]
fn versions_reach_flash_in_order_and_before_their_flush_ends() {
    for (seed, coalesce) in (0..200).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut random = Seed(seed).source();
        let mut buffer = small(coalesce);
        // Writes by number: those that the buffer completed, the newest that flash was given, and that it has.
        let (mut write, mut buffered, mut given, mut safe) = (0, Vec::new(), 0, 0);
        let mut dirty = VecDeque::new();
        let (mut chosen, mut programming): (Vec<(BufferSlot, u64)>, Vec<_>) = (Vec::new(), Vec::new());
        let mut flushes: Vec<(u64, u64)> = Vec::new();
        let mut bypass: Option<(u64, Option<Unflushed>)> = None;
        for _ in 0..200 {
            match random.below(7) {
                0 => {
                    write += 1;
                    let admission = buffer.admit(Lpn(0), whole(0, write), || None);
                    let leaving = chosen.iter_mut().map(|(slot, version)| (*slot, version));
                    let newest =
                        leaving.filter(|&(slot, _)| buffer.is_wanted(slot)).map(|(_, version)| version);
                    match (admission, newest.chain(&mut dirty).last()) {
                        (Admission::Absorbed, Some(version)) => *version = write,
                        _ => dirty.push_back(write),
                    }
                    buffered.push(write);
                }
                1 => {
                    let next = buffer.start_next_drain(Some(DrainCause::Flush), Instant::ZERO, |_| None);
                    chosen.extend(next.map(|(slot, _)| (slot, dirty.pop_front().expect("it was written"))));
                }
                2 if !chosen.is_empty() => {
                    let (slot, version) = chosen.swap_remove(random.below(chosen.len() as u64) as usize);
                    if buffer.is_wanted(slot) {
                        assert!(version > given, "seed {seed}: write {version} goes over {given}");
                        given = version;
                        buffer.start_program(slot, PlaneId(0), Instant::ZERO);
                        programming.push((slot, version));
                    } else {
                        buffer.release(slot, Instant::ZERO);
                    }
                }
                3 if !programming.is_empty() => {
                    let (slot, version) = programming.remove(0);
                    buffer.release(slot, Instant::ZERO);
                    safe = safe.max(version);
                }
                4 => flushes.push((buffer.begin_flush(), write)),
                5 if bypass.is_none() => {
                    write += 1;
                    given = write;
                    dirty.clear();
                    bypass = Some((write, buffer.forget(Lpn(0))));
                }
                6 => {
                    if let Some((version, _)) = bypass.take() {
                        safe = safe.max(version);
                    }
                }
                _ => {}
            }
            let unflushed = bypass.and_then(|(_, unflushed)| unflushed);
            let first_at_risk = buffered.iter().copied().find(|&write| write > safe);
            let said = buffer
                .at_risk()
                .map(|(_, first_write)| first_write)
                .chain(unflushed.map(|unflushed| unflushed.first_write))
                .min();
            if let Some(first) = first_at_risk {
                assert!(
                    said.is_some_and(|said| said <= first),
                    "seed {seed}: {said:?} is said, {first} is at risk"
                );
            }
            for &(epoch, last) in &flushes {
                let over =
                    buffer.is_flushed(epoch) && unflushed.is_none_or(|unflushed| unflushed.epoch > epoch);
                let missing = buffered.iter().find(|&&write| write > safe && write <= last);
                assert!(!over || missing.is_none(), "seed {seed}: flushed without {missing:?} of {last}");
            }
        }
    }
}

#[test]
fn padding_has_the_handle_of_the_written_unit_before_it() {
    let padding = [("buffer.policy", "bplru"), ("buffer.size", "32KiB"), ("buffer.options.padding", "true")];
    let all_at_once = ("buffer.drain_per_die", "1024");
    for way in [all_at_once, ("buffer.batch_pages_per_package", "64")] {
        let mut buffer = make(&[&padding[..], &[way]].concat());
        let block = make_geometry().data_units;
        // Two units of one block, with different handles, and one of the next block.
        for (unit, handle) in [(3, 1), (7, 2), (block + 5, 3)] {
            buffer.admit(Lpn(unit), whole(handle, 0), || None);
        }
        let mut drained = 0;
        while let Some((slot, unit)) =
            buffer.start_next_drain(Some(DrainCause::Flush), Instant::ZERO, |_| None)
        {
            let lpn = unit.lpn.0;
            let expected = if lpn >= block { 3 } else { 1 + u16::from(lpn >= 7) };
            assert_eq!(buffer.handle_of(slot), PlacementHandle(expected), "{way:?}: unit {lpn}");
            assert_eq!(unit.pad, ![3, 7, block + 5].contains(&lpn));
            drained += 1;
            buffer.start_program(slot, PlaneId(0), Instant::ZERO);
            buffer.release(slot, Instant::ZERO);
        }
        assert_eq!(drained, 2 * block, "{way:?}");
    }
}

/// The geometry of [`make`]'s drive.
fn make_geometry() -> Geometry {
    Geometry::new(&load("ssd-s", &[]).expect("it is built in"))
}
