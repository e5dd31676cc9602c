//! Placement handles: which units share a block, and write amplification against a drive that was measured.

use super::super::PageMapped;
use super::super::tests::{check, of_profile};
use super::*;
use crate::ids::Lpn;
use flashlane_base::Seed;

mod cachelib;

/// A translation layer of the drive with these settings.
fn layer(settings: &[(&str, &str)]) -> PageMapped {
    PageMapped::new(
        &of_profile(
            "msr-32g",
            &[&[("cleaning.separate", "true"), ("cleaning.defer", "no")], settings].concat(),
        ),
        Seed(1),
    )
    .unwrap()
}

/// The handles whose units are valid on each block, where unit `lpn` has handle `of(lpn)`.
fn handles_on_blocks(ftl: &PageMapped, of: impl Fn(u32) -> u8) -> Vec<Vec<u8>> {
    let mut found = vec![Vec::new(); ftl.blocks.count()];
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

/// Which object a writer overwrites next.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// Any of its area.
    Random,
    /// The one behind the last, around its area: a cache that evicts the oldest.
    Oldest,
    /// The oldest where objects have 16 MiB or more, and any otherwise.
    LargeOldest,
}

/// The write amplification of that workload on flash of `flash_gib`: filled in order, then four times 960 GiB in
/// objects, as many bytes by each writer. A mapping unit stands for 1 MiB, a block for a reclaim unit of 16 GiB.
fn pm9d3a(flash_gib: u32, order: Order, placement: &[(&str, &str)]) -> f64 {
    let blocks = (flash_gib / 16).to_string();
    let settings = [
        ("flash.channels", "1"),
        ("flash.planes", "1"),
        ("flash.page", "8KiB"),
        ("flash.pages", "8192"),
        ("flash.blocks", blocks.as_str()),
        ("mapping.unit", "4KiB"),
        ("mapping.chunk", "8KiB"),
        ("cleaning.low", "0%"),
        // 855 GiB.
        ("capacity", "3420MiB"),
    ];
    let mut ftl = layer(&[&settings[..], placement].concat());
    let (mut random, mut due) = (Seed(5).source(), Vec::new());
    (0..ftl.geometry.logical_units).for_each(|lpn| {
        ftl.place(Lpn(lpn), &mut due).unwrap();
    });
    ftl.counters = Default::default();
    let mut start = 0;
    let mut writers = Vec::new();
    for (&(count, object, area), class) in CLASSES.iter().zip(0..) {
        for _ in 0..count {
            writers.push((class, object, start, area * 1024 / object));
            start += area * 1024;
        }
    }
    let mut written = vec![0; writers.len()];
    while ftl.counters.host_units < 4 * 960 * 1024 {
        let next = (0..writers.len()).min_by_key(|&writer| written[writer]).expect("there are writers");
        let (class, object, start, objects) = writers[next];
        let oldest = matches!((order, object), (Order::Oldest, _) | (Order::LargeOldest, 16..));
        let nth = if oldest { written[next] / object % objects } else { random.below(objects.into()) as u32 };
        written[next] += object;
        if !placement.is_empty() {
            ftl.use_handle(PlacementHandle(class));
        }
        let first = start + nth * object;
        (first..first + object).for_each(|lpn| {
            ftl.place(Lpn(lpn), &mut due).unwrap();
        });
        due.clear();
    }
    (ftl.counters.host_units + ftl.counters.moved_units) as f64 / ftl.counters.host_units as f64
}

const INITIAL: [(&str, &str); 1] = [("placement.handles", "5")];
const PERSISTENT: [(&str, &str); 2] = [("placement.handles", "5"), ("placement.isolation", "persistent")];

#[test]
fn handles_separate_objects_that_die_in_order() {
    // The table of docs/profiles.md has the others.
    let [none, initial] = [&[][..], &INITIAL].map(|placement| pm9d3a(1152, Order::LargeOldest, placement));
    assert!(
        (2.1..2.4).contains(&none) && (1.7..1.9).contains(&initial),
        "{none:.3} without, {initial:.3} with"
    );
}

#[test]
#[ignore = "prints the table of docs/profiles.md"]
fn pm9d3a_table() {
    for order in [Order::Random, Order::Oldest, Order::LargeOldest] {
        for flash in [1024, 1088, 1152, 1280] {
            let [none, initial] = [&[][..], &INITIAL].map(|placement| pm9d3a(flash, order, placement));
            let persistent = if flash > 1024 { pm9d3a(flash, order, &PERSISTENT) } else { f64::NAN };
            println!("{flash} GiB {order:?}: {none:.3} {initial:.3} {persistent:.3}");
        }
    }
}
