//! The plan: the experiments in their order, and their estimated cost.
//!
//! Experiments that do not change the state come first; those that write in order, each in fresh space, come last, so
//! that the state is enforced again as rarely as possible (uflip09, section 4.2).

use crate::experiment::{Experiment, Streams};
use crate::options::{Effort, IO_BYTES, LEAST_AREA_BYTES, Options, REPETITIONS, UflipError};
use crate::run::{READS_AFTER, READS_BEFORE};
use crate::space::Space;
use crate::{Lengths, state};
use flashlane_base::Duration;
use flashlane_result::uflip::{Baseline, Benchmark, StateMethod};
use flashlane_result::uflip_plan::Estimate;

/// The experiments of a benchmark of a drive, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The experiments, of which each runs three times.
    pub experiments: Vec<Experiment>,
    /// The part of the device that is used.
    pub area_bytes: u64,
    effort: Effort,
    state: StateMethod,
}

impl Plan {
    /// Plans `options` for a device of `capacity_bytes` whose I/Os begin and end on multiples of `unit_bytes`.
    pub fn new(options: &Options<'_>, capacity_bytes: u64, unit_bytes: u64) -> Self {
        let area_bytes = options.area_of(capacity_bytes);
        let writes = options.may_write;
        let mut experiments: Vec<Experiment> = Benchmark::ALL
            .into_iter()
            // The plan of a device that is too small is empty.
            .filter(|benchmark| options.benchmarks.contains(benchmark) && area_bytes >= LEAST_AREA_BYTES)
            .flat_map(|benchmark| {
                Experiment::of(benchmark, options.grid(benchmark), area_bytes, unit_bytes, writes)
            })
            .collect();
        experiments.sort_by_key(|experiment| matches!(experiment.streams(1, area_bytes), Streams::Fresh(_)));
        let state = if writes { options.state } else { StateMethod::AsIs };
        Self { experiments, area_bytes, effort: options.effort, state }
    }

    /// How the state is enforced.
    pub fn state(&self) -> StateMethod {
        self.state
    }

    /// Returns the longest time that one run spends in pauses.
    pub(crate) fn most_paused(&self) -> Duration {
        Duration::from_s(match self.effort {
            Effort::Quick => 2,
            Effort::Normal => 30,
            Effort::Full => 300,
        })
    }

    /// Estimates the cost of each benchmark with runs of these lengths.
    pub fn estimates(&self, lengths: &Lengths) -> Vec<(Benchmark, Estimate)> {
        Benchmark::ALL
            .into_iter()
            .map(|benchmark| {
                let mut sum = Estimate::default();
                for experiment in
                    self.experiments.iter().filter(|experiment| experiment.benchmark == benchmark)
                {
                    let ios = experiment.length(lengths, self.most_paused()).ios();
                    let bytes = ios * experiment.io_bytes();
                    let written_bytes = (bytes as f64 * experiment.write_share()) as u64;
                    let times = u64::from(REPETITIONS);
                    sum.runs += times;
                    sum.ios += ios * times;
                    sum.read_bytes += (bytes - written_bytes) * times;
                    sum.written_bytes += written_bytes * times;
                    sum.paused_ns += experiment.paused(ios).as_ns() * times;
                }
                (benchmark, sum)
            })
            .filter(|(_, estimate)| estimate.runs > 0)
            .collect()
    }

    /// Checks that the device is large enough: sequential writes must not overlap.
    ///
    /// # Errors
    /// [`UflipError::TooSmall`] where it is not.
    pub fn check(&self) -> Result<(), UflipError> {
        if self.area_bytes < LEAST_AREA_BYTES {
            return Err(UflipError::TooSmall { capacity_bytes: self.area_bytes });
        }
        Ok(())
    }

    /// Estimates the total cost with runs of these lengths, including the methodology and the enforcement of the state.
    pub fn estimate(&self, lengths: &Lengths) -> Estimate {
        let mut all = Estimate::default();
        for (_, estimate) in self.estimates(lengths) {
            all.runs += estimate.runs;
            all.ios += estimate.ios;
            all.read_bytes += estimate.read_bytes;
            all.written_bytes += estimate.written_bytes;
            all.paused_ns += estimate.paused_ns;
        }
        // A pause precedes every run.
        all.paused_ns += all.runs * crate::run::least_pause_ns(self.effort);
        let writes = self.experiments.iter().any(Experiment::writes);
        if writes {
            let reads = READS_BEFORE + READS_AFTER;
            let batch = lengths.of(Baseline::Rw).ios();
            all.ios += reads + batch;
            all.read_bytes += reads * IO_BYTES;
            all.written_bytes += batch * IO_BYTES;
        }
        for baseline in Baseline::ALL.into_iter().filter(|baseline| writes || !baseline.writes()) {
            let ios = crate::run::first_ios(self.effort, baseline);
            all.runs += 1;
            all.ios += ios;
            *if baseline.writes() { &mut all.written_bytes } else { &mut all.read_bytes } += ios * IO_BYTES;
        }
        if self.state != StateMethod::AsIs {
            all.enforcements = self.enforcements(lengths);
            let bytes = all.enforcements * state::least_bytes(self.area_bytes);
            all.written_bytes += bytes;
            all.ios += bytes / IO_BYTES;
        }
        all
    }

    /// Returns how often the state is enforced: at first, and where too little fresh space is left for a run.
    fn enforcements(&self, lengths: &Lengths) -> u64 {
        let (mut space, mut enforcements) = (Space::new(self.area_bytes), 1);
        let mut run = |experiment: &Experiment, ios| {
            let Streams::Fresh(bytes) = experiment.streams(ios, self.area_bytes) else { return };
            let bytes = bytes.min(self.area_bytes);
            if space.take(bytes).is_none() {
                enforcements += 1;
                space.reset();
                space.take(bytes);
            }
        };
        if self.experiments.iter().any(Experiment::writes) {
            for baseline in Baseline::ALL {
                run(&Experiment::alone(baseline), crate::run::first_ios(self.effort, baseline));
            }
        }
        for experiment in &self.experiments {
            let ios = experiment.length(lengths, self.most_paused()).ios();
            (0..REPETITIONS).for_each(|_| run(experiment, ios));
        }
        enforcements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(unit_bytes: u64, may_write: bool) -> Plan {
        let options = Options { effort: Effort::Full, may_write, ..Options::default() };
        Plan::new(&options, 16 << 30, unit_bytes)
    }

    #[test]
    fn grid_of_a_benchmark_overrides_the_effort() {
        let options = Options {
            effort: Effort::Quick,
            grids: vec![(Benchmark::Locality, Effort::Full)],
            ..Options::default()
        };
        let plan = Plan::new(&options, 32 << 30, 512);
        let values = |benchmark| {
            let of = |experiment: &&Experiment| {
                experiment.benchmark == benchmark && experiment.first == Baseline::Rw
            };
            let mut values: Vec<i64> = plan.experiments.iter().filter(of).map(|found| found.value).collect();
            values.sort_unstable();
            values
        };
        let grid = |benchmark: Benchmark, effort| {
            crate::benchmark::values(benchmark, Baseline::Rw, IO_BYTES, effort)
        };
        let mut locality = grid(Benchmark::Locality, Effort::Full);
        // A quick benchmark uses the first 1 GiB.
        locality.retain(|&bytes| bytes <= 1 << 30);
        assert_eq!(values(Benchmark::Locality), locality);
        assert_eq!(values(Benchmark::Pause), grid(Benchmark::Pause, Effort::Quick));
    }

    #[test]
    fn sequential_writes_are_planned_last() {
        let plan = full(512, true);
        let fresh =
            |experiment: &&Experiment| matches!(experiment.streams(1, plan.area_bytes), Streams::Fresh(_));
        let first = plan.experiments.iter().position(|experiment| fresh(&experiment)).unwrap();
        assert!(plan.experiments[first..].iter().all(|experiment| fresh(&experiment)));
        assert!(plan.experiments[..first].iter().any(|experiment| experiment.first == Baseline::Rw));
        let estimate = plan.estimate(&Lengths::default());
        assert!(estimate.written_bytes > plan.area_bytes && estimate.enforcements <= 3, "{estimate:?}");
    }

    #[test]
    fn plan_without_writes_only_reads() {
        let plan = full(512, false);
        assert!(!plan.experiments.is_empty() && !plan.experiments.iter().any(Experiment::writes));
        let estimate = plan.estimate(&Lengths::default());
        assert_eq!((estimate.written_bytes, estimate.enforcements, plan.state()), (0, 0, StateMethod::AsIs));
    }

    #[test]
    fn values_below_the_unit_are_skipped() {
        let plan = full(4096, true);
        let sizes =
            plan.experiments.iter().filter(|experiment| experiment.benchmark == Benchmark::Granularity);
        assert!(sizes.clone().all(|experiment| experiment.value % 4096 == 0) && sizes.count() > 0);
    }
}
