//! Figure 8: random writes in areas of growing size, on three drives.

use super::{benchmarked, phases};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};
use flashlane_uflip::{Baseline, Benchmark};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig8",
    "Section 5.2: random writes within a small area cost nearly what sequential ones do, on Samsung, Memoright and Mtron drives, and far more over a large one",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let mut series = Vec::new();
    for (profile, drive) in
        [("samsung-like", "Samsung"), ("memoright-like", "Memoright"), ("mtron-like", "Mtron")]
    {
        let found = benchmarked(lab, profile, &mut outcome);
        let sw_ms = phases(&found, Baseline::Sw).mean_running_ns / 1e6;
        let cost = |bytes: i64| found.mean_ms(Benchmark::Locality, Baseline::Rw, bytes) / sw_ms;
        let (small, large) = (cost(2 << 20), cost(2 << 30));
        outcome.rows.extend([
            row::between(
                &format!("{drive}: random writes within 2 MiB over SW"),
                "nearly one",
                small,
                "",
                (0.5, 2.0),
            ),
            row::at_least(
                &format!("{drive}: within 2 GiB over within 2 MiB"),
                "far more",
                large / small,
                "",
                4.0,
            ),
        ]);
        let mut points: Vec<(f64, f64)> = found
            .result
            .runs
            .iter()
            .filter(|run| run.benchmark == Some(Benchmark::Locality) && run.first == Baseline::Rw)
            .map(|run| (run.value as f64 / f64::from(1 << 20), cost(run.value)))
            .collect();
        points.dedup();
        series.push(Series { name: drive.into(), points, scatter: false, ..Series::default() });
    }
    outcome.figures.push(Figure {
        id: "fig8".into(),
        title: "Random writes within an area".into(),
        x: Axis::log("area", "MiB"),
        y: Axis::log("response time over that of sequential writes", ""),
        series,
        ..Figure::default()
    });
    Ok(outcome)
}
