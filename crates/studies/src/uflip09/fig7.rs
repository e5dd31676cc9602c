//! Figure 7: the size of I/Os on the Kingston DTI stick.

use super::{benchmarked, figure};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_uflip::{Baseline, Benchmark};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig7",
    "Section 5.2: on the Kingston DTI stick sequential writes smaller than 32 KB cost significantly more than those of 32 KB; random writes take some 260 ms whatever their size",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let found = benchmarked(lab, "kingston-dti-like", &mut outcome);
    let ms = |baseline, bytes: i64| found.mean_ms(Benchmark::Granularity, baseline, bytes);
    let a_byte = |bytes: i64| ms(Baseline::Sw, bytes) / bytes as f64;
    for bytes in [512, 4 << 10, 8 << 10] {
        let quantity =
            format!("sequential writes of {} KiB over those of 32 KiB, a byte", bytes as f64 / 1024.0);
        outcome.rows.push(row::at_least(
            &quantity,
            "significantly more",
            a_byte(bytes) / a_byte(32 << 10),
            "",
            1.5,
        ));
    }
    for bytes in [4 << 10, 32 << 10, 128 << 10] {
        let quantity = format!("random writes of {} KiB", bytes >> 10);
        outcome.rows.push(row::near(&quantity, 260.0, ms(Baseline::Rw, bytes), "ms", 0.25));
    }
    outcome.figures.extend(figure(&found, "granularity", "fig7"));
    Ok(outcome)
}
