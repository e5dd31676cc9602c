//! Figure 4: the mapping policy. After a random overwrite, figure 3 again: by address, and by the order in which the
//! chunks were written. The one that still dips names the policy.
//!
//! Besides the paper's drive also the same drive with mapping by address, where the result must be the opposite.

use super::fig3::{STRIDES, dip_marks, dips, measured};
use super::method::{AREA, CHUNK_BYTES, CHUNKS, DOMAINS, fill};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Value, row};
use flashlane_probe::EarlyEnd;
use flashlane_probe::bench::Bench;
use flashlane_probe::mapping::{self, Policy};
use flashlane_probe::pattern::Point;
use flashlane_probe::stride;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig4",
    "Section 4.4: after a randomised overwrite the dips are gone by address (I) and back by order of writing (II): write-order mapping",
    measure,
);

const JOBS: u32 = 2;
/// Packages on each channel.
const SUB_DOMAINS: u64 = 2;

struct Found {
    by_address: Vec<f64>,
    by_order: Vec<f64>,
    policy: Option<Policy>,
}

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let reads = lab.either(4000, 2000);
    let mut outcome = Outcome::default();
    for policy in [Policy::WriteOrder, Policy::Lba] {
        let found =
            lab.experiment("ssd-s", &[("mapping.policy", policy.name())], |bench| look(bench, reads))?;
        judge(policy, &found, &mut outcome);
    }
    Ok(outcome)
}

fn look(bench: &mut Bench<'_>, reads: usize) -> Result<Found, EarlyEnd> {
    fill(bench, AREA.length_bytes)?;
    let written = mapping::overwrite(bench, AREA, CHUNK_BYTES)?;
    let by_address = stride::curve(bench, AREA, &CHUNKS, JOBS, STRIDES, reads)?;
    let by_order = (1..=STRIDES)
        .map(|stride| {
            let places = written.turns.len() / stride;
            let accesses = (0..reads).map(|i| Access::read(written.turns[i % places * stride], CHUNK_BYTES));
            let elapsed = bench.stream(accesses, JOBS)?;
            Ok(reads as f64 * CHUNK_BYTES as f64 / 1e6 / elapsed.as_s_f64())
        })
        .collect::<Result<Vec<f64>, EarlyEnd>>()?;
    let stripe_chunks = DOMAINS * SUB_DOMAINS;
    let collisions = mapping::collisions(bench, AREA, &written, (stripe_chunks, 1), 200)?;
    // Chunks that share a die are read one after the other: 25 us of array (section 3.1).
    let step = Point { value: 25.0, error: 0.0 };
    Ok(Found { by_address, by_order, policy: collisions.policy(step) })
}

fn judge(policy: Policy, found: &Found, outcome: &mut Outcome) {
    let (drive, id) = match policy {
        Policy::WriteOrder => ("SSD-S", "fig4"),
        Policy::Lba => ("SSD-S mapped by address", "fig4-lba"),
    };
    let curves = [
        ("address (I)", &found.by_address, policy == Policy::Lba),
        ("order of writing (II)", &found.by_order, policy == Policy::WriteOrder),
    ];
    let mut figure = Figure {
        id: id.into(),
        title: format!("Detecting the mapping policy on {drive}"),
        x: Axis::linear("stride", "chunks of 4 KiB"),
        y: Axis::linear("bandwidth", "MB/s"),
        caption: "Two jobs, after a randomised overwrite: strides by address and by order of writing.".into(),
        ..Figure::default()
    };
    for (by, curve, expected) in curves {
        let degree = dips(curve).map(|(degree, _)| degree);
        let published = if expected { Value::from(DOMAINS as usize) } else { Value::from("none") };
        let unit = if expected { "chunks" } else { "" };
        outcome.rows.push(row::exact(&format!("{drive}: distance of dips by {by}"), published, degree, unit));
        figure.series.push(Series { name: format!("by {by}"), ..measured(curve) });
        figure.marks.extend(degree.map_or(Vec::new(), dip_marks));
    }
    outcome.figures.push(figure);
    outcome.rows.push(row::exact(
        &format!("{drive}: mapping policy"),
        policy.name(),
        found.policy.map(Policy::name),
        "",
    ));
}
