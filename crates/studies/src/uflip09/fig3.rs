//! Figure 3: random writes on the Mtron drive: cheap until its spare erased blocks are used up, then alternately cheap
//! and expensive.

use super::{benchmarked, figure, phases};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_uflip::Baseline;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig3",
    "Sections 4.2 and 5.1: on the Mtron drive some 125 random writes of 0.4 ms, then an oscillation up to 27 ms whose period is short",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let found = benchmarked(lab, "mtron-like", &mut outcome);
    let rw = phases(&found, Baseline::Rw);
    let all = &found.long_rw_ns;
    let startup = &all[..(rw.startup as usize).min(all.len())];
    let mean_ms = startup.iter().sum::<u64>() as f64 / startup.len().max(1) as f64 / 1e6;
    let dearest_ms = all.iter().copied().max().unwrap_or_default() as f64 / 1e6;
    let rows = vec![
        row::near("start-up of random writes", 125.0, rw.startup as f64, "I/Os", 0.25),
        row::near("mean of the start-up", 0.4, mean_ms, "ms", 0.5),
        row::between("dearest random write", 27.0, dearest_ms, "ms", (27.0 / 2.0, 27.0 * 2.0)),
        row::at_least(
            "mean without the start-up over that with it",
            "more",
            rw.mean_running_ns / rw.mean_all_ns,
            "",
            1.0,
        ),
    ];
    outcome.rows = rows;
    for baseline in [Baseline::Sr, Baseline::Rr, Baseline::Sw] {
        let startup = phases(&found, baseline).startup as usize;
        outcome.rows.push(row::exact(
            &format!("start-up of {}", baseline.name()),
            0_usize,
            Some(startup),
            "I/Os",
        ));
    }
    outcome.figures.extend(figure(&found, &rw.figure, "fig3"));
    Ok(outcome)
}
