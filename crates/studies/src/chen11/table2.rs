//! Table 2: reads beside writes. Pairs of workloads of 4 KB with one job each, in two areas of 1024 MB.

use super::method::{AREA, KIB, fill, job_mb_per_s, mb_per_s, run};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::Warning;
use flashlane_workload::{Job, Mix, Pattern};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table2",
    "Section 5.2: sequential reads and writes together fall short of the sum of both; beside random reads writes fall by a factor of 4.5",
    measure,
);

const WITHIN: f64 = 0.20;
const READS: [(&str, Pattern, f64); 2] =
    [("sequential reads", Pattern::Sequential, 72.6), ("random reads", Pattern::Random, 21.3)];
const WRITES: [(&str, Pattern, f64); 2] =
    [("sequential writes", Pattern::Sequential, 61.4), ("random writes", Pattern::Random, 59.4)];
/// By reads, then writes.
const TOGETHER: [[f64; 2]; 2] = [[109.2, 103.5], [32.8, 33.2]];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let requests = lab.either(8000, 4000);
    let mut bandwidths = |jobs: &[&Job]| {
        lab.experiment("ssd-s", &[], |bench| {
            fill(bench, 2 * AREA.length_bytes)?;
            let jobs: Vec<Job> = jobs.iter().map(|&job| job.clone()).collect();
            let many = jobs.len();
            let run = run(bench, jobs, requests * many as u64)?;
            Ok((mb_per_s(&run), (0..many).map(|job| job_mb_per_s(&run, job)).collect::<Vec<f64>>()))
        })
    };
    let job = |name: &str, pattern: &Pattern, mix, offset| {
        Job::new(name, pattern.clone(), mix, 4 * KIB).area(offset, AREA.length_bytes)
    };
    let readers = READS.map(|(name, pattern, _)| job(name, &pattern, Mix::READ, 0));
    let writers = WRITES.map(|(name, pattern, _)| job(name, &pattern, Mix::WRITE, AREA.length_bytes));
    let (mut rows, mut warnings) = (Vec::new(), Vec::new());
    let mut alone = Vec::new();
    for (job, (name, _, published)) in readers.iter().chain(&writers).zip(READS.iter().chain(&WRITES)) {
        let (bandwidth, _) = bandwidths(&[job])?;
        rows.push(row::near(&format!("{name} alone"), *published, bandwidth, "MB/s", WITHIN));
        alone.push(bandwidth);
    }
    for (r, reader) in readers.iter().enumerate() {
        for (w, writer) in writers.iter().enumerate() {
            let (both, shares) = bandwidths(&[reader, writer])?;
            let quantity = format!("{} and {}", READS[r].0, WRITES[w].0);
            rows.push(row::near(&quantity, TOGETHER[r][w], both, "MB/s", WITHIN));
            if (r, w) == (1, 0) {
                let factor = |job: usize, alone: f64| alone / shares[job];
                let slower = "sequential writes, alone over beside random reads";
                rows.push(row::near(slower, 4.5, factor(1, alone[2]), "", WITHIN));
                let slower = "random reads, alone over beside sequential writes";
                rows.push(row::near(slower, 21.3 / 19.4, factor(0, alone[1]), "", WITHIN));
                warnings.push(shares_differ(&shares));
            }
        }
    }
    Ok(Outcome { rows, warnings, ..Outcome::default() })
}

fn shares_differ(shares: &[f64]) -> Warning {
    let [reads, writes] = shares else { unreachable!("two jobs ran") };
    Warning::new(
        "shares-of-reads-and-writes",
        format!(
            "table2: beside each other random reads get {reads:.1} and sequential writes {writes:.1} MB/s, where the paper's text has 19.4 and 13.4: its drive lets reads pass writes now and then, for a reason that it could not tell; here they take turns"
        ),
    )
}
