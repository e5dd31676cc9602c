//! Lanes over memory: conformance, reopening, and damage to every byte of the records.

mod content;
mod ends;
mod foreign;
mod recover;
mod versions;

use super::*;
use crate::Backed;
use crate::entry::{Stack, StateChange};
use crate::error::LayerError;
use crate::registry::layer;
use crate::state::{Format, StateOptions};
use flashlane_base::Random;
use flashlane_device::{Completion, Device, NullDevice, Operation, Request, Rule, SubmitError, Unit};
use flashlane_device_testing::conformance;
use proptest::prelude::*;

type Memory = Backed<NullDevice>;

fn memory(length_bytes: u64) -> Memory {
    Backed::new(NullDevice::new(length_bytes))
}

fn shape(lanes: u32, unit_bytes: u64, read_unit_bytes: u64, write_unit_bytes: u64) -> Shape {
    Shape { lanes, unit_bytes, read_unit_bytes, write_unit_bytes }
}

fn fresh(shape: Shape, length_bytes: u64) -> Lanes<Memory> {
    Lanes::format(memory(length_bytes), shape, Seed(1)).unwrap_or_else(|error| panic!("{error}"))
}

/// Waits for all requests in flight, including background writes.
fn drain<D: DataDevice>(lanes: &mut Lanes<D>) -> Vec<Completion> {
    let mut out = Vec::new();
    while !lanes.in_flight_below.is_empty() {
        lanes.reap(Instant::FAR, &mut out);
        let soon = lanes.now() + flashlane_base::Duration::from_ms(1);
        lanes.reap(soon, &mut out);
    }
    out
}

fn reopened(mut lanes: Lanes<Memory>) -> Lanes<Memory> {
    drain(&mut lanes);
    Lanes::open(lanes.into_inner()).unwrap_or_else(|error| panic!("{error}"))
}

fn states<D: DataDevice>(lanes: &Lanes<D>) -> Vec<Unit> {
    let layout = &lanes.layout;
    let of = |lane| (0..layout.units_per_lane).map(move |index| (Lane(lane), index));
    let units = (0..layout.shape.lanes).flat_map(of);
    units.map(|(lane, index)| lanes.unit(lane, index).expect("a unit there is")).collect()
}

/// Reads from the device below.
fn raw(device: &mut Memory, at: u64, length_bytes: u64) -> Vec<u8> {
    let read = Request::read(u64::MAX, at, length_bytes);
    device.submit_with(read, Buffer::zeroed(length_bytes as usize)).expect("a read");
    device.reap(Instant::FAR, &mut Vec::new());
    device.take_buffer(read.id).expect("its buffer").as_slice().to_vec()
}

/// Writes any bytes to the device, without regard to its write unit.
fn overwrite(device: &mut Memory, at: u64, bytes: &[u8]) {
    let (from, to) = (at / 512 * 512, (at + bytes.len() as u64).next_multiple_of(512));
    let mut whole = raw(device, from, to - from);
    whole[(at - from) as usize..][..bytes.len()].copy_from_slice(bytes);
    let write = Request::write(u64::MAX, from, to - from);
    device.submit_with(write, Buffer::from_slice(&whole)).expect("a write");
    device.reap(Instant::FAR, &mut Vec::new());
    device.take_buffer(write.id);
}

#[test]
fn lanes_of_every_shape_conform() {
    for shape in [
        shape(1, 4096, 512, 4096),
        shape(3, 16384, 512, 4096),
        shape(44, 65536, 8192, 65536),
        shape(5, 3 * 4096, 1024, 1024),
    ] {
        conformance::check_data(&mut || Box::new(fresh(shape, 32 << 20)));
    }
}

#[test]
fn lanes_report_their_spec_and_overhead() {
    let lanes = fresh(shape(4, 65536, 8192, 65536), 16 << 20);
    assert_eq!(lanes.info().name, "lanes(backed(null:),channels=4,unit=64KiB)");
    assert_eq!(lanes.info().capacity_bytes * 4 + lanes.overhead_bytes(), 16 << 20);
    let odd = fresh(shape(2, 1 << 20, 512, 4096), 16 << 20);
    assert_eq!(odd.info().name, "lanes(backed(null:),channels=2,unit=1MiB,read-unit=512B,write-unit=4KiB)");
}

#[test]
fn states_erases_and_data_survive_reopening() {
    let mut lanes = fresh(shape(2, 16384, 4096, 4096), 1 << 20);
    for (id, request) in [
        Request::write(0, 0, 4096),
        Request::write(0, 4096, 8192),
        Request::write(0, 16384, 16384).on(Lane(1)),
        Request::erase(0, 16384, 16384).on(Lane(1)),
        Request::erase(0, 32768, 16384).on(Lane(1)),
    ]
    .into_iter()
    .enumerate()
    {
        let request = Request { id: RequestId(id as u64), ..request };
        let bytes = Buffer::from_slice(&vec![id as u8 + 1; request.length_bytes as usize]);
        lanes.submit_with(request, bytes).expect("it is within the rules");
        assert!(drain(&mut lanes).iter().all(|completion| completion.outcome.is_ok()));
    }
    let before = states(&lanes);
    assert_eq!(lanes.unit(Lane(0), 0).unwrap().state, UnitState::Written { bytes: 12288 });
    assert_eq!(lanes.unit(Lane(1), 1), Some(Unit { state: UnitState::ERASED, erases: Some(1) }));
    let mut lanes = reopened(lanes);
    assert_eq!((states(&lanes), lanes.damage()), (before, Damage::default()));
    lanes.submit_with(Request::read(9, 4096, 8192), Buffer::zeroed(8192)).expect("it was written");
    drain(&mut lanes);
    assert_eq!(lanes.take_buffer(RequestId(9)).unwrap().as_slice(), [2; 8192]);
    // The erased data is still below, but cannot be read.
    let refused = lanes.submit(Request::read(10, 16384, 4096).on(Lane(1)));
    assert!(matches!(refused, Err(SubmitError::Rule { rule: Rule::NotWritten { written_bytes: 0 }, .. })));
}

#[test]
fn changes_in_flight_share_table_writes() {
    let mut lanes = fresh(shape(8, 16384, 4096, 16384), 4 << 20);
    for id in 0..32 {
        lanes.submit(Request::write(id, id / 8 * 16384, 16384).on(Lane(id as u32 % 8))).expect("erased");
    }
    assert_eq!(drain(&mut lanes).len(), 32);
    // One for all changes that completed together, and one in the background.
    assert_eq!(lanes.counters().get("table_sectors_written"), Some(2));
}

/// A small device with every state and several erase counts.
fn mixed() -> Lanes<Memory> {
    let mut lanes = fresh(shape(2, 8192, 512, 4096), 40 * 4096);
    for (id, request) in [
        Request::erase(1, 0, 8192),
        Request::write(2, 0, 4096),
        Request::write(3, 8192, 8192).on(Lane(1)),
        Request::erase(4, 16384, 8192).on(Lane(1)),
    ]
    .into_iter()
    .enumerate()
    {
        lanes.submit(Request { id: RequestId(id as u64), ..request }).expect("it is within the rules");
        drain(&mut lanes);
    }
    lanes
}

#[test]
fn any_damaged_byte_is_repaired_without_a_wrong_state() {
    let lanes = mixed();
    let (right, layout) = (states(&lanes), lanes.layout);
    let mut device = lanes.into_inner();
    let blocks = [0, layout.slot(0, 0), layout.slot(0, 1), layout.last_superblock()];
    for block in blocks {
        let whole = raw(&mut device, block, SECTOR_BYTES);
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            overwrite(&mut device, block, &damaged);
            let mut lanes = Lanes::open(device).unwrap_or_else(|error| panic!("byte {at}: {error}"));
            assert_eq!(states(&lanes), right, "byte {at} of the block at {block}");
            let Damage { superblocks, sectors, lost_sectors, foreign, .. } = lanes.damage();
            let damage = (u64::from(superblocks) + sectors, lost_sectors, foreign);
            assert_eq!(damage, (1, 0, 0), "byte {at} of the block at {block}");
            drain(&mut lanes);
            assert_eq!(raw(&mut lanes.below, block, SECTOR_BYTES), damaged, "opening writes nothing");
            lanes.repair().unwrap_or_else(|error| panic!("byte {at}: {error}"));
            device = lanes.into_inner();
            // The superblock is as before; a table sector has the same records and a higher sequence number.
            let again = Lanes::open(device).unwrap_or_else(|error| panic!("{error}"));
            let damage = (again.damage(), states(&again) == right);
            assert_eq!(
                damage,
                (Damage::default(), true),
                "byte {at} of the block at {block} was not repaired"
            );
            device = again.into_inner();
        }
    }
}

#[test]
fn first_change_repairs_our_damaged_records() {
    let mut device = mixed().into_inner();
    overwrite(&mut device, 0, &[0; 4096]);
    overwrite(&mut device, 4096 + 512, &[0xff; 512]);
    let mut lanes = Lanes::open(device).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lanes.damage(), Damage { superblocks: 1, sectors: 1, ..Damage::default() });
    // Refused requests and reads do not write.
    assert!(lanes.submit(Request::write(1, 0, 8192)).is_err(), "it is partly written");
    lanes.submit(Request::read(2, 0, 4096)).expect("it is written");
    drain(&mut lanes);
    assert_eq!(raw(&mut lanes.below, 0, 4096), [0; 4096]);
    lanes.submit(Request::erase(3, 0, 8192)).expect("nothing is in flight there");
    drain(&mut lanes);
    assert_eq!(reopened(lanes).damage(), Damage::default());
}

#[test]
fn slot_without_the_last_change_is_counted_and_written_again() {
    let mut lanes = mixed();
    drain(&mut lanes);
    let slots = [0, 1].map(|slot| lanes.layout.slot(0, slot));
    let before = raw(&mut lanes.below, slots[1], 4096);
    lanes.submit(Request::erase(1, 0, 8192)).expect("nothing is in flight there");
    drain(&mut lanes);
    assert_eq!(lanes.counters().get("table_sectors_outdated"), Some(0));
    let expected = states(&lanes);
    let mut device = lanes.into_inner();
    overwrite(&mut device, slots[1], &before);
    let mut lanes = Lanes::open(device).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (lanes.counters().get("table_sectors_outdated"), lanes.damage()),
        (Some(1), Damage::default())
    );
    assert_eq!(states(&lanes), expected);
    lanes.submit(Request::erase(2, 0, 8192)).expect("nothing is in flight there");
    drain(&mut lanes);
    assert_eq!(reopened(lanes).counters().get("table_sectors_outdated"), Some(0));
}

#[test]
fn lost_slots_keep_data_and_lost_superblocks_are_an_error() {
    let lanes = mixed();
    let layout = lanes.layout;
    let mut device = lanes.into_inner();
    for slot in [0, 1] {
        overwrite(&mut device, layout.slot(0, slot), &[0; 4096]);
    }
    let lost = Unit { state: UnitState::Written { bytes: 8192 }, erases: None };
    let damage = Damage { lost_sectors: 1, ..Damage::default() };
    // No table confirms the superblock.
    let error = Lanes::open(device.clone()).err().expect("it is opened for writing");
    assert!(matches!(error, LanesError::NoTable { .. }), "{error}");
    let lanes = Lanes::open(read_only(device.clone())).unwrap_or_else(|error| panic!("{error}"));
    assert!(lanes.damage() == damage && states(&lanes).iter().all(|unit| *unit == lost));
    let mut lanes =
        Lanes::open_to_repair(device, Repair::Overwrite).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lanes.damage(), damage);
    assert!(states(&lanes).iter().all(|unit| *unit == lost));
    lanes.submit(Request::erase(1, 0, 8192)).expect("an erase makes it usable");
    drain(&mut lanes);
    let lanes = reopened(lanes);
    assert_eq!(lanes.damage(), Damage::default());
    assert_eq!(lanes.unit(Lane(0), 0), Some(Unit { state: UnitState::ERASED, erases: Some(1) }));
    assert_eq!(lanes.unit(Lane(1), 0), Some(lost));
    let mut device = lanes.into_inner();
    for at in [20, layout.last_superblock() + 20] {
        let block = at / SECTOR_BYTES * SECTOR_BYTES;
        let mut bytes = raw(&mut device, block, SECTOR_BYTES);
        bytes[20] ^= 1;
        overwrite(&mut device, block, &bytes);
    }
    let error = Lanes::open(device).err().expect("both superblocks are damaged");
    assert!(
        matches!(error, LanesError::Damaged { first: Flaw::Damaged, last: Flaw::Damaged, .. }),
        "{error}"
    );
}

#[test]
fn unreadable_record_is_read_from_its_copy() {
    let mut lanes = mixed();
    drain(&mut lanes);
    let expected = states(&lanes);
    let device = lanes.into_inner();
    // Both superblocks, then both slots.
    for nth in ["@1", "@2", "@3", "@4"] {
        let faults = [("read-errors".to_owned(), nth.to_owned())];
        let Ok(Stack::Data(device)) =
            build("faulty", &faults, Stack::Data(Box::new(device.clone())), Seed(1))
        else {
            panic!("no device that fails a read");
        };
        let lanes = Lanes::open(device).unwrap_or_else(|error| panic!("read {nth}: {error}"));
        assert_eq!(states(&lanes), expected, "read {nth}");
        assert!(lanes.damage().superblocks == 1 || nth > "@2", "{:?}", lanes.damage());
    }
}

/// Builds lanes from a spec over a device.
fn build(name: &str, settings: &[(String, String)], inner: Stack, seed: Seed) -> Result<Stack, LayerError> {
    layer(name, settings)?.build(inner, seed)
}

fn by_spec(settings: &[(&str, &str)], device: Memory) -> Result<Stack, LayerError> {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    build("lanes", &settings, Stack::Data(Box::new(device)), Seed(1))
}

#[test]
fn refusals_report_what_was_found() {
    let refusal = |settings: &[(&str, &str)], device| match by_spec(settings, device) {
        Ok(_) => panic!("{settings:?} was opened"),
        Err(error) => error.to_string(),
    };
    let formatted = || fresh(shape(2, 8192, 512, 4096), 1 << 20).into_inner();
    let other = refusal(&[("channels", "3")], formatted());
    assert!(other.contains("channels=2, not 3"), "{other}");
    let other = refusal(&[("unit", "16KiB")], formatted());
    assert!(other.contains("unit=8KiB, not 16KiB"), "{other}");
    let mut newer = formatted();
    let mut block = raw(&mut newer, 0, SECTOR_BYTES);
    block[16] = 4;
    seal(&mut block);
    overwrite(&mut newer, 0, &block);
    assert!(refusal(&[], newer).contains("version 4; this program reads versions 1 to 3"));
    for (settings, part) in [
        (&[("unit", "5000B")][..], "multiple of 4 KiB"),
        (&[("unit", "64KiB"), ("write-unit", "48KiB")], "no whole number"),
        (&[("channels", "0")], "at least one"),
        (&[("unit", "64KiB"), ("write-unit", "4KiB"), ("read-unit", "256B")], "multiples of 512 B"),
        (&[("channels", "100")], "too few"),
        (&[("format", "maybe")], "yes or no"),
        (&[("channels", "2"), ("format", "no")], "not divided"),
    ] {
        let message = refusal(settings, memory(16 << 20));
        assert!(message.contains(part), "{settings:?} gives '{message}', which lacks '{part}'");
    }
    // A simulated device without lanes is formatted; one with lanes keeps them unless a format is requested.
    let device = by_spec(&[("channels", "2"), ("unit", "1MiB")], memory(16 << 20)).unwrap();
    assert_eq!(device.info().lanes, 2);
    assert_eq!(by_spec(&[], formatted()).unwrap().info().lanes, 2);
    let anew = by_spec(&[("channels", "3"), ("unit", "64KiB"), ("format", "yes")], formatted()).unwrap();
    assert_eq!(anew.info().lanes, 3);
    assert!(matches!(
        build("lanes", &[], Stack::Timing(Box::new(NullDevice::new(1 << 20))), Seed(1)),
        Err(LayerError::NeedsBytes { .. })
    ));
}

/// A device that is not simulated, and is therefore formatted only on request.
struct Real {
    device: Memory,
    info: DeviceInfo,
    /// Number of requests until it vanishes.
    left: u64,
    /// Whether the write during which it vanishes is done except for its first sector.
    torn: bool,
}

impl Real {
    fn new(device: Memory, capacity_bytes: u64, depth: u32) -> Self {
        let info = DeviceInfo { simulated: false, capacity_bytes, depth, ..device.info().clone() };
        Self { device, info, left: u64::MAX, torn: false }
    }
}

impl Device for Real {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Instant {
        self.device.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.device.submit(request)
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.device.reap(until, out);
    }
}

impl DataDevice for Real {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        if self.left == 0 {
            let rest = buffer.as_slice().get(SECTOR_BYTES as usize..).filter(|rest| !rest.is_empty());
            if let Some(rest) = rest.filter(|_| self.torn && request.operation == Operation::Write) {
                overwrite(&mut self.device, request.offset_bytes + SECTOR_BYTES, rest);
            }
            self.torn = false;
            return Err((SubmitError::DeviceLost, buffer));
        }
        self.left -= 1;
        self.device.submit_with(request, buffer)
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.device.take_buffer(id)
    }
}

/// Returns `device` opened read-only.
fn read_only(device: Memory) -> Real {
    let length = device.info().capacity_bytes;
    let mut real = Real::new(device, length, 8);
    real.info.read_only = true;
    real
}

#[test]
fn real_device_is_formatted_only_on_request() {
    let open = |device: Real, settings: &[(&str, &str)]| {
        let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        build("lanes", &settings, Stack::Data(Box::new(device)), Seed(1)).map(|stack| stack.info().lanes)
    };
    let mut blank = memory(1 << 20);
    let error = Lanes::open(Real::new(blank, 1 << 20, 8)).err().expect("there are no lanes");
    assert!(matches!(error, LanesError::NotFormatted { .. }) && error.to_string().contains("format=yes"));
    blank = memory(1 << 20);
    assert!(open(Real::new(blank, 1 << 20, 8), &[("channels", "2"), ("unit", "64KiB")]).is_err());
    let settings = [("channels", "2"), ("unit", "64KiB"), ("format", "yes")];
    assert_eq!(open(Real::new(memory(1 << 20), 1 << 20, 8), &settings), Ok(2));
    let shallow = open(Real::new(memory(1 << 20), 1 << 20, 1), &settings).unwrap_err().to_string();
    assert!(shallow.contains("one request at a time"), "{shallow}");
}

#[test]
fn preparing_writes_nothing_and_finishing_writes() {
    let request = StateOptions {
        format: Some(Format::IfAbsent),
        repair: Some(Repair::Overwrite),
        check_erased: true,
        ..StateOptions::default()
    };
    let settings = [("channels", "2"), ("unit", "8KiB"), ("read-unit", "512B"), ("write-unit", "4KiB")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let small = layer("lanes", &settings).expect("they are settings");
    let prepared = |device: Memory| small.prepare(Stack::Data(Box::new(device)), request).unwrap();
    assert!(matches!(prepared(memory(1 << 20)).change(), StateChange::New(_)), "a blank device is divided");

    let shape = shape(2, 8192, 512, 4096);
    let mut device = fresh(shape, 1 << 20).into_inner();
    overwrite(&mut device, 0, &[9; 4096]);
    let before = raw(&mut device, 0, 1 << 20);
    let kept = prepared(device.clone());
    let StateChange::Repaired(info) = kept.change() else { panic!("the lanes are kept") };
    assert_eq!((info.lanes, info.erase_unit_bytes), (2, 8192));
    drop(kept);
    assert_eq!(raw(&mut device, 0, 1 << 20), before, "preparing wrote");
    let Ok(Stack::Data(repaired)) = prepared(device).finish(Seed(1)) else { panic!("it keeps bytes") };
    assert_eq!(repaired.counters().get("superblocks_damaged"), Some(0));
    // A setting takes precedence.
    let never = layer("lanes", &[("format".into(), "no".into())]).expect("it is a setting");
    let refused = never.prepare(Stack::Data(Box::new(memory(1 << 20))), request).err();
    assert!(matches!(refused, Some(LayerError::Lanes(LanesError::NotFormatted { .. }))), "{refused:?}");
}

#[test]
fn read_only_lanes_write_nothing() {
    let mut lanes = fresh(shape(2, 8192, 512, 4096), 1 << 20);
    lanes.submit(Request::write(1, 0, 8192)).expect("it is erased");
    drain(&mut lanes);
    let mut device = lanes.into_inner();
    overwrite(&mut device, 0, &[9; 4096]);
    let before = raw(&mut device, 0, 1 << 20);
    let mut lanes = Lanes::open(read_only(device)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lanes.damage(), Damage { superblocks: 1, foreign: 1, ..Damage::default() });
    assert!(matches!(lanes.repair(), Err(LanesError::ReadOnly { .. })));
    assert!(matches!(lanes.submit(Request::erase(1, 0, 8192)), Err(SubmitError::ReadOnly { .. })));
    lanes.submit(Request::read(2, 0, 8192)).expect("it is written");
    drain(&mut lanes);
    assert_eq!(raw(&mut lanes.into_inner().device, 0, 1 << 20), before);
}

#[derive(Clone, Debug)]
enum Event {
    Submit { operation: Operation, lane: u32, at: u64, count: u64 },
    Reap,
    Reopen,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let submit = |operation| {
        (0..2_u32, 0..24_u64, 1..5_u64).prop_map(move |(lane, at, count)| Event::Submit {
            operation,
            lane,
            at,
            count,
        })
    };
    let event = prop_oneof![
        6 => submit(Operation::Write),
        4 => submit(Operation::Erase),
        2 => submit(Operation::Read),
        3 => Just(Event::Reap),
        1 => Just(Event::Reopen),
    ];
    proptest::collection::vec(event, 1..120)
}

proptest! {
    #[test]
    fn states_equal_a_simple_model(events in events()) {
        // Units of four write units, six on each of two lanes: (write units written, erases).
        let mut lanes = fresh(shape(2, 16384, 4096, 4096), (3 + 48 + 1) * 4096);
        prop_assert_eq!(lanes.layout.units_per_lane, 6);
        let mut model = [[(0_u64, 0_u32); 6]; 2];
        let mut busy: BTreeMap<u64, (Operation, u32, u64, u64)> = BTreeMap::new();
        let mut next = 0;
        for event in events {
            let mut out = Vec::new();
            match event {
                Event::Submit { operation, lane, at, count } => {
                    let at = if operation == Operation::Erase { at / 4 * 4 } else { at };
                    let count = if operation == Operation::Erase { 4 } else { count };
                    let (unit, within) = ((at / 4) as usize, at % 4);
                    let (written, _) = model[lane as usize][unit];
                    let here = |change: bool| busy.values().any(|&(o, l, a, _)| {
                        l == lane && a / 4 == at / 4 && (o != Operation::Read) == change
                    });
                    let erased = |&&(o, l, a, _): &&(Operation, u32, u64, u64)| {
                        o == Operation::Erase && l == lane && a / 4 == at / 4
                    };
                    let allowed = within + count <= 4 && match operation {
                        Operation::Read => !busy.values().any(|b| erased(&b)) && within + count <= written,
                        Operation::Write => !here(true) && within == written,
                        _ => !here(true) && !here(false),
                    };
                    let request =
                        Request { operation, ..Request::read(next, at * 4096, count * 4096) }.on(Lane(lane));
                    prop_assert_eq!(lanes.submit(request).is_ok(), allowed, "{:?}", request);
                    if allowed {
                        busy.insert(next, (operation, lane, at, count));
                    }
                    next += 1;
                }
                Event::Reap => {
                    let soon = lanes.now() + flashlane_base::Duration::from_ns(2);
                    lanes.reap(soon, &mut out);
                }
                Event::Reopen => {
                    out = drain(&mut lanes);
                    lanes = Lanes::open(lanes.into_inner()).unwrap();
                    prop_assert_eq!(lanes.damage(), Damage::default());
                }
            }
            for completion in out {
                let (operation, lane, at, count) = busy.remove(&completion.id.0).expect("it was submitted");
                let unit = &mut model[lane as usize][(at / 4) as usize];
                match operation {
                    Operation::Write => unit.0 += count,
                    Operation::Erase => *unit = (0, unit.1 + 1),
                    _ => {}
                }
            }
            for (lane, units) in model.iter().enumerate() {
                for (index, &(written, erases)) in units.iter().enumerate() {
                    let state = UnitState::Written { bytes: written * 4096 };
                    let expected = Some(Unit { state, erases: Some(erases) });
                    prop_assert_eq!(lanes.unit(Lane(lane as u32), index as u64), expected);
                }
            }
        }
    }

    #[test]
    fn planned_change_equals_the_built_lanes(
        lanes in 0_u32..6, unit in 0_u64..40, write in 1_u64..9, device in 0_u64..600
    ) {
        let settings = [("channels", lanes.to_string()), ("unit", format!("{}B", unit * 2048)),
            ("write-unit", format!("{}B", write * 1024)), ("format", "yes".into())]
            .map(|(key, value)| (key.to_owned(), value));
        let below = || Stack::Data(Box::new(memory(device * 4096)));
        let lanes = layer("lanes", &settings);
        let made = lanes.clone().and_then(|lanes| lanes.build(below(), Seed(1)));
        let planned = lanes.and_then(|lanes| lanes.prepare(below(), StateOptions::default()));
        let planned = planned.map(|planned| planned.change().clone());
        prop_assert_eq!(planned, made.map(|stack| StateChange::New(stack.info().clone())));
    }

    #[test]
    fn random_data_is_never_mistaken_for_lanes(seed: u64) {
        let mut random: Random = Seed(seed).source();
        let mut device = memory(64 * 4096);
        let bytes: Vec<u8> = (0..64 * 4096).map(|_| random.bits() as u8).collect();
        overwrite(&mut device, 0, &bytes);
        let error = Lanes::open(device).err().expect("there are no lanes");
        prop_assert!(matches!(error, LanesError::NotFormatted { .. }), "{error}");
    }
}
