//! A device whose requests are late or fail as a script says.

use super::*;
use flashlane_device::{Counters, Operation};

/// Returns how late a request completes, and whether it fails.
type Script = Box<dyn FnMut(&Request) -> (Duration, Option<Failure>)>;

/// Bytes in memory, under a script.
pub(super) struct Scripted {
    inner: Backed<NullDevice>,
    script: Script,
    endings: BTreeMap<RequestId, (Duration, Option<Failure>)>,
    held: BTreeMap<(Instant, RequestId), Completion>,
}

impl Scripted {
    pub fn new(script: impl FnMut(&Request) -> (Duration, Option<Failure>) + 'static) -> Self {
        let (endings, held) = (BTreeMap::new(), BTreeMap::new());
        Self { inner: backed(), script: Box::new(script), endings, held }
    }
}

impl Device for Scripted {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn now(&self) -> Instant {
        self.inner.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.inner.submit(request)?;
        self.endings.insert(request.id, (self.script)(&request));
        Ok(())
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let due = self.held.first_key_value().map_or(Instant::FAR, |(key, _)| key.0);
        let mut arrived = Vec::new();
        self.inner.reap(until.min(due), &mut arrived);
        for mut completion in arrived {
            let (delay, failure) = self.endings.remove(&completion.id).expect("it was submitted");
            completion.completed += delay;
            completion.outcome = failure.map_or(completion.outcome, Err);
            self.held.insert((completion.completed, completion.id), completion);
        }
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= self.inner.now()) {
            out.push(entry.remove());
        }
    }
    fn counters(&self) -> Counters {
        self.inner.counters()
    }
}

impl DataDevice for Scripted {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.inner.submit_with(request, buffer)?;
        self.endings.insert(request.id, (self.script)(&request));
        Ok(())
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.inner.take_buffer(id)
    }
}

/// A layer over a scripted device, with one request at a time.
pub(super) struct Bench {
    pub layer: Replicated<Bytes<Scripted>>,
    next: u64,
}

/// Pages of a partition of the bench: 24 of data, 8 slots.
pub(super) const PAGE: u64 = 4096;
const PARTITION: u64 = 32 * PAGE;
const DATA: u64 = 24 * PAGE;
/// D of the bench.
pub(super) const D: Duration = Duration::from_us(100);

/// Returns whether a request below is to a slot.
pub(super) fn is_slot(request: &Request) -> bool {
    request.offset_bytes % PARTITION >= DATA
}

impl Bench {
    pub fn new(script: impl FnMut(&Request) -> (Duration, Option<Failure>) + 'static) -> Self {
        Self::with(Self::settings(), script)
    }

    pub fn settings() -> Settings {
        Settings {
            partitions: 8,
            page_bytes: PAGE,
            space: 0.25,
            delay: Some(D),
            threshold: Some(0.3),
            ..Settings::default()
        }
    }

    pub fn with(
        settings: Settings,
        script: impl FnMut(&Request) -> (Duration, Option<Failure>) + 'static,
    ) -> Self {
        Self { layer: over_data(Scripted::new(script), settings), next: 0 }
    }

    fn run(&mut self, request: Request, buffer: Buffer) -> (Completion, Buffer) {
        self.next += 1;
        let request = Request { id: RequestId(self.next), ..request };
        match request.operation {
            Operation::Flush => self.layer.submit(request).expect("a flush"),
            _ => self.layer.submit_with(request, buffer).map_err(|(error, _)| error).expect("it is accepted"),
        }
        let mut out = Vec::new();
        while out.is_empty() {
            self.layer.reap(Instant::FAR, &mut out);
        }
        let [completion] = out[..] else { panic!("one completion, not {out:?}") };
        (completion, self.layer.take_buffer(request.id).unwrap_or_default())
    }

    /// Writes a page and returns its latency.
    pub fn write(&mut self, page: u64, value: u8) -> Result<Duration, Failure> {
        self.write_as(Request::write(0, page * PAGE, PAGE), value)
    }

    pub fn write_as(&mut self, request: Request, value: u8) -> Result<Duration, Failure> {
        let bytes = vec![value; request.length_bytes as usize];
        let (completion, buffer) = self.run(request, Buffer::from_slice(&bytes));
        assert_eq!(buffer.as_slice(), bytes, "a write gives its bytes back");
        completion.outcome.map(|()| completion.latency())
    }

    /// Reads a page; returns its value and its latency.
    pub fn read(&mut self, page: u64) -> Result<(u8, Duration), Failure> {
        let (completion, buffer) =
            self.run(Request::read(0, page * PAGE, PAGE), Buffer::from_slice(&[0xa5; PAGE as usize]));
        completion.outcome?;
        let value = buffer.as_slice()[0];
        assert!(buffer.as_slice().iter().all(|&byte| byte == value), "a page has one value in these tests");
        Ok((value, completion.latency()))
    }

    pub fn flush(&mut self) -> Result<Duration, Failure> {
        let (completion, _) = self.run(Request::flush(0), Buffer::default());
        completion.outcome.map(|()| completion.latency())
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Duration) {
        let until = self.layer.now() + time;
        self.layer.reap(until, &mut Vec::new());
    }

    pub fn count(&self, name: &str) -> u64 {
        self.layer.counters().get(name).unwrap_or_else(|| panic!("no counter {name}"))
    }
}
