//! Placement handles: which units share a block, and write amplification against a drive that was measured.

use super::super::PageMapped;
use super::super::tests::{check, of_profile};
use super::*;
use crate::ids::Lpn;
use flashlane_base::Seed;

/// A translation layer of the drive with these settings.
fn layer(settings: &[(&str, &str)]) -> PageMapped {
    PageMapped::new(
        &of_profile(
            "msr-32g",
            &[&[("cleaning.separate", "true"), ("cleaning.defer", "no")], settings].concat(),
        ),
        Seed(1),
    )
}

/// The handles whose units are valid on each block, where unit `lpn` has handle `of(lpn)`.
fn handles_on_blocks(ftl: &PageMapped, of: impl Fn(u32) -> u8) -> Vec<Vec<u8>> {
    let mut found = vec![Vec::new(); ftl.blocks.valid.len()];
    for lpn in 0..ftl.geometry.logical_units {
        if let Some(ppn) = ftl.place_of(Lpn(lpn)) {
            found[ftl.block_index(ppn)].push(of(lpn));
        }
    }
    for handles in &mut found {
        handles.sort_unstable();
        handles.dedup();
    }
    found
}

/// Overwrites units at random, each with a handle that follows from its number.
fn overwrite(ftl: &mut PageMapped, handles: u32, writes: u32) {
    let (mut random, mut due) = (Seed(5).source(), Vec::new());
    let units = ftl.geometry.logical_units;
    for count in 0..units + writes {
        let lpn = if count < units { count } else { random.below(u64::from(units)) as u32 };
        ftl.use_handle(PlacementHandle((lpn % handles) as u16));
        ftl.place(Lpn(lpn), &mut due).unwrap();
        due.clear();
    }
    check(ftl);
}

#[test]
fn persistent_isolation_never_mixes_handles() {
    for pacing in ["watermark", "proportional"] {
        let isolation = [("placement.handles", "3"), ("placement.isolation", "persistent")];
        let mut ftl =
            layer(&[&isolation[..], &[("cleaning.pacing", pacing), ("capacity", "10MiB")]].concat());
        overwrite(&mut ftl, 3, 20_000);
        assert!(ftl.counters.moved_units > 1000, "GC moves units");
        for (block, handles) in handles_on_blocks(&ftl, |lpn| (lpn % 3) as u8).iter().enumerate() {
            assert!(handles.len() < 2, "{pacing}: block {block} has units of handles {handles:?}");
            assert!(handles.iter().all(|&handle| handle == ftl.handle_of_block(block)));
        }
    }
}

#[test]
fn initial_isolation_mixes_only_moved_units() {
    let mut ftl = layer(&[("placement.handles", "3"), ("capacity", "10MiB")]);
    overwrite(&mut ftl, 3, 0);
    assert_eq!(ftl.counters.moved_units, 0);
    let alone = |ftl: &PageMapped| {
        handles_on_blocks(ftl, |lpn| (lpn % 3) as u8).iter().all(|handles| handles.len() < 2)
    };
    assert!(alone(&ftl), "what the host wrote is apart");
    overwrite(&mut ftl, 3, 20_000);
    assert!(ftl.counters.moved_units > 1000 && !alone(&ftl), "what GC moved is not");
}

/// The classes of the workload that was run on a Samsung PM9D3a: writers, MiB of an object, GiB of each writer's area.
const CLASSES: [(u32, u32, u32); 5] = [(2, 4, 90), (1, 32, 180), (2, 16, 90), (3, 2, 90), (1, 1, 45)];

/// The write amplification of that workload on flash of `flash_gib`: filled in order, then objects at random in the area of each
/// writer. A mapping unit stands for 1 MiB, a block for a reclaim unit of 16 GiB.
fn pm9d3a(flash_gib: u32, by_area: bool, fill_gib: u32, placement: &[(&str, &str)]) -> f64 {
    let blocks = (flash_gib / 16).to_string();
    let capacity = format!("{}MiB", u64::from(fill_gib) * 4);
    let settings = [
        ("flash.channels", "1"),
        ("flash.planes", "1"),
        ("flash.pages", "16384"),
        ("flash.blocks", blocks.as_str()),
        ("cleaning.low", "0%"),
        ("capacity", capacity.as_str()),
    ];
    let mut ftl = layer(&[&settings[..], placement].concat());
    assert_eq!(ftl.geometry.unit_bytes, 4096);
    let (mut random, mut due) = (Seed(5).source(), Vec::new());
    let units = ftl.geometry.logical_units;
    (0..units).for_each(|lpn| {
        ftl.place(Lpn(lpn), &mut due).unwrap();
    });
    ftl.counters = Default::default();
    let mut writers = Vec::new();
    let mut start = 0;
    for (class, &(count, object, area)) in CLASSES.iter().enumerate() {
        for _ in 0..count {
            writers.push((class as u16, object, start, area * 1024));
            start += area * 1024;
        }
    }
    let mut written = vec![0_f64; writers.len()];
    while ftl.counters.host_units < 4 * 960 * 1024 {
        // The writer that is furthest behind its share.
        let next = (0..writers.len()).min_by(|&a, &b| written[a].total_cmp(&written[b])).unwrap();
        let (class, object, start, area) = writers[next];
        written[next] += f64::from(object) / if by_area { f64::from(area) } else { 1.0 };
        let first = start + random.below(u64::from(area / object)) as u32 * object;
        if !placement.is_empty() {
            ftl.use_handle(PlacementHandle(class));
        }
        for lpn in first..first + object {
            ftl.place(Lpn(lpn), &mut due).unwrap();
        }
        due.clear();
    }
    (ftl.counters.host_units + ftl.counters.moved_units) as f64 / ftl.counters.host_units as f64
}

#[test]
#[ignore = "prints the table of docs/placement.md"]
fn pm9d3a_table() {
    let initial = [("placement.handles", "5")];
    let persistent = [("placement.handles", "5"), ("placement.isolation", "persistent")];
    for flash in [1024, 1088, 1152, 1280] {
        for by_area in [false, true] {
            for fill in [855, 960] {
                let try_one = |placement: &[(&str, &str)]| {
                    std::panic::catch_unwind(|| pm9d3a(flash, by_area, fill, placement)).unwrap_or(f64::NAN)
                };
                let [none, initial, persistent] = [&[][..], &initial, &persistent].map(try_one);
                println!("{flash} GiB by_area {by_area} fill {fill}: {none:.3} {initial:.3} {persistent:.3}");
            }
        }
    }
}
