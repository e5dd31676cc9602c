//! The probe on drives of known structure, devices without structure, and devices that fail.

mod delayed;
mod failing;
mod file;
mod hidden_buses;
mod hidden_chunks;
mod hidden_dies;
mod known;
mod mistaken;
mod reclaim_unit;
mod recommendations;
mod structureless;
mod wide;

use flashlane_base::Seed;
use flashlane_device::Device;
use flashlane_probe::{Effort, Feature, Options, ProbeResult, Status, probe};
use flashlane_sim::{Drive, profile};

/// Creates the drive of a profile with some settings replaced.
fn drive(profile: &str, overrides: &[(&str, &str)]) -> Drive {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    Drive::new(&profile::load(profile, &overrides).unwrap(), Seed(1))
}

/// Creates a drive from the text of a profile.
fn drive_of(text: &str, seed: u64) -> Drive {
    Drive::new(&profile::parse("drawn", text, &[]).unwrap(), Seed(seed))
}

fn options(effort: Effort, seed: u64) -> Options<'static> {
    Options { effort, may_write: true, seed: Seed(seed), ..Options::default() }
}

/// Probes for the structure only, since recommendations take most of the time.
fn structure_of(mut device: impl Device) -> ProbeResult {
    let result = probe(&mut device, Options { structure_only: true, ..options(Effort::Normal, 1) }).unwrap();
    assert_eq!(result.partial, None);
    result
}

fn number(result: &ProbeResult, feature: Feature) -> Option<u64> {
    result.finding(feature).unwrap().number()
}

/// Asserts that a number is right or not determined.
fn assert_right_or_open(result: &ProbeResult, feature: Feature, truths: &[u64]) {
    let finding = result.finding(feature).unwrap();
    let right = finding.number().is_some_and(|number| truths.contains(&number));
    assert!(finding.status == Status::NotDetermined || right, "{feature}, truly {truths:?}: {finding:?}");
}
