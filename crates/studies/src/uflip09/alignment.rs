//! Section 5.2, alignment: random writes on the Samsung drive that are not aligned to 16 KB.

use super::{benchmarked, figure};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_uflip::{Baseline, Benchmark};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "alignment",
    "Section 5.2: on the Samsung drive random writes that are not aligned to 16 KB take 32 ms instead of 18",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let found = benchmarked(lab, "samsung-like", &mut outcome);
    let ms = |shift_bytes: i64| found.mean_ms(Benchmark::Alignment, Baseline::Rw, shift_bytes);
    let aligned = ms(16 << 10);
    for (quantity, published, measured) in [
        ("random writes off by 16 KiB", 18.0, aligned),
        ("off by 8 KiB", 32.0, ms(8 << 10)),
        ("off by 512 B", 32.0, ms(512)),
    ] {
        let limits = (published / 2.0, published * 2.0);
        outcome.rows.push(row::between(quantity, published, measured, "ms", limits));
    }
    for (quantity, shift_bytes) in
        [("off by 8 KiB over off by 16 KiB", 8 << 10), ("off by 512 B over off by 16 KiB", 512)]
    {
        outcome.rows.push(row::at_least(quantity, 32.0 / 18.0, ms(shift_bytes) / aligned, "", 1.25));
    }
    outcome.figures.extend(figure(&found, "alignment", "alignment"));
    Ok(outcome)
}
