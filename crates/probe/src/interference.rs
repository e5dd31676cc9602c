//! Interference of reads and writes: how much a random reader and a random writer slow each other down (chen11,
//! section 5.2 and table 2).

use crate::area::Area;
use crate::bench::Bench;
use crate::error::EarlyEnd;
use flashlane_base::{Duration, Seed};
use flashlane_result::probe::Finding;
use flashlane_workload::{Job, Mix, Pattern, Stop, Workload};
use std::fmt;

/// Least slowdown that counts as interference, and greatest one that counts as none.
const SLOWED: f64 = 1.5;
const NOT_SLOWED: f64 = 1.2;
const TURNS: usize = 3;
/// Longest run where time is real.
const LONGEST: Duration = Duration::from_ms(500);

/// Turns agree where the greatest slowdown exceeds the least by at most this factor; more requests would then show the
/// same, since it differs from [`SLOWED`] and [`NOT_SLOWED`] by more than that.
const AGREE: f64 = 1.05;

/// Measures a reader and a writer alone and together, each in one half of the area, with the first of the rising
/// numbers of requests whose turns agree, or the last.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    page: u64,
    requests: &[usize],
) -> Result<Finding, EarlyEnd> {
    let (&most, fewer) = requests.split_last().expect("numbers of requests are given");
    for &few in fewer {
        if let Some(slowdowns) = measure(bench, area, page, few as u64)?
            && slowdowns.iter().all(Slowdown::is_certain)
        {
            return Ok(finding(&slowdowns));
        }
    }
    Ok(match measure(bench, area, page, most as u64)? {
        Some(slowdowns) => finding(&slowdowns),
        None => Finding::not_determined("reads or writes are done faster than can be timed"),
    })
}

/// Returns the slowdown of the reader and of the writer; `None` where requests take less time than can be measured.
fn measure(
    bench: &mut Bench<'_>,
    area: Area,
    page: u64,
    requests: u64,
) -> Result<Option<[Slowdown; 2]>, EarlyEnd> {
    let half = area.length_bytes / 2 / page * page;
    let reader = Job::new("reader", Pattern::Random, Mix::READ, page).area(area.offset_bytes, half);
    let writer = Job::new("writer", Pattern::Random, Mix::WRITE, page).area(area.offset_bytes + half, half);
    let mut is_timed = true;
    let mut rates = |jobs: Vec<Job>| -> Result<Vec<f64>, EarlyEnd> {
        let mut stop = Stop::after(requests);
        stop.time = (!bench.device().info().simulated).then_some(LONGEST);
        let workload = Workload::new(jobs, stop).seed(Seed(bench.random().bits()));
        let run = bench.run(&workload)?;
        bench.flush_and_pause()?;
        // Time has a resolution of 1 ns: with less for each request, no rate can be told.
        is_timed &= run.elapsed.as_ns() >= run.requests;
        let seconds = run.elapsed.as_s_f64().max(1e-9);
        Ok(run.jobs.iter().map(|job| job.latencies().len() as f64 / seconds).collect())
    };
    // Alone and together in turns: a slowdown that only one turn shows is not interference.
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let (read_alone, write_alone) = (rates(vec![reader.clone()])?[0], rates(vec![writer.clone()])?[0]);
        let together = rates(vec![reader.clone(), writer.clone()])?;
        turns.push([(read_alone, together[0]), (write_alone, together[1])]);
    }
    let slowdown = |job| Slowdown::new(turns.iter().map(|turn| turn[job]).collect());
    Ok(is_timed.then(|| [0, 1].map(slowdown)))
}

fn finding([reads, writes]: &[Slowdown; 2]) -> Finding {
    let evidence = format!(
        "random reads {reads} beside random writes, writes {writes} beside reads (one of each in flight)"
    );
    let worst = if reads.least >= writes.least { reads } else { writes };
    if worst.least >= SLOWED {
        Finding::found((worst.median() * 100.0).round() / 100.0, 0.9, evidence)
    } else if reads.most.max(writes.most) <= NOT_SLOWED {
        Finding::absent(0.9, evidence)
    } else {
        Finding::not_determined(evidence)
    }
}

/// Slowdown of the reader or the writer.
struct Slowdown {
    /// Requests per second alone and together, in the turn of median slowdown.
    alone: f64,
    together: f64,
    least: f64,
    most: f64,
}

impl Slowdown {
    fn new(mut turns: Vec<(f64, f64)>) -> Self {
        let slowdown = |turn: &(f64, f64)| turn.0 / turn.1.max(1e-9);
        turns.sort_by(|a, b| slowdown(a).total_cmp(&slowdown(b)));
        let (alone, together) = turns[turns.len() / 2];
        Self { alone, together, least: slowdown(&turns[0]), most: slowdown(&turns[turns.len() - 1]) }
    }

    /// Returns whether the turns agree, and no other such turn would be judged differently.
    fn is_certain(&self) -> bool {
        let differs = |limit: f64| limit > AGREE * self.most || limit < self.least / AGREE;
        self.most <= AGREE * self.least && differs(SLOWED) && differs(NOT_SLOWED)
    }

    fn median(&self) -> f64 {
        self.alone / self.together.max(1e-9)
    }
}

impl fmt::Display for Slowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { alone, together, least, most } = self;
        write!(f, "go from {alone:.0} to {together:.0} a second ({least:.2} to {most:.2} times slower)")
    }
}
