//! Figure 14: writes, and the merges that they cause.

use super::node::{Node, ON_GEN3, SDF};
use crate::lab::Lab;
use crate::store_load::{Writes, writes};
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, row};
use flashlane_base::Duration;
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig14",
    "Section 3.3.3: writes of 100 KB to 1 MB, one at a time from a client of each slice, over sorted patches: what the drive reads and writes, merges included, grows on the SDF up to 16 slices, where it peaks near 1 GB/s, and the share of reads is smaller with 32; on the Gen3 it does not grow, and reads are less than 15% with 32",
    measure,
)
.with_weight(10 * 20);

const SLICES: [u32; 5] = [1, 4, 8, 16, 32];
/// Values before the measurement.
const DATA_BYTES: u64 = 2_200_000_000;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let (time, data_bytes) =
        lab.either((Duration::from_s(6), DATA_BYTES), (Duration::from_s(2), DATA_BYTES / 2));
    let mut run = |node: Node| -> Result<Vec<Writes>, FigureError> {
        let mut found = Vec::new();
        for slices in SLICES {
            let device = node.device(lab)?;
            let lab = lab.part(20);
            found.push(writes(device, slices, data_bytes, time, &mut |share| lab.advance(share))?);
        }
        Ok(found)
    };
    let (sdf, gen3) = (run(SDF)?, run(ON_GEN3)?);
    let (rows, figure) = (rows(&sdf, &gen3), figure(&sdf, &gen3));
    Ok(Outcome { rows, figures: vec![figure], ..Outcome::default() })
}

/// Compares the published numbers with those measured, one for each of [`SLICES`].
fn rows(sdf: &[Writes], gen3: &[Writes]) -> Vec<Row> {
    let total = |writes: &Writes| (writes.read_rate() + writes.write_rate()) / 1e9;
    let reads = |writes: &Writes| 100.0 * writes.read_rate() / 1e9 / total(writes);
    let most = sdf.iter().map(total).fold(0.0, f64::max);
    vec![
        row::at_least("SDF: reads and writes, most", "near 1", most, "GB/s", 0.9),
        row::at_least("SDF: 16 slices over the most", "the peak", total(&sdf[3]) / most, "", 0.95),
        row::at_most(
            "SDF: share of reads, 32 slices over 16",
            "less",
            reads(&sdf[4]) / reads(&sdf[3]),
            "",
            1.0,
        ),
        row::between(
            "Gen3: 32 slices over 4",
            "does not grow",
            total(&gen3[4]) / total(&gen3[1]),
            "",
            (0.8, 1.2),
        ),
        row::at_most("Gen3, 32 slices: share of reads", "less than 15", reads(&gen3[4]), "%", 15.0),
    ]
}

fn figure(sdf: &[Writes], gen3: &[Writes]) -> Figure {
    let line = |name: String, of: &[Writes], value: &dyn Fn(&Writes) -> f64| Series {
        name,
        points: SLICES
            .iter()
            .zip(of)
            .map(|(&slices, writes)| (f64::from(slices), value(writes) / 1e6))
            .collect(),
        ..Series::default()
    };
    let lines = [(SDF, sdf), (ON_GEN3, gen3)].into_iter().flat_map(|(node, of)| {
        [
            line(format!("{}: written", node.name()), of, &Writes::write_rate),
            line(format!("{}: read by merges", node.name()), of, &Writes::read_rate),
            line(format!("{}: by users", node.name()), of, &|writes| {
                writes.rate(|counters| counters.user_bytes_written)
            }),
        ]
    });
    let longest = |of: &Writes| format!("{:.0}", of.latency.max / 1e6);
    Figure {
        id: "fig14".into(),
        title: "Writes of 100 KB to 1 MB to the store".into(),
        x: Axis::linear("slices", ""),
        y: Axis::linear("throughput", "MB/s"),
        series: lines.collect(),
        caption: format!(
            "Longest write on the SDF with {} slices: {} ms.",
            SLICES.map(|slices| slices.to_string()).join(", "),
            sdf.iter().map(longest).collect::<Vec<_>>().join(", ")
        ),
        ..Figure::default()
    }
}
