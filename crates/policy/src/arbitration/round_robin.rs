//! Round robin: as many commands of each queue in turn, which is the rule of NVMe drives unless the host sets another
//! (NVM Express Base Specification 2.0, section 3.4.4.1).

use super::{Arbitration, Waiting, next_after};
use crate::{OptionError, Options};

/// Invariant: `taken <= burst`, and 0 without a last queue.
#[derive(Clone)]
struct RoundRobin {
    burst: u32,
    last: Option<u32>,
    /// Commands taken of the last queue in this turn.
    taken: u32,
}

impl Arbitration for RoundRobin {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let same = waiting.iter().position(|one| Some(one.queue) == self.last);
        let at = match same.filter(|_| self.taken < self.burst) {
            Some(at) => at,
            None => {
                self.taken = 0;
                next_after(waiting, self.last)
            }
        };
        self.last = Some(waiting[at].queue);
        self.taken += 1;
        debug_assert!(self.taken <= self.burst);
        at
    }

    fn boxed_clone(&self) -> Box<dyn Arbitration> {
        Box::new(self.clone())
    }
}

pub(super) fn build(_: u32, options: &Options) -> Result<Box<dyn Arbitration>, OptionError> {
    let burst = options.get("burst", 1_u32, "1 to 65536 commands", |burst| (1..=65536).contains(&burst))?;
    Ok(Box::new(RoundRobin { burst, last: None, taken: 0 }))
}
