//! Interference of reads and writes: what a random reader and a writer lose to each other (chen11, section 5.2 and
//! table 2).

use crate::chunk::Area;
use crate::result::Finding;
use crate::rig::Rig;
use flashlane_base::Seed;
use flashlane_measure::Interruption;
use flashlane_workload::{Job, Mix, Pattern, Stop, Workload};

/// From this slowdown on there is interference, and up to this there is none to speak of.
const SLOWED: f64 = 1.5;
const NOT_SLOWED: f64 = 1.2;

/// Measures a reader and a writer alone and together, each in its half of the area.
pub(crate) fn find(rig: &mut Rig<'_>, area: Area, page: u64, requests: u64) -> Result<Finding, Interruption> {
    let half = area.length_bytes / 2 / page * page;
    let reader = Job::new("reader", Pattern::Random, Mix::READ, page).area(area.offset_bytes, half);
    let writer = Job::new("writer", Pattern::Random, Mix::WRITE, page).area(area.offset_bytes + half, half);
    let mut rates = |jobs: Vec<Job>| -> Result<Vec<f64>, Interruption> {
        let workload = Workload::new(jobs, Stop::after(requests)).seed(Seed(rig.random().bits()));
        let run = rig.run(&workload)?;
        rig.settle()?;
        let seconds = run.elapsed.as_s_f64().max(1e-9);
        Ok(run.jobs.iter().map(|job| job.latencies().len() as f64 / seconds).collect())
    };
    let alone = (rates(vec![reader.clone()])?[0], rates(vec![writer.clone()])?[0]);
    let together = rates(vec![reader, writer])?;
    let slowed = (alone.0 / together[0].max(1e-9), alone.1 / together[1].max(1e-9));
    let worst = slowed.0.max(slowed.1);
    let evidence = format!(
        "random reads fall from {:.0} to {:.0} a second beside random writes, writes from {:.0} to {:.0} beside reads (one of each in flight)",
        alone.0, together[0], alone.1, together[1]
    );
    Ok(if worst >= SLOWED {
        Finding::found((worst * 100.0).round() / 100.0, 0.9, evidence)
    } else if worst <= NOT_SLOWED {
        Finding::absent(0.9, evidence)
    } else {
        Finding::not_determined(evidence)
    })
}
