//! A closed loop of puts and gets with a fixed number in flight, as benchmarks of the layer need.
//!
//! Ids come from the layer's allocator, so that round-robin placement takes the lanes in turn.

use crate::{Blocks, Finished, GetError, GetFailure, Outcome, Payload, PutError, PutFailure};
use flashlane_base::{Duration, Histogram, Instant, Random, Seed};
use flashlane_device::DataDevice;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// The puts and gets to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Number of puts and gets.
    pub operations: u64,
    /// Device time after which no operation is submitted.
    pub time_limit: Option<Duration>,
    /// Operations in flight, at least one.
    pub in_flight: u32,
    /// Share of puts, 0 to 1; the others are gets.
    pub puts: f64,
    /// Whether gets are of random blocks; otherwise of all blocks in the order of their ids.
    pub random: bool,
    /// Bytes of a get, at a random multiple of that length; 0 for whole blocks.
    pub get_bytes: u64,
    /// Blocks to keep: beyond these, each put deletes the oldest. `None` keeps all.
    pub keep: Option<u64>,
    /// Lowest id that takes part: blocks with a lower one are neither read nor deleted.
    pub first_id: u64,
    /// Whether a block holds zeros behind its id, which a device in memory need not store; otherwise incompressible
    /// bytes.
    pub zeros: bool,
    /// Seed of the choices.
    pub seed: Seed,
}

/// Result of a load.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// From the first submission to the last completion.
    pub elapsed: Duration,
    /// Puts that completed.
    pub puts: OperationStats,
    /// Gets that completed.
    pub gets: OperationStats,
    /// Whether it was stopped before its end.
    pub is_stopped: bool,
}

/// Statistics of the puts or of the gets.
#[derive(Clone, Debug, Default)]
pub struct OperationStats {
    /// Number of operations.
    pub count: u64,
    /// Bytes of user data.
    pub bytes: u64,
    /// Time from submission to completion.
    pub latency: Histogram,
}

impl OperationStats {
    fn record(&mut self, finished: &Finished, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
        self.latency.record(finished.completed.since(finished.submitted));
    }

    /// Returns bytes per second over `elapsed`.
    pub fn bytes_per_s(&self, elapsed: Duration) -> f64 {
        self.bytes as f64 / elapsed.as_s_f64().max(1e-9)
    }
}

/// Why a load ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A put was refused.
    #[error(transparent)]
    Put(#[from] PutError),
    /// A get was refused.
    #[error(transparent)]
    Get(#[from] GetError),
    /// A put failed.
    #[error(transparent)]
    PutFailed(#[from] PutFailure),
    /// A get failed.
    #[error(transparent)]
    GetFailed(#[from] GetFailure),
    /// There are gets to run and no block to read.
    #[error("there is no block to read")]
    Empty,
}

/// Runs a load. `watch` is called with the share that is done, and may stop it.
///
/// # Errors
/// [`LoadError`] with the first operation that failed.
pub fn run<D: DataDevice>(
    blocks: &mut Blocks<D>,
    load: &Load,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<LoadResult, LoadError> {
    let mut run = LoadRun::new(blocks, load);
    let mut out = Vec::new();
    while run.submitted < load.operations || run.in_flight > 0 {
        let is_over = load.time_limit.is_some_and(|limit| blocks.now().since(run.start) >= limit);
        while !is_over && !run.done.is_stopped && run.has_room() {
            run.submit(blocks)?;
        }
        if (is_over || run.done.is_stopped) && run.in_flight == 0 {
            break;
        }
        blocks.reap(Instant::FAR, &mut out);
        for finished in out.drain(..) {
            run.finish(blocks, finished)?;
        }
        run.delete_surplus(blocks);
        run.done.is_stopped |= watch(run.share()).is_break();
    }
    Ok(run.done)
}

/// A load that runs.
struct LoadRun<'a> {
    load: &'a Load,
    random: Random,
    /// Blocks to read, the oldest first.
    ids: VecDeque<u64>,
    /// Buffers of puts that are not in flight.
    payloads: Vec<Payload>,
    start: Instant,
    submitted: u64,
    in_flight: u32,
    next_get: u64,
    done: LoadResult,
}

impl<'a> LoadRun<'a> {
    fn new<D: DataDevice>(blocks: &mut Blocks<D>, load: &'a Load) -> Self {
        let ids = blocks.list().map(|info| info.id).filter(|&id| id >= load.first_id).collect();
        // Buffers are made before the clock is read: the first use of a memory page takes longer than the device.
        let buffers = if load.puts > 0.0 { u64::from(load.in_flight.max(1)).min(load.operations) } else { 0 };
        let payloads = (0..buffers).map(|_| filled(blocks.payload(), load)).collect();
        let done = LoadResult {
            elapsed: Duration::ZERO,
            puts: OperationStats::default(),
            gets: OperationStats::default(),
            is_stopped: false,
        };
        let random = load.seed.derive("load").source();
        let start = blocks.now();
        Self { load, random, ids, payloads, start, submitted: 0, in_flight: 0, next_get: 0, done }
    }

    /// Returns whether operations are left, and fewer are in flight than the load keeps.
    fn has_room(&self) -> bool {
        self.submitted < self.load.operations && self.in_flight < self.load.in_flight.max(1)
    }

    /// Submits the next operation.
    fn submit<D: DataDevice>(&mut self, blocks: &mut Blocks<D>) -> Result<(), LoadError> {
        // With nothing to read yet a block is put.
        let is_put = self.random.chance(self.load.puts) || (self.ids.is_empty() && self.load.puts > 0.0);
        if is_put {
            let id = blocks.next_id();
            let mut payload = self.payloads.pop().expect("a buffer for each operation in flight");
            payload.as_mut_slice()[..8].copy_from_slice(&id.to_le_bytes());
            blocks.put(id, payload).map_err(|(error, _)| error)?;
        } else {
            let (id, offset, bytes) = self.next_read(blocks)?;
            blocks.get(id, offset, bytes)?;
        }
        self.submitted += 1;
        self.in_flight += 1;
        Ok(())
    }

    /// Returns the block, offset and length of the next read.
    fn next_read<D: DataDevice>(&mut self, blocks: &Blocks<D>) -> Result<(u64, u64, u64), LoadError> {
        if self.ids.is_empty() {
            return Err(LoadError::Empty);
        }
        let count = self.ids.len() as u64;
        let nth = if self.load.random { self.random.below(count) } else { self.next_get % count };
        let id = self.ids[nth as usize];
        self.next_get += 1;
        let length = blocks.info(id).map_or(0, |info| info.length_bytes);
        let bytes = if self.load.get_bytes == 0 { length } else { self.load.get_bytes.min(length) };
        Ok((id, self.random.below((length / bytes.max(1)).max(1)) * bytes, bytes))
    }

    /// Records a finished operation, and takes its buffer back.
    fn finish<D: DataDevice>(&mut self, blocks: &mut Blocks<D>, finished: Finished) -> Result<(), LoadError> {
        match &finished.outcome {
            Outcome::Put(result, payload) => {
                (*result)?;
                self.done.puts.record(&finished, payload.len());
                self.ids.push_back(finished.id);
            }
            Outcome::Get(Err(failure)) => return Err((*failure).into()),
            Outcome::Get(Ok(data)) => self.done.gets.record(&finished, data.as_slice().len() as u64),
            Outcome::Delete(_) => return Ok(()),
        }
        self.in_flight -= 1;
        self.done.elapsed = finished.completed.since(self.start);
        match finished.outcome {
            Outcome::Put(_, payload) => self.payloads.push(payload),
            Outcome::Get(Ok(data)) => blocks.reuse(data),
            _ => {}
        }
        Ok(())
    }

    /// Deletes the oldest blocks beyond those that the load keeps. Deletes are not measured.
    fn delete_surplus<D: DataDevice>(&mut self, blocks: &mut Blocks<D>) {
        while self.load.keep.is_some_and(|keep| self.ids.len() as u64 > keep) {
            let oldest = self.ids.pop_front().expect("there are more blocks than are kept");
            let _ = blocks.delete(oldest);
        }
    }

    /// Returns the share of the load that is done, by operations or by time.
    fn share(&self) -> f64 {
        let limit = self.load.time_limit;
        let by_time = limit.map_or(0.0, |limit| self.done.elapsed.as_s_f64() / limit.as_s_f64());
        let by_count =
            (self.done.puts.count + self.done.gets.count) as f64 / self.load.operations.max(1) as f64;
        by_count.max(by_time.min(1.0))
    }
}

/// Fills the bytes of a block behind its id.
fn filled(mut payload: Payload, load: &Load) -> Payload {
    if load.zeros {
        return payload;
    }
    let mut random = load.seed.derive("payload").source();
    for piece in payload.as_mut_slice().chunks_mut(8) {
        let word = random.bits().to_le_bytes();
        piece.copy_from_slice(&word[..piece.len()]);
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockOptions;
    use flashlane_device_testing::MemoryLanes;

    #[test]
    fn load_runs_its_operations_and_repeats() {
        let run_once = || {
            let device = MemoryLanes::new(4, 16, 4096, 512, Seed(1));
            let mut blocks = Blocks::format(device, 1, BlockOptions::default()).unwrap();
            let load = Load {
                operations: 500,
                time_limit: None,
                in_flight: 8,
                puts: 0.5,
                random: true,
                get_bytes: 512,
                keep: Some(20),
                first_id: 0,
                zeros: false,
                seed: Seed(2),
            };
            let done = run(&mut blocks, &load, &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(done.puts.count + done.gets.count, 500);
            assert_eq!(done.gets.bytes, done.gets.count * 512);
            assert!(blocks.list().count() <= 20 + 8);
            (done.elapsed, done.puts.count, done.puts.latency.latency())
        };
        assert_eq!(run_once(), run_once());
    }

    #[test]
    fn gets_without_a_stored_block_are_refused() {
        let device = MemoryLanes::new(4, 16, 4096, 512, Seed(1));
        let mut blocks = Blocks::format(device, 1, BlockOptions::default()).unwrap();
        let load = Load {
            operations: 5,
            time_limit: None,
            in_flight: 2,
            puts: 0.0,
            random: false,
            get_bytes: 0,
            keep: None,
            first_id: 0,
            zeros: false,
            seed: Seed(2),
        };
        let answer = run(&mut blocks, &load, &mut |_| ControlFlow::Continue(()));
        assert_eq!(answer.map(|_| ()), Err(LoadError::Empty));
    }
}
