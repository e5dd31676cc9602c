//! Table 1: the share of the flash's bandwidth that conventional drives deliver.

use super::drives::{Conventional, GEN3, INTEL, MEMBLAZE, course, passes, sequential};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_workload::Access;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table1",
    "Section 1: read and written sequentially in erase-block units, with 20% set aside, drives give 73-81% of their raw bandwidth for reads and 41-51% for writes. The paper does not say what they held, nor how much was written: here they were overwritten at random before, and are written from beginning to end once, as in table 4; no amount is chosen for the answer. That gives 34 to 43% for writes. A second pass, drawn but not counted, has little to clean and gives 55% (Intel), 95% (Gen3) and 69% (Memblaze): the published numbers lie between the two",
    measure,
)
.with_weight(931);

/// A drive's row, reads before writes.
struct Published {
    drive: Conventional,
    /// Blocks per plane in the study, and in its quick form.
    blocks: (u64, u64),
    raw_mb_per_s: [f64; 2],
    measured_mb_per_s: [f64; 2],
    /// How long a pass takes, about, relative to the other parts.
    pass: u32,
}

const PUBLISHED: [Published; 3] = [
    Published {
        drive: INTEL,
        blocks: (256, 128),
        raw_mb_per_s: [300.0, 300.0],
        measured_mb_per_s: [219.0, 153.0],
        pass: 90,
    },
    Published {
        drive: GEN3,
        blocks: (128, 96),
        raw_mb_per_s: [1600.0, 950.0],
        measured_mb_per_s: [1200.0, 460.0],
        pass: 165,
    },
    Published {
        drive: MEMBLAZE,
        blocks: (96, 64),
        raw_mb_per_s: [1600.0, 1500.0],
        measured_mb_per_s: [1300.0, 620.0],
        pass: 200,
    },
];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let mut written = Vec::new();
    for Published { drive, blocks, raw_mb_per_s: raw, measured_mb_per_s: published, pass: weight } in
        PUBLISHED
    {
        let blocks = lab.either(blocks.0, blocks.1);
        let mut device = drive.with(lab.part(2), blocks, 0.20, "fragmented")?;
        let pass = device.info().capacity_bytes / drive.block_bytes;
        let read =
            sequential(lab.part(5), &mut *device, drive.depth, drive.block_bytes, pass / 8, Access::read)?;
        let writes = passes(lab, &mut *device, drive.depth, drive.block_bytes, [weight; 2])?;
        let percent =
            |at: usize, measured: f64| (100.0 * published[at] / raw[at], 100.0 * measured / raw[at]);
        for (what, (published, measured), range) in [
            ("reads", percent(0, read.mb_per_s()), (65.0, 85.0)),
            ("writes", percent(1, writes[0].mb_per_s()), (35.0, 60.0)),
        ] {
            let quantity = format!("{}: {what}, share of raw bandwidth", drive.name);
            outcome.rows.push(row::between(&quantity, published.round(), measured, "%", range));
        }
        written.push((drive.name, writes));
    }
    outcome.figures.push(course("table1-writes", "Writes of erase blocks, with 20% set aside", &written));
    Ok(outcome)
}
