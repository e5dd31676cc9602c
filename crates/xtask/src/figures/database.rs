//! PostgreSQL on served drives. Measured with root, and a release build of `flashlane`.

use super::{Figure, Goal, number_after};

const ADVICE: &str = "env FLASHLANE=target/release/flashlane cargo xtask served advice";
const REPLICATION: &str = "env FLASHLANE=target/release/flashlane cargo xtask served replication";
const SUB_QUERIES: &str = "env FLASHLANE=target/release/flashlane cargo xtask served sub-queries";

pub const ADVICE_SLOWEST: Figure = Figure {
    id: "database-advice-slowest",
    what: "a PostgreSQL on served `ssd-s`, `nvme-tlc` and `transcend-module-like`, the 13 queries of the Star Schema Benchmark with cold caches: speed with the advised settings over that with the defaults, in turn; the least (root)",
    goal: Some(Goal::AtLeast(0.98, Some(1.0))),
    command: ADVICE,
    read: |output| number_after(output, "default: slowest"),
};

pub const ADVICE_FASTEST: Figure = Figure {
    id: "database-advice-fastest",
    what: "the same, the greatest",
    goal: Some(Goal::AtLeast(1.3, Some(2.0))),
    command: ADVICE,
    read: |output| number_after(output, "fastest"),
};

/// Returns the number after `name` in the line of the largest gains.
fn gain(output: &str, name: &str) -> Option<f64> {
    number_after(output.split("largest gains:").nth(1)?.lines().next()?, name)
}

pub const INDEX_GAIN: Figure = Figure {
    id: "database-index-gain",
    what: "queries of chen11's figure 8 on a PostgreSQL on a served `ssd-s`, `--slowdown 8`, in up to 16 sub-queries: speed of index joins over that of the whole query, the greatest",
    goal: Some(Goal::AtLeast(3.0, Some(5.0))),
    command: SUB_QUERIES,
    read: |output| gain(output, "index joins"),
};

pub const HASH_GAIN: Figure = Figure {
    id: "database-hash-gain",
    what: "the same of hash joins, without the share that processor time had in 2011",
    goal: None,
    command: SUB_QUERIES,
    read: |output| gain(output, "hash joins"),
};

/// Returns how many times as long as hash joins Q2.2 takes by index joins, alone and in 16 sub-queries.
fn index_over_hash(output: &str) -> Option<[f64; 2]> {
    let line = output.lines().find(|line| line.starts_with("Q2.2: index joins take"))?;
    Some([number_after(line, "index joins take")?, number_after(line, "in 1,")?])
}

pub const ALONE: Figure = Figure {
    id: "database-index-alone",
    what: "Q2.2 there as a whole (chen11's figure 9): time of index joins over that of hash joins",
    goal: Some(Goal::AtLeast(1.2, Some(1.9))),
    command: SUB_QUERIES,
    read: |output| index_over_hash(output).map(|[alone, _]| alone),
};

pub const DIVIDED: Figure = Figure {
    id: "database-index-divided",
    what: "the same in 16 sub-queries, where the faster plan has changed",
    goal: Some(Goal::AtMost(0.91, Some(0.71))),
    command: SUB_QUERIES,
    read: |output| index_over_hash(output).map(|[_, divided]| divided),
};

pub const LOST_ROWS: Figure = Figure {
    id: "database-lost-rows",
    what: "an hour of pgbench on a served `ssd-s` with kill -9 of clients, PostgreSQL and the drive's server: rows that a client was told are committed and that are lost or altered (root)",
    goal: Some(Goal::AtMost(0.0, None)),
    command: "env FLASHLANE=target/release/flashlane cargo xtask served crashes --seconds 3600 sim:ssd-s,capacity=3GiB",
    // The first loss ends it with an error.
    read: |output| output.contains("rows told, none is lost").then_some(0.0),
};

/// Benchmarks of a drive.
const BENCHMARKS: usize = 3;

/// Returns a change by the layer in percent, the mean of a drive's benchmarks, of the drive where it is least.
fn least_change(output: &str, column: usize) -> Option<f64> {
    let rows = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of_benchmarks = rows.filter(|row| row.len() == 9 && ["tpc-b", "tatp", "tpc-c"].contains(&row[0]));
    let changes = of_benchmarks.map(|row| row[column].trim_end_matches('%').parse().ok());
    let changes: Vec<f64> = changes.collect::<Option<_>>()?;
    let means =
        changes.chunks(BENCHMARKS).map(|of_drive| of_drive.iter().sum::<f64>() / of_drive.len() as f64);
    means.min_by(f64::total_cmp)
}

pub const LAYER_MEAN: Figure = Figure {
    id: "database-layer-mean",
    what: "he14's figure 7 on a PostgreSQL on served, fragmented drives: change of the mean latency by the layer `replicated`, in percent, the mean of three benchmarks, on the drive where it is least (root)",
    goal: Some(Goal::AtMost(-10.0, Some(-22.0))),
    command: REPLICATION,
    read: |output| least_change(output, 5),
};

pub const LAYER_SLOWEST: Figure = Figure {
    id: "database-layer-slowest",
    what: "the same of the slowest hundredth",
    goal: Some(Goal::AtMost(-20.0, Some(-39.0))),
    command: REPLICATION,
    read: |output| least_change(output, 8),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_last_lines() {
        let advice = "Q1.1 1 2\nadvised against default: slowest 0.99, fastest 4.95 times as fast\n";
        assert_eq!([ADVICE_SLOWEST, ADVICE_FASTEST].map(|of| (of.read)(advice)), [Some(0.99), Some(4.95)]);
        let output = "sim:ssd-s, index joins: seconds by sub-queries\nlargest gains: Q0 1.41, index joins 4.79, hash joins 1.3\n\
                      Q1.1: index joins take 4.00 times as long as hash joins in 1, 1.26 times in 16\n\
                      Q2.2: index joins take 3.11 times as long as hash joins in 1, 0.64 times in 16\n";
        let read = [INDEX_GAIN, HASH_GAIN, ALONE, DIVIDED].map(|figure| (figure.read)(output));
        assert_eq!(read, [Some(4.79), Some(1.3), Some(3.11), Some(0.64)]);
    }

    #[test]
    fn changes_are_those_of_the_drive_where_they_are_least() {
        let output = "sim:a\ntpc-b 1 2 10 8 -20% 20 10 -50%\ntatp 1 2 10 11 +10% 20 10 -50%\ntpc-c 1 2 10 11 +10% 20 30 +50%\n\
                      sim:b\ntpc-b 1 2 10 9 -10% 20 10 -50%\ntatp 1 2 10 9 -10% 20 10 -50%\ntpc-c 1 2 10 9 -10% 20 20 +10%\n";
        assert_eq!([LAYER_MEAN, LAYER_SLOWEST].map(|of| (of.read)(output)), [Some(-10.0), Some(-30.0)]);
        let killed = "killed: clients 2 times, PostgreSQL 1, the server 1; 99 rows told, none is lost\n";
        assert_eq!([killed, "killed"].map(|output| (LOST_ROWS.read)(output)), [Some(0.0), None]);
    }
}
