//! Deficit round robin: every queue gets bytes in proportion to its weight, whatever the size of its commands
//! (Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit Round-Robin", SIGCOMM 1995).
//!
//! At its turn a queue's credit grows by its quantum; its commands are taken as long as the credit lasts. A queue
//! without commands has no credit, so that none saves for a burst. A command without data counts as one of the
//! smallest.

use super::weights::{self, Weight};
use super::{Arbitration, Waiting, next_after};
use crate::options::Bytes;
use crate::{OptionError, Options};

/// What a command without data counts.
const SMALLEST_BYTES: u64 = 512;

#[derive(Clone)]
struct Deficit {
    /// By queue.
    quantum_bytes: Vec<u64>,
    credit_bytes: Vec<u64>,
    turn: Option<u32>,
}

impl Arbitration for Deficit {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let mut listed = waiting.iter().map(|one| one.queue).peekable();
        for queue in 0..self.credit_bytes.len() as u32 {
            if listed.next_if_eq(&queue).is_none() {
                self.credit_bytes[queue as usize] = 0;
            }
        }
        let same = waiting.iter().position(|one| Some(one.queue) == self.turn);
        let mut at = same.unwrap_or_else(|| self.begin_turn(waiting));
        loop {
            let queue = waiting[at].queue as usize;
            let bytes = waiting[at].bytes.max(SMALLEST_BYTES);
            if let Some(rest) = self.credit_bytes[queue].checked_sub(bytes) {
                self.credit_bytes[queue] = rest;
                return at;
            }
            at = self.begin_turn(waiting);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Arbitration> {
        Box::new(self.clone())
    }
}

impl Deficit {
    /// The turn of the next queue begins. Returns its place.
    fn begin_turn(&mut self, waiting: &[Waiting]) -> usize {
        let at = next_after(waiting, self.turn);
        let queue = waiting[at].queue;
        self.turn = Some(queue);
        self.credit_bytes[queue as usize] += self.quantum_bytes[queue as usize];
        at
    }
}

pub(super) fn build(queues: u32, options: &Options) -> Result<Box<dyn Arbitration>, OptionError> {
    let Bytes(quantum) =
        options.get("quantum", Bytes(64 << 10), "512 B to 16 MiB, like 64KiB", |Bytes(bytes)| {
            (SMALLEST_BYTES..=16 << 20).contains(&bytes)
        })?;
    let quantum_bytes = weights::read(options, queues, false)?.into_iter().map(|weight| match weight {
        Weight::Share(weight) => quantum * u64::from(weight),
        Weight::Urgent => unreachable!("it was not allowed"),
    });
    Ok(Box::new(Deficit {
        quantum_bytes: quantum_bytes.collect(),
        credit_bytes: vec![0; queues as usize],
        turn: None,
    }))
}
