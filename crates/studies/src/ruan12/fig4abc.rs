//! Figures 4(a) to (c): the number of pages drained at once, for copies of small, medium and large files.
//!
//! A copy is limited by the source disk: the requests keep their order, and none arrives before the disk has read the
//! data of those before it. Writes then hardly wait except for the first page of a batch, and most means are a tenth of
//! a millisecond, where the paper has small files below 0.73 ms.
//!
//! The more pages drain at once, the fewer writes begin a batch, and the longer is a batch that a read meets. Large
//! files, with two reads in 29,988 requests, are best in the middle (64 pages; 128 within 1%); small ones, with one
//! read in seventeen (one in ten in the paper's table III), with few pages. Their recording is 32 batches of 512 pages
//! long, and half of its reads come together before the buffer is full: the first step still helps the writes, and
//! which batch the reads meet at the end is chance.

use super::method::{Buffer, mean_ms, replay, requests};
use super::workload::{LARGE_FILES, MP3_FILES, Program, SMALL_FILES};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Verdict, row};
use flashlane_base::{Duration, Instant};
use flashlane_result::{Axis, Figure, Series, Warning};
use flashlane_trace::Record;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig4abc",
    "Section IV.B: 8 to 512 pages of each package at once, 64 MB: small files fare worse the more they are, large ones best with 128. The copies, recorded on a faster drive, arrive no sooner than a disk of 2011 reads them, at 100 MB/s",
    measure,
);

/// The number of pages at once at which the paper finds large files fastest.
const PUBLISHED_BEST: u32 = 128;

/// Sequential read rate of a disk of the paper's time, the source of the copies.
pub(super) const DISK_BYTES_PER_S: f64 = 100e6;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let pages: &[u32] = lab.either(&[8, 16, 32, 64, 128, 256, 512], &[8, 64, 128, 512]);
    let mut outcome = Outcome::default();
    let [small, middling, large] = [(SMALL_FILES, "fig4a"), (MP3_FILES, "fig4b"), (LARGE_FILES, "fig4c")]
        .map(|(program, id)| copies(lab, program, id, pages, &mut outcome));
    judge(pages, [&small?[..], &middling?[..], &large?[..]], &mut outcome);
    Ok(outcome)
}

/// Judges the mean response times in ms by the number of pages, of small, medium and large files.
pub(super) fn judge(pages: &[u32], [small, middling, large]: [&[f64]; 3], outcome: &mut Outcome) {
    let rising = small.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let quantity = "small files: steps to more pages at once that make the mean response longer";
    let steps = row::exact(quantity, pages.len() - 1, Some(rising), "");
    if steps.verdict == Verdict::Missed {
        outcome.warnings.push(not_each_step(pages, small));
    }
    outcome.rows.push(steps);
    let cost = |means: &[f64]| means[means.len() - 1] / means[0];
    let (fewest, most) = (pages[0], pages[pages.len() - 1]);
    for (name, means) in [("MP3 files", middling), ("large files", large)] {
        outcome.rows.push(row::at_most(
            &format!("{name}: mean response with {most} pages at once over that with {fewest}"),
            "less than with small files",
            cost(means),
            "",
            cost(small),
        ));
    }
    let best = (0..large.len()).min_by(|&a, &b| large[a].total_cmp(&large[b]));
    let best_pages = best.map(|at| pages[at] as usize);
    let row =
        row::exact("large files: best number of pages at once", PUBLISHED_BEST as usize, best_pages, "pages");
    let published = pages.iter().position(|&pages| pages == PUBLISHED_BEST);
    if let (Verdict::Missed, Some(best), Some(published)) = (row.verdict, best, published) {
        outcome.warnings.push(another_is_best(pages[best], large[best], large[published]));
    }
    outcome.rows.push(row);
}

fn not_each_step(pages: &[u32], means: &[f64]) -> Warning {
    let each = pages.iter().zip(means).map(|(pages, ms)| format!("{ms:.3} ms with {pages}"));
    Warning::new(
        "not-each-step-is-slower",
        format!(
            "fig4abc: small files: by pages at once the mean response is {}",
            each.collect::<Vec<_>>().join(", ")
        ),
    )
}

fn another_is_best(pages: u32, best_ms: f64, published_ms: f64) -> Warning {
    Warning::new(
        "best-number-of-pages-differs",
        format!(
            "fig4abc: large files: the mean response is {best_ms:.3} ms with {pages} pages at once, {published_ms:.3} ms with the published {PUBLISHED_BEST}: {:.1}% longer",
            100.0 * (published_ms / best_ms - 1.0)
        ),
    )
}

/// Measures mean response times in ms by the number of pages, with `parallel`.
fn copies(
    lab: &mut Lab<'_>,
    program: Program,
    id: &str,
    pages: &[u32],
    outcome: &mut Outcome,
) -> Result<Vec<f64>, FigureError> {
    let records = from_disk(requests(lab, &program, outcome)?.unwrap_or_default());
    let means: [Vec<f64>; 2] = {
        let mut by = |policy: &str| {
            let mean = |&pages: &u32| {
                let buffer = Buffer { batch_pages: pages, ..Buffer::of(64) };
                Ok(mean_ms(&replay(lab, policy, buffer, records.iter().copied())?))
            };
            pages.iter().map(mean).collect::<Result<Vec<f64>, FigureError>>()
        };
        [by("lru")?, by("parallel")?]
    };
    let series = |(name, means): (&str, &Vec<f64>)| Series {
        name: name.into(),
        points: pages.iter().zip(means).map(|(&pages, &ms)| (f64::from(pages), ms)).collect(),
        scatter: false,
        ..Series::default()
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

/// Delays each request until the disk has read the data of those before it.
pub(super) fn from_disk(mut records: Vec<Record>) -> Vec<Record> {
    let mut read = Instant::ZERO;
    for record in &mut records {
        record.at = record.at.max(read);
        read = record.at + Duration::from_s_f64(record.length_bytes as f64 / DISK_BYTES_PER_S);
    }
    records
}
