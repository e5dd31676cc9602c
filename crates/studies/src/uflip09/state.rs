//! Section 4.1: random writes on the Samsung drive out of the box, and after the whole drive was written.

use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_base::Duration;
use flashlane_workload::Access;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "state",
    "Section 4.1: out of the box the Samsung drive writes 16 KB at random in about 1 ms; after random writes all over it, almost an order of magnitude slower, like other drives",
    measure,
);

const WRITE_BYTES: u64 = 16 << 10;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let writes = lab.either(2048, 512);
    let mut mean_ms = |state| {
        lab.experiment("samsung-like", &[("initial.state", state)], |bench| {
            let places = bench.device().info().capacity_bytes / WRITE_BYTES;
            let mut sum = Duration::ZERO;
            for _ in 0..writes {
                let offset_bytes = bench.random().below(places) * WRITE_BYTES;
                sum += bench.one(Access::write(offset_bytes, WRITE_BYTES))?;
            }
            Ok(sum.as_ns() as f64 / 1e6 / f64::from(writes))
        })
    };
    let (fresh, written) = (mean_ms("fresh")?, mean_ms("fragmented")?);
    let rows = vec![
        row::between("16 KiB random writes out of the box", 1.0, fresh, "ms", (0.5, 2.0)),
        row::between("after random writes all over it", "8 to 18", written, "ms", (8.0, 18.0)),
        row::at_least("that over out of the box", "almost 10", written / fresh, "", 5.0),
    ];
    Ok(Outcome { rows, ..Outcome::default() })
}
