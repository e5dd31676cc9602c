//! The probe: time, score, and findings on a file without structure.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench probe";

/// Defines a figure of this bench, which prints the value after the figure's name.
macro_rules! figure {
    ($constant:ident, $id:literal, $what:literal, $goal:expr) => {
        pub const $constant: Figure = Figure {
            id: $id,
            what: $what,
            goal: Some($goal),
            command: COMMAND,
            read: |output| number_after(output, concat!($id, ":")),
        };
    };
}

const RIGHT: Goal = Goal::AtLeast(95.0, Some(99.0));
const WRONG: Goal = Goal::AtMost(1.0, Some(0.0));
const NONE: Goal = Goal::AtMost(0.0, None);

figure!(TIME, "probe-time", "`probe sim:ssd-s`: seconds of user CPU", Goal::AtMost(2.0, None));
figure!(CHUNK, "score-chunk_size_bytes-right", "`probe --score 500`: chunk size right, percent", RIGHT);
figure!(CHUNK_WRONG, "score-chunk_size_bytes-wrong", "chunk size wrong, percent", WRONG);
figure!(DEGREE, "score-interleaving_degree-right", "interleaving degree right, percent", RIGHT);
figure!(DEGREE_WRONG, "score-interleaving_degree-wrong", "interleaving degree wrong, percent", WRONG);
figure!(MAPPING, "score-mapping_policy-right", "mapping policy right, percent", RIGHT);
figure!(MAPPING_WRONG, "score-mapping_policy-wrong", "mapping policy wrong, percent", WRONG);
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
figure!(
    ADVICE,
    "advice-holds",
    "recommendations within 10% of `run`, all profiles and 200 random drives, all three kinds: percent",
    Goal::AtLeast(98.0, Some(100.0))
);
