//! Figure 7: an ill-mapped layout. Random reads of 4 KB aimed at one domain, and at ten in turn.
//!
//! Besides the paper's drive also one with random allocation of chunks, a defence that section 7 suggests: there the
//! addresses of one domain are spread over all domains.

use super::method::{AREA, CHUNK_BYTES, DOMAINS, fill};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_probe::EarlyEnd;
use flashlane_probe::bench::Bench;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig7",
    "Section 5.4: reads of one domain take as long as those of ten with 1 job, and 4.2 times as long (3 against 0.7 ms) with 32",
    measure,
);

const RANDOMISED: [(&str, &str); 1] = [("mapping.allocation", "random")];

/// Mean latencies in ms by jobs.
struct Latencies {
    one: Vec<f64>,
    ten: Vec<f64>,
}

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let jobs: &[u32] = lab.either(&[1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32], &[1, 8, 32]);
    let striped = latencies(lab, &[], jobs)?;
    let randomised = latencies(lab, &RANDOMISED, jobs)?;
    let last = jobs.len() - 1;
    let ratio = |latencies: &Latencies, at: usize| latencies.one[at] / latencies.ten[at];
    let rows = vec![
        // With 1 job nothing can collide; only tenths of a percent of the host's jitter remain.
        row::between(
            "latency of one domain over ten, 1 job",
            1.0,
            hundredths(ratio(&striped, 0)),
            "",
            (1.0, 1.2),
        ),
        row::between("latency of one domain over ten, 32 jobs", 4.2, ratio(&striped, last), "", (3.5, 5.5)),
        row::between(
            "the same, 32 jobs, if chunks are placed at random",
            "alike",
            ratio(&randomised, last),
            "",
            (0.8, 1.25),
        ),
    ];
    let published = |name: &str, at_32| Series {
        name: format!("published, {name}"),
        points: vec![(32.0, at_32)],
        scatter: true,
        ..Series::default()
    };
    let mut striped = figure("fig7", "SSD-S: reads of one domain and of ten in turn", &striped, jobs);
    striped.series.extend([published("one domain", 3.0), published("ten domains", 0.7)]);
    let randomised =
        figure("fig7-randomised", "SSD-S with placement at random: the same addresses", &randomised, jobs);
    Ok(Outcome { rows, figures: vec![striped, randomised], ..Outcome::default() })
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn latencies(lab: &mut Lab<'_>, overrides: &[(&str, &str)], jobs: &[u32]) -> Result<Latencies, FigureError> {
    let requests = lab.either(8000, 4000);
    lab.experiment("ssd-s", overrides, |bench| {
        fill(bench, AREA.length_bytes)?;
        let curve = |bench: &mut Bench<'_>, domains| {
            jobs.iter()
                .map(|&jobs| mean_latency_ms(bench, domains, jobs, requests))
                .collect::<Result<Vec<f64>, _>>()
        };
        Ok(Latencies { one: curve(bench, 1)?, ten: curve(bench, DOMAINS)? })
    })
}

/// Mean latency of random reads of `domains` domains in turn. The drive was filled in order, so a chunk's domain is its
/// number modulo the number of domains.
fn mean_latency_ms(bench: &mut Bench<'_>, domains: u64, jobs: u32, requests: u64) -> Result<f64, EarlyEnd> {
    let stripes = AREA.length_bytes / CHUNK_BYTES / DOMAINS;
    let accesses: Vec<Access> = (0..requests)
        .map(|i| {
            Access::read((bench.random().below(stripes) * DOMAINS + i % domains) * CHUNK_BYTES, CHUNK_BYTES)
        })
        .collect();
    bench.flush_and_pause()?;
    let mut sum_ns = 0;
    bench.stream_each(accesses.into_iter(), jobs, |_, completion| sum_ns += completion.latency().as_ns())?;
    Ok(sum_ns as f64 / requests as f64 / 1e6)
}

fn figure(id: &str, title: &str, latencies: &Latencies, jobs: &[u32]) -> Figure {
    let curve = |name: &str, values: &[f64]| Series {
        name: name.into(),
        points: jobs.iter().zip(values).map(|(&jobs, &ms)| (f64::from(jobs), ms)).collect(),
        scatter: false,
        ..Series::default()
    };
    Figure {
        id: id.into(),
        title: title.into(),
        x: Axis::linear("jobs", ""),
        y: Axis::linear("mean latency", "ms"),
        series: vec![curve("one domain", &latencies.one), curve("ten domains", &latencies.ten)],
        marks: Vec::new(),
        caption: "Random reads of 4 KB.".into(),
    }
}
