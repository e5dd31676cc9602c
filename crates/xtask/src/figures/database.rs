//! PostgreSQL on served drives. Measured with root, and a release build of `flashlane`.

use super::{Figure, Goal, number_after};

const ADVICE: &str = "env FLASHLANE=target/release/flashlane cargo xtask served advice";
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
}
