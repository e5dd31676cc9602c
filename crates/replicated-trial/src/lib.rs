//! Trials of replication: random requests with power cuts, compared with a simple model.
//!
//! Requests of all kinds are in flight together, also over the same bytes: these are served in the order of submission,
//! so the model knows what each read returns. After a power cut each sector must hold a version no older than the
//! newest that was durable, flushed, or completed and not reported as lost. Everything follows from one seed: a trial
//! that fails, fails again.
//!
//! [`trial_of_seed`] tries the layer over [`CachedDrive`], which is fast and lawful but mean: a cut of it takes some
//! tens of microseconds. [`trial_of_drive`] tries a simulated drive that replicates over its dies. [`run_trial`] tries
//! any device that stores data and can lose its power.

mod drive;
mod model;
mod simulated;
mod tally;

pub use drive::CachedDrive;
pub use simulated::trial_of_drive;
pub use tally::Tally;

use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{Buffer, DataDevice, Device, Failure, Operation, Request, RequestId};
use flashlane_layer::Bytes;
use flashlane_layer::Replicated;
use flashlane_layer::replicated::Settings;
use model::Model;

/// Length of a sector, of which the model keeps versions.
pub const SECTOR: u64 = 512;

/// Runs a trial of the layer over a drive with a write cache; both follow from the seed.
///
/// # Panics
/// As [`run_trial`].
pub fn trial_of_seed(seed: u64) -> Tally {
    let mut random = Seed(seed).derive("shape").source();
    let partitions = 2 + random.below(5) as u32;
    let page_bytes = SECTOR << random.below(3);
    let in_partition = 4 + random.below(10);
    let policy = if random.chance(0.7) { "pblru" } else { "lru" };
    let settings = Settings {
        partitions,
        page_bytes,
        space: 0.25 + 0.2 * random.unit(),
        copies: Some(2 + random.below(u64::from(partitions) - 1) as u32),
        policy: policy.into(),
        threshold: (policy == "pblru").then(|| 0.3 * random.unit()),
        delay: random.chance(0.8).then(|| Duration::from_us(5 + random.below(60))),
        // Even seeds change between rounds with copies and without.
        round: 1 + (seed % 20) as u32,
        always: !seed.is_multiple_of(2),
        ..Settings::default()
    };
    let depth = 1 + random.below(40) as u32;
    let drive =
        CachedDrive::new(u64::from(partitions) * in_partition * page_bytes, partitions, depth, Seed(seed));
    let mut opened = 0;
    let mut open = |drive| {
        opened += 1;
        let seed = Seed(seed).derive_nth("layer", opened);
        Replicated::new(Bytes(drive), settings.clone(), seed).unwrap_or_else(|error| panic!("{error}"))
    };
    let layer = open(drive);
    let mut reopen = |layer: Replicated<Bytes<CachedDrive>>| open(layer.into_inner().0.reopened());
    let load = Load { steps: 500, cuts: 0.04, page_bytes, in_order: true };
    run_trial(layer, Some(&mut reopen), Seed(seed), load)
}

/// The requests of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of requests.
    pub steps: u32,
    /// The share of them after which the power is cut.
    pub cuts: f64,
    /// Length of pages, which are written as a whole more often than other ranges.
    pub page_bytes: u64,
    /// Whether the device serves requests over the same bytes in the order of submission. Otherwise only one of them is
    /// in flight at a time.
    pub in_order: bool,
}

/// Runs a trial on a device of zeros that stores data and can lose its power. After some cuts `reopen` makes a new
/// device of the old one, whose writes are numbered from 0.
///
/// # Panics
/// Where a promise is broken: the message names the promise and the sector. The caller names the seed.
pub fn run_trial<D: DataDevice>(
    device: D,
    reopen: Option<&mut dyn FnMut(D) -> D>,
    seed: Seed,
    load: Load,
) -> Tally {
    let sectors = device.info().capacity_bytes / SECTOR;
    let depth = u64::from(device.info().depth.min(24));
    let mut trial = Trial {
        device: Some(device),
        reopen,
        model: Model::new(sectors),
        random: seed.derive("trial").source(),
        page_sectors: load.page_bytes / SECTOR,
        in_order: load.in_order,
        sectors,
        next: 1,
        tally: Tally::default(),
    };
    for _ in 0..load.steps {
        trial.submit();
        let deepest = trial.random.below(depth) as usize;
        while trial.model.in_flight() > deepest {
            trial.reap(Instant::FAR);
        }
        if trial.random.chance(0.2) {
            let until = trial.device().now() + Duration::from_us(trial.random.below(300));
            trial.reap(until);
        }
        if trial.random.chance(load.cuts) {
            trial.cut();
        }
    }
    while trial.model.in_flight() > 0 {
        trial.reap(Instant::FAR);
    }
    trial.cut();
    let counters = trial.device().counters();
    trial.tally.count(&counters);
    trial.tally
}

struct Trial<'a, D> {
    /// `None` only while it is opened again.
    device: Option<D>,
    reopen: Option<&'a mut dyn FnMut(D) -> D>,
    model: Model,
    random: Random,
    page_sectors: u64,
    in_order: bool,
    sectors: u64,
    next: u64,
    tally: Tally,
}

impl<D: DataDevice> Trial<'_, D> {
    fn device(&mut self) -> &mut D {
        self.device.as_mut().expect("it is open")
    }

    /// Chooses whole pages, or any sectors; half of the time at the beginning, where requests meet.
    fn range(&mut self) -> (u64, u64) {
        let random = &mut self.random;
        let (unit, most) =
            if random.chance(0.7) { (self.page_sectors, 3) } else { (1, 2 * self.page_sectors) };
        let units = self.sectors / unit;
        let count = if random.chance(0.6) { 1 } else { 1 + random.below(most.min(units)) };
        let area = if random.chance(0.5) { units.min(count + 6) } else { units };
        (random.below(area - count + 1) * unit, count * unit)
    }

    fn submit(&mut self) {
        let (first, count) = self.range();
        let id = self.next;
        self.next += 1;
        let (offset, length) = (first * SECTOR, count * SECTOR);
        let request = match self.random.below(100) {
            0..4 => Request::flush(id),
            4..8 => Request::trim(id, offset, length),
            8..14 => Request::write(id, offset, length).durable(),
            14..65 => Request::write(id, offset, length),
            _ => Request::read(id, offset, length),
        };
        let mut buffer = Buffer::zeroed(request.length_bytes as usize);
        if request.operation == Operation::Write {
            model::fill(&mut buffer, first, id);
        }
        let transfers = matches!(request.operation, Operation::Read | Operation::Write);
        while !self.in_order && self.model.conflicts(&request) {
            self.reap(Instant::FAR);
        }
        let accepted = match transfers {
            true => self.device().submit_with(request, buffer).map_err(|(error, _)| error),
            false => self.device().submit(request),
        };
        accepted.unwrap_or_else(|error| panic!("{request:?} was refused: {error}"));
        self.model.submitted(request);
        self.tally.requests += 1;
    }

    fn reap(&mut self, until: Instant) {
        let mut out = Vec::new();
        self.device().reap(until, &mut out);
        for completion in out {
            assert_eq!(completion.outcome, Ok(()), "{completion:?}");
            let buffer = self.device().take_buffer(completion.id);
            self.tally.sectors_compared += self.model.completed(completion.id, buffer.as_ref());
        }
    }

    /// Cuts the power, and compares the content that is left.
    fn cut(&mut self) {
        self.tally.cuts += 1;
        let at_risk = self.device().at_risk();
        let lost = self.device().cut_power();
        assert_eq!(at_risk, lost, "at risk before the cut, and lost by it");
        let lost = lost.expect("the device can lose its power");
        assert_eq!(self.device().at_risk(), Some(Vec::new()), "at risk after the cut");
        let mut out = Vec::new();
        while out.len() < self.model.in_flight() {
            self.device().reap(Instant::FAR, &mut out);
        }
        assert!(out.iter().all(|completion| completion.outcome == Err(Failure::DeviceLost)), "{out:?}");
        if self.random.chance(0.3)
            && let Some(reopen) = &mut self.reopen
        {
            let device = self.device.take().expect("it is open");
            self.tally.count(&device.counters());
            self.device = Some(reopen(device));
            self.model.renumber();
        }
        let found = self.read_all();
        self.tally.lost += self.model.cut(&lost, &found);
    }

    fn read_all(&mut self) -> Buffer {
        let request = Request::read(u64::MAX, 0, self.sectors * SECTOR);
        let buffer = Buffer::zeroed(request.length_bytes as usize);
        let accepted = self.device().submit_with(request, buffer);
        accepted.unwrap_or_else(|(error, _)| panic!("after a power cut: {error}"));
        let mut out = Vec::new();
        while out.is_empty() {
            self.device().reap(Instant::FAR, &mut out);
        }
        assert_eq!(out[0].outcome, Ok(()), "after a power cut");
        self.device().take_buffer(RequestId(u64::MAX)).expect("its bytes come back")
    }
}
