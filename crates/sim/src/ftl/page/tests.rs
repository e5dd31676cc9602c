//! The translation layer against its own laws, and the prepared state against the one that is reached by writing.

use super::*;
use crate::config::{InitialState, load};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn config(overrides: &[(&str, &str)]) -> DriveConfig {
    of_profile("msr-32g", overrides)
}

/// A small drive like one of the profiles.
fn of_profile(profile: &str, overrides: &[(&str, &str)]) -> DriveConfig {
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

/// Every table agrees with every other.
pub(crate) fn check(ftl: &PageMapped) {
    let g = &ftl.geometry;
    let mut valid = vec![0_u16; ftl.blocks.valid.len()];
    for (page, &entry) in ftl.map.iter().enumerate() {
        if entry != 0 {
            assert_eq!(
                ftl.reverse.get(entry - 1, ftl.per_plane.of(entry - 1)),
                page as u32 + 1,
                "page {page} and its place disagree"
            );
            valid[((entry - 1) / g.pages) as usize] += 1;
        }
    }
    let mapped = ftl.map.iter().filter(|&&entry| entry != 0).count();
    assert_eq!(mapped, ftl.reverse.valid());
    for (block, &count) in valid.iter().enumerate() {
        assert_eq!(
            ftl.blocks.valid[block] & !flashlane_policy::cleaning::View::NOT_CLOSED,
            count,
            "block {block}"
        );
    }
    for (plane, state) in ftl.planes.iter().enumerate() {
        let blocks = plane * g.blocks as usize..(plane + 1) * g.blocks as usize;
        assert_eq!(state.valid_pages, valid[blocks].iter().map(|&v| u32::from(v)).sum::<u32>());
        assert_eq!(ftl.free_pages[plane], state.free_pages(g), "plane {plane}");
        let mut free: Vec<u32> = state.free.iter().copied().collect();
        free.sort_unstable();
        free.dedup();
        assert_eq!(free.len(), state.free.len(), "a block is free twice");
        let is_victim = |block: &u32| ftl.is_victim(plane as u32, *block);
        assert!(!free.iter().any(is_victim), "a block is free and being cleaned");
        assert!(!state.open.iter().any(|open| is_victim(&open.block)), "a block is open and being cleaned");
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
                    let mut ftl = PageMapped::new(&config, Seed(1));
                    let mut random = Seed(5).source();
                    let mut cleaned = Vec::new();
                    let pages = u64::from(ftl.geometry.logical_pages);
                    (0..pages as u32).for_each(|page| {
                        ftl.place(page, &mut cleaned).unwrap();
                    });
                    for _ in 0..20_000 {
                        // Half of the writes go to a tenth of the pages.
                        let range = if random.chance(0.5) { pages / 10 } else { pages };
                        let page = random.below(range) as u32;
                        if random.chance(0.02) {
                            ftl.trim(page);
                            assert_eq!(ftl.plane_of(page), None);
                        } else {
                            let plane = ftl.place(page, &mut cleaned).unwrap();
                            assert_eq!(ftl.plane_of(page), Some(plane.plane.0));
                        }
                    }
                    check(&ftl);
                    let counters = ftl.counters();
                    assert_eq!(counters.erases as usize, cleaned.len());
                    assert_eq!(counters.moved_pages, cleaned.iter().map(|c| u64::from(c.moves)).sum::<u64>());
                }
            }
        }
    }
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
        let mut ftl = PageMapped::new(&of_profile("ssd-m", &settings), Seed(1));
        let (mut random, mut cleaned) = (Seed(5).source(), Vec::new());
        let pages = ftl.geometry.logical_pages;
        let all = (0..pages).chain((0..100_000).map(|_| random.below(u64::from(pages)) as u32));
        let (mut placed, mut moves) = ([0_u32; 12], 0);
        for page in all {
            let place = ftl.place(page, &mut cleaned).unwrap();
            assert_eq!(ftl.plane_of(page), Some(place.plane.0));
            placed[place.plane.index()] += 1;
            if let Some(parity) = place.parity {
                placed[parity.index()] += 1;
                assert_ne!(parity.0 / 2, place.plane.0 / 2, "a row has its pages on different channels");
            }
            moves += cleaned.drain(..).map(|clean| u64::from(clean.moves * clean.planes)).sum::<u64>();
        }
        check(&ftl);
        let FtlCounters { host_pages, moved_pages, parity_pages, erases, .. } = ftl.counters();
        assert!(moved_pages > host_pages / 4 && erases > 0, "there was enough to clean");
        let rows = (host_pages + moved_pages) / 2;
        match parity {
            // Rows that are not complete: of the host's and the moved pages, in each of two groups with two planes.
            Some(_) => assert!((rows - 8..=rows).contains(&parity_pages), "{parity_pages} of {rows}"),
            None => assert_eq!(parity_pages, 0),
        }
        // What the dies are given to do is what was moved, but for planes that had less to do than those beside them.
        let written = moved_pages + if parity.is_some() { moved_pages / 2 } else { 0 };
        assert!((written - 4..=written * 11 / 10).contains(&moves), "{moves} for {written}");
        let (least, most) = (placed.iter().min().unwrap(), placed.iter().max().unwrap());
        assert!(most - least <= most / 10, "no plane has more than its share: {placed:?}");
    }
}

#[test]
fn wear_leveling_narrows_the_spread_of_erases() {
    let spread = |policy: &str| {
        let config = config(&[("wear.policy", policy), ("cleaning.separate", "true")]);
        let mut ftl = PageMapped::new(&config, Seed(1));
        let mut cleaned = Vec::new();
        let pages = ftl.geometry.logical_pages;
        (0..pages).for_each(|page| {
            ftl.place(page, &mut cleaned).unwrap();
        });
        // Nine tenths of the pages never change.
        let mut random = Seed(5).source();
        for _ in 0..600_000 {
            ftl.place(random.below(u64::from(pages) / 10) as u32, &mut cleaned).unwrap();
            cleaned.clear();
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
    let mut ftl = PageMapped::new(&config, Seed(1));
    let mut cleaned = Vec::new();
    let mut random = Seed(5).source();
    let pages = ftl.geometry.logical_pages;
    (0..pages).for_each(|page| {
        ftl.place(page, &mut cleaned).unwrap();
    });
    let mut refused = 0;
    for _ in 0..400_000 {
        refused += u32::from(ftl.place(random.below(u64::from(pages)) as u32, &mut cleaned).is_err());
    }
    assert!(refused > 0 && ftl.counters().worn_out_blocks > 0);
    assert!((0..pages).all(|page| ftl.plane_of(page).is_some()));
    check(&ftl);
}

#[test]
fn the_fragmented_state_is_the_one_that_overwriting_leads_to() {
    for (mapping, policy) in [("lba", "greedy"), ("write-order", "greedy"), ("lba", "cost-benefit")] {
        let mut config = config(&[
            ("mapping.policy", mapping),
            ("cleaning.policy", policy),
            ("flash.blocks", "256"),
            ("capacity", "50MiB"),
        ]);
        let amplification = |ftl: &mut PageMapped, writes: u64| {
            let mut random = Seed(8).source();
            let mut cleaned = Vec::new();
            let before = ftl.counters();
            for _ in 0..writes {
                ftl.place(random.below(u64::from(ftl.geometry.logical_pages)) as u32, &mut cleaned).unwrap();
                cleaned.clear();
            }
            (ftl.counters().moved_pages - before.moved_pages) as f64 / writes as f64
        };
        config.initial.state = InitialState::Full;
        let mut written = PageMapped::new(&config, Seed(1));
        assert!(written.prepare(&config, Seed(1), &mut crate::ftl::unwatched).is_continue());
        let pages = u64::from(written.geometry.logical_pages);
        amplification(&mut written, pages * 8);
        let steady = amplification(&mut written, pages);
        config.initial.state = InitialState::Fragmented;
        let mut prepared = PageMapped::new(&config, Seed(1));
        assert!(prepared.prepare(&config, Seed(1), &mut crate::ftl::unwatched).is_continue());
        check(&prepared);
        let at_once = amplification(&mut prepared, pages);
        assert!(
            (at_once / steady - 1.0).abs() < 0.05,
            "{mapping} {policy}: moved {at_once} a write, steady {steady}"
        );
    }
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
        let mut ftl = PageMapped::new(&config, Seed(1));
        assert_eq!(Scheme::Pages.least_blocks_per_plane(&ftl.geometry), u64::from(ftl.geometry.blocks));
        let pages = ftl.geometry.logical_pages;
        let (mut cleaned, mut random) = (Vec::new(), Seed(5).source());
        (0..pages).for_each(|page| {
            ftl.place(page, &mut cleaned).unwrap();
        });
        for _ in 0..5_000 {
            ftl.place(random.below(u64::from(pages)) as u32, &mut cleaned).unwrap();
        }
        check(&ftl);
    }
}

#[test]
fn the_smallest_drives_can_be_prepared() {
    for state in ["full", "fragmented"] {
        for capacity in ["512B", "4KiB", "40KiB"] {
            let config = config(&[("capacity", capacity), ("initial.state", state)]);
            let mut ftl = PageMapped::new(&config, Seed(1));
            assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::unwatched).is_continue());
            assert!((0..ftl.geometry.logical_pages).all(|page| ftl.plane_of(page).is_some()));
            check(&ftl);
        }
    }
}

#[test]
fn a_pool_gives_a_page_to_its_roomiest_plane() {
    let config = config(&[("compat.disksim.pool", "package"), ("flash.planes", "4"), ("capacity", "24MiB")]);
    let mut ftl = PageMapped::new(&config, Seed(1));
    let mut cleaned = Vec::new();
    // Planes as free as each other take turns, and no page leaves its package.
    let planes: Vec<u32> = (0..8).map(|_| ftl.place(0, &mut cleaned).unwrap().plane.0).collect();
    assert_eq!(planes, [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(ftl.place(1, &mut cleaned).unwrap().plane.0, 4);
    // A plane that has lost pages to another is left out until they are even.
    ftl.place_on(0, 0, &mut cleaned).unwrap();
    let planes: Vec<u32> = (0..3).map(|_| ftl.place(0, &mut cleaned).unwrap().plane.0).collect();
    assert_eq!(planes, [1, 2, 3]);
    let mut random = Seed(5).source();
    let pages = ftl.geometry.logical_pages;
    for page in 0..pages {
        ftl.place(page, &mut cleaned).unwrap();
    }
    for _ in 0..200_000 {
        let page = random.below(u64::from(pages)) as u32;
        let plane = ftl.place(page, &mut cleaned).unwrap().plane.0;
        assert_eq!(plane / 4, page % 2, "the package of page {page}");
    }
    check(&ftl);
    let valid: Vec<u32> = ftl.planes.iter().map(|plane| plane.valid_pages).collect();
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
fn a_long_run_asks_for_as_many_planes_as_it_has_pages_however_often_it_is_cleaned() {
    let config = config(&[("capacity", "13MiB"), ("initial.state", "full")]);
    let mut ftl = PageMapped::new(&config, Seed(1));
    assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::unwatched).is_continue());
    let asked = Arc::new(AtomicU64::new(0));
    let array = ftl.geometry.array(&config.mapping.order, Seed(1));
    let allocation =
        flashlane_policy::allocation::FAMILY.build("striped", &array, &Default::default()).unwrap();
    ftl.allocation = Box::new(Counted { allocation, asked: asked.clone() });
    let pages = ftl.geometry.logical_pages;
    let (mut placed, mut cleaned, mut runs) = (Vec::new(), Vec::new(), 0);
    let mut page = 0;
    while page < pages {
        ftl.place_run(page..pages, &mut placed, &mut cleaned).unwrap();
        page += placed.len() as u32;
        runs += u64::from(!cleaned.is_empty());
        placed.clear();
        cleaned.clear();
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
        settings.push(("capacity", &capacity));
        let config = of_profile("ssd-s", &settings);
        let mut ftl = PageMapped::new(&config, Seed(seed));
        assert!(ftl.prepare(&config, Seed(seed), &mut crate::ftl::unwatched).is_continue());
        let mut cleaned = Vec::new();
        let all = u64::from(ftl.geometry.logical_pages);
        for write in 0..(all * 20).min(20_000) {
            let page = random.below(if write % 3 == 0 { all.div_ceil(10) } else { all }) as u32;
            if random.chance(0.02) {
                ftl.trim(page);
            } else {
                ftl.place(page, &mut cleaned)
                    .unwrap_or_else(|_| panic!("no room for write {write} of {settings:?}"));
            }
            cleaned.clear();
        }
        check(&ftl);
    }
}

#[test]
fn paced_cleaning_amplifies_writes_no_more_than_cleaning_at_a_mark() {
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
        let mut ftl = PageMapped::new(&config, Seed(1));
        let (mut random, mut cleaned) = (Seed(5).source(), Vec::new());
        let pages = ftl.geometry.logical_pages;
        for page in 0..pages {
            ftl.place(page, &mut cleaned).unwrap();
        }
        let before = (0..6 * pages).fold(ftl.counters(), |before, write| {
            ftl.place(random.below(u64::from(pages)) as u32, &mut cleaned).unwrap();
            cleaned.clear();
            if write == 4 * pages { ftl.counters() } else { before }
        });
        let after = ftl.counters();
        1.0 + (after.moved_pages - before.moved_pages) as f64 / (after.host_pages - before.host_pages) as f64
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
    let mut ftl = PageMapped::new(&config, Seed(1));
    assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::unwatched).is_continue());
    let (mut random, mut cleaned, mut erases) = (Seed(5).source(), Vec::new(), 0);
    let pages = u64::from(ftl.geometry.logical_pages);
    for _ in 0..20 * pages {
        ftl.place(random.below(pages) as u32, &mut cleaned).unwrap();
        for clean in cleaned.drain(..) {
            assert!(clean.step && !clean.first && clean.moves <= 4, "{clean:?}");
            assert_eq!(clean.moves == 0, clean.erases == 1, "{clean:?}");
            erases += clean.erases;
        }
    }
    assert!(erases > 100);
    check(&ftl);
}
