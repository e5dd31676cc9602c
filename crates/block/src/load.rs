//! A closed loop of puts and gets: so many in flight, for so many in all; what a benchmark of the layer needs.
//!
//! Ids come from the layer's counter, so that round-robin placement sees them in turn.

use crate::{Blocks, Finished, GetError, GetFailure, Outcome, Payload, PutError, PutFailure};
use flashlane_base::{Duration, Histogram, Instant, Seed};
use flashlane_device::DataDevice;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Puts and gets in all.
    pub wishes: u64,
    /// Nothing is asked for after so much of the device's time.
    pub most_time: Option<Duration>,
    /// Of these at once, at least one.
    pub in_flight: u32,
    /// The share that are puts, 0 to 1; the others are gets.
    pub puts: f64,
    /// Whether gets are of random blocks; otherwise of one after the other, by their ids.
    pub random: bool,
    /// Bytes of a get, from a random place on a multiple of so many; 0 for whole blocks.
    pub get_bytes: u64,
    /// Blocks that are kept: beyond these, each put deletes the oldest. All where absent.
    pub keep: Option<u64>,
    /// Blocks with this id or a higher one take part in it, and others are neither read nor deleted.
    pub first_id: u64,
    /// Whether a put block holds zeros behind its id, for a device that keeps bytes in memory, where these need none, and
    /// takes as long for any; otherwise bytes that no medium can shorten.
    pub zeros: bool,
    /// What the choices follow from.
    pub seed: Seed,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Done {
    /// From the first wish to the last one's end.
    pub elapsed: Duration,
    /// Of puts.
    pub puts: Side,
    /// Of gets.
    pub gets: Side,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// What came of wishes of one kind.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// How many.
    pub count: u64,
    /// Bytes of user data.
    pub bytes: u64,
    /// How long each took.
    pub latency: Histogram,
}

impl Side {
    fn note(&mut self, finished: &Finished, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
        self.latency.record(finished.done.since(finished.asked));
    }

    /// Bytes a second over `elapsed`.
    pub fn bytes_per_s(&self, elapsed: Duration) -> f64 {
        self.bytes as f64 / elapsed.as_s_f64().max(1e-9)
    }
}

/// Why it could not go on.
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
    /// There is nothing to get.
    #[error("there is no block to read")]
    Empty,
}

/// Runs the load. `watch` is told the share that is done.
///
/// # Errors
/// [`LoadError`] with the first wish that could not be fulfilled.
pub fn run<D: DataDevice>(
    blocks: &mut Blocks<D>,
    load: &Load,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Done, LoadError> {
    let mut random = load.seed.derive("load").source();
    let mut ids: VecDeque<u64> =
        blocks.list().map(|info| info.id).filter(|&id| id >= load.first_id).collect();
    // Made before the clock is read: a page of memory costs its first user more than the device takes for it.
    let at_once = if load.puts > 0.0 { u64::from(load.in_flight.max(1)).min(load.wishes) } else { 0 };
    let mut payloads: Vec<Payload> = (0..at_once).map(|_| filled(blocks.payload(), load)).collect();
    let begun = blocks.now();
    let mut done =
        Done { elapsed: Duration::ZERO, puts: Side::default(), gets: Side::default(), stopped: false };
    let (mut asked, mut in_flight, mut next_get, mut out) = (0, 0, 0, Vec::new());
    let at_most = load.in_flight.max(1);
    while asked < load.wishes || in_flight > 0 {
        let is_over = load.most_time.is_some_and(|most| blocks.now().since(begun) >= most);
        if is_over && in_flight == 0 {
            break;
        }
        while asked < load.wishes && in_flight < at_most && !done.stopped && !is_over {
            // Nothing to read yet, and blocks on their way.
            let put = random.chance(load.puts) || (ids.is_empty() && load.puts > 0.0);
            if put {
                let id = blocks.next_id();
                let mut payload = payloads.pop().expect("there are as many as are in flight");
                payload.as_mut_slice()[..8].copy_from_slice(&id.to_le_bytes());
                blocks.put(id, payload).map_err(|(error, _)| error)?;
            } else {
                if ids.is_empty() {
                    return Err(LoadError::Empty);
                }
                let nth =
                    if load.random { random.below(ids.len() as u64) } else { next_get % ids.len() as u64 };
                let id = ids[nth as usize];
                next_get += 1;
                let length = blocks.info(id).map_or(0, |info| info.length_bytes);
                let get_bytes = if load.get_bytes == 0 { length } else { load.get_bytes.min(length) };
                let offset = random.below((length / get_bytes.max(1)).max(1)) * get_bytes;
                blocks.get(id, offset, get_bytes)?;
            }
            asked += 1;
            in_flight += 1;
        }
        if done.stopped && in_flight == 0 {
            break;
        }
        blocks.reap(Instant::FAR, &mut out);
        for finished in out.drain(..) {
            let at = finished.done;
            let bytes = match &finished.outcome {
                Outcome::Put(_, payload) => payload.len(),
                Outcome::Get(Ok(data)) => data.as_slice().len() as u64,
                _ => 0,
            };
            match &finished.outcome {
                Outcome::Put(result, _) => {
                    (*result)?;
                    done.puts.note(&finished, bytes);
                    ids.push_back(finished.id);
                }
                Outcome::Get(result) => {
                    if let Err(failure) = result {
                        return Err((*failure).into());
                    }
                    done.gets.note(&finished, bytes);
                }
                Outcome::Delete(_) => continue,
            }
            in_flight -= 1;
            done.elapsed = at.since(begun);
            match finished.outcome {
                Outcome::Put(_, payload) => payloads.push(payload),
                Outcome::Get(Ok(data)) => blocks.reuse(data),
                _ => {}
            }
        }
        while load.keep.is_some_and(|keep| ids.len() as u64 > keep) {
            let oldest = ids.pop_front().expect("there are more than are kept");
            // Its outcome is a matter of the background.
            let _ = blocks.delete(oldest);
        }
        let by_time = load.most_time.map_or(0.0, |most| done.elapsed.as_s_f64() / most.as_s_f64());
        let by_count = (done.puts.count + done.gets.count) as f64 / load.wishes.max(1) as f64;
        let share = by_count.max(by_time.min(1.0));
        done.stopped |= watch(share).is_break();
    }
    Ok(done)
}

/// What blocks hold behind their ids.
fn filled(mut payload: Payload, load: &Load) -> Payload {
    if load.zeros {
        return payload; // as it comes
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
    use crate::Options;
    use flashlane_device_testing::MemoryLanes;

    #[test]
    fn a_load_does_what_it_says_and_repeats() {
        let run_once = || {
            let device = MemoryLanes::new(4, 16, 4096, 512, Seed(1));
            let mut blocks = Blocks::format(device, 1, Options::default()).unwrap();
            let load = Load {
                wishes: 500,
                most_time: None,
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
    fn reading_where_nothing_is_stored_is_refused() {
        let device = MemoryLanes::new(4, 16, 4096, 512, Seed(1));
        let mut blocks = Blocks::format(device, 1, Options::default()).unwrap();
        let load = Load {
            wishes: 5,
            most_time: None,
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
