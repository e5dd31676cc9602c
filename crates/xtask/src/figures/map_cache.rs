//! A map on flash against its closed forms (DFTL; Gupta et al., ASPLOS 2009).

use super::{Figure, Goal, number_after, percent_off};

/// A cache of 32,768 entries under reads of 65,536 units.
const READS: &str = "cargo run -q --release -p flashlane -- run sim:nvme-tlc,initial.state=full,mapping.cache.size=256KiB \
                     random-read,size=4KiB,area=256MiB,requests=2M --format json";
/// A cache of 4,096 entries under writes of 131,072 units, which are those of 128 translation pages.
const WRITES: &str = "cargo run -q --release -p flashlane -- run sim:nvme-tlc,buffer.policy=none,mapping.cache.size=32KiB \
                      random-write,size=4KiB,area=512MiB,requests=1M --format json";
const WRITES_ONE_BY_ONE: &str = "cargo run -q --release -p flashlane -- run \
                                 sim:nvme-tlc,buffer.policy=none,mapping.cache.size=32KiB,mapping.cache.batch=false \
                                 random-write,size=4KiB,area=512MiB,requests=1M --format json";
const ENTRIES: f64 = 4096.0;
const RANGE: f64 = 131_072.0;
const PAGES: f64 = 128.0;

/// A flash read of `nvme-tlc`: 60 us, and 4 KiB over a bus of 1.2 GB/s.
const READ_NS: f64 = 63_413.0;

pub const HITS: Figure = Figure {
    id: "map-cache-hits",
    what: "`nvme-tlc` with a mapping cache for half of the range of 2 million random reads (DFTL; Gupta et al., ASPLOS 2009): \
           the share of hits against entries in the cache over entries of the range, from an empty cache on: % off",
    goal: Some(Goal::AtMost(2.0, None)),
    command: READS,
    read: |output| {
        let [hits, misses] = ["hits", "misses"].map(|name| counter(output, &format!("mapping_cache_{name}")));
        let (hits, misses) = (hits?, misses?);
        Some(percent_off(hits / (hits + misses), 0.5))
    },
};

pub const MISS: Figure = Figure {
    id: "map-cache-miss",
    what: "the time that a miss of these waits for the map against that of a flash read (ASPLOS 2009, section 3): % off",
    goal: Some(Goal::AtMost(2.0, None)),
    command: READS,
    read: |output| {
        let mean_ns = number_after(output, "\"mapping\":")?;
        let (requests, misses) = (counter(output, "host_reads")?, counter(output, "mapping_cache_misses")?);
        Some(percent_off(mean_ns * requests / misses, READ_NS))
    },
};

pub const WRITES_SINGLE: Figure = Figure {
    id: "map-cache-writes-single",
    what: "translation pages written per random write over 128 translation pages with a cache of 4,096 entries, one dirty entry at \
           a time, against one for each miss (ASPLOS 2009, section 3): % off",
    goal: Some(Goal::AtMost(2.0, None)),
    command: WRITES_ONE_BY_ONE,
    read: |output| Some(percent_off(pages_per_write(output)?, 1.0 - ENTRIES / RANGE)),
};

pub const WRITES_BATCHED: Figure = Figure {
    id: "map-cache-writes-batched",
    what: "the same with all dirty entries of a page at a time, against T / (T / (1 - C/R) - R ln(1 - C/R)) for T pages, C cached \
           entries and R units (derived: `drive::tests::map_cache`): % off",
    goal: Some(Goal::AtMost(2.0, None)),
    command: WRITES,
    read: |output| {
        let again = 1.0 - ENTRIES / RANGE;
        let expected = PAGES / (PAGES / again - RANGE * again.ln());
        Some(percent_off(pages_per_write(output)?, expected))
    },
};

fn counter(output: &str, name: &str) -> Option<f64> {
    number_after(output, &format!("\"{name}\":"))
}

fn pages_per_write(output: &str) -> Option<f64> {
    Some(counter(output, "translation_pages_written")? / counter(output, "host_pages_written")?)
}
