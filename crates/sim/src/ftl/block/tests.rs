//! Every block-mapping scheme against the rules of flash and a simple model of the data.

use super::*;
use crate::ftl::scheme::Scheme;
use crate::ftl::scheme_registry;
use crate::ids::{BlockId, Lpn, PlaneId};
use crate::nand::Geometry;
use crate::profile::load;
use std::collections::BTreeSet;

const SCHEMES: [&[(&str, &str)]; 6] = [
    &[("mapping.translation", "block"), ("mapping.translation_options.log_blocks", "2")],
    &[("mapping.translation", "bast"), ("mapping.translation_options.log_blocks", "3")],
    &[("mapping.translation", "fast"), ("mapping.translation_options.log_blocks", "1")],
    &[("mapping.translation", "fast"), ("mapping.translation_options.log_blocks", "3")],
    &[
        ("mapping.translation", "fast"),
        ("mapping.translation_options.log_blocks", "3"),
        ("mapping.translation_options.merge_batch", "2"),
    ],
    &[
        ("mapping.translation", "fast"),
        ("mapping.translation_options.log_blocks", "1"),
        ("mapping.translation_options.merge_batch", "1"),
        ("mapping.translation_options.sequence_blocks", "2"),
    ],
];

/// Four planes of 40 blocks of 16 pages of 4 KiB, of which 15 hold data.
fn config(scheme: &[(&str, &str)], overrides: &[(&str, &str)]) -> DriveConfig {
    let all = [
        ("flash.channels", "2"),
        ("flash.planes", "2"),
        ("flash.blocks", "40"),
        ("flash.pages", "16"),
        ("capacity", "7MiB"),
        ("initial.state", "fresh"),
        ("compat.disksim.pool", "plane"),
    ];
    let all = all.iter().chain(scheme).chain(overrides);
    let all: Vec<(String, String)> = all.map(|(k, v)| (k.to_string(), v.to_string())).collect();
    load("msr-32g", &all).unwrap_or_else(|error| panic!("{error}"))
}

fn mapped(config: &DriveConfig) -> BlockMapped {
    let Scheme::Blocks(stripes, scheme) = scheme_registry::of(config, &Geometry::new(config)) else {
        panic!("'{}' maps no blocks", config.mapping.translation)
    };
    BlockMapped::new(config, stripes, scheme, Seed(1)).unwrap()
}

/// Every table agrees with every other, and each block has exactly one use.
pub(crate) fn check(ftl: &BlockMapped) {
    let (store, g) = (&ftl.store, &ftl.store.geometry);
    let mut valid = vec![0_u32; (g.planes * g.blocks_per_plane) as usize];
    let mut ppns = BTreeSet::new();
    for lpn in (0..g.logical_units).map(Lpn) {
        let Some(ppn) = store.ppn_of(lpn) else { continue };
        assert!(ppns.insert(ppn), "two mapping units are in one place");
        valid[(ppn.0 / g.block_units) as usize] += 1;
        let (spot, block) = (store.spot(lpn), BlockId(ppn.0 / g.block_units % g.blocks_per_plane));
        assert_eq!(ppn.0 / g.block_units / g.blocks_per_plane, spot.plane.0, "{lpn:?} left its plane");
        assert_eq!(store.lpn_at(spot), Some(lpn), "the mapping unit of a place is the one that has it");
        assert!(ppn.0 % g.block_units < store.next(spot.plane, block), "{lpn:?} was not programmed");
        if store.data(spot.plane, spot.erase_unit) == Some(block) {
            assert_eq!(ppn.0 % g.block_units, spot.offset, "{lpn:?} is out of its place in a data block");
        } else {
            assert!(ftl.scheme.logs(store, spot.plane).contains(&block), "{lpn:?} is in no log");
        }
    }
    for plane in (0..g.planes).map(PlaneId) {
        let free = store.planes[plane.index()].free.iter().copied().map(BlockId);
        let data = (0..store.erase_units_per_plane).filter_map(|unit| store.data(plane, unit));
        let mut used: Vec<BlockId> = free.chain(data).chain(ftl.scheme.logs(store, plane)).collect();
        assert_eq!(used.len() as u32, store.planes[plane.index()].good, "blocks of {plane:?}");
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len() as u32, store.planes[plane.index()].good, "a block has two uses");
        for block in used {
            let expected = valid[(plane.0 * g.blocks_per_plane + block.0) as usize];
            let is_free = store.planes[plane.index()].free.contains(&block.0);
            assert!(is_free && expected == 0 || store.valid(plane, block) == expected, "{block:?}");
        }
    }
}

/// Writes at random and in runs, forwards and backwards, with trims; what is written stays, and what is counted is
/// true.
fn exercise(ftl: &mut BlockMapped, writes: u64, model: &mut BTreeSet<u32>, seed: u64) -> u64 {
    let mut random = Seed(seed).source();
    let pages = u64::from(ftl.store.geometry.logical_units);
    let (mut refused, mut due, mut at) = (0, Vec::new(), 0);
    for i in 0..writes {
        at = match random.below(8) {
            0 => random.below(pages),
            1 => at / 8 * 8,
            2 => at.saturating_sub(1),
            3 => at,
            _ => (at + 1) % pages,
        };
        let lpn = Lpn(at as u32);
        if random.chance(0.03) {
            ftl.trim(lpn);
            model.remove(&lpn.0);
            assert_eq!(ftl.plane_of(lpn), None);
        } else {
            let before = ftl.counters();
            let had = ftl.plane_of(lpn);
            match ftl.place(lpn, &mut due) {
                Ok(placed) => {
                    assert_eq!(ftl.plane_of(lpn), Some(placed.plane));
                    assert_eq!(placed.plane, ftl.assign(lpn));
                    model.insert(lpn.0);
                }
                Err(NoRoom) => {
                    refused += 1;
                    assert_eq!(ftl.plane_of(lpn), had, "a mapping unit that is refused stays");
                }
            }
            let after = ftl.counters();
            let sum = |each: fn(&GcWork) -> u32| due.iter().map(|c| u64::from(each(c))).sum::<u64>();
            assert_eq!(after.erases - before.erases, sum(|gc| gc.erases));
            assert_eq!(after.moved_units - before.moved_units, sum(|gc| gc.moves));
            let stripe = |plane| ftl.store.stripe(plane);
            let of_it = |gc: &GcWork| stripe(gc.plane) == stripe(ftl.assign(lpn));
            assert!(due.iter().all(of_it), "other stripes are left alone");
        }
        if random.chance(0.05) && ftl.has_idle_gc() {
            due.clear();
            ftl.collect_idle(PlaneId(random.below(4) as u32), &mut due);
        }
        due.clear();
        if i % 500 == 0 {
            check(ftl);
            let kept = (0..pages as u32).filter(|&lpn| ftl.plane_of(Lpn(lpn)).is_some());
            assert!(kept.eq(model.iter().copied()), "what was written is there, and nothing else");
        }
    }
    refused
}

#[test]
fn every_scheme_keeps_every_page() {
    for scheme in SCHEMES {
        for overrides in [
            &[("mapping.translation_options.stripe", "4")][..],
            &[
                ("mapping.translation_options.stripe", "2"),
                ("mapping.chunk", "12KiB"),
                ("mapping.translation_options.interleave", "true"),
                ("wear.policy", "none"),
            ],
            &[
                ("mapping.translation_options.stripe", "1"),
                ("cleaning.high", "50%"),
                ("mapping.order", "die+plane+channel+package"),
            ],
            &[("cleaning.high", "100%"), ("mapping.unit", "2KiB"), ("mapping.chunk", "2KiB")],
        ] {
            let config = config(scheme, overrides);
            let mut ftl = mapped(&config);
            assert_eq!(exercise(&mut ftl, 8_000, &mut BTreeSet::new(), 3), 0, "{scheme:?} {overrides:?}");
            check(&ftl);
        }
    }
}

#[test]
fn the_fullest_drive_takes_every_write() {
    for scheme in SCHEMES {
        // As many blocks as it takes, and not one more.
        let mut config = config(scheme, &[("capacity", "2MiB")]);
        let geometry = Geometry::new(&config);
        config.flash.blocks =
            scheme_registry::of(&config, &geometry).least_blocks_per_plane(&geometry) as u32;
        let mut ftl = mapped(&config);
        assert!(ftl.fill(&mut crate::ftl::never_stop).is_continue());
        let mut model = (0..ftl.store.geometry.logical_units).collect();
        assert_eq!(exercise(&mut ftl, 8_000, &mut model, 4), 0, "{scheme:?}");
    }
}

#[test]
fn a_worn_out_drive_refuses_writes_and_keeps_what_it_holds() {
    for scheme in SCHEMES {
        for high in ["0%", "100%"] {
            let worn =
                [("flash.endurance", "20"), ("flash.endurance_spread", "30%"), ("cleaning.high", high)];
            let config = config(scheme, &worn);
            let mut ftl = mapped(&config);
            assert!(ftl.fill(&mut crate::ftl::never_stop).is_continue());
            let mut model = (0..ftl.store.geometry.logical_units).collect();
            let refused = exercise(&mut ftl, 60_000, &mut model, 5);
            assert!(refused > 0 && ftl.counters().worn_out_blocks > 0, "{scheme:?}");
            check(&ftl);
        }
    }
}

#[test]
fn every_initial_state_can_be_had() {
    for scheme in SCHEMES {
        for state in ["fresh", "full", "fragmented"] {
            for capacity in ["512B", "40KiB", "7MiB"] {
                let config = config(scheme, &[("capacity", capacity), ("initial.state", state)]);
                let mut ftl = mapped(&config);
                assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::never_stop).is_continue());
                let pages = 0..ftl.store.geometry.logical_units;
                assert!(pages.into_iter().all(|lpn| ftl.plane_of(Lpn(lpn)).is_some() == (state != "fresh")));
                assert_eq!(ftl.counters(), FtlCounters::default());
                check(&ftl);
            }
        }
    }
}

/// What is counted while the rows of a unit of one plane, of 15 pages, are written in this order to a full drive.
fn merges(scheme: &[(&str, &str)], offsets: impl IntoIterator<Item = u32>) -> FtlCounters {
    let config = config(scheme, &[("flash.channels", "1"), ("flash.planes", "1"), ("capacity", "1MiB")]);
    let mut ftl = mapped(&config);
    assert!(ftl.fill(&mut crate::ftl::never_stop).is_continue());
    for lpn in offsets {
        ftl.place(Lpn(lpn), &mut Vec::new()).unwrap();
    }
    check(&ftl);
    ftl.counters()
}

#[test]
fn each_scheme_pays_for_what_it_cannot_take() {
    let [block, bast, _, fast, _, sequences] = SCHEMES;
    let is = |counters: FtlCounters, switches, partial, full, moves, erases| {
        let got = (counters.switch_merges, counters.partial_merges, counters.full_merges);
        assert_eq!(
            (got, counters.moved_units, counters.erases),
            ((switches, partial, full), moves, erases),
            "{counters:?}"
        );
    };
    for scheme in [block, bast, fast] {
        // Two units in sequence: each takes its data block's place at the cost of an erase.
        is(merges(scheme, 0..30), 2, 0, 0, 0, 2);
    }
    // In place: every write but the first has the rest of the unit copied; the page before it as well.
    is(merges(block, [1; 5]), 0, 4, 0, 4 * 13 + 5, 4);
    // A page is left out: the rest is copied, and again what goes before the next.
    is(merges(block, [0, 2]), 0, 1, 0, 14 + 2, 1);
    // The log takes fifteen pages whatever they are, and the sixteenth has it merged with its data block.
    is(merges(bast, [1; 16]), 0, 0, 1, 15, 2);
    is(merges(bast, (0..16).rev()), 0, 0, 0, 0, 0);
    is(merges(bast, (0..15).rev().chain([3])), 0, 0, 1, 15, 2);
    // Four units want three logs: the first was begun in sequence and is completed.
    is(merges(bast, [0, 20, 35, 50]), 0, 1, 0, 14, 1);
    is(merges(bast, [1, 20, 35, 50]), 0, 0, 1, 15, 2);
    // Three shared logs take 45 pages; the oldest then is emptied of four units, whose other pages go along.
    is(merges(fast, (0..45).map(|i| 1 + i % 4 * 15)), 0, 0, 0, 0, 0);
    is(merges(fast, (0..46).map(|i| 1 + i % 4 * 15)), 0, 0, 0, 0, 1);
    is(merges(fast, (1..15).chain(16..30).chain(31..45).chain(46..50)), 0, 0, 2, 30, 3);
    // A unit's first page begins a sequence, which another's ends.
    is(merges(fast, [0, 1, 15]), 0, 1, 0, 13, 1);
    // … unless there is a block for it …
    is(merges(sequences, [0, 1, 15, 2]), 0, 0, 0, 0, 0);
    // … and written again at once it begins none.
    is(merges(fast, [0, 0, 1]), 0, 0, 0, 0, 0);
}

#[test]
fn a_page_costs_the_merge_of_its_whole_unit() {
    let [block, bast, ..] = SCHEMES;
    // Four planes of 15 pages each: a page of each of nine units, wherever it is in the unit.
    let counters = |scheme| {
        let mut ftl = mapped(&config(scheme, &[("mapping.translation_options.stripe", "4")]));
        assert!(ftl.fill(&mut crate::ftl::never_stop).is_continue());
        for unit in 0..9 {
            ftl.place(Lpn(unit * 60 + 7 + unit), &mut Vec::new()).unwrap();
        }
        check(&ftl);
        ftl.counters()
    };
    // Seven replacements have gone to others, and two are begun: the pages before the first written are there.
    let found = counters(block);
    assert_eq!((found.partial_merges, found.erases), (7 * 4, 7 * 4));
    assert_eq!(found.moved_units, 7 * 59 + 14 + 15);
    // Six logs have gone to others.
    let found = counters(bast);
    assert_eq!((found.full_merges, found.moved_units, found.erases), (6 * 4, 6 * 60, 2 * 6 * 4));
}

#[test]
fn merging_a_log_in_steps_costs_the_same_in_all() {
    let most_at_once = |batch: &'static [(&str, &str)]| {
        let [_, _, _, fast, ..] = SCHEMES;
        let scheme: Vec<_> = fast.iter().chain(batch).copied().collect();
        let config =
            config(&scheme, &[("flash.channels", "1"), ("flash.planes", "1"), ("capacity", "1900KiB")]);
        let mut ftl = mapped(&config);
        assert!(ftl.fill(&mut crate::ftl::never_stop).is_continue());
        let (mut most, mut due) = (0, Vec::new());
        let mut random = Seed(2).source();
        let mut free = 0;
        for i in 0..600 {
            ftl.place(Lpn(1 + random.below(31) as u32 * 15), &mut due).unwrap();
            most = most.max(due.iter().filter(|gc| gc.moves > 0).count());
            free = if due.is_empty() && free == i { i + 1 } else { free };
            due.clear();
        }
        (most, free, ftl.counters().full_merges)
    };
    let (whole, bits) =
        (most_at_once(&[]), most_at_once(&[("mapping.translation_options.merge_batch", "2")]));
    assert!(whole.0 >= 6 && bits.0 == 2, "{whole:?} {bits:?}");
    // Nothing costs before the log is full, or has as much room left as its oldest block needs.
    assert!(whole.1 == 45 && (29..=45).contains(&bits.1), "{whole:?} {bits:?}");
    assert!((0.7..1.5).contains(&(bits.2 as f64 / whole.2 as f64)), "{whole:?} {bits:?}");
}
