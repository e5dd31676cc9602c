//! The share of the flash that is left for the user's data.

use super::drives::CHANNELS;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_device::{Lane, UnitState};
use flashlane_sim::profile::load;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "capacity",
    "Section 1: the SDF gives 99% of the flash to user data, a conventional drive 50-70% for the sake of over-provisioning and parity. Bad blocks are there at their factory rate",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let device = lab.device("sdf", &[])?;
    let unit_bytes = device.info().erase_unit_bytes;
    let units = device.info().capacity_bytes / unit_bytes;
    let good = (0..CHANNELS)
        .flat_map(|lane| (0..units).map(move |unit| (lane, unit)))
        .filter(|&(lane, unit)| {
            device.unit(Lane(lane), unit).is_some_and(|unit| unit.state == UnitState::ERASED)
        })
        .count() as u64;
    let sdf = 100.0 * (good * unit_bytes) as f64 / raw_bytes("sdf")? as f64;
    let gen3 = 100.0 * load("huawei-gen3", &[])?.capacity.0 as f64 / raw_bytes("huawei-gen3")? as f64;
    Ok(Outcome {
        rows: vec![
            row::at_least("SDF: units that can be written, share of raw flash", 99.0, sdf, "%", 99.0),
            row::between("Huawei Gen3: capacity, share of raw flash", "50-70", gen3, "%", (50.0, 70.0)),
        ],
        ..Outcome::default()
    })
}

fn raw_bytes(profile: &str) -> Result<u64, FigureError> {
    let flash = load(profile, &[])?.flash;
    let planes = u64::from(flash.channels) * u64::from(flash.packages * flash.dies * flash.planes);
    Ok(planes * u64::from(flash.blocks) * u64::from(flash.pages) * flash.page.0)
}
