//! Table 3: operations a call.

use super::layered::{ALWAYS, MTRON, OFF, Runs};
use super::method::WORKLOADS;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table3",
    "Section 5.3, on a real drive: 80.2 / 18.5 / 1.3% of the reads take 1 / 2 / 3 operations, 54.2 / 39.9 / 5.9% of the writes. Here the layer over the simulated one, without its write cache; it always copies",
    measure,
);

/// Published shares of calls with one, two and three operations, in percent.
const READS: [f64; 3] = [80.2, 18.5, 1.3];
const WRITES: [f64; 3] = [54.2, 39.9, 5.9];

/// Percentage points by which a share may differ from the published one.
const POINTS: f64 = 10.0;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let runs = Runs::of(lab, &MTRON);
    for workload in WORKLOADS {
        let with = runs.get(workload, OFF, ALWAYS);
        for (call, of, published) in [("RRead", "reads", READS), ("RWrite", "writes", WRITES)] {
            let counts = ["one_copy", "two_copies", "more_copies"]
                .map(|copies| with.counted(&format!("{of}_of_{copies}")));
            outcome.rows.extend(split(&format!("{}: {call}", workload.name), published, counts));
        }
    }
    Ok(outcome)
}

/// Returns the rows of calls that took one, two and more operations: the share with one, and the order.
fn split(name: &str, published: [f64; 3], counts: [f64; 3]) -> [Row; 2] {
    let all: f64 = counts.iter().sum();
    let [one, two, more] = counts.map(|count| 100.0 * count / all);
    let band = (published[0] - POINTS, published[0] + POINTS);
    let order = if one > two && two > more { "1 > 2 > 3" } else { "another" };
    let quantity = format!("{name}, order of {one:.1} / {two:.1} / {more:.1}%");
    [
        row::between(&format!("{name} with one operation"), published[0], one, "%", band),
        row::exact(&quantity, "1 > 2 > 3", Some(order), ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    #[test]
    fn split_without_second_operations_is_missed() {
        use Verdict::{Missed, Reproduced};
        for (published, counts, verdicts) in [
            (READS, READS, [Reproduced, Reproduced]),
            (WRITES, WRITES, [Reproduced, Reproduced]),
            (READS, [100.0, 0.0, 0.0], [Missed, Missed]),
            (READS, [75.0, 25.0, 0.0], [Reproduced, Reproduced]),
            (WRITES, [984.0, 16.0, 0.0], [Missed, Reproduced]),
            (WRITES, [0.0; 3], [Missed, Missed]),
        ] {
            let rows = split("TPC-C: a call", published, counts);
            assert_eq!(rows.each_ref().map(|row| row.verdict), verdicts, "{rows:#?}");
        }
    }
}
