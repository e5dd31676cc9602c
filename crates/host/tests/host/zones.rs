//! Tests on the zoned drive named by `FLASHLANE_ZONED_DEVICE`, all of whose zones are reset; `cargo xtask zoned-drive`
//! runs them on a drive emulated by QEMU. Elsewhere each test prints that it was skipped.

use crate::blocks::Loop;
use crate::files::{ENGINES, scratch};
use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, DataDevice, Device, Lane, Request, RequestId, Rule, SubmitError, UnitState,
};
use flashlane_device_testing::conformance;
use flashlane_host::{EngineChoice, OpenOptions, ZonedDevice, ZonedError, ZonedOptions};
use std::path::PathBuf;
use std::sync::Mutex;

/// Serializes the tests: the drive is opened exclusively.
static TURN: Mutex<()> = Mutex::new(());

fn drive() -> Option<PathBuf> {
    let path = std::env::var_os("FLASHLANE_ZONED_DEVICE").map(PathBuf::from);
    if path.is_none() {
        println!("skipped: FLASHLANE_ZONED_DEVICE names no zoned drive that may be overwritten");
    }
    path
}

fn options(path: &PathBuf, engine: EngineChoice) -> ZonedOptions {
    // Data of earlier tests may resemble any signature.
    ZonedOptions::new(OpenOptions { engine, ..OpenOptions::read_write(path).really(path) })
}

fn open(options: &ZonedOptions) -> ZonedDevice {
    options.open().unwrap_or_else(|error| panic!("{error}"))
}

fn drain(device: &mut ZonedDevice, count: usize) -> Vec<Completion> {
    let mut out = Vec::new();
    while out.len() < count {
        device.reap(Instant::FAR, &mut out);
    }
    out
}

fn one(device: &mut ZonedDevice, request: Request) {
    device.submit(request).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(drain(device, 1)[0].outcome, Ok(()), "{request:?}");
}

fn erase_all(device: &mut ZonedDevice) {
    let unit_bytes = device.info().erase_unit_bytes;
    for lane in 0..device.info().lanes {
        for index in 0..device.info().capacity_bytes / unit_bytes {
            one(device, Request::erase(1, index * unit_bytes, unit_bytes).on(Lane(lane)));
        }
    }
}

#[test]
fn unzoned_device_is_refused_with_its_type() {
    let file = scratch(1 << 20);
    let error =
        ZonedOptions::new(OpenOptions::read_write(file.path())).open().err().expect("it has no zones");
    assert!(error.to_string().contains("is a regular file, not a zoned block device"), "{error}");
    let missing = ZonedOptions::new(OpenOptions::read_only("/no/such/drive")).open();
    assert!(matches!(missing, Err(ZonedError::Open(_))));
    let Some(blank) = Loop::blank() else { return };
    let error =
        ZonedOptions::new(OpenOptions::read_write(&blank.device)).open().err().expect("it has no zones");
    assert!(error.to_string().contains("is a block device without zones"), "{error}");
}

#[test]
fn zoned_drive_conforms_with_either_engine() {
    let Some(path) = drive() else { return };
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for engine in ENGINES {
        erase_all(&mut open(&options(&path, engine)));
        for write_unit_bytes in [None, Some(64 << 10)] {
            let options = ZonedOptions { write_unit_bytes, lanes: Some(3), ..options(&path, engine) };
            conformance::check_data(&mut || Box::new(open(&options)));
            println!("every law is kept: {} ({engine:?})", open(&options).info().name);
        }
    }
}

#[test]
fn zoned_drive_keeps_states_and_data() {
    let Some(path) = drive() else { return };
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for engine in ENGINES {
        let options = ZonedOptions { write_unit_bytes: Some(64 << 10), ..options(&path, engine) };
        let mut device = open(&options);
        erase_all(&mut device);
        let (unit, last) = (device.info().erase_unit_bytes, Lane(device.info().lanes - 1));
        let bytes: Vec<u8> = (0..unit as usize).map(|at| (at / 4096 + at) as u8).collect();
        device.submit_with(Request::write(1, 0, unit).on(last), Buffer::from_slice(&bytes)).unwrap();
        device.submit_with(Request::write(2, 0, 65_536), Buffer::from_slice(&bytes[..65_536])).unwrap();
        assert!(drain(&mut device, 2).iter().all(|completion| completion.outcome.is_ok()));
        drop(device);
        let mut device = open(&options);
        let state = |device: &ZonedDevice, lane| device.unit(lane, 0).expect("it is there").state;
        assert_eq!(state(&device, last), UnitState::Written { bytes: unit });
        assert_eq!(state(&device, Lane(0)), UnitState::Written { bytes: 65_536 });
        let far = unit - 65_536;
        device.submit_with(Request::read(3, far, 65_536).on(last), Buffer::zeroed(65_536)).unwrap();
        assert_eq!(drain(&mut device, 1)[0].outcome, Ok(()));
        assert!(device.take_buffer(RequestId(3)).unwrap().as_slice() == &bytes[far as usize..]);
        // Writes continue at the write pointer only.
        let refused = device.submit(Request::write(4, 0, 65_536));
        assert!(
            matches!(refused, Err(SubmitError::Rule { rule: Rule::NotErased { .. }, .. })),
            "{refused:?}"
        );
        one(&mut device, Request::write(5, 65_536, 65_536));
        one(&mut device, Request::erase(6, 0, unit));
        drop(device);
        // With a write unit of a whole zone, a partly written zone is torn.
        let mut device = open(&ZonedOptions { write_unit_bytes: Some(64 << 10), ..options.clone() });
        one(&mut device, Request::write(7, 0, 65_536));
        drop(device);
        let mut device = open(&ZonedOptions { write_unit_bytes: None, ..options });
        assert_eq!(state(&device, Lane(0)), UnitState::Torn);
        one(&mut device, Request::erase(8, 0, unit));
        assert_eq!(state(&device, Lane(0)), UnitState::ERASED);
    }
}

#[test]
fn partly_written_zones_stay_within_the_drives_limit() {
    let Some(path) = drive() else { return };
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for engine in ENGINES {
        let options = ZonedOptions { lanes: Some(1), ..options(&path, engine) };
        let mut device = open(&options);
        erase_all(&mut device);
        let Some(most) = device.most_open() else {
            return println!("skipped: the drive has no limit of open zones");
        };
        let unit = device.info().erase_unit_bytes;
        let units = device.info().capacity_bytes / unit;
        assert!(units > u64::from(most) + 1, "a drive with more zones is needed");
        // Writes of whole units wait until a zone is full …
        for index in 0..units.min(64) {
            device
                .submit(Request::write(index, index * unit, unit))
                .unwrap_or_else(|error| panic!("{error}"));
        }
        let done = drain(&mut device, units.min(64) as usize);
        assert!(done.iter().all(|completion| completion.outcome.is_ok()), "{done:?}");
        erase_all(&mut device);
        drop(device);
        // … and writes of parts, for which no zone will fill up, are refused.
        let mut device = open(&ZonedOptions { write_unit_bytes: Some(64 << 10), ..options });
        let part = |index: u64| Request::write(index, index * unit, 65_536);
        for index in 0..u64::from(most) {
            one(&mut device, part(index));
        }
        let refused = device.submit(part(u64::from(most)));
        assert!(
            matches!(refused, Err(SubmitError::Rule { rule: Rule::TooManyOpen { .. }, .. })),
            "{refused:?}"
        );
        one(&mut device, Request::erase(1, 0, unit));
        one(&mut device, part(u64::from(most)));
        // A write waits for an erase in flight.
        device.submit(Request::erase(100, unit, unit)).unwrap_or_else(|error| panic!("{error}"));
        device.submit(part(u64::from(most) + 1)).unwrap_or_else(|error| panic!("{error}"));
        let done = drain(&mut device, 2);
        assert!(done.iter().all(|completion| completion.outcome.is_ok()), "{done:?}");
        erase_all(&mut device);
    }
}
