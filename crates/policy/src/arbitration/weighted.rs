//! Weighted round robin with an urgent class: urgent queues in turn before all others, of these as many commands a
//! round as their weights say (NVM Express Base Specification 2.0, section 3.4.4.2, with a weight for each queue in
//! place of three classes).

use super::weights::{self, Weight};
use super::{Arbitration, Waiting, next_after};
use crate::{OptionError, Options};

#[derive(Clone)]
struct Weighted {
    weights: Vec<Weight>,
    last_urgent: Option<u32>,
    /// The queue whose turn it is, and the commands that it has left in this round.
    turn: Option<u32>,
    left: u32,
}

impl Arbitration for Weighted {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let is_urgent = |one: &Waiting| self.weights[one.queue as usize] == Weight::Urgent;
        if waiting.iter().any(is_urgent) {
            let later =
                |one: &Waiting| is_urgent(one) && self.last_urgent.is_none_or(|last| one.queue > last);
            let at = waiting.iter().position(later).or_else(|| waiting.iter().position(is_urgent));
            let at = at.expect("an urgent queue waits");
            self.last_urgent = Some(waiting[at].queue);
            return at;
        }
        let same = waiting.iter().position(|one| Some(one.queue) == self.turn);
        let at = match same.filter(|_| self.left > 0) {
            Some(at) => at,
            None => next_after(waiting, self.turn),
        };
        if same != Some(at) || self.left == 0 {
            let Weight::Share(weight) = self.weights[waiting[at].queue as usize] else {
                unreachable!("no urgent queue waits")
            };
            (self.turn, self.left) = (Some(waiting[at].queue), weight);
        }
        self.left -= 1;
        at
    }

    fn boxed_clone(&self) -> Box<dyn Arbitration> {
        Box::new(self.clone())
    }
}

pub(super) fn build(queues: u32, options: &Options) -> Result<Box<dyn Arbitration>, OptionError> {
    let weights = weights::read(options, queues, true)?;
    Ok(Box::new(Weighted { weights, last_urgent: None, turn: None, left: 0 }))
}
