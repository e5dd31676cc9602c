//! Figures 4(a) to (c): how many pages leave at once, under copies of small, middling and large files.
//!
//! What more pages at once cost is borne by reads that come meanwhile: 10% of the paper's requests for small files
//! (table III), 7 of the 20,104 of the recording here. Writes gain by them, since they leave more room for the next
//! burst.

use super::method::{Buffer, mean_ms, replay, requests};
use super::workload::{LARGE_FILES, MP3_FILES, Program, SMALL_FILES};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row};
use flashlane_measure::figure::{Axis, Figure, Series};
use flashlane_trace::Record;

pub(super) const FIGURE: FigureStudy = FigureStudy {
    id: "fig4abc",
    claim: "Section IV.B: 8 to 512 pages of each package at once, 64 MB: small files fare worse the more they are, large ones best with 128. The copies, recorded on a faster drive, arrive at 100 MB/s, as from a disk of 2011",
    measure,
};

/// What a disk of the paper's time reads in sequence: the copies come from one.
const DISK_BYTES_PER_S: f64 = 100e6;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let pages: &[u32] = lab.either(&[8, 16, 32, 64, 128, 256, 512], &[8, 128, 512]);
    let mut outcome = Outcome::default();
    let [small, middling, large] = [(SMALL_FILES, "fig4a"), (MP3_FILES, "fig4b"), (LARGE_FILES, "fig4c")]
        .map(|(program, id)| copies(lab, program, id, pages, &mut outcome));
    let (small, middling, large) = (small?, middling?, large?);
    let rising = small.windows(2).filter(|pair| pair[1] > pair[0]).count();
    outcome.rows.push(Row::exact(
        "small files: steps to more pages at once that make the mean response longer",
        pages.len() - 1,
        Some(rising),
        "",
    ));
    let cost = |means: &[f64]| means[means.len() - 1] / means[0];
    for (name, means) in [("MP3 files", &middling), ("large files", &large)] {
        outcome.rows.push(Row::at_most(
            &format!("{name}: mean response with 512 pages at once over that with 8"),
            "less than with small files",
            cost(means),
            "",
            cost(&small),
        ));
    }
    let best = (0..large.len()).min_by(|&a, &b| large[a].total_cmp(&large[b])).map(|at| pages[at] as usize);
    outcome.rows.push(Row::exact("large files: best number of pages at once", 128_usize, best, "pages"));
    Ok(outcome)
}

/// Mean response times in ms by the number of pages, by `parallel`.
fn copies(
    lab: &mut Lab<'_>,
    program: Program,
    id: &str,
    pages: &[u32],
    outcome: &mut Outcome,
) -> Result<Vec<f64>, FigureError> {
    let records = requests(lab, &program, outcome)?.unwrap_or_default();
    let speed = DISK_BYTES_PER_S / bytes_per_s(&records);
    let means: [Vec<f64>; 2] = {
        let mut by = |policy: &str| {
            let mean = |&pages: &u32| {
                let buffer = Buffer { parallel_pages: pages, ..Buffer::of(64) };
                Ok(mean_ms(&replay(lab, policy, buffer, speed, records.iter().copied())?))
            };
            pages.iter().map(mean).collect::<Result<Vec<f64>, FigureError>>()
        };
        [by("lru")?, by("parallel")?]
    };
    let series = |(name, means): (&str, &Vec<f64>)| Series {
        name: name.into(),
        points: pages.iter().zip(means).map(|(&pages, &ms)| (f64::from(pages), ms)).collect(),
        scatter: false,
    };
    outcome.figures.push(Figure {
        id: id.into(),
        title: format!("Pages that leave at once, under a copy of {}", program.name),
        x: Axis::log("pages of each package at once", ""),
        y: Axis::linear("mean response time", "ms"),
        series: ["lru", "parallel"].into_iter().zip(&means).map(series).collect(),
        caption: "A buffer of 64 MB.".into(),
        ..Figure::default()
    });
    let [_, parallel] = means;
    Ok(parallel)
}

/// The rate at which a recording's data came.
fn bytes_per_s(records: &[Record]) -> f64 {
    let bytes: u64 = records.iter().map(|record| record.length_bytes).sum();
    match (records.first(), records.last()) {
        (Some(first), Some(last)) => bytes as f64 / last.at.since(first.at).as_s_f64(),
        _ => DISK_BYTES_PER_S,
    }
}
