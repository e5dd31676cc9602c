//! The zoned drive `zn540-1tb` against published measurements of the real one (Doekemeijer et al., CLUSTER 2023).

use super::{Figure, Goal, number_after};

/// Means and rates, and 99th percentiles.
const MEAN: Option<Goal> = Some(Goal::AtMost(5.0, Some(2.0)));
const P99: Option<Goal> = Some(Goal::AtMost(20.0, Some(10.0)));

macro_rules! figures {
    ($($name:ident $id:literal $goal:ident $what:literal;)*) => {
        $(pub const $name: Figure = Figure {
            id: concat!("zn540-", $id),
            what: concat!("`zn540-1tb`: ", $what, ": deviation in %"),
            goal: $goal,
            command: "cargo bench -q -p flashlane-studies --bench zones",
            read: |output| number_after(output, concat!("zn540-", $id, ":")),
        };)*
    };
}

figures! {
    READ_MEAN "read-mean" MEAN "random reads of 4 KiB at depth 1 against a mean of 72.6 µs (fitted)";
    READ_P99 "read-p99" P99 "their p99 against 81.4 µs (fitted)";
    READ_32_RATE "read-32-rate" MEAN "at depth 32 against 274,000 a second (fitted)";
    READ_32_MEAN "read-32-mean" MEAN "at depth 32 against a mean of 116 µs";
    READ_32_P99 "read-32-p99" P99 "at depth 32 against a p99 of 301 µs";
    READ_256_RATE "read-256-rate" MEAN "at depth 256 against 437,000 a second (fitted)";
    READ_8K_MEAN "read-8k-mean" MEAN "random reads of 8 KiB at depth 1 against a mean of 84.1 µs";
    READ_8K_256_RATE "read-8k-256-rate" MEAN "of 8 KiB at depth 256 against 296,000 a second (fitted)";
    WRITE_MEAN "write-mean" MEAN "writes of 4 KiB at depth 1 against a mean of 11.4 µs (fitted)";
    WRITE_P99 "write-p99" P99 "their p99 against 13.5 µs";
    WRITE_8_ZONES "write-8-zones-rate" MEAN "writes of 4 KiB into 8 zones against 186,000 a second (fitted)";
    WRITE_LIMIT "write-limit" MEAN "writes of 8 KiB into 8 zones against 1.20 GB/s";
    WRITE_LIMIT_ONE "write-limit-one-zone" MEAN "writes of 128 KiB into one zone against 1.20 GB/s";
    APPEND_MEAN "append-mean" MEAN "appends of 4 KiB at depth 1 against a mean of 14.8 µs (fitted)";
    APPEND_RATE "append-rate" MEAN "at depth 8 against 132,000 a second (fitted)";
    OPEN "open" MEAN "an open against 9.6 µs (fitted)";
    CLOSE "close" MEAN "a close against 11 to 15 µs, the middle (fitted)";
    FINISH_EMPTY "finish-empty" MEAN "the finish of an empty zone against 14 µs (fitted)";
    FINISH_ONE "finish-one-page" MEAN "of a zone with one page against 908 ms (fitted)";
    FINISH_FULL "finish-nearly-full" MEAN "of a zone that lacks one page against 4.05 ms (fitted)";
    RESET_EMPTY "reset-empty" MEAN "the reset of an empty zone against 1.61 ms (fitted)";
    RESET_FULL "reset-full" MEAN "of a full zone against 15.8 ms (fitted)";
    BESIDE_MEAN "read-beside-writes-mean" MEAN "reads at depth 1 beside writes of 250 MB/s against a mean of 100.3 µs";
    BESIDE_P99 "read-beside-writes-p99" P99 "their p99 against 317 µs (fitted)";
    BESIDE_32_RATE "read-32-beside-writes-rate" MEAN "at depth 32 beside these writes against 142,500 a second";
    BESIDE_32_P99 "read-32-beside-writes-p99" P99 "their p99 against 1,434 µs";
    BESIDE_FINISHES "read-32-beside-finishes" MEAN "reads at depth 32 beside finishes at half their rate against 56% of those alone";
    BESIDE_RESETS "read-32-beside-resets" MEAN "beside resets at half their rate against 97%";
}
