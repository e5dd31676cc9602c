//! The SLC cache against its laws. (`drive::tests::slc` has its times.)

use super::*;
use crate::config::DriveConfig;
use crate::ftl::page::tests::{check, of_profile};
use flashlane_base::Seed;

/// A drive of four planes of 63 good blocks of 16 pages, of which the cache holds 5 a block.
fn config(settings: &[(&str, &str)]) -> DriveConfig {
    let small = [("flash.dies", "1"), ("capacity", "40MiB"), ("slc.read", "20us"), ("slc.program", "100us")];
    of_profile("nvme-tlc", &[&small, settings].concat())
}

/// The invariants at the head of the file.
fn check_cache(ftl: &PageMapped) {
    check(ftl);
    let (slc, g) = (ftl.slc.as_ref().expect("the drive has a cache"), &ftl.geometry);
    for (plane, cache) in slc.planes.iter().enumerate() {
        let blocks = plane * g.blocks_per_plane as usize..(plane + 1) * g.blocks_per_plane as usize;
        let marked = slc.marked[blocks.clone()].iter().filter(|&&marked| marked).count();
        assert_eq!(cache.marked as usize, marked, "plane {plane}");
        let of_cache = cache
            .closed
            .iter()
            .copied()
            .chain((cache.open.block != OpenBlock::NO_BLOCK).then_some(cache.open.block.0));
        for block in of_cache {
            let number = blocks.start + block as usize;
            assert!(slc.marked[number] && !ftl.blocks.is_closed(number), "block {number}");
            assert!(!ftl.planes[plane].free.contains(&block), "block {number} is erased");
            let first = number as u32 * g.block_units;
            let beyond = (first + slc.block_units..first + g.block_units).map(Ppn);
            let lies_beyond = |ppn| ftl.reverse.get(ppn, PlaneId(plane as u32)).is_some();
            assert!(
                !beyond.into_iter().any(lies_beyond),
                "block {number} holds more than a part of its pages"
            );
        }
    }
}

#[test]
fn every_unit_stays_under_overwrites_trims_and_folding() {
    let sizes: [&[(&str, &str)]; 3] = [
        &[("slc.size", "4MiB")],
        &[("slc.free_blocks", "100%")],
        &[("slc.size", "2MiB"), ("slc.free_blocks", "50%")],
    ];
    for size in sizes {
        for fold in ["idle", "at-once", "when-needed"] {
            for pacing in ["watermark", "proportional"] {
                for (state, separate, when_full) in [
                    ("fresh", "false", "fold"),
                    ("full", "true", "direct-then-fold"),
                    ("fragmented", "true", "direct"),
                ] {
                    let settings = [
                        ("slc.when_full", when_full),
                        ("slc.fold", fold),
                        ("cleaning.pacing", pacing),
                        ("cleaning.separate", separate),
                        ("initial.state", state),
                    ];
                    if fold == "when-needed" && size[0].0 == "slc.size" {
                        continue;
                    }
                    let config = config(&[size, &settings].concat());
                    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
                    assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::never_stop).is_continue());
                    let (mut random, mut due) = (Seed(5).source(), Vec::new());
                    let units = u64::from(ftl.geometry.logical_units);
                    let mut written = vec![state != "fresh"; units as usize];
                    for at in 0..8_000_u32 {
                        let lpn = Lpn(random.below(units) as u32);
                        if random.chance(0.02) {
                            ftl.trim(lpn);
                        } else {
                            let placed = ftl.place(lpn, &mut due).expect("the capacity fits");
                            assert_eq!(ftl.page_type_of(lpn), placed.page_type);
                        }
                        written[lpn.index()] = ftl.plane_of(lpn).is_some();
                        if random.chance(0.01) {
                            (0..ftl.geometry.planes)
                                .for_each(|plane| ftl.collect_idle(PlaneId(plane), true, &mut due));
                        }
                        if at % 1000 == 0 {
                            check_cache(&ftl);
                        }
                    }
                    check_cache(&ftl);
                    assert!(
                        (0..units)
                            .all(|lpn| written[lpn as usize] == ftl.plane_of(Lpn(lpn as u32)).is_some())
                    );
                    let counters = ftl.counters();
                    let slc = ftl.slc.as_ref().expect("the drive has one");
                    assert!(
                        slc.written_units > 0,
                        "{size:?} {fold} {pacing} {state}: the cache was not used"
                    );
                    assert!(slc.folded_units <= counters.moved_units);
                    let folded: u32 = due
                        .iter()
                        .filter(|gc| gc.moved_from == PageType::OF_SECTION)
                        .map(|gc| gc.moves)
                        .sum();
                    assert_eq!(u64::from(folded), slc.folded_units);
                }
            }
        }
    }
}

/// Units that a fresh drive takes into its cache, written in order, before the first goes past it.
fn units_cached_at_first(settings: &[(&str, &str)]) -> (u32, PageMapped) {
    let times = [];
    let config = config(&[&times, settings].concat());
    let (mut ftl, mut due) = (PageMapped::new(&config, Seed(1)).unwrap(), Vec::new());
    let cached = (0..ftl.geometry.logical_units)
        .take_while(|&lpn| {
            ftl.place(Lpn(lpn), &mut due).expect("the drive is empty").page_type == PageType::OF_SECTION
        })
        .count();
    (cached as u32, ftl)
}

#[test]
fn cache_is_as_large_as_it_is_set() {
    // Whole blocks of each plane, of 20 mapping units.
    let (cached, _) = units_cached_at_first(&[("slc.size", "800KiB")]);
    assert_eq!(cached, 4 * 20 * 3);
    // In proportion to the blocks that are free: all but those that GC needs.
    let (cached, ftl) = units_cached_at_first(&[("slc.free_blocks", "100%")]);
    let left = ftl.slc.as_ref().expect("the drive has a cache").left_blocks;
    assert_eq!(cached, 4 * 20 * (63 - left));
    // One block is kept for it in any case.
    let (cached, _) = units_cached_at_first(&[("slc.free_blocks", "50%")]);
    assert_eq!(cached, 4 * 20 * (1 + 31));
}

#[test]
fn paced_steps_follow_each_flash_page_of_the_cache() {
    let settings = [
        ("flash.pages", "48"),
        ("flash.cell", "tlc"),
        ("flash.programming", "one-shot"),
        ("flash.copyback", "false"),
        ("capacity", "130MiB"),
        ("slc.free_blocks", "100%"),
        ("slc.when_full", "fold"),
        ("cleaning.pacing", "fixed"),
        ("initial.state", "fragmented"),
    ];
    let config = config(&settings);
    let mut ftl = PageMapped::new(&config, Seed(1)).unwrap();
    assert!(ftl.prepare(&config, Seed(1), &mut crate::ftl::never_stop).is_continue());
    let (mut random, mut due) = (Seed(5).source(), Vec::new());
    let units = u64::from(ftl.geometry.logical_units);
    let mut most_moves = 0;
    for _ in 0..units {
        due.clear();
        ftl.place(Lpn(random.below(units) as u32), &mut due).expect("the capacity fits");
        most_moves = most_moves.max(due.iter().filter(|gc| gc.is_paced_step).map(|gc| gc.moves).sum());
    }
    // Eight moves for each unit of a page, in whole word lines.
    let (page, word_line) = (ftl.geometry.units_per_page, 3 * ftl.geometry.units_per_page);
    assert_eq!(most_moves, (8 * page).next_multiple_of(word_line));
}
