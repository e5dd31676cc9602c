//! Turns of jobs that share one stream.
//!
//! The `mix` patterns of Bouganim et al., *uFLIP* (CIDR 2009), Table 1, are two such jobs: `Ratio` accesses of the
//! first baseline, then one of the second.

use crate::Job;

/// The jobs that take turns, endlessly in their order.
#[derive(Clone, Debug)]
pub struct Turns {
    /// The index of each job that takes turns, and the length of its turn.
    jobs: Vec<(u32, u32)>,
    at: usize,
    /// Accesses left in the turn.
    left: u32,
}

impl Turns {
    /// Returns the turns of `jobs`; `None` where no job has turns. The jobs MUST have passed
    /// [`crate::Workload::check`].
    pub fn of(jobs: &[Job]) -> Option<Self> {
        let turns = jobs.iter().zip(0..).filter_map(|(job, index)| Some((index, job.turns?)));
        let jobs: Vec<(u32, u32)> = turns.collect();
        let left = jobs.first()?.1;
        Some(Self { jobs, at: 0, left })
    }

    /// Returns the index of the job that has the next access.
    #[inline]
    pub fn job(&mut self) -> u32 {
        if self.left == 0 {
            self.at = if self.at + 1 == self.jobs.len() { 0 } else { self.at + 1 };
            self.left = self.jobs[self.at].1;
        }
        self.left -= 1;
        self.jobs[self.at].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mix, Pattern};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn jobs_take_turns_in_order(lengths in prop::collection::vec(prop::option::of(1..9_u32), 0..6)) {
            let job = |turns: &Option<u32>| Job { turns: *turns, ..Job::new("", Pattern::Random, Mix::READ, 1) };
            let jobs: Vec<Job> = lengths.iter().map(job).collect();
            let round: Vec<u32> = (0..)
                .zip(&lengths)
                .flat_map(|(index, turns)| vec![index; turns.unwrap_or(0) as usize])
                .collect();
            match Turns::of(&jobs) {
                None => prop_assert!(round.is_empty()),
                Some(mut turns) => {
                    let expected: Vec<u32> = round.iter().copied().cycle().take(100).collect();
                    prop_assert_eq!((0..100).map(|_| turns.job()).collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}
