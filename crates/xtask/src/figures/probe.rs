//! The probe: time, score, and findings on a file without structure.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench probe";

/// Recommendations, and bounds: each takes more than an hour.
const ADVICE_COMMAND: &str = "env FLASHLANE_ONLY=advice cargo bench -q -p flashlane-studies --bench probe";
const BOUNDS_COMMAND: &str =
    "env FLASHLANE_ONLY=bounds FLASHLANE_EFFORT=quick cargo bench -q -p flashlane-studies --bench probe";

/// Defines a figure of this bench, which prints the value after the figure's name.
macro_rules! figure {
    ($constant:ident, $id:expr, $what:expr, $goal:expr) => {
        pub const $constant: Figure = Figure {
            id: $id,
            what: $what,
            goal: Some($goal),
            command: COMMAND,
            read: |output| number_after(output, &format!("{}:", $id)),
        };
    };
}

const RIGHT: Goal = Goal::AtLeast(95.0, Some(99.0));
const WRONG: Goal = Goal::AtMost(1.0, Some(0.0));
const NONE: Goal = Goal::AtMost(0.0, None);

figure!(TIME, "probe-time", "`probe sim:ssd-s`: seconds of user CPU", Goal::AtMost(2.0, Some(0.3)));
figure!(CHUNK, "score-chunk_size_bytes-right", "`probe --score 500`: chunk size right, percent", RIGHT);
figure!(CHUNK_WRONG, "score-chunk_size_bytes-wrong", "chunk size wrong, percent", WRONG);
figure!(DEGREE, "score-interleaving_degree-right", "interleaving degree right, percent", RIGHT);
figure!(DEGREE_WRONG, "score-interleaving_degree-wrong", "interleaving degree wrong, percent", WRONG);
figure!(MAPPING, "score-mapping_policy-right", "mapping policy right, percent", RIGHT);
figure!(MAPPING_WRONG, "score-mapping_policy-wrong", "mapping policy wrong, percent", WRONG);
figure!(STRUCTURE_TIME, "structure-time", "the same without recommendations", Goal::AtMost(0.3, None));
macro_rules! wide {
    ($right:ident, $wrong:ident, $feature:literal, $what:literal, $least:literal, $most:literal) => {
        figure!(
            $right,
            concat!("wide-", $feature, "-right"),
            concat!("`probe --score 300 --wide --seed 4242`: ", $what, " right, percent"),
            Goal::AtLeast($least, None)
        );
        figure!(
            $wrong,
            concat!("wide-", $feature, "-wrong"),
            concat!($what, " wrong, percent"),
            Goal::AtMost($most, None)
        );
    };
}
wide!(WIDE_CHUNK, WIDE_CHUNK_WRONG, "chunk_size_bytes", "chunk size of wide drives", 95.0, 0.2);
wide!(WIDE_PAGE, WIDE_PAGE_WRONG, "page_size_bytes", "page size of wide drives", 90.0, 0.2);
wide!(WIDE_DEGREE, WIDE_DEGREE_WRONG, "interleaving_degree", "interleaving degree of wide drives", 75.0, 0.2);
wide!(WIDE_SUB, WIDE_SUB_WRONG, "sub_domains", "sub-domains of wide drives", 65.0, 0.2);
wide!(WIDE_MAPPING, WIDE_MAPPING_WRONG, "mapping_policy", "mapping policy of wide drives", 80.0, 0.2);
wide!(WIDE_READAHEAD, WIDE_READAHEAD_WRONG, "readahead_streams", "readahead of wide drives", 98.0, 0.3);
wide!(
    WIDE_BUFFER,
    WIDE_BUFFER_WRONG,
    "write_buffer_bytes",
    "write buffer of wide drives, within 10%,",
    85.0,
    0.3
);
figure!(
    WIDE_RECLAIM,
    "wide-reclaim_unit_bytes-right",
    "`probe --score 200 --wide --full --seed 4242`: reclaim unit right, on drives that ran GC, percent",
    Goal::AtLeast(60.0, Some(90.0))
);
figure!(
    WIDE_RECLAIM_WRONG,
    "wide-reclaim_unit_bytes-wrong",
    "reclaim unit of wide drives wrong, percent",
    Goal::AtMost(0.5, None)
);
figure!(
    TODAY_SLC,
    "today-slc_cache_bytes-right",
    "`probe --score 300 --today --seed 4242`: SLC cache right, within 10%, percent",
    Goal::AtLeast(80.0, None)
);
figure!(
    TODAY_SLC_WRONG,
    "today-slc_cache_bytes-wrong",
    "SLC cache of these drives wrong, percent",
    Goal::AtMost(0.5, None)
);
figure!(
    TODAY_REACH,
    "today-mapping_cache_reach_bytes-right",
    "`probe --score 300 --today --seed 4242`: reach of the mapping cache right, within 10%, percent",
    Goal::AtLeast(80.0, None)
);
figure!(
    TODAY_REACH_WRONG,
    "today-mapping_cache_reach_bytes-wrong",
    "reach of the mapping cache of these drives wrong, percent",
    Goal::AtMost(0.5, None)
);
figure!(
    WIDE_CERTAIN,
    "wide-certain-wrong",
    "findings on wide drives stated at 0.9 or more that are wrong, percent",
    Goal::AtMost(0.2, Some(0.02))
);
figure!(WIDE_FAILED, "wide-failed", "wide drives whose probe ended with an error", NONE);
figure!(
    WIDE_TIME,
    "wide-time",
    "a probe of a wide drive without recommendations: seconds of CPU, median",
    Goal::AtMost(0.5, None)
);
figure!(WIDE_TIME_P99, "wide-time-p99", "the same, of 99% of the drives", Goal::AtMost(5.0, None));
figure!(
    FILE_TIME,
    "probe-file-time",
    "`probe FILE` on a plain file of 1 GiB, with `--destroy-data`: seconds",
    Goal::AtMost(60.0, Some(20.0))
);
figure!(FILE_INVENTED, "probe-file-invented", "structural findings on that file, all of them wrong", NONE);
figure!(
    FILE_READ_TIME,
    "probe-file-read-time",
    "the same without `--destroy-data`: seconds",
    Goal::AtMost(60.0, Some(20.0))
);
pub const ADVICE: Figure = Figure {
    id: "advice-holds",
    what: "recommendations within 10% of `run`, all profiles and 200 random drives, all three kinds: percent",
    goal: Some(Goal::AtLeast(98.0, Some(100.0))),
    command: ADVICE_COMMAND,
    read: |output| number_after(output, "advice-holds:"),
};
pub const ADVICE_P99: Figure = Figure {
    id: "advice-p99-holds",
    what: "the same for the p99, within 25% of what is stated or of its range: percent",
    goal: None,
    command: ADVICE_COMMAND,
    read: |output| number_after(output, "advice-p99-holds:"),
};
pub const BOUNDS: Figure = Figure {
    id: "bounds-hold",
    what: "`probe --quick --page 4k --p99` with 0.9, 1.05 and 1.3 times the p99 stated without a bound, random reads \
           and writes: bounds of which runs confirm what it says, percent",
    goal: None,
    command: BOUNDS_COMMAND,
    read: |output| number_after(output, "bounds-hold:"),
};
pub const BOUNDS_WRONG: Figure = Figure {
    id: "bounds-wrong",
    what: "bounds of which runs contradict what it says, percent; the rest is left open",
    goal: None,
    command: BOUNDS_COMMAND,
    read: |output| number_after(output, "bounds-wrong:"),
};
