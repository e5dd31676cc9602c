//! Figure 3: the interleaving degree. Two or four jobs read one chunk each at a common stride; where the stride
//! brings them into one domain, the bandwidth dips.

use super::method::{AREA, CHUNKS, DOMAINS, fill};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_probe::stride;
use flashlane_result::{Axis, Figure, Mark, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig3",
    "Section 4.3: with 2 jobs the bandwidth dips from 40 to 33 MB/s every 10 chunks, ten domains; with 4 jobs two sub-domains show",
    measure,
);

/// The paper goes to four times the degree; with six, the deeper dips, at every second one, occur three times.
pub(super) const STRIDES: usize = 6 * DOMAINS as usize;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let reads = lab.either(4000, 2000);
    let [two, four] = lab.experiment("ssd-s", &[], |bench| {
        fill(bench, AREA.length_bytes)?;
        let mut curve = |jobs| stride::curve(bench, AREA, &CHUNKS, jobs, STRIDES, reads);
        Ok([curve(2)?, curve(4)?])
    })?;
    let found = dips(&two);
    // The paper's distances begin beyond the stride of one chunk.
    let level = |dip: bool| {
        let chosen = two.iter().enumerate().skip(1).filter(|(i, _)| ((i + 1) % DOMAINS as usize == 0) == dip);
        let values: Vec<f64> = chosen.map(|(_, bandwidth)| *bandwidth).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let rows = vec![
        row::exact("distance of dips, 2 jobs: domains", 10_usize, found.map(|(degree, _)| degree), "chunks"),
        row::exact("deeper dips among them: sub-domains", 2_usize, found.and_then(|(_, sub)| sub), ""),
        row::near("2 jobs in one domain", 33.0, level(true), "MB/s", 0.15),
        row::near("2 jobs in two domains", 40.0, level(false), "MB/s", 0.15),
    ];
    let figures = vec![figure(2, &two, &[(33.0, true), (40.0, false)]), figure(4, &four, &[])];
    Ok(Outcome { rows, figures, ..Outcome::default() })
}

fn figure(jobs: u32, curve: &[f64], levels: &[(f64, bool)]) -> Figure {
    let published = levels.iter().map(|&(level, dip)| Series {
        name: if dip { "published, one domain".into() } else { "published, two domains".into() },
        points: (2..=STRIDES)
            .filter(|stride| stride.is_multiple_of(DOMAINS as usize) == dip)
            .map(|stride| (stride as f64, level))
            .collect(),
        scatter: true,
        ..Series::default()
    });
    Figure {
        id: format!("fig3-{jobs}jobs"),
        title: format!("Detecting the interleaving degree on SSD-S, {jobs} jobs"),
        x: Axis::linear("stride", "chunks of 4 KiB"),
        y: Axis::linear("bandwidth", "MB/s"),
        series: std::iter::once(measured(curve)).chain(published).collect(),
        marks: dips(curve).map_or(Vec::new(), |(degree, _)| dip_marks(degree)),
        caption: "Strides are from start to start; a stride of one chunk, a sequential read, is left out."
            .into(),
    }
}

/// Returns the period of a curve's dips, and of the deeper ones. A stride of one chunk is a sequential read, which
/// readahead serves, so its value is replaced by its neighbour's.
pub(super) fn dips(curve: &[f64]) -> Option<(usize, Option<usize>)> {
    let strides: Vec<f64> = std::iter::once(curve[1]).chain(curve[1..].iter().copied()).collect();
    stride::dips(&strides)
}

/// Returns a stride curve without its first point, the sequential read, which is far higher than the rest.
pub(super) fn measured(curve: &[f64]) -> Series {
    Series {
        name: "measured".into(),
        points: curve.iter().enumerate().skip(1).map(|(i, bandwidth)| ((i + 1) as f64, *bandwidth)).collect(),
        scatter: false,
        ..Series::default()
    }
}

/// Returns marks at the dips.
pub(super) fn dip_marks(degree: usize) -> Vec<Mark> {
    (1..=STRIDES / degree)
        .map(|n| Mark {
            x: (n * degree) as f64,
            y: None,
            label: if n == 1 { format!("every {degree}") } else { String::new() },
        })
        .collect()
}
