//! Figure 6: the size of I/Os on the Memoright drive.

use super::{benchmarked, figure};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_uflip::{Baseline, Benchmark};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig6",
    "Section 5.2: on the Memoright drive reads and sequential writes take 70 µs (random reads 115 µs) and a time that goes with their size; large random writes take 5 ms at least, small ones less, since four of 4 KB take about as long as one of 16 KB",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let found = benchmarked(lab, "memoright-like", &mut outcome);
    let ms = |baseline, bytes: i64| found.mean_ms(Benchmark::Granularity, baseline, bytes);
    for (baseline, published_us) in [(Baseline::Sr, 70.0), (Baseline::Sw, 70.0), (Baseline::Rr, 115.0)] {
        let smallest_us = ms(baseline, 512) * 1e3;
        let limits = (published_us / 2.0, published_us * 2.0);
        let quantity = format!("{} of 512 B", baseline.name());
        outcome.rows.push(row::between(&quantity, published_us, smallest_us, "us", limits));
        // A latency plus a time per byte: 32 to 128 KiB adds as much as 128 to 224.
        let (small, middling, large) =
            (ms(baseline, 32 << 10), ms(baseline, 128 << 10), ms(baseline, 256 << 10));
        let slope = ((large - middling) / 128.0) / ((middling - small) / 96.0);
        let quantity =
            format!("{}: time a byte from 128 to 256 KiB over that from 32 to 128 KiB", baseline.name());
        outcome.rows.push(row::between(&quantity, "linear", slope, "", (0.8, 1.25)));
    }
    let (four, sixteen) = (ms(Baseline::Rw, 4 << 10), ms(Baseline::Rw, 16 << 10));
    outcome.rows.extend([
        row::at_least("random writes of 32 KiB", 5.0, ms(Baseline::Rw, 32 << 10), "ms", 2.5),
        row::between(
            "four random writes of 4 KiB over one of 16 KiB",
            1.0,
            4.0 * four / sixteen,
            "",
            (0.5, 2.0),
        ),
    ]);
    outcome.figures.extend(figure(&found, "granularity", "fig6"));
    Ok(outcome)
}
