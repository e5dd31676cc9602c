use super::*;
use crate::{Backed, Fault, Faults, Faulty, Rate};
use flashlane_base::{Duration, Seed};
use flashlane_device_testing::{MemoryLanes, conformance};
use flashlane_sim::{Sdf, profile};

/// Stripes of 1 KiB over memory in units of 4 KiB.
const SETTINGS: Settings = Settings { lanes: 2, stripe_bytes: 1024 };

fn memory() -> MemoryLanes {
    MemoryLanes::new(6, 8, 4096, 512, Seed(1))
}

fn over<D: DataDevice>(below: D, settings: Settings) -> Striped<Bytes<D>> {
    Striped::new(Bytes(below), settings).unwrap_or_else(|error| panic!("{error}"))
}

fn sdf(settings: &[(&str, &str)]) -> Sdf {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Sdf::new(&profile::load("sdf", &settings).unwrap_or_else(|error| panic!("{error}")), Seed(1))
}

#[test]
fn striped_lanes_conform() {
    for settings in
        [SETTINGS, Settings { lanes: 3, stripe_bytes: 512 }, Settings { lanes: 6, stripe_bytes: 4096 }]
    {
        conformance::check_data(&mut || Box::new(over(memory(), settings)));
    }
}

#[test]
fn striped_simulated_lanes_conform() {
    // Four channels with units of 16 KiB.
    let small = [
        ("flash.channels", "4"),
        ("flash.blocks", "10"),
        ("flash.pages", "8"),
        ("flash.page", "512B"),
        ("flash.spare", "28B"),
        ("flash.factory_bad", "0%"),
        ("lanes.stripe", "4KiB"),
        ("lanes.read_unit", "512B"),
        ("lanes.window", "4KiB"),
        ("lanes.erase_failures", "0%"),
        ("lanes.write_failures", "0%"),
        ("capacity", "576KiB"),
    ];
    conformance::check_data(&mut || Box::new(over(Backed::new(sdf(&small)), SETTINGS)));
    conformance::check(&mut || Box::new(Striped::new(Timing(sdf(&small)), SETTINGS).unwrap()));
}

#[test]
fn faults_below_conform_but_for_failures() {
    let faults = [Fault::ReadError, Fault::Delay]
        .iter()
        .fold(Faults::default(), |all, &fault| all.with(fault, Rate::Share(0.2)));
    let faults = faults.late_by(Duration::from_us(700)).vanishing_after(150);
    conformance::check_failing(&mut || {
        Box::new(over(Faulty::over_data(memory(), faults.clone(), Seed(1)), SETTINGS))
    });
}

/// Executes a request and returns its completion.
fn execute(device: &mut impl DataDevice, request: Request, buffer: Option<Buffer>) -> Completion {
    let accepted = match buffer {
        Some(buffer) => device.submit_with(request, buffer).map_err(|(error, _)| error),
        None => device.submit(request),
    };
    accepted.unwrap_or_else(|error| panic!("{error}"));
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    assert_eq!(out.len(), 1);
    out[0]
}

#[test]
fn stripes_are_on_the_lanes_in_turn() {
    let mut striped = over(memory(), SETTINGS);
    let bytes: Vec<u8> = (0..8).flat_map(|stripe| [stripe + 1; 1024]).collect();
    let write = Request::write(1, 8192, 8192).on(Lane(1));
    assert_eq!(execute(&mut striped, write, Some(Buffer::from_slice(&bytes))).outcome, Ok(()));
    let mut memory = striped.below.0;
    // Lane 1 is lanes 2 and 3; its second unit is the second of both. 128 KiB are 2^7 stripes, and an odd number begins
    // on the second lane.
    for (lane, first) in [(2, 2), (3, 1)] {
        let unit = &memory.lane_mut(Lane(lane))[4096..8192];
        let stripes: Vec<u8> = unit.chunks(1024).map(|stripe| stripe[0]).collect();
        assert_eq!(stripes, [first, first + 2, first + 4, first + 6]);
    }
    // Opened again, it is found as it was written.
    let striped = over(memory, SETTINGS);
    assert_eq!(striped.unit(Lane(1), 1).unwrap().state, UnitState::Written { bytes: 8192 });
    assert_eq!(striped.unit(Lane(1), 0).unwrap().state, UnitState::ERASED);
}

#[test]
fn unit_with_a_part_that_is_missing_is_torn() {
    let mut memory = memory();
    for lane in [Lane(0), Lane(2), Lane(3)] {
        execute(&mut memory, Request::write(1, 0, 4096).on(lane), None);
    }
    let state = |lane| over(memory.clone(), SETTINGS).unit(lane, 0).unwrap().state;
    assert_eq!((state(Lane(0)), state(Lane(1))), (UnitState::Torn, UnitState::Written { bytes: 8192 }));
}

#[test]
fn large_read_takes_the_time_of_its_part() {
    let full = || sdf(&[("initial.state", "full")]);
    let latency = |device: &mut dyn Device| {
        let mut out = Vec::new();
        device.submit(Request::read(1, 0, 512 << 10)).expect("a read of a full device");
        device.reap(Instant::FAR, &mut out);
        out[0].latency().as_ns() as f64
    };
    let mut striped =
        Striped::new(Timing(full()), Settings::default()).unwrap_or_else(|error| panic!("{error}"));
    let ratio = latency(&mut full()) / latency(&mut striped);
    assert!((3.0..4.2).contains(&ratio), "512 KiB over four lanes are {ratio} times as fast as from one");
}

#[test]
fn stripes_are_settings_within_limits() {
    let refusal = |lanes: &str, stripe: &str| {
        let settings = [("lanes", lanes), ("stripe", stripe)].map(|(key, value)| (key.into(), value.into()));
        crate::layer("striped", &settings).err().map(|error| error.to_string())
    };
    assert_eq!(refusal("11", "32KiB"), None);
    assert_eq!(refusal("2", "64KiB"), None);
    let halves = refusal("2", "32KiB").expect("units would begin as with 128 KiB");
    assert!(
        halves.contains("stripes of 32 KiB need at least 3 lanes")
            && halves.ends_with("allowed with 2 lanes: at least 64 KiB"),
        "{halves}"
    );
    for (stripe, lanes) in [("64KiB", 2), ("32KiB", 3), ("16KiB", 4), ("8KiB", 5), ("4KiB", 6)] {
        assert_eq!(refusal(&lanes.to_string(), stripe), None);
        assert!(lanes == 2 || refusal(&(lanes - 1).to_string(), stripe).is_some(), "{stripe}");
    }
    for size in ["2KiB", "48KiB", "256KiB"] {
        let refusal = refusal("11", size).expect(size);
        assert!(refusal.contains("a power of two from 4 KiB to 128 KiB"), "{refusal}");
    }
}

#[test]
fn devices_that_cannot_be_striped_are_refused() {
    let refusal = |settings| Striped::new(Bytes(memory()), settings).err().map(|error| error.to_string());
    for (settings, part) in [
        (Settings { lanes: 4, ..SETTINGS }, "its 6 lanes are not a multiple of 4"),
        (Settings::default(), "its 6 lanes"),
        (Settings { lanes: 3, ..Settings::default() }, "stripes of 128 KiB do not fit"),
        (Settings { stripe_bytes: 256, ..SETTINGS }, "units of 512 B (read)"),
    ] {
        let refusal = refusal(settings).expect(part);
        assert!(refusal.contains(part), "{refusal}");
    }
}
