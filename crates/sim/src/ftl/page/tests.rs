//! The translation layer against its own laws. (`initial::tests` has those of prepared states.)

mod initial;

use super::*;
use crate::ids::BlockId;
use crate::profile::load;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn config(overrides: &[(&str, &str)]) -> DriveConfig {
    of_profile("msr-32g", overrides)
}

/// A small drive like one of the profiles.
pub(crate) fn of_profile(profile: &str, overrides: &[(&str, &str)]) -> DriveConfig {
    let mut all = vec![
        ("flash.channels", "2"),
        ("flash.planes", "2"),
        ("flash.blocks", "64"),
        ("flash.pages", "16"),
        ("flash.packages", "1"),
        ("capacity", "12MiB"),
        ("initial.state", "fresh"),
        ("compat.disksim.pool", "plane"),
    ];
    all.extend_from_slice(overrides);
    let all: Vec<(String, String)> = all.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    load(profile, &all).unwrap()
}

/// The mapping units on every block, with their places: as entered, and as the layout has them for blocks that GC did
/// not choose yet.
fn units_on_flash(ftl: &PageMapped) -> Vec<(Ppn, Lpn)> {
    let mut units = Vec::new();
    for block in 0..ftl.blocks.count() as u32 {
        let plane = PlaneId(block / ftl.geometry.blocks_per_plane);
        let places = block * ftl.geometry.block_units..(block + 1) * ftl.geometry.block_units;
        units.extend(places.map(Ppn).filter_map(|ppn| Some((ppn, ftl.reverse.get(ppn, plane)?))));
        let Some(layout) = &ftl.layout else { continue };
        let prepared =
            layout.filled.units_of(plane, block).map(|(index, ppn)| (ppn, layout.lpn_of(plane, index)));
        units.extend(prepared.filter(|&(ppn, _)| ftl.reverse.is_untouched(ppn, plane)));
    }
    units
}

/// The mapping units that are written, with their places.
fn mapped_units(ftl: &PageMapped) -> Vec<(Ppn, Lpn)> {
    (0..ftl.map.units()).map(Lpn).filter_map(|lpn| Some((ftl.place_of(lpn)?, lpn))).collect()
}

/// Every table agrees with every other.
pub(crate) fn check(ftl: &PageMapped) {
    let g = &ftl.geometry;
    let mut valid = vec![0_u32; ftl.blocks.count()];
    let (mut mapped, mut on_flash) = (mapped_units(ftl), units_on_flash(ftl));
    mapped.sort_unstable();
    on_flash.sort_unstable();
    assert_eq!(mapped, on_flash, "a unit and its place disagree");
    for (ppn, _) in mapped {
        valid[ftl.block_index(ppn)] += 1;
    }
    for (block, &count) in valid.iter().enumerate() {
        assert_eq!(ftl.blocks.valid_units(block), count, "block {block}");
    }
    for (plane, state) in ftl.planes.iter().enumerate() {
        let blocks = plane * g.blocks_per_plane as usize..(plane + 1) * g.blocks_per_plane as usize;
        assert_eq!(state.valid_units, valid[blocks].iter().sum::<u32>());
        assert_eq!(ftl.free_units[plane], state.free_units(g), "plane {plane}");
        let mut free: Vec<u32> = state.free.iter().copied().collect();
        free.sort_unstable();
        free.dedup();
        assert_eq!(free.len(), state.free.len(), "a block is free twice");
        let is_victim = |block: BlockId| ftl.is_victim(PlaneId(plane as u32), block);
        assert!(!free.iter().copied().map(BlockId).any(is_victim), "a block is free and being cleaned");
        assert!(!state.open.iter().any(|open| is_victim(open.block)), "a block is open and being cleaned");
        for block in ftl.parked_blocks(plane) {
            assert!(!free.contains(&block.0) && !is_victim(block), "a parked block is free or being cleaned");
            let number = ftl.index_of(PlaneId(plane as u32), block);
            assert!(!ftl.blocks.is_closed(number), "it is open");
        }
    }
}

#[test]
fn every_policy_keeps_every_page_through_long_overwriting() {
    for mapping in ["lba", "write-order"] {
        for cleaning in ["greedy", "cost-benefit", "d-choice"] {
            for wear in ["none", "dynamic", "static"] {
                for separate in ["false", "true"] {
                    let config = config(&[
                        ("mapping.policy", mapping),
                        ("cleaning.policy", cleaning),
                        ("wear.policy", wear),
                        ("cleaning.separate", separate),
                    ]);
                    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
                    let mut random = Seed(5).source();
                    let mut due = Vec::new();
                    let pages = u64::from(ftl.geometry.logical_units);
                    (0..pages as u32).for_each(|lpn| {
                        ftl.place(Lpn(lpn), &mut due).unwrap();
                    });
                    for _ in 0..20_000 {
                        // Half of the writes go to a tenth of the pages.
                        let range = if random.chance(0.5) { pages / 10 } else { pages };
                        let lpn = random.below(range) as u32;
                        if random.chance(0.02) {
                            ftl.trim(Lpn(lpn));
                            assert_eq!(ftl.plane_of(Lpn(lpn)), None);
                        } else {
                            let plane = ftl.place(Lpn(lpn), &mut due).unwrap();
                            assert_eq!(ftl.plane_of(Lpn(lpn)), Some(plane.plane));
                        }
                    }
                    check(&ftl);
                    let counters = ftl.counters();
                    assert_eq!(counters.erases as usize, due.len());
                    assert_eq!(counters.moved_units, due.iter().map(|c| u64::from(c.moves)).sum::<u64>());
                }
            }
        }
    }
}

/// Erased units of all planes; those that GC has collected of victims count as erased.
fn erased_units(ftl: &PageMapped) -> u64 {
    let passed = |plane: usize| {
        let pacer = ftl.pacer.as_ref()?;
        Some(u64::from(pacer.planes[plane].victim?.collected))
    };
    let of_plane = |(plane, state): (usize, &PlaneState)| {
        let open: u32 = state.open.iter().map(|open| ftl.geometry.data_units - open.written).sum();
        u64::from(state.free.len() as u32 * ftl.geometry.data_units + open) + passed(plane).unwrap_or(0)
    };
    ftl.planes.iter().enumerate().map(of_plane).sum()
}

#[test]
fn erased_space_is_what_gc_collected_less_what_was_programmed() {
    for (pacing, parity) in
        [("watermark", false), ("proportional", false), ("fixed", false), ("watermark", true)]
    {
        let mut settings =
            vec![("cleaning.pacing", pacing), ("cleaning.defer", "no"), ("flash.page", "4KiB")];
        if parity {
            settings.extend([
                ("flash.channels", "6"),
                ("mapping.chunk", "4KiB"),
                ("mapping.parity", "2"),
                ("capacity", "24MiB"),
            ]);
        }
        let mut ftl = PageMapped::new(&of_profile("ssd-m", &settings), Seed(1)).unwrap();
        let (mut random, mut due) = (Seed(5).source(), Vec::new());
        let before = erased_units(&ftl);
        for _ in 0..5 * ftl.geometry.logical_units {
            ftl.place(Lpn(random.below(u64::from(ftl.geometry.logical_units)) as u32), &mut due).unwrap();
            due.clear();
        }
        let counters = ftl.counters();
        let taken = counters.programmed_units() - counters.parity_units;
        assert!(counters.moved_units > 0, "{pacing}: GC ran");
        assert_eq!(
            erased_units(&ftl) + taken,
            before + counters.collected_units,
            "{pacing}, parity {parity}"
        );
    }
}

#[test]
fn released_replica_ends_with_its_block() {
    let config = config(&[
        ("replication.policy", "lru"),
        ("replication.copies", "2"),
        ("cleaning.defer", "no"),
        ("capacity", "9MiB"),
    ]);
    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
    let (mut random, mut due) = (Seed(5).source(), Vec::new());
    let units = ftl.geometry.logical_units;
    for lpn in 0..units {
        ftl.place(Lpn(lpn), &mut due).unwrap();
    }
    let copies = [Lpn(units), Lpn(units + 1)];
    for copy in copies {
        ftl.place_on(PlaneId(0), copy, &mut due).unwrap();
    }
    let released = ftl.release(copies[0]);
    assert_eq!(ftl.plane_of(copies[0]), None);
    let mut writes = 0;
    while ftl.holds(released) {
        ftl.place(Lpn(random.below(units.into()) as u32), &mut due).unwrap();
        writes += 1;
        assert!(writes < 100_000, "GC never takes the block of a released replica");
    }
    check(&ftl);
    assert_eq!(ftl.plane_of(copies[1]), Some(PlaneId(0)), "the other replica was moved");
}

#[test]
fn superblocks_keep_every_page_and_every_row_has_its_parity() {
    for (parity, multi_plane, unit) in
        [(Some("2"), "false", "4KiB"), (Some("2"), "true", "4KiB"), (None, "true", "2KiB")]
    {
        let mut settings = vec![
            ("flash.channels", "6"),
            ("flash.page", "4KiB"),
            ("flash.multi_plane", "true"),
            ("mapping.chunk", "4KiB"),
            ("mapping.unit", unit),
            ("cleaning.multi_plane", multi_plane),
            ("cleaning.separate", "true"),
            ("capacity", if parity.is_some() { "24MiB" } else { "36MiB" }),
        ];
        settings.extend(parity.map(|parity| ("mapping.parity", parity)));
        let mut ftl = PageMapped::new(&of_profile("ssd-m", &settings), Seed(1)).unwrap();
        let (mut random, mut due) = (Seed(5).source(), Vec::new());
        let pages = ftl.geometry.logical_units;
        let all = (0..pages).chain((0..100_000).map(|_| random.below(u64::from(pages)) as u32));
        let (mut placed, mut moves) = ([0_u32; 12], 0);
        for lpn in all {
            let place = ftl.place(Lpn(lpn), &mut due).unwrap();
            assert_eq!(ftl.plane_of(Lpn(lpn)), Some(place.plane));
            placed[place.plane.index()] += 1;
            if let Some(parity) = place.parity {
                placed[parity.index()] += 1;
                assert_ne!(parity.0 / 2, place.plane.0 / 2, "a row has its pages on different channels");
            }
            moves += due.drain(..).map(|gc| u64::from(gc.moves * gc.planes)).sum::<u64>();
        }
        check(&ftl);
        let FtlCounters { host_units, moved_units, parity_units, erases, .. } = ftl.counters();
        assert!(moved_units > host_units / 4 && erases > 0, "there was enough to clean");
        let rows = (host_units + moved_units) / 2;
        match parity {
            // Rows that are not complete: of the host's and the moved pages, in each of two groups with two planes.
            Some(_) => assert!((rows - 8..=rows).contains(&parity_units), "{parity_units} of {rows}"),
            None => assert_eq!(parity_units, 0),
        }
        // What the dies are given to do is what was moved, but for planes that had less to do than those beside them.
        let written = moved_units + if parity.is_some() { moved_units / 2 } else { 0 };
        assert!((written - 4..=written * 11 / 10).contains(&moves), "{moves} for {written}");
        let (least, most) = (placed.iter().min().unwrap(), placed.iter().max().unwrap());
        assert!(most - least <= most / 10, "no plane has more than its share: {placed:?}");
    }
}

#[test]
fn wear_leveling_narrows_the_spread_of_erases() {
    let spread = |policy: &str| {
        let config = config(&[("wear.policy", policy), ("cleaning.separate", "true")]);
        let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
        let mut due = Vec::new();
        let pages = ftl.geometry.logical_units;
        (0..pages).for_each(|lpn| {
            ftl.place(Lpn(lpn), &mut due).unwrap();
        });
        // Nine tenths of the pages never change.
        let mut random = Seed(5).source();
        for _ in 0..600_000 {
            ftl.place(Lpn(random.below(u64::from(pages) / 10) as u32), &mut due).unwrap();
            due.clear();
        }
        let (least, _, most) = ftl.wear_spread();
        most - least
    };
    let (none, static_) = (spread("none"), spread("static"));
    assert!(static_ * 2 < none && static_ < 200, "none {none}, static {static_}");
}

#[test]
fn a_worn_out_drive_refuses_writes_and_keeps_what_it_holds() {
    let config = config(&[("flash.endurance", "20"), ("flash.endurance_spread", "20%")]);
    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
    let mut due = Vec::new();
    let mut random = Seed(5).source();
    let pages = ftl.geometry.logical_units;
    (0..pages).for_each(|lpn| {
        ftl.place(Lpn(lpn), &mut due).unwrap();
    });
    let mut refused = 0;
    for _ in 0..400_000 {
        refused += u32::from(ftl.place(Lpn(random.below(u64::from(pages)) as u32), &mut due).is_err());
    }
    assert!(refused > 0 && ftl.counters().worn_out_blocks > 0);
    assert!((0..pages).all(|lpn| ftl.plane_of(Lpn(lpn)).is_some()));
    check(&ftl);
}

#[test]
fn a_drive_that_holds_all_it_can_takes_every_overwrite() {
    // As many pages as fit beside the free and open blocks, so that every plane is full to the last page.
    for allocation in ["striped", "random"] {
        let config = config(&[
            ("flash.blocks", "8"),
            ("capacity", "1200KiB"),
            ("mapping.allocation", allocation),
            ("mapping.policy", "write-order"),
        ]);
        let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
        assert_eq!(
            Scheme::Pages.least_blocks_per_plane(&ftl.geometry),
            u64::from(ftl.geometry.blocks_per_plane)
        );
        let pages = ftl.geometry.logical_units;
        let (mut due, mut random) = (Vec::new(), Seed(5).source());
        (0..pages).for_each(|lpn| {
            ftl.place(Lpn(lpn), &mut due).unwrap();
        });
        for _ in 0..5_000 {
            ftl.place(Lpn(random.below(u64::from(pages)) as u32), &mut due).unwrap();
        }
        check(&ftl);
    }
}

#[test]
fn a_pool_gives_a_page_to_its_roomiest_plane() {
    let config = config(&[("compat.disksim.pool", "package"), ("flash.planes", "4"), ("capacity", "24MiB")]);
    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
    let mut due = Vec::new();
    // Planes as free as each other take turns, and no page leaves its package.
    let planes: Vec<u32> = (0..8).map(|_| ftl.place(Lpn(0), &mut due).unwrap().plane.0).collect();
    assert_eq!(planes, [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(ftl.place(Lpn(1), &mut due).unwrap().plane.0, 4);
    // A plane that has lost pages to another is left out until they are even.
    ftl.place_on(PlaneId(0), Lpn(0), &mut due).unwrap();
    let planes: Vec<u32> = (0..3).map(|_| ftl.place(Lpn(0), &mut due).unwrap().plane.0).collect();
    assert_eq!(planes, [1, 2, 3]);
    let mut random = Seed(5).source();
    let pages = ftl.geometry.logical_units;
    for lpn in 0..pages {
        ftl.place(Lpn(lpn), &mut due).unwrap();
    }
    for _ in 0..200_000 {
        let lpn = random.below(u64::from(pages)) as u32;
        let plane = ftl.place(Lpn(lpn), &mut due).unwrap().plane.0;
        assert_eq!(plane / 4, lpn % 2, "the package of page {lpn}");
    }
    check(&ftl);
    let valid: Vec<u32> = ftl.planes.iter().map(|plane| plane.valid_units).collect();
    let (least, most) = (valid.iter().min().unwrap(), valid.iter().max().unwrap());
    assert!(most - least < pages / 8 / 4, "planes of a pool stay about as full: {valid:?}");
}

/// An allocation that counts how many chunks it was asked for.
struct Counted {
    allocation: Box<dyn Allocation>,
    asked: Arc<AtomicU64>,
}

impl Allocation for Counted {
    fn plane(&self, chunk: u64) -> u32 {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.allocation.plane(chunk)
    }
}

#[test]
fn long_run_requests_one_plane_per_page_despite_gc() {
    let config = config(&[("capacity", "13MiB"), ("initial.state", "full")]);
    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
    assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::never_stop).is_continue());
    let asked = Arc::new(AtomicU64::new(0));
    let array = ftl.geometry.array(&config.mapping.order, Seed(1));
    let allocation =
        flashlane_policy::allocation::FAMILY.build("striped", &array, &Default::default()).unwrap();
    ftl.allocation = Box::new(Counted { allocation, asked: asked.clone() });
    let pages = ftl.geometry.logical_units;
    let (mut placed, mut due, mut runs) = (Vec::new(), Vec::new(), 0);
    let mut lpn = 0;
    while lpn < pages {
        ftl.place_run(lpn..pages, &mut placed, &mut due).unwrap();
        lpn += placed.len() as u32;
        runs += u64::from(!due.is_empty());
        placed.clear();
        due.clear();
    }
    assert!(runs > 50, "it was cleaned {runs} times");
    let most = u64::from(pages) + (runs + 1) * u64::from(run::MOST);
    assert!(asked.load(Ordering::Relaxed) <= most, "{asked:?} of {most}");
}

#[test]
fn paced_cleaning_never_runs_out_of_room() {
    for seed in 0..200 {
        let mut random = Seed(seed).derive("paced").source();
        let mut draw = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
        let (blocks, pages) = (draw(&["4", "5", "9", "40"]), draw(&["1", "2", "7", "64"]));
        let mut settings = vec![
            ("cleaning.pacing", draw(&["proportional", "fixed"])),
            ("mapping.policy", draw(&["lba", "write-order"])),
            ("cleaning.policy", draw(&["greedy", "cost-benefit", "d-choice"])),
            ("cleaning.separate", draw(&["true", "false"])),
            ("cleaning.low", draw(&["0%", "0%", "20%"])),
            ("wear.policy", draw(&["none", "static"])),
            ("initial.state", draw(&["fresh", "full", "fragmented"])),
            ("flash.blocks", blocks),
            ("flash.pages", pages),
            ("compat.disksim.summary_pages", "0"),
            ("cleaning.defer", "no"),
        ];
        // As much data as can be held: the least number of spare blocks.
        let low = if settings[4].1 == "20%" { blocks.parse::<u64>().unwrap() / 5 } else { 0 }.max(1);
        let data = (blocks.parse::<u64>().unwrap() - low - 2) * pages.parse::<u64>().unwrap();
        let capacity = format!("{}B", data * 4 * 4096);
        settings.extend([("capacity", capacity.as_str()), ("buffer.policy", "none")]);
        let config = of_profile("ssd-s", &settings);
        let mut ftl = PageMapped::new(&config, Seed(seed)).unwrap();
        assert!(ftl.prepare(&config, Seed(seed), &mut crate::ftl::never_stop).is_continue());
        let mut due = Vec::new();
        let all = u64::from(ftl.geometry.logical_units);
        for write in 0..(all * 20).min(20_000) {
            let lpn = random.below(if write % 3 == 0 { all.div_ceil(10) } else { all }) as u32;
            if random.chance(0.02) {
                ftl.trim(Lpn(lpn));
            } else {
                ftl.place(Lpn(lpn), &mut due)
                    .unwrap_or_else(|_| panic!("no room for write {write} of {settings:?}"));
            }
            due.clear();
        }
        check(&ftl);
    }
}

#[test]
fn paced_gc_amplifies_writes_no_more_than_watermark_gc() {
    let amplification = |pacing, separate| {
        let config = config(&[
            ("cleaning.pacing", pacing),
            ("cleaning.defer", "no"),
            ("cleaning.separate", separate),
            ("cleaning.low", "2%"),
            ("flash.blocks", "512"),
            ("flash.pages", "64"),
            ("capacity", "460MiB"),
        ]);
        let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
        let (mut random, mut due) = (Seed(5).source(), Vec::new());
        let pages = ftl.geometry.logical_units;
        for lpn in 0..pages {
            ftl.place(Lpn(lpn), &mut due).unwrap();
        }
        let before = (0..6 * pages).fold(ftl.counters(), |before, write| {
            ftl.place(Lpn(random.below(u64::from(pages)) as u32), &mut due).unwrap();
            due.clear();
            if write == 4 * pages { ftl.counters() } else { before }
        });
        let after = ftl.counters();
        1.0 + (after.moved_units - before.moved_units) as f64 / (after.host_units - before.host_units) as f64
    };
    for separate in ["true", "false"] {
        let (whole, paced) = (amplification("watermark", separate), amplification("proportional", separate));
        assert!(paced < whole * 1.01, "separate {separate}: {paced} instead of {whole}");
        assert!(whole > 3.0, "{whole}");
    }
}

#[test]
fn victim_is_cleaned_in_steps_of_whole_flash_pages() {
    let config =
        of_profile("nvme-tlc", &[("capacity", "20MiB"), ("flash.page", "16KiB"), ("initial.state", "full")]);
    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
    assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::never_stop).is_continue());
    let (mut random, mut due, mut erases) = (Seed(5).source(), Vec::new(), 0);
    let pages = u64::from(ftl.geometry.logical_units);
    for _ in 0..20 * pages {
        ftl.place(Lpn(random.below(pages) as u32), &mut due).unwrap();
        for gc in due.drain(..) {
            assert!(gc.is_paced_step && !gc.precedes_write && gc.moves <= 4, "{gc:?}");
            assert_eq!(gc.moves == 0, gc.erases == 1, "{gc:?}");
            erases += gc.erases;
        }
    }
    assert!(erases > 100);
    check(&ftl);
}

#[test]
fn gc_reads_each_flash_page_once() {
    for (unit, policy) in [("1KiB", "greedy"), ("2KiB", "cost-benefit"), ("4KiB", "greedy")] {
        let config = config(&[("mapping.unit", unit), ("cleaning.policy", policy)]);
        let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
        let units = ftl.geometry.logical_units;
        let places = |ftl: &PageMapped| (0..units).map(|lpn| ftl.place_of(Lpn(lpn))).collect::<Vec<_>>();
        let (mut random, mut due, mut before) = (Seed(5).source(), Vec::new(), places(&ftl));
        let (mut pages_read, mut moves) = (0, 0);
        for lpn in (0..units).chain((0..20_000).map(|_| random.below(u64::from(units)) as u32)) {
            ftl.place(Lpn(lpn), &mut due).unwrap();
            before[lpn as usize] = ftl.place_of(Lpn(lpn));
            if due.is_empty() {
                continue;
            }
            let after = places(&ftl);
            let moved =
                before.iter().zip(&after).filter(|(from, to)| from != to).filter_map(|(from, _)| *from);
            let pages: std::collections::BTreeSet<u32> =
                moved.map(|ppn| ppn.0 / ftl.geometry.units_per_page).collect();
            assert_eq!(due.iter().map(|gc| gc.pages_read).sum::<u32>(), pages.len() as u32, "{unit}");
            pages_read += pages.len() as u32;
            moves += due.drain(..).map(|gc| gc.moves).sum::<u32>();
            before = after;
        }
        assert_eq!(pages_read < moves, unit != "4KiB", "{pages_read} pages for {moves} units of {unit}");
        assert!(moves > 1000, "{moves} units were moved");
    }
}
