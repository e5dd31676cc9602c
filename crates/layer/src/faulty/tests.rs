use super::*;
use crate::Backed;
use flashlane_device::NullDevice;
use flashlane_device_testing::conformance;

const UNIT: u64 = 512;

fn backed() -> Backed<NullDevice> {
    Backed::new(NullDevice::new(1 << 20))
}

fn over_data(fault: Fault, rate: Rate) -> Faulty<Backed<NullDevice>> {
    Faulty::over_data(backed(), Faults::default().with(fault, rate), Seed(1))
}

/// Runs one request to completion and returns its buffer.
fn run(device: &mut impl DataDevice, request: Request, buffer: Buffer) -> (Completion, Buffer) {
    device.submit_with(request, buffer).map_err(|(error, _)| error).expect("it is accepted");
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    let [completion] = out[..] else { panic!("one completion, not {out:?}") };
    (completion, device.take_buffer(request.id).expect("its bytes come back"))
}

fn write(device: &mut impl DataDevice, offset_bytes: u64, bytes: &[u8]) -> Completion {
    let request = Request::write(1, offset_bytes, bytes.len() as u64);
    let (completion, buffer) = run(device, request, Buffer::from_slice(bytes));
    assert_eq!(buffer.as_slice(), bytes, "a write never changes its buffer");
    completion
}

fn read(device: &mut impl DataDevice, offset_bytes: u64, length_bytes: u64) -> Vec<u8> {
    let buffer = Buffer::zeroed(length_bytes as usize);
    run(device, Request::read(2, offset_bytes, length_bytes), buffer).1.as_slice().to_vec()
}

/// Returns the outcomes of `count` reads, one after the other.
fn outcomes(device: &mut impl Device, count: u64) -> Vec<Result<(), Failure>> {
    let mut out = Vec::new();
    for id in 0..count {
        device.submit(Request::read(id, 0, UNIT)).expect("it is accepted");
        device.reap(Instant::FAR, &mut out);
    }
    out.iter().map(|completion| completion.outcome).collect()
}

#[test]
fn faulty_without_faults_conforms() {
    conformance::check_data(&mut || Box::new(Faulty::over_data(backed(), Faults::default(), Seed(1))));
}

#[test]
fn stuck_lane_that_the_device_does_not_have_is_refused() {
    let over = |lane: &str, lanes: u32| {
        let layer = crate::layer("faulty", &[("stuck-lane".into(), lane.into())])
            .map_err(|error| error.to_string())?;
        let info = DeviceInfo { lanes, ..DeviceInfo::new("x", 1 << 20, UNIT) };
        layer.planned(&info).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(over("43", 44), Ok(()));
    let refused = over("44", 44).expect_err("the last lane is 43");
    assert!(refused.ends_with("stuck-lane=44: it has lanes 0 to 43"), "{refused}");
    assert!(over("1", 1).expect_err("it has one").ends_with("it has only lane 0"));
    assert!(over("4294967296", 1).expect_err("it is no lane").contains("no device has so many lanes"));
    let layer = crate::layer("faulty", &[("stuck-lane".into(), "9".into())]).expect("it is a lane");
    assert!(layer.build(Stack::Data(Box::new(backed())), Seed(1)).is_err(), "the device has one lane");
}

#[test]
fn delayed_requests_conform() {
    let faults = Faults::default().late_by(Duration::from_us(3));
    let faults = faults.with(Fault::Delay, Rate::Share(0.3));
    conformance::check_data(&mut || Box::new(Faulty::over_data(backed(), faults.clone(), Seed(1))));
}

#[test]
fn all_faults_together_conform_but_for_failures() {
    let mut faults = Faults::default().vanishing_after(150);
    for kind in &KINDS {
        faults = faults.with(kind.fault, Rate::Share(0.2));
    }
    conformance::check_failing(&mut || Box::new(Faulty::over_data(backed(), faults.clone(), Seed(1))));
    let plain = Faults::default().vanishing_after(150).with(Fault::ReadError, Rate::Share(0.2));
    conformance::check_failing(&mut || {
        Box::new(Faulty::new(NullDevice::new(1 << 20), plain.clone(), Seed(1)).expect("it needs no bytes"))
    });
}

#[test]
fn errors_come_at_the_given_rate_or_count() {
    let faults = Faults::default().with(Fault::ReadError, Rate::Nth(3));
    let mut device = Faulty::new(NullDevice::new(1 << 20), faults, Seed(1)).unwrap();
    let unreadable = Err(Failure::Unreadable);
    assert_eq!(outcomes(&mut device, 5), [Ok(()), Ok(()), unreadable, Ok(()), Ok(())]);
    assert_eq!(device.counters().get("injected_read_errors"), Some(1));

    let faults = Faults::default().with(Fault::ReadError, Rate::Share(0.1));
    let make = |seed| Faulty::new(NullDevice::new(1 << 20), faults.clone(), Seed(seed)).unwrap();
    let failed = outcomes(&mut make(1), 2000);
    let count = failed.iter().filter(|outcome| outcome.is_err()).count();
    assert!((150..250).contains(&count), "{count} of 2000 failed");
    assert_eq!(failed, outcomes(&mut make(1), 2000));
    assert_ne!(failed, outcomes(&mut make(2), 2000));
}

#[test]
fn delayed_request_is_bypassed_and_completes_late() {
    let faults = Faults::default().late_by(Duration::from_ms(5));
    let faults = faults.with(Fault::Delay, Rate::Nth(1));
    let mut device = Faulty::new(NullDevice::new(1 << 20), faults, Seed(1)).unwrap();
    for id in [1, 2] {
        device.submit(Request::read(id, 0, UNIT)).unwrap();
    }
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    assert_eq!(out.iter().map(|c| c.id.0).collect::<Vec<_>>(), [2]);
    device.reap(Instant::FAR, &mut out);
    assert_eq!((out[1].id.0, out[1].latency()), (1, Duration::from_ns(5_000_001)));
    assert_eq!(device.now(), out[1].completed);
}

#[test]
fn vanished_device_refuses_and_fails_requests() {
    let faults = Faults::default().vanishing_after(2);
    let mut device = Faulty::new(NullDevice::new(1 << 20), faults, Seed(1)).unwrap();
    for id in 0..4 {
        device.submit(Request::read(id, 0, UNIT)).unwrap();
    }
    let mut out = Vec::new();
    while out.len() < 4 {
        device.reap(Instant::FAR, &mut out);
    }
    let outcomes: Vec<_> = out.iter().map(|c| c.outcome).collect();
    assert_eq!(outcomes, [Ok(()), Ok(()), Err(Failure::DeviceLost), Err(Failure::DeviceLost)]);
    assert_eq!(device.submit(Request::read(9, 0, UNIT)), Err(SubmitError::DeviceLost));
}

#[test]
fn lost_write_is_acknowledged_and_keeps_the_old_data() {
    let mut device = over_data(Fault::LostWrite, Rate::Nth(2));
    write(&mut device, 0, &[1; 1024]);
    assert_eq!(write(&mut device, 0, &[2; 1024]).outcome, Ok(()));
    assert_eq!(read(&mut device, 0, 1024), [1; 1024]);
    write(&mut device, 0, &[3; 1024]);
    assert_eq!(read(&mut device, 0, 1024), [3; 1024]);
}

#[test]
fn torn_write_writes_a_prefix_of_whole_units() {
    let mut device = over_data(Fault::TornWrite, Rate::Share(1.0));
    write(&mut device, 0, &[1; UNIT as usize]);
    assert_eq!(read(&mut device, 0, UNIT), [1; UNIT as usize]);
    assert_eq!(device.counters().get("injected_torn_writes"), Some(0));
    write(&mut device, 0, &[2; 8 * UNIT as usize]);
    let found = read(&mut device, 0, 8 * UNIT);
    let done = found.iter().take_while(|&&byte| byte == 2).count() as u64;
    assert!((UNIT..8 * UNIT).contains(&done) && done.is_multiple_of(UNIT), "{done} bytes were done");
    assert!(found[done as usize..].iter().all(|&byte| byte == 0));
}

#[test]
fn bit_flip_changes_one_bit_of_one_read() {
    let mut device = over_data(Fault::BitFlip, Rate::Nth(1));
    write(&mut device, 0, &[0; 4096]);
    let flipped: u32 = read(&mut device, 0, 4096).iter().map(|byte| byte.count_ones()).sum();
    assert_eq!(flipped, 1);
    assert_eq!(read(&mut device, 0, 4096), [0; 4096]);
}

#[test]
fn misdirected_requests_go_to_another_offset() {
    let mut device = over_data(Fault::MisdirectedWrite, Rate::Nth(1));
    write(&mut device, 0, &[1; 4096]);
    assert_ne!(read(&mut device, 0, 4096), [1; 4096]);
    let everything = read(&mut device, 0, 1 << 20);
    assert_eq!(everything.iter().filter(|&&byte| byte == 1).count(), 4096);

    let mut device = over_data(Fault::MisdirectedRead, Rate::Nth(1));
    write(&mut device, 0, &[1; 512]);
    assert_eq!(read(&mut device, 0, 512), [0; 512]);
    assert_eq!(read(&mut device, 0, 512), [1; 512]);
}

#[test]
fn data_faults_are_refused_over_a_timing_device() {
    let faults = Faults::default().with(Fault::BitFlip, Rate::Nth(1));
    let refused = Faulty::new(NullDevice::new(1 << 20), faults, Seed(1));
    assert!(matches!(refused, Err(LayerError::NeedsBytes { key: "bit-flips", .. })));
}
