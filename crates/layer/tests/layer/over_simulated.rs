//! Conformance of layers over a simulated drive, which completes requests out of order, unlike the null device.

use flashlane_base::{Duration, Seed};
use flashlane_device::{DataDevice, Interleaved};
use flashlane_device_testing::conformance;
use flashlane_layer::replicated::Settings;
use flashlane_layer::{Backed, Fault, Faults, Faulty, Rate, Replicated};
use flashlane_layer::{Bytes, Timing};
use flashlane_sim::{Drive, Zoned, profile};

/// Returns a drive with buffer, readahead, ten channels and energy, small enough to be created for every test of
/// conformance.
fn drive() -> Drive {
    let overrides = [("flash.blocks", "64"), ("capacity", "256MiB"), ("power.read", "30mW")];
    let overrides: Vec<_> = overrides.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Drive::new(&profile::load("ssd-s", &overrides).unwrap_or_else(|e| panic!("{e}")), Seed(1))
}

fn faulty(faults: &Faults) -> Box<dyn DataDevice> {
    Box::new(Faulty::over_data(Backed::new(drive()), faults.clone(), Seed(1)))
}

#[test]
fn backed_drive_conforms() {
    conformance::check_data(&mut || Box::new(Backed::new(drive())));
}

#[test]
fn backed_zoned_drive_conforms() {
    let settings = [
        ("capacity", "3MiB"),
        ("zones.capacity", "96KiB"),
        ("zones.lanes", "2"),
        ("zones.buffer", "24KiB"),
        ("sector", "512B"),
        ("flash.channels", "4"),
        ("flash.pages", "3"),
        ("flash.page", "4KiB"),
    ];
    let settings: Vec<_> = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let config = profile::load("zn540-1tb", &settings).unwrap_or_else(|error| panic!("{error}"));
    let zoned = || Zoned::new(&config, Seed(1));
    conformance::check_data(&mut || Box::new(Backed::new(zoned())));
    conformance::check_data(&mut || Box::new(Backed::new(Interleaved::new(zoned()))));
}

#[test]
fn delays_over_a_backed_drive_conform() {
    let faults = Faults::default().with(Fault::Delay, Rate::Share(0.2)).late_by(Duration::from_us(700));
    conformance::check_data(&mut || faulty(&faults));
}

#[test]
fn all_faults_over_a_backed_drive_conform() {
    let kinds = [
        Fault::ReadError,
        Fault::WriteError,
        Fault::Delay,
        Fault::LostWrite,
        Fault::TornWrite,
        Fault::BitFlip,
        Fault::MisdirectedRead,
        Fault::MisdirectedWrite,
    ];
    let faults = kinds.iter().fold(Faults::default(), |all, &fault| all.with(fault, Rate::Share(0.1)));
    conformance::check_failing(&mut || faulty(&faults.clone().vanishing_after(150)));
}

#[test]
fn replicated_drive_conforms() {
    let delay = Some(Duration::from_us(80));
    for settings in [Settings::default(), Settings { delay, threshold: Some(0.0), ..Settings::default() }] {
        conformance::check(&mut || {
            Box::new(Replicated::new(Timing(drive()), settings.clone(), Seed(1)).expect("it is divided"))
        });
        conformance::check_data(&mut || {
            let below = Bytes(Backed::new(drive()));
            Box::new(Replicated::new(below, settings.clone(), Seed(1)).expect("it is divided"))
        });
        conformance::check_data(&mut || {
            let layer = Replicated::new(Timing(drive()), settings.clone(), Seed(1)).expect("it is divided");
            Box::new(Backed::new(layer))
        });
    }
}
