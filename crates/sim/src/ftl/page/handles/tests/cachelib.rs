//! CacheLib's two caches on flash, against the write amplification that its documents report for a drive of 1.88 TB
//! (FDP-enabled cache, "Results with and without FDP"): a small-object cache on 4% of the cache's space, whose 4 KiB
//! buckets are rewritten at random, and a large-object cache that writes the rest in order, around and around.

use super::*;

/// Mapping units of 16 MiB in 1.88 TB.
const CAPACITY: u32 = (1_880_000_000_000_u64 >> 24) as u32;

/// A drive of which a part is a cache.
#[derive(Clone, Copy, Debug)]
struct Cache {
    /// Mapping units of 16 MiB of all flash.
    flash: u32,
    /// Mapping units of a reclaim unit.
    reclaim_unit: u32,
    /// Share of the drive's capacity that the cache takes. The rest was never written.
    used: f64,
    /// Share of the written bytes that go to the small-object cache.
    small: f64,
}

impl Cache {
    /// The write amplification while the large-object cache goes twice around its space, after it did so twice.
    fn write_amplification(self, placement: &[(&str, &str)]) -> f64 {
        let blocks = (self.flash / self.reclaim_unit).to_string();
        let (pages, capacity) = (self.reclaim_unit.to_string(), format!("{}KiB", 4 * CAPACITY));
        let settings = [
            ("flash.channels", "1"),
            ("flash.planes", "1"),
            ("flash.page", "4KiB"),
            ("flash.pages", pages.as_str()),
            ("flash.blocks", blocks.as_str()),
            ("mapping.unit", "4KiB"),
            ("mapping.chunk", "4KiB"),
            ("cleaning.low", "0%"),
            ("capacity", capacity.as_str()),
        ];
        let mut ftl = layer(&[&settings[..], placement].concat());
        let (mut random, mut due) = (Seed(5).source(), Vec::new());
        let cache = (self.used * f64::from(CAPACITY)) as u32;
        let small = cache * 4 / 100;
        let (mut oldest, mut rounds) = (0, 0);
        while rounds < 4 {
            let (handle, lpn) = if random.chance(self.small) {
                (1, random.below(small.into()) as u32)
            } else {
                oldest += 1;
                if oldest == cache - small {
                    oldest = 0;
                    rounds += 1;
                    if rounds == 2 {
                        ftl.counters = Default::default();
                    }
                }
                (0, small + oldest)
            };
            if !placement.is_empty() {
                ftl.use_handle(PlacementHandle(handle));
            }
            ftl.place(Lpn(lpn), &mut due).unwrap();
            due.clear();
        }
        (ftl.counters.host_units + ftl.counters.moved_units) as f64 / ftl.counters.host_units as f64
    }
}

const TWO_HANDLES: [(&str, &str); 1] = [("placement.handles", "2")];

#[test]
fn handle_for_small_objects_leaves_nothing_to_move() {
    let cache = Cache { flash: 2048 * 64, reclaim_unit: 256, used: 1.0, small: 0.5 };
    let [none, two] = [&[][..], &TWO_HANDLES].map(|placement| cache.write_amplification(placement));
    assert!((3.0..3.3).contains(&none) && two < 1.02, "{none:.3} without, {two:.3} with");
}

#[test]
#[ignore = "prints the table of docs/profiles.md"]
fn cachelib_table() {
    for flash_gib in [1920, 2048] {
        for reclaim_gib in [1, 4, 16] {
            for small in [0.1, 0.3, 0.5, 0.6, 0.7, 0.9] {
                let row = [0.5, 1.0].map(|used| {
                    let cache = Cache { flash: flash_gib * 64, reclaim_unit: reclaim_gib * 64, used, small };
                    [&[][..], &TWO_HANDLES].map(|placement| cache.write_amplification(placement))
                });
                println!("{flash_gib} GiB, {reclaim_gib} GiB, {small}: {row:.3?}");
            }
        }
    }
}
