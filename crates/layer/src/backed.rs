//! `backed(SPEC)`: data for a device that models time only, in memory or in a file.
//!
//! The data of a write becomes visible when it completes, and a read copies its data when *it* completes, so that a
//! read's content depends only on the order of completions. Unwritten, trimmed and erased ranges read as zeros. A
//! failed request moves no data, or the part that it reports as done.
//!
//! Where the device knows which writes are at risk, the replaced data is kept until a power cut can no longer bring it
//! back: [`Device::cut_power`] then restores the data on the medium. A trim is not undone, except where an earlier
//! write to the range is lost with a later one.
//!
//! On media with erase units a completed write is on the medium, and a power cut tears the units in flight:
//! independently and at random, each read unit of a torn write holds the new data, none, a prefix, or garbage, and each
//! read unit of a torn erase the old data or none. Flash is written in order and leaves only some of these
//! patterns.

use crate::bytes::Bytes;
use crate::chunks::Chunks;
use crate::entry::{Capabilities, Entry, Plan, Prepared, Stack, StateChange};
use crate::error::LayerError;
use crate::file_bytes::FileBytes;
use crate::label::label;
use crate::options::OptionHelp;
use crate::state::StateOptions;
use crate::undo::Undo;
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, Operation,
    PowerCurve, Request, RequestId, SubmitError, TimeSplit, Unit, UnitState, Zone,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const ENTRY: Entry = Entry {
    name: "backed",
    summary: "keeps the bytes of a device that models time only, in memory or in a file",
    adds: Capabilities { erase_units: false, bytes: true, stored_state: false },
    options: || {
        vec![OptionHelp {
            key: FILE,
            value: "PATH",
            summary: "keep them in a sparse file, which is made, or emptied with --destroy-data",
        }]
    },
    read: |options| Ok(Arc::new(Settings { file: options.read(FILE, str::parse)?, opened: None })),
};

const FILE: &str = "file";

/// Settings of the layer.
#[derive(Debug)]
struct Settings {
    /// The file for the data; `None` for memory.
    file: Option<PathBuf>,
    /// The open file to empty; where there is none, the file is made, and MUST be new.
    opened: Option<Arc<File>>,
}

impl Plan for Settings {
    fn prepare(&self, inner: Stack, _: StateOptions) -> Result<Prepared, LayerError> {
        match inner {
            Stack::Timing(device) => {
                let (file, opened) = (self.file.clone(), self.opened.clone());
                Ok(Prepared::new(StateChange::None, move |seed| {
                    let backed = match &file {
                        None => Backed::new(device),
                        Some(path) => Backed::in_file(device, path, opened)?,
                    };
                    Ok(Stack::Data(Box::new(backed.seeded(seed))))
                }))
            }
            Stack::Data(device) => {
                Err(LayerError::HasBytes { layer: ENTRY.name, device: device.info().name.clone() })
            }
        }
    }

    fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    fn in_memory(&self) -> Option<Arc<dyn Plan>> {
        self.file.as_ref().map(|_| Arc::new(Self { file: None, opened: None }) as Arc<dyn Plan>)
    }

    fn emptying(&self, file: File) -> Option<Arc<dyn Plan>> {
        let opened = Some(Arc::new(file));
        self.file.as_ref().map(|path| Arc::new(Self { file: Some(path.clone()), opened }) as Arc<dyn Plan>)
    }
}

/// Data for a device that models time only. A clone shares data in memory until one of the two writes to it, and data
/// in a file for good.
#[derive(Clone)]
pub struct Backed<D> {
    inner: D,
    info: DeviceInfo,
    bytes: Bytes,
    /// Requests in flight whose completions change the data.
    pending: BTreeMap<RequestId, (Request, Option<Buffer>)>,
    /// `None` where the device does not know the writes at risk, and on media with erase units, where nothing is.
    undo: Option<Undo>,
    /// Randomness of the content of torn units.
    random: Random,
    /// Buffers of completed requests until they are taken; at most one per id.
    done: BTreeMap<RequestId, Buffer>,
}

impl<D: Device> Backed<D> {
    /// Stores zeros for `inner`, in memory.
    pub fn new(inner: D) -> Self {
        Self::over(inner, Bytes::Memory(Chunks::default()), "")
    }

    /// Stores zeros for `inner` in the file at `path`: in `opened`, which is emptied, or else in a new file. A request
    /// whose data cannot be read or stored fails with the system's error.
    ///
    /// # Errors
    /// [`LayerError::Value`] where the file cannot be made, exists, or is the data of another device now.
    pub(crate) fn in_file(inner: D, path: &Path, opened: Option<Arc<File>>) -> Result<Self, LayerError> {
        let info = inner.info();
        let file = match opened {
            Some(file) => Ok(file),
            None => File::options().read(true).write(true).create_new(true).open(path).map(Arc::new),
        };
        let file = file.and_then(|file| FileBytes::over(file, info.lanes, info.capacity_bytes));
        let file = file.map_err(|error| LayerError::Value {
            layer: ENTRY.name,
            key: FILE,
            given: path.display().to_string(),
            reason: match error.kind() {
                std::io::ErrorKind::WouldBlock => "another program is using it".into(),
                std::io::ErrorKind::AlreadyExists => "it was not there before, and is kept".into(),
                _ => error.to_string(),
            },
        })?;
        Ok(Self::over(inner, Bytes::File(file), &format!(",{FILE}={}", path.display())))
    }

    fn over(inner: D, bytes: Bytes, settings: &str) -> Self {
        let name = label(ENTRY.name, &inner.info().name, settings);
        let info = DeviceInfo { name, ..inner.info().clone() };
        Self {
            undo: inner.at_risk().filter(|_| info.erase_unit_bytes == 0).map(|_| Undo::default()),
            random: torn_random(Seed(0)),
            inner,
            info,
            bytes,
            pending: BTreeMap::new(),
            done: BTreeMap::new(),
        }
    }

    /// Replaces the seed of the content of torn units.
    pub fn seeded(mut self, seed: Seed) -> Self {
        self.random = torn_random(seed);
        self
    }

    /// The device below.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    fn accepted(&mut self, request: Request, buffer: Option<Buffer>) {
        self.done.remove(&request.id);
        let clears = matches!(request.operation, Operation::Trim | Operation::Erase);
        let counts = matches!(request.operation, Operation::Write | Operation::Flush) && self.undo.is_some();
        if clears || counts || buffer.is_some() {
            self.pending.insert(request.id, (request, buffer));
        }
    }

    /// Applies a completed request to the data. Fails the request where its data cannot be read or stored.
    fn apply(&mut self, completion: &mut Completion) {
        let Some((request, buffer)) = self.pending.remove(&completion.id) else { return };
        let moved = match completion.outcome {
            Ok(()) => request.length_bytes,
            Err(Failure::Short { done_bytes }) => u64::from(done_bytes).min(request.length_bytes),
            Err(_) => 0,
        };
        let Request { lane, offset_bytes, operation, .. } = request;
        self.record_undo(&request, buffer.as_ref(), moved);
        if matches!(operation, Operation::Trim | Operation::Erase) {
            self.bytes.clear(lane, offset_bytes, moved);
        }
        if let Some(mut buffer) = buffer {
            match operation {
                Operation::Read => {
                    self.bytes.read(lane, offset_bytes, &mut buffer.as_mut_slice()[..moved as usize]);
                }
                Operation::Write => {
                    self.bytes.write(lane, offset_bytes, &buffer.as_slice()[..moved as usize]);
                }
                Operation::Append => {
                    if let Some((lane, offset_bytes)) = self.inner.appended_at(request.id) {
                        self.bytes.write(lane, offset_bytes, &buffer.as_slice()[..moved as usize]);
                    }
                }
                _ => {}
            }
            self.done.insert(request.id, buffer);
        }
        if let Some(errno) = self.bytes.take_error() {
            completion.outcome = Err(Failure::Os(errno));
        }
    }

    /// Fills torn units with the content that a power cut leaves of the writes and erases in flight.
    fn tear(&mut self) {
        let (unit_bytes, step) = (self.info.erase_unit_bytes, self.info.read_unit_bytes);
        let Self { inner, bytes, pending, random, .. } = self;
        for (request, buffer) in pending.values() {
            let Request { lane, offset_bytes, length_bytes, operation, .. } = *request;
            let state = inner.unit(lane, offset_bytes / unit_bytes).map(|unit| unit.state);
            if state != Some(UnitState::Torn) {
                continue; // it had completed, or not begun
            }
            for at in (0..length_bytes).step_by(step as usize) {
                match (operation, buffer) {
                    (Operation::Erase, _) if random.chance(0.5) => {
                        bytes.clear(lane, offset_bytes + at, step);
                    }
                    (Operation::Write, Some(buffer)) => {
                        let left = torn_content(&buffer.as_slice()[at as usize..][..step as usize], random);
                        bytes.write(lane, offset_bytes + at, &left);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Updates the undo log for a completed write. MUST be called before its data is applied.
    fn record_undo(&mut self, request: &Request, buffer: Option<&Buffer>, moved: u64) {
        let Some(undo) = &mut self.undo else { return };
        // A write without a buffer changes no data.
        let written = buffer.map_or(&[][..], |buffer| &buffer.as_slice()[..moved as usize]);
        match request.operation {
            Operation::Write if request.durable => {
                undo.after_durable_write(request.lane, request.offset_bytes, written);
            }
            Operation::Write => {
                undo.before_write(&mut self.bytes, request.lane, request.offset_bytes, written.len() as u64);
            }
            _ => {}
        }
        if undo.is_due() || request.operation == Operation::Flush {
            undo.prune(&self.inner.at_risk().unwrap_or_default());
        }
    }
}

impl<D: Device> Device for Backed<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.inner.submit(request)?;
        self.accepted(request, None);
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        self.inner.reap(until, out);
        for completion in &mut out[first..] {
            self.apply(completion);
        }
    }

    fn next_event(&self) -> Option<Instant> {
        self.inner.next_event()
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.inner.power_curve()
    }

    fn record_time_splits(&mut self) -> bool {
        self.inner.record_time_splits()
    }

    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.inner.time_split(id)
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.inner.unit(lane, index)
    }

    fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        self.inner.zone(lane, index)
    }

    fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        self.inner.appended_at(id)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        self.inner.at_risk()
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        if self.info.erase_unit_bytes > 0 {
            let lost = self.inner.cut_power()?;
            assert!(lost.is_empty(), "a completed write to an erase unit is on the medium");
            self.tear();
            return Some(lost);
        }
        let undo = self.undo.as_mut()?;
        let lost = self.inner.cut_power()?;
        undo.roll_back(&mut self.bytes, &lost);
        Some(lost)
    }
}

impl<D: Device> DataDevice for Backed<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        if let Err(error) = self.inner.submit(request) {
            return Err((error, buffer));
        }
        if matches!(request.operation, Operation::Read | Operation::Write) {
            assert_eq!(buffer.len() as u64, request.length_bytes, "a buffer is as long as its request");
        }
        self.accepted(request, Some(buffer));
        Ok(())
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}

fn torn_random(seed: Seed) -> Random {
    seed.derive("torn units").source()
}

/// Returns the content of a read unit whose write was torn: all of it, zeros, a prefix, or garbage.
fn torn_content(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut left = bytes.to_vec();
    match random.below(4) {
        0 => {}
        1 => left.fill(0),
        2 => left[random.below(bytes.len() as u64) as usize..].fill(0),
        _ => left.iter_mut().for_each(|byte| *byte = random.bits() as u8),
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_device::NullDevice;
    use flashlane_device_testing::conformance;

    #[test]
    fn backed_device_conforms() {
        conformance::check_data(&mut || Box::new(Backed::new(NullDevice::new(1 << 20))));
    }

    #[test]
    fn device_with_its_data_in_a_file_conforms() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut number = 0;
        conformance::check_data(&mut || {
            number += 1;
            let path = folder.path().join(number.to_string());
            Box::new(Backed::in_file(NullDevice::new(1 << 20), &path, None).expect("a new file"))
        });
    }

    #[test]
    fn file_that_appears_before_the_layer_is_finished_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bytes");
        let settings = [(FILE.to_owned(), path.to_str().expect("text").to_owned())];
        let layer = crate::layer(ENTRY.name, &settings).expect("a known setting");
        let device = || Stack::Timing(Box::new(NullDevice::new(1 << 20)));
        let prepared = layer.prepare(device(), StateOptions::default()).expect("nothing is there");
        std::fs::write(&path, "of another program").expect("it can be written");
        let refused = prepared.finish(Seed(1)).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|text| text.contains("not there before")), "it is refused");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "of another program");
        // The caller may open it, and then it is emptied.
        let file = File::options().read(true).write(true).open(&path).expect("it is ours");
        layer.emptying(file).build(device(), Seed(1)).expect("an open file");
        assert!(std::fs::read(&path).expect("it is there") == vec![0; 1 << 20]);
    }

    #[test]
    fn request_whose_data_cannot_be_stored_fails() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bytes");
        let mut device = Backed::in_file(NullDevice::new(1 << 20), &path, None).expect("a new file");
        File::options().write(true).open(&path).and_then(|file| file.set_len(0)).expect("it is ours");
        device.submit_with(Request::read(1, 0, 512), Buffer::zeroed(512)).unwrap();
        let mut out = Vec::new();
        device.reap(Instant::FAR, &mut out);
        assert_eq!(out[0].outcome, Err(Failure::Os(5)));
    }

    #[test]
    fn read_completed_before_a_write_sees_the_old_data() {
        let mut device = Backed::new(NullDevice::new(1 << 20));
        let bytes = Buffer::from_slice(&[7; 512]);
        device.submit_with(Request::read(1, 0, 512), Buffer::zeroed(512)).unwrap();
        device.submit_with(Request::write(2, 0, 512), bytes).unwrap();
        device.submit_with(Request::read(3, 0, 512), Buffer::zeroed(512)).unwrap();
        let mut out = Vec::new();
        device.reap(Instant::FAR, &mut out);
        assert_eq!(out.len(), 3);
        assert_eq!(device.take_buffer(RequestId(1)).unwrap().as_slice(), [0; 512]);
        assert_eq!(device.take_buffer(RequestId(3)).unwrap().as_slice(), [7; 512]);
        assert!(device.take_buffer(RequestId(4)).is_none());
    }
}
