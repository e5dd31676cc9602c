//! Table 3: flash operations a call.

use super::method::{PBLRU, Runs, WORKLOADS};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table3",
    "Section 5.3, on a real drive: 80.2 / 18.5 / 1.3% of the reads take 1 / 2 / 3 operations, 54.2 / 39.9 / 5.9% of the writes. Here in the simulated drive, where a call is for a flash page",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for workload in WORKLOADS {
        let runs = Runs::of(lab, workload);
        let with = runs.get(PBLRU);
        for (call, of, published) in [("RRead", "reads", 80.2), ("RWrite", "writes", 54.2)] {
            let counts = ["one_copy", "two_copies", "more_copies"]
                .map(|copies| with.counted(&format!("{of}_of_{copies}")));
            let all: f64 = counts.iter().sum();
            let [one, two, more] = counts.map(|count| 100.0 * count / all);
            let name = workload.name;
            if call == "RRead" {
                let quantity = format!("{name}: RRead with one operation");
                outcome.rows.push(row::at_least(&quantity, published, one, "%", 70.0));
            }
            let order = if one > two && two >= more { "1 > 2 > 3" } else { "another" };
            let quantity = format!("{name}: {call}, order of {one:.1} / {two:.1} / {more:.1}%");
            outcome.rows.push(row::exact(&quantity, "1 > 2 > 3", Some(order), ""));
        }
    }
    Ok(outcome)
}
