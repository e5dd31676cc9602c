//! Interleaving degree and sub-domains: how many chunks apart two reads begin to get into each other's way.
//!
//! Two pages that lie a whole stripe apart share a channel: their transfers queue for its bus. A whole number of
//! stripes further they share a package and die too: the array reads queue as well. So the time of a pair of
//! simultaneous reads, against their distance in chunks, shows the degree as the period of its steps and the
//! sub-domains as the period of the higher ones among these (chen11, section 4.3, with pairs for its two jobs).
//!
//! *Power.* Where the link is slower than a channel's bus, waiting for the bus hides behind waiting for the link,
//! and only dies are seen. How large the step of a shared bus would be follows from two steps of a shared die, of a
//! small and of a large read (the difference is bus less link for the bytes between); where it is too small to be
//! seen, a single level is not taken for the degree.

use crate::chunk::{Area, Boundaries, repeat};
use crate::pattern::{self, Point};
use crate::rig::Rig;
use flashlane_measure::Interruption;
use flashlane_workload::Access;

/// What the distances show.
#[derive(Clone, Debug, PartialEq)]
pub struct Stripe {
    /// Pair times by distance: place i is a distance of i + 1 chunks.
    pub row: Vec<Point>,
    /// What was read of each, in bytes.
    pub read_bytes: u64,
    /// The shortest distance that collides, in chunks.
    pub first_level: Option<Level>,
    /// The shortest distance that collides more, where there are two levels.
    pub second_level: Option<Level>,
    /// The step that a shared bus alone would show, in microseconds, and the least that would be seen.
    pub bus_step_us: Option<(f64, f64)>,
}

/// A level of collisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Chunks between one collision and the next.
    pub period: usize,
    /// Mean height of the step in microseconds.
    pub step_us: f64,
    /// How clear it is, 0 to 1.
    pub clarity: f64,
}

/// What can be said of the degree and the sub-domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both are seen.
    Both {
        /// Domains.
        degree: usize,
        /// Sub-domains of each.
        sub_domains: usize,
    },
    /// The degree is seen; within a domain the picture is not clear.
    Degree(usize),
    /// Dies are seen at this period, but a shared bus would not be.
    DiesOnly(usize),
    /// Nothing recurs.
    Nothing,
}

impl Stripe {
    /// What the levels add up to.
    pub fn verdict(&self) -> Verdict {
        match (self.first_level, self.second_level, self.bus_step_us) {
            (None, ..) => Verdict::Nothing,
            (Some(first), Some(second), _) => {
                Verdict::Both { degree: first.period, sub_domains: second.period / first.period }
            }
            (Some(first), None, Some((step, least))) if self.is_single(first) => {
                if step > least {
                    Verdict::Both { degree: first.period, sub_domains: 1 }
                } else {
                    Verdict::DiesOnly(first.period)
                }
            }
            (Some(first), None, _) => Verdict::Degree(first.period),
        }
    }

    /// The shortest distance, in chunks, at whose every multiple pairs collide nearly as much as anywhere: there
    /// they share a die for certain.
    pub fn die_period(&self) -> Option<usize> {
        let first = self.first_level?.period;
        let floor = self.row.iter().map(|p| p.value).fold(f64::INFINITY, f64::min);
        let highest = self.multiples(first).iter().map(|p| p.value).fold(floor, f64::max);
        let strong = |distance: usize| {
            self.multiples(distance).iter().all(|p| p.value - floor > 0.8 * (highest - floor))
        };
        (first..=self.row.len() / 3).step_by(first).find(|&distance| strong(distance))
    }

    /// Whether all collisions are alike: within the noise no step is higher than another.
    fn is_single(&self, level: Level) -> bool {
        let steps: Vec<Point> = self.multiples(level.period);
        pattern::standout(&steps).is_none()
    }

    fn multiples(&self, period: usize) -> Vec<Point> {
        self.row.iter().skip(period - 1).step_by(period).copied().collect()
    }
}

/// Measures pairs at distances of 1 to `reach` chunks, reading `read_bytes` of each chunk.
///
/// # Errors
/// [`Interruption`] where the device fails.
pub fn measure(
    rig: &mut Rig<'_>,
    area: Area,
    chunk: &Boundaries,
    read_bytes: u64,
    reach: usize,
    repetitions: usize,
) -> Result<Stripe, Interruption> {
    let row = repeat(rig, reach, repetitions, |rig, i| pair(rig, area, chunk, i + 1, read_bytes))?;
    let mut stripe = Stripe { row, read_bytes, first_level: None, second_level: None, bus_step_us: None };
    stripe.first_level = level(&stripe.row);
    if let Some(first) = stripe.first_level {
        stripe.second_level = level(&stripe.multiples(first.period))
            .map(|second| Level { period: second.period * first.period, ..second })
            .filter(|second| second.period > first.period);
        stripe.bus_step_us = Some(bus_step(rig, area, chunk, &stripe, repetitions)?);
    }
    Ok(stripe)
}

/// The distance period of the places that stand out, which must begin with the first whole period.
fn level(row: &[Point]) -> Option<Level> {
    let standout = pattern::standout(row)?;
    let (phase, period) = pattern::period(&standout.places, row.len())?;
    (phase + 1 == period).then_some(Level { period, step_us: standout.height, clarity: standout.clarity })
}

/// The time of two simultaneous reads `distance` chunks apart, at a random place, in microseconds.
pub(crate) fn pair(
    rig: &mut Rig<'_>,
    area: Area,
    chunk: &Boundaries,
    distance: usize,
    read_bytes: u64,
) -> Result<f64, Interruption> {
    let chunks = (area.length_bytes - chunk.phase_bytes) / chunk.chunk_bytes;
    let first = rig.random().below(chunks - distance as u64);
    let at = |index: u64| area.offset_bytes + chunk.phase_bytes + index * chunk.chunk_bytes;
    // The further one first: in ascending order neighbours would look sequential.
    let reads = [Access::read(at(first + distance as u64), read_bytes), Access::read(at(first), read_bytes)];
    rig.burst(&reads).map(|time| time.as_us_f64())
}

/// The step that a shared bus alone would show, and the least that would be noticed.
///
/// On one die the second read of a pair begins its array time when the first has left the register, so it is later
/// by array + bus - link; on one channel only by bus - link. The difference between a large and a small pair's
/// step on one die is bus - link for the bytes between; what a command holds the link for beside its data is in
/// neither, but is how much later the second of two reads comes that share nothing.
fn bus_step(
    rig: &mut Rig<'_>,
    area: Area,
    chunk: &Boundaries,
    stripe: &Stripe,
    repetitions: usize,
) -> Result<(f64, f64), Interruption> {
    let level = stripe.second_level.or(stripe.first_level).expect("there is a level to look at");
    let apart = stripe.die_period().unwrap_or(level.period);
    let (small, large) = (rig.sector_bytes(), stripe.read_bytes);
    let alone = |rig: &mut Rig<'_>| {
        let at = area.offset_bytes + rig.random().below(area.length_bytes / small) * small;
        rig.one(Access::read(at, small)).map(|time| time.as_us_f64())
    };
    let points = repeat(rig, 5, 4 * repetitions, |rig, kind| match kind {
        0 => pair(rig, area, chunk, apart, small),
        1 => pair(rig, area, chunk, apart + 1, small),
        2 => pair(rig, area, chunk, apart, large),
        3 => pair(rig, area, chunk, apart + 1, large),
        _ => alone(rig),
    })?;
    let value = |kind: usize| points[kind].value;
    let share = (large - small) as f64 / large as f64;
    let command = (value(1) - value(4)).max(0.0);
    let step = ((value(2) - value(3)) - (value(0) - value(1))) / share.max(0.5) - command;
    let error = points.iter().map(|p| p.error * p.error).sum::<f64>().sqrt();
    Ok((step, 2.0 * threshold(stripe) + 4.0 * error))
}

/// The least height above the floor at which a place of the row stands out.
fn threshold(stripe: &Stripe) -> f64 {
    let mut values: Vec<f64> = stripe.row.iter().map(|p| p.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    6.0 * pattern::typical_error(&stripe.row) + 0.004 * values[values.len() / 5]
}
