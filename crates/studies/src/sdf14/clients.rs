//! Clients that each wait for one access before they begin the next: the paper's threads with one channel each, and
//! equally one thread with as many requests in flight.

use crate::lab::Lab;
use flashlane_base::{Duration, Instant};
use flashlane_device::{Device, Lane, Request, SubmitError};
use flashlane_measure::Interruption;
use flashlane_workload::Access;

/// The next access of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) lane: u32,
    /// Whether the range is erased first, as part of the access.
    pub(super) erases: bool,
    pub(super) access: Access,
}

/// A completed access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) bytes: u64,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

/// The completed accesses of a run.
pub(super) struct Run {
    pub(super) done: Vec<Done>,
}

/// Accesses from one progress report to the next.
const STEP: usize = 64;

/// Runs `accesses` by `clients` clients; `next` returns the next access of a client.
pub(super) fn run(
    lab: &mut Lab<'_>,
    device: &mut dyn Device,
    clients: u32,
    accesses: u64,
    mut next: impl FnMut(u32, &dyn Device) -> Turn,
) -> Result<Run, Interruption> {
    let mut turns: Vec<Option<(Turn, Instant)>> = vec![None; clients as usize];
    let mut run = Run { done: Vec::new() };
    let mut left = accesses;
    let mut begin = |device: &mut dyn Device, client: u32| {
        let turn = next(client, device);
        let began = device.now();
        submit(device, client, turn, turn.erases)?;
        Ok((turn, began))
    };
    for client in 0..clients.min(u32::try_from(accesses).unwrap_or(u32::MAX)) {
        turns[client as usize] = Some(begin(device, client)?);
        left -= 1;
    }
    let mut completions = Vec::new();
    while turns.iter().any(Option::is_some) {
        device.reap(Instant::FAR, &mut completions);
        if completions.is_empty() {
            let in_flight = turns.iter().flatten().count() as u64;
            return Err(Interruption::Stalled { in_flight });
        }
        for completion in completions.drain(..) {
            let client = completion.id.0 as u32;
            let (turn, began) = turns[client as usize].take().expect("a client waits for what it asked for");
            completion.outcome.map_err(|failure| Interruption::Failed { access: turn.access, failure })?;
            turns[client as usize] = if turn.erases {
                submit(device, client, turn, false)?;
                Some((Turn { erases: false, ..turn }, began))
            } else {
                let bytes = turn.access.length_bytes;
                run.done.push(Done { bytes, began, ended: completion.completed });
                if run.done.len().is_multiple_of(STEP) {
                    lab.advance(run.done.len() as f64 / accesses as f64)?;
                }
                if left == 0 {
                    None
                } else {
                    left -= 1;
                    Some(begin(device, client)?)
                }
            };
        }
    }
    Ok(run)
}

fn submit(device: &mut dyn Device, client: u32, turn: Turn, erases: bool) -> Result<(), Interruption> {
    let Access { operation, offset_bytes, length_bytes, .. } = turn.access;
    let id = u64::from(client);
    let request = if erases {
        Request::erase(id, offset_bytes, length_bytes)
    } else {
        Request { operation, ..Request::read(id, offset_bytes, length_bytes) }
    };
    let refused = |error: SubmitError| Interruption::Refused { access: turn.access, error };
    device.submit(request.on(Lane(turn.lane))).map_err(refused)
}

impl Run {
    /// Millions of bytes per second, from the start of the first access to the end of the last.
    pub(super) fn mb_per_s(&self) -> f64 {
        let began = self.done.iter().map(|done| done.began).min().unwrap_or(Instant::ZERO);
        let ended = self.done.iter().map(|done| done.ended).max().unwrap_or(Instant::ZERO);
        let bytes: u64 = self.done.iter().map(|done| done.bytes).sum();
        bytes as f64 / 1e6 / ended.since(began).as_s_f64()
    }

    /// Returns the throughput of `parts` equal parts of the accesses, in order of completion: the share of all accesses
    /// completed by then, and millions of bytes per second.
    pub(super) fn course(&self, parts: usize) -> Vec<(f64, f64)> {
        let count = self.done.len();
        let mut before = self.done.iter().map(|done| done.began).min().unwrap_or(Instant::ZERO);
        (1..=parts)
            .map(|part| {
                let of_part = &self.done[count * (part - 1) / parts..count * part / parts];
                let ended = of_part.iter().map(|done| done.ended).max().unwrap_or(before);
                let bytes: u64 = of_part.iter().map(|done| done.bytes).sum();
                let mb_per_s = bytes as f64 / 1e6 / ended.since(before).as_s_f64();
                before = ended;
                (part as f64 / parts as f64, mb_per_s)
            })
            .collect()
    }

    /// Latencies in ms, in order of completion.
    pub(super) fn latencies_ms(&self) -> Vec<f64> {
        let ms = |time: Duration| time.as_ns() as f64 / 1e6;
        self.done.iter().map(|done| ms(done.ended.since(done.began))).collect()
    }
}
