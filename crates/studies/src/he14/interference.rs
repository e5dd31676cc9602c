//! Section 5.3: how much extra accesses disturb others.

use super::layered::{LAYER, OFF, Runs, SSDS, interference_percent};
use super::method::WORKLOADS;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "interference",
    "Section 5.3, on real drives: for less than 3% of the time an extra access is performed while another waits for the chip. Here the layer over simulated ones, without their write caches; the drive with the most, in the mean of its partitions",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let runs = SSDS.map(|ssd| (ssd, Runs::of(lab, ssd)));
    for workload in WORKLOADS {
        let of_drives = runs
            .iter()
            .map(|(ssd, runs)| (interference_percent(runs.get(workload, OFF, LAYER), ssd), ssd.name));
        let (percent, drive) = of_drives.max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are drives");
        let quantity = format!("{}: time of interference, {drive}", workload.name);
        outcome.rows.push(row::at_most(&quantity, "less than 3", percent, "%", 5.0));
    }
    Ok(outcome)
}
