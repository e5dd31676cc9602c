//! Figure 6: the effect of parallelism on readahead. Each of 1 to 32 jobs reads its own area sequentially.
//!
//! Besides the paper's drive also one whose readahead follows 32 streams, the remedy that section 5.3 suggests.

use super::method::{KIB, mb_per_s, run};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::{Job, Mix, Pattern};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig6",
    "Section 5.3: two sequential readers defeat the readahead, 4 KB falls by 43% from 65 to 37 MB/s; more jobs and larger requests make up for it",
    measure,
);

const SIZES_KIB: [u64; 7] = [4, 8, 16, 32, 64, 128, 256];
/// An area for each of 32 jobs on a drive of 32 GB: the paper's 1024 MB would not quite fit.
const AREA_BYTES: u64 = 3814 * 256 * KIB;
/// The whole drive is filled, as an initial state, which takes no simulated time.
const FILLED: (&str, &str) = ("initial.state", "full");
const MULTI_STREAM: [(&str, &str); 2] = [("readahead.options.streams", "32"), ("readahead.cache", "4MiB")];

/// Bandwidths in MB/s by size, then jobs.
type Curves = Vec<Vec<f64>>;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let jobs: &[u64] = lab.either(&[1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32], &[1, 2, 8, 32]);
    let one = curves(lab, &[], jobs)?;
    let many = curves(lab, &MULTI_STREAM, jobs)?;
    let at = |curves: &Curves, size: usize, count: u64| {
        curves[size][jobs.iter().position(|&jobs| jobs == count).expect("the grid has the count")]
    };
    let dip_percent = |curves: &Curves, size| 100.0 * (1.0 - at(curves, size, 2) / at(curves, size, 1));
    let dip = dip_percent(&one, 0);
    let larger = (1..SIZES_KIB.len()).map(|size| dip_percent(&one, size)).fold(f64::NEG_INFINITY, f64::max);
    let steps = (1..SIZES_KIB.len()).map(|size| dip_percent(&one, size) - dip_percent(&one, size - 1));
    // A curve without a dip may rise by any amount.
    let dipping = SIZES_KIB.iter().enumerate().filter(|&(size, _)| dip_percent(&one, size) > 0.0).count();
    let step = steps.take(dipping).fold(f64::NEG_INFINITY, f64::max);
    let rows = vec![
        row::near("4 KB, 1 job", 65.0, at(&one, 0, 1), "MB/s", 0.15),
        row::near("4 KB, 2 jobs", 37.0, at(&one, 0, 2), "MB/s", 0.15),
        row::between("4 KB, dip at 2 jobs", 43.0, dip, "%", (30.0, 55.0)),
        row::at_most("8 KB and more, largest dip at 2 jobs", "smaller", larger, "%", dip),
        row::at_most("highest rise of the dip to the next size", "falls", step, "%", 0.0),
        row::at_least("4 KB, 8 jobs over 1", "recovered", at(&one, 0, 8) / at(&one, 0, 1), "", 1.0),
        row::at_least(
            "4 KB, 2 jobs over 1, if readahead follows 32 streams",
            "no dip",
            at(&many, 0, 2) / at(&many, 0, 1),
            "",
            1.0,
        ),
    ];
    let published = Series {
        name: "published, 4 KB".into(),
        points: vec![(1.0, 65.0), (2.0, 37.0)],
        scatter: true,
        ..Series::default()
    };
    let figures = vec![
        figure("fig6", "SSD-S: one sequential reader a job", &one, jobs, Some(published)),
        figure(
            "fig6-32-streams",
            "SSD-S with a readahead of 32 streams: one sequential reader a job",
            &many,
            jobs,
            None,
        ),
    ];
    Ok(Outcome { rows, figures, ..Outcome::default() })
}

fn curves(lab: &mut Lab<'_>, overrides: &[(&str, &str)], jobs: &[u64]) -> Result<Curves, FigureError> {
    let most_requests = lab.either(8000, 4000);
    let overrides: Vec<_> = overrides.iter().copied().chain([FILLED]).collect();
    lab.experiment("ssd-s", &overrides, |bench| {
        let mut curve = |&kib: &u64| -> Result<Vec<f64>, _> {
            let requests = (64 * KIB / kib).clamp(500, most_requests);
            let point = |&count: &u64| {
                let reader = |i| {
                    let job = Job::new(format!("reader {i}"), Pattern::Sequential, Mix::READ, kib * KIB);
                    job.area(i * AREA_BYTES, AREA_BYTES)
                };
                run(bench, (0..count).map(reader).collect(), requests).map(|run| mb_per_s(&run))
            };
            jobs.iter().map(point).collect()
        };
        SIZES_KIB.iter().map(&mut curve).collect()
    })
}

fn figure(id: &str, title: &str, curves: &Curves, jobs: &[u64], published: Option<Series>) -> Figure {
    let measured = SIZES_KIB.iter().zip(curves).map(|(kib, curve)| Series {
        name: format!("{kib} KB"),
        points: jobs.iter().zip(curve).map(|(&jobs, &bandwidth)| (jobs as f64, bandwidth)).collect(),
        scatter: false,
        ..Series::default()
    });
    Figure {
        id: id.into(),
        title: title.into(),
        x: Axis::linear("jobs", ""),
        y: Axis::linear("bandwidth", "MB/s"),
        series: measured.chain(published).collect(),
        marks: Vec::new(),
        caption: "All jobs together; each reads an area of its own.".into(),
    }
}
