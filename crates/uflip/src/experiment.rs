//! One point of a micro-benchmark: turns a parameter's value into the workload of a run.

use crate::Lengths;
use crate::baseline;
use crate::benchmark::{patterns, values};
use crate::options::IO_BYTES;
use crate::space::Space;
use crate::state::LARGEST_PIECE_BYTES;
use flashlane_base::units::format_bytes;
use flashlane_base::{Duration, Random, Seed};
use flashlane_result::uflip::{Baseline, Benchmark};
use flashlane_workload::{Job, Pattern, Stop, Workload};

/// A pattern of a micro-benchmark at one value of its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The micro-benchmark.
    pub benchmark: Benchmark,
    /// Its baseline, or the first of two.
    pub first: Baseline,
    /// The second baseline, where two alternate.
    pub second: Option<Baseline>,
    /// The parameter's value, in its unit.
    pub value: i64,
}

/// Space of each of several sequential streams, where available, so that no two share an erase unit of the drives of
/// the paper's time.
const STREAM_BYTES: u64 = 4 << 20;
/// A run takes at most this fraction of the area.
const STREAMS_PART: u64 = 4;
/// The spaces of parallel streams take at most this fraction of the area.
const BESIDE_PART: u64 = 32;
/// Increments from here on leave no sequential data, since no two I/Os touch the same erase block of the paper's time:
/// they need no fresh space.
const SCATTERED_INCR: i64 = (2 * LARGEST_PIECE_BYTES / IO_BYTES) as i64;
/// The pause between bursts (uflip09, section 3.2).
const BURST_PAUSE: Duration = Duration::from_ms(100);
/// Least number of turns of a rare pattern in a mix.
const LEAST_TURNS: u64 = 64;

/// Where an experiment's I/Os go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Sequential writes into this many bytes of fresh space.
    Fresh(u64),
    /// Anywhere within this many bytes.
    Anywhere(u64),
}

/// The I/Os of a run that are ignored, and those that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) ignored: u64,
    pub(crate) count: u64,
}

impl Length {
    pub(crate) fn ios(self) -> u64 {
        self.ignored + self.count
    }
}

impl Experiment {
    /// An unvaried baseline.
    pub(crate) fn alone(baseline: Baseline) -> Self {
        let (benchmark, value) = (Benchmark::Granularity, IO_BYTES as i64);
        Self { benchmark, first: baseline, second: None, value }
    }

    /// Returns all experiments of a benchmark on a device, in the order of Table 1.
    pub(crate) fn of(
        benchmark: Benchmark,
        effort: crate::Effort,
        area_bytes: u64,
        unit_bytes: u64,
        writes: bool,
    ) -> Vec<Self> {
        let patterns = patterns(benchmark).into_iter();
        let allowed = patterns
            .filter(|(first, second)| writes || !first.writes() && !second.is_some_and(Baseline::writes));
        let experiments = allowed.flat_map(|(first, second)| {
            let values = values(benchmark, first, IO_BYTES, effort);
            values.into_iter().map(move |value| Self { benchmark, first, second, value })
        });
        experiments.filter(|experiment| experiment.fits(area_bytes, unit_bytes)).collect()
    }

    /// Returns whether the experiment fits a device with this unit and area.
    fn fits(&self, area_bytes: u64, unit_bytes: u64) -> bool {
        let value = self.value.unsigned_abs();
        match self.benchmark {
            Benchmark::Granularity | Benchmark::Alignment => value.is_multiple_of(unit_bytes),
            Benchmark::Locality => value <= area_bytes,
            Benchmark::Partitioning => value * IO_BYTES <= area_bytes / STREAMS_PART,
            Benchmark::Order => value * IO_BYTES <= area_bytes / STREAMS_PART,
            _ => true,
        }
    }

    /// Size of an I/O.
    pub fn io_bytes(&self) -> u64 {
        if self.benchmark == Benchmark::Granularity { self.value.unsigned_abs() } else { IO_BYTES }
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        self.first.writes() || self.second.is_some_and(Baseline::writes)
    }

    /// Returns the share of writes among its I/Os, 0 to 1.
    pub(crate) fn write_share(&self) -> f64 {
        let share = |baseline: Baseline| f64::from(u8::from(baseline.writes()));
        match self.second {
            None => share(self.first),
            Some(second) => {
                let ratio = self.value as f64;
                (ratio * share(self.first) + share(second)) / (ratio + 1.0)
            }
        }
    }

    /// Name of its pattern: `SR`, or `SR/RW` for two that alternate.
    pub fn pattern_name(&self) -> String {
        match self.second {
            None => self.first.name().into(),
            Some(second) => format!("{}/{}", self.first.name(), second.name()),
        }
    }

    /// Its value with a unit.
    pub fn value_text(&self) -> String {
        match self.benchmark.parameter().unit {
            "B" => format_bytes(self.value.unsigned_abs()),
            "ns" => Duration::from_ns(self.value.unsigned_abs()).to_string(),
            _ => self.value.to_string(),
        }
    }

    /// Its unique name: `order/SW/Incr=-1`.
    pub fn name(&self) -> String {
        let parameter = self.benchmark.parameter().name;
        format!("{}/{}/{parameter}={}", self.benchmark.name(), self.pattern_name(), self.value_text())
    }

    /// Returns the length of its runs: that of its baseline; for a mix, long enough for the start-up and enough turns
    /// of both patterns; with pauses, at most `most_paused` in pauses.
    pub(crate) fn length(&self, lengths: &Lengths, most_paused: Duration) -> Length {
        let first = lengths.of(self.first);
        let length = match self.second {
            None => first,
            Some(second) => {
                let second = lengths.of(second);
                let ratio = self.value.unsigned_abs();
                let turn = ratio + 1;
                // A turn has `ratio` I/Os of the first pattern and one of the second.
                let turns_ignored = first.ignored.div_ceil(ratio).max(second.ignored);
                let turns = first.count.max(second.count).div_ceil(turn).max(LEAST_TURNS);
                Length { ignored: turns_ignored * turn, count: turns * turn }
            }
        };
        let pause = self.pause();
        if pause.0.is_zero() {
            return length;
        }
        let affordable =
            (most_paused.as_ns() / pause.0.as_ns() * u64::from(pause.1)).saturating_sub(length.ignored);
        Length { count: length.count.min(affordable.max(LEAST_TURNS)), ..length }
    }

    /// Its pause, and the number of I/Os between pauses.
    fn pause(&self) -> (Duration, u32) {
        match self.benchmark {
            Benchmark::Pause => (Duration::from_ns(self.value.unsigned_abs()), 1),
            Benchmark::Bursts => (BURST_PAUSE, self.value as u32),
            _ => (Duration::ZERO, 1),
        }
    }

    /// Returns the time that a run of `ios` spends in pauses.
    pub(crate) fn paused(&self, ios: u64) -> Duration {
        let (pause, burst) = self.pause();
        pause * (ios / u64::from(burst))
    }

    /// Returns the space that a run of `ios` needs on an area.
    pub(crate) fn streams(&self, ios: u64, area_bytes: u64) -> Streams {
        let io_bytes = self.io_bytes();
        let value = self.value.unsigned_abs();
        let all = area_bytes - self.shift_bytes();
        let most = area_bytes / STREAMS_PART / io_bytes * io_bytes;
        let parallel_streams = |streams: u64| {
            let room = STREAM_BYTES.min(area_bytes / BESIDE_PART / streams);
            let each = (ios.div_ceil(streams) * io_bytes).max(room).min(most / streams);
            (each / io_bytes * io_bytes).max(io_bytes) * streams
        };
        let (length_bytes, in_order) = match (self.benchmark, self.first.is_sequential()) {
            (Benchmark::Locality, _) => (value, self.first.is_sequential()),
            (Benchmark::Mix, _) => return self.mixed_streams(ios, area_bytes),
            (Benchmark::Parallelism, false) => (all / (value * io_bytes) * value * io_bytes, false),
            (_, false) => (all, false),
            (Benchmark::Partitioning | Benchmark::Parallelism, true) => (parallel_streams(value), true),
            // A ring whose length is not a multiple of the step: each round visits other places.
            (Benchmark::Order, true) if self.value >= SCATTERED_INCR => {
                (all / io_bytes / value * value * io_bytes - io_bytes, false)
            }
            (Benchmark::Order, true) => ((ios * io_bytes * value).clamp(io_bytes, most), true),
            (_, true) => ((ios * io_bytes).min(most), true),
        };
        if in_order && self.first.writes() {
            Streams::Fresh(length_bytes + self.shift_bytes())
        } else {
            Streams::Anywhere(length_bytes + self.shift_bytes())
        }
    }

    /// In a mix, the pattern that writes in order needs fresh space; the other runs anywhere.
    fn mixed_streams(&self, ios: u64, area_bytes: u64) -> Streams {
        let turn = self.value.unsigned_abs() + 1;
        let of = |baseline: Option<Baseline>, share: u64| {
            baseline
                .filter(|&baseline| baseline == Baseline::Sw)
                .map(|_| ios.div_ceil(turn) * share * IO_BYTES)
        };
        match of(Some(self.first), turn - 1).or(of(self.second, 1)) {
            Some(length_bytes) => {
                Streams::Fresh(length_bytes.min(area_bytes / STREAMS_PART / IO_BYTES * IO_BYTES))
            }
            None => Streams::Anywhere(area_bytes),
        }
    }

    fn shift_bytes(&self) -> u64 {
        if self.benchmark == Benchmark::Alignment { self.value.unsigned_abs() } else { 0 }
    }

    /// Returns the workload of a run on `target_bytes` bytes from `offset_bytes`.
    pub(crate) fn workload(
        &self,
        length: Length,
        (offset_bytes, target_bytes): (u64, u64),
        space: &Space,
        seed: Seed,
    ) -> Workload {
        let io_bytes = self.io_bytes();
        let value = self.value.unsigned_abs();
        let area_bytes = target_bytes - self.shift_bytes();
        let job =
            baseline::job(self.first, io_bytes).area(offset_bytes, area_bytes).shift(self.shift_bytes());
        let (pause, burst) = self.pause();
        let job = job.think(pause).burst(burst);
        let jobs = match self.benchmark {
            Benchmark::Order => {
                let step_bytes = self.value * io_bytes as i64;
                vec![Job { pattern: Pattern::Ordered { step_bytes }, ..job }]
            }
            Benchmark::Partitioning => {
                vec![Job { pattern: Pattern::Partitioned { partitions: value }, ..job }]
            }
            Benchmark::Parallelism => {
                let each = area_bytes / value;
                let process = |at| Job {
                    name: format!("process-{at}"),
                    ..job.clone().area(offset_bytes + at * each, each)
                };
                (0..value).map(process).collect()
            }
            Benchmark::Mix => {
                let second = self.second.expect("a mix is of two");
                let mut random = seed.derive("reads").source();
                let placed = |of: Baseline, random: &mut Random| match of {
                    Baseline::Sw => baseline::job(of, io_bytes).area(offset_bytes, target_bytes),
                    Baseline::Sr => {
                        let length_bytes = (length.ios() * io_bytes).min(space.area_bytes() / STREAMS_PART);
                        let length_bytes = length_bytes / io_bytes * io_bytes;
                        baseline::job(of, io_bytes).area(space.anywhere(length_bytes, random), length_bytes)
                    }
                    _ => baseline::job(of, io_bytes).area(0, space.area_bytes()),
                };
                vec![
                    placed(self.first, &mut random).turns(value as u32),
                    placed(second, &mut random).turns(1),
                ]
            }
            _ => vec![job],
        };
        Workload::new(jobs, Stop::after(length.ios())).seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;
    use flashlane_workload::Limits;

    /// Every experiment of the grid fits devices of several sizes, and stays within its space.
    #[test]
    fn experiment_stays_within_its_space() {
        for area_bytes in [64 << 20, 1 << 30, 4_000_000_000 / IO_BYTES * IO_BYTES, 16 << 30] {
            let space = Space::new(area_bytes);
            let limits = Limits::of(area_bytes);
            for benchmark in Benchmark::ALL {
                for experiment in Experiment::of(benchmark, Effort::Full, area_bytes, 512, true) {
                    let length = experiment.length(&Lengths::default(), Duration::from_s(60));
                    let streams = experiment.streams(length.ios(), area_bytes);
                    let (Streams::Fresh(target) | Streams::Anywhere(target)) = streams;
                    assert!(target <= area_bytes, "{} {target}", experiment.name());
                    let offset = space.anywhere(target, &mut Seed(3).source());
                    let workload = experiment.workload(length, (offset, target), &space, Seed(1));
                    workload
                        .check(&limits)
                        .unwrap_or_else(|unfit| panic!("{} of {area_bytes}: {unfit}", experiment.name()));
                    for job in workload
                        .jobs
                        .iter()
                        .filter(|job| job.mix.changes().is_some() && streams == Streams::Fresh(target))
                    {
                        if experiment.benchmark == Benchmark::Mix && job.pattern == Pattern::Random {
                            continue;
                        }
                        let end = job.area_offset_bytes + job.shift_bytes + job.area_length_bytes(area_bytes);
                        assert!(
                            job.area_offset_bytes >= offset && end <= offset + target,
                            "{}",
                            experiment.name()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn mix_is_long_enough_for_its_rare_pattern() {
        let mix = Experiment {
            benchmark: Benchmark::Mix,
            first: Baseline::Sr,
            second: Some(Baseline::Rw),
            value: 64,
        };
        let mut lengths = Lengths::default();
        lengths.set(Baseline::Rw, 128, 512);
        let length = mix.length(&lengths, Duration::from_s(60));
        assert_eq!((length.ignored, length.count % 65), (128 * 65, 0));
        assert!(length.count / 65 >= LEAST_TURNS);
        assert!((mix.write_share() - 1.0 / 65.0).abs() < 1e-12);
    }

    #[test]
    fn name_has_benchmark_pattern_and_value() {
        let name = |benchmark, first, second, value| Experiment { benchmark, first, second, value }.name();
        assert_eq!(name(Benchmark::Order, Baseline::Sw, None, -1), "order/SW/Incr=-1");
        assert_eq!(name(Benchmark::Granularity, Baseline::Rr, None, 32768), "granularity/RR/IOSize=32 KiB");
        assert_eq!(name(Benchmark::Pause, Baseline::Rw, None, 1_600_000), "pause/RW/Pause=1.6 ms");
        assert_eq!(name(Benchmark::Mix, Baseline::Sr, Some(Baseline::Rw), 4), "mix/SR/RW/Ratio=4");
    }
}
