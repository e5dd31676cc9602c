//! A buffer that was filled: how many pages it holds, by the times at which writes completed.
//!
//! Up to the bend (`bend`) the dies took a page per `after_us`, the time of one after it, but for the first program and
//! the last: the number taken lies between two bounds. It is subtracted from the number written.
//!
//! *Rates that vary.* Garbage collection stops some dies for a while. Then flash takes more pages in one interval than
//! in another of the same length, and the number taken by the bend is no better known than that: the intervals after
//! the bend, as long as that in which flash took pages before it, show how much it varies.

use crate::area::Area;
use crate::bench::Bench;
use crate::bend::{Bend, bend};
use crate::error::EarlyEnd;
use crate::pattern::{mean_and_variance, point};
use flashlane_base::Duration;
use flashlane_workload::Access;

/// Two measurements must agree within this share, which is also the most that a size may be off by.
pub(crate) const AGREE: f64 = 0.1;
/// Largest error of the size, as a share, and that of the number of pages that flash took, beside its bounds.
const ERROR_MAX: f64 = 0.06;
const TAKEN_ERROR: f64 = 0.4;
/// The middle of the sizes by the rates of flash after the bend and between those of two paces is off by this multiple
/// of their difference at most, where the rate before the bend differs as much again.
const EXTRAPOLATED: f64 = 1.5;
/// Most pages that flash took, as a share of those written, for a flush to tell the rest.
const TAKEN_MAX: f64 = 0.7;

/// Times at which writes completed, in microseconds, and that of a flush after them.
pub(crate) struct Filled {
    pub(crate) times: Vec<f64>,
    pub(crate) request_pages: f64,
    pub(crate) flush_us: f64,
}

impl Filled {
    /// Returns the bend in the times of the writes.
    pub(crate) fn bend(&self, WriteTimes { plain_us, least_durable_us, .. }: WriteTimes) -> Option<Bend> {
        bend(&self.times, plain_us, least_durable_us)
    }

    /// Returns the pages written by a bend. The request after it fits in part.
    pub(crate) fn written(&self, bend: &Bend) -> f64 {
        bend.at as f64 * self.request_pages + (self.request_pages - 1.0) / 2.0
    }

    /// Returns the number of pages that flash takes in an interval as long as the one before the bend in which it took
    /// some, and its standard deviation, over all intervals after the bend; `None` where there is none. Of the
    /// deviation does not count what follows from dies that end their programs together: whether an interval holds a
    /// turn more or less.
    pub(crate) fn taken_after(&self, bend: &Bend, write_times: WriteTimes) -> Option<(f64, f64)> {
        let taking_us = (bend.at_us - write_times.program_us()).max(0.0);
        let after = &self.times[bend.at..];
        let taken: Vec<f64> = (0..after.len())
            .take_while(|&first| after[first] + taking_us <= after[after.len() - 1])
            .map(|first| after[first..].partition_point(|&done_us| done_us < after[first] + taking_us))
            .map(|requests| requests as f64 * self.request_pages)
            .collect();
        if taken.is_empty() || taking_us == 0.0 {
            return None;
        }
        let (mean, variance) = mean_and_variance(&taken);
        let dies = mean * write_times.durable_us / taking_us;
        Some((mean, (variance - (dies / 2.0).powi(2)).max(0.0).sqrt()))
    }

    /// Returns the pages in a full buffer, and the bend that shows it, where the error is small.
    pub(crate) fn size(&self, write_times: WriteTimes) -> Option<(f64, Bend)> {
        let (program_us, durable_us) = (write_times.program_us(), write_times.durable_us);
        let bend = self.bend(write_times)?;
        let in_part = (self.request_pages - 1.0) / 2.0;
        let written = self.written(&bend);
        let Some(after_us) = bend.after_us.map(|after_us| after_us / self.request_pages) else {
            return (in_part <= ERROR_MAX * written).then_some((written, bend));
        };
        let dies = durable_us / after_us;
        // A page that was programmed by the bend had arrived a program before it.
        let arrived = self.times.partition_point(|&done_us| done_us <= bend.at_us - program_us);
        let most = (bend.at_us / after_us).min(arrived as f64 * self.request_pages);
        let least = (bend.at_us / after_us - dies).clamp(0.0, most);
        let taken = f64::midpoint(least, most);
        let either = (most - least) / 2.0 + in_part + bend.uneven * self.request_pages;
        let pages = written - taken;
        if pages < 1.0 {
            return None;
        }
        if either + TAKEN_ERROR * taken <= ERROR_MAX * pages {
            return Some((pages, bend));
        }
        // The last programs end together, and before each some die has none to begin.
        let flushed = (self.flush_us - durable_us / 2.0) / after_us;
        let agrees = (flushed / pages - 1.0).abs() < AGREE;
        (agrees && taken <= TAKEN_MAX * written && either <= ERROR_MAX * pages)
            .then(|| (f64::midpoint(flushed, pages), bend))
    }
}

/// Latencies of plain and of durable writes on an idle drive, in microseconds.
#[derive(Clone, Copy)]
pub(crate) struct WriteTimes {
    pub(crate) plain_us: f64,
    pub(crate) durable_us: f64,
    /// The shortest of the durable ones, before which no program ends: garbage collection may delay most of them.
    pub(crate) least_durable_us: f64,
}

impl WriteTimes {
    pub(crate) fn program_us(self) -> f64 {
        self.durable_us - self.plain_us
    }

    /// Of writes of `bytes` at multiples of them.
    pub(crate) fn measure(bench: &mut Bench<'_>, area: Area, bytes: u64) -> Result<Self, EarlyEnd> {
        let idle = Duration::from_ms(2);
        let (mut plain, mut durable) = (Vec::new(), Vec::new());
        for _ in 0..24 {
            let mut place = || area.offset_bytes + bench.random().below(area.length_bytes / bytes) * bytes;
            let (a, b) = (place(), place());
            plain.push(bench.one(Access::write(a, bytes))?.as_us_f64());
            bench.pause(idle);
            durable.push(bench.durable_write(b, bytes)?.as_us_f64());
            bench.pause(idle);
        }
        let (plain_us, durable_us) = (point(&mut plain).value, point(&mut durable).value);
        Ok(Self { plain_us, durable_us, least_durable_us: durable[0] })
    }
}

/// The middle of two measurements, and how far either is from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated {
    pub(crate) pages: f64,
    pub(crate) spread: f64,
}

impl Repeated {
    pub(crate) fn of(one: f64, other: f64) -> Self {
        Self { pages: f64::midpoint(one, other), spread: (one - other).abs() / 2.0 }
    }

    /// Returns the middle of this number of pages and of that which slower writes show, if the size is within a tenth
    /// of it.
    ///
    /// This is known to half the `step` by which a single request changes it.
    pub(crate) fn joined(self, at_once: f64, step: f64, noise: f64) -> Option<f64> {
        let middle = f64::midpoint(self.pages, at_once);
        let differ = ((self.pages - at_once).abs() - step / 2.0).max(0.0);
        let off = EXTRAPOLATED * differ + noise;
        (off < AGREE * (middle - off)).then_some(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bend::tests::filling;

    fn pages(flash_us: f64, flush_us: f64) -> Option<f64> {
        let filled = Filled { times: filling(flash_us), request_pages: 1.0, flush_us };
        filled
            .size(WriteTimes { plain_us: 10.0, durable_us: 400.0, least_durable_us: 400.0 })
            .map(|(pages, _)| pages)
    }

    /// Flash takes pages ever more slowly: in truth 142 fit, by the rate after the bend 162, and by that between two
    /// bends 152.
    #[test]
    fn rates_that_go_on_falling_leave_the_size_open() {
        let found = |one: f64, other: f64, at_once: f64| {
            let by_rate = Repeated::of(one, other);
            by_rate.joined(at_once, 0.0, by_rate.spread)
        };
        assert_eq!(found(162.0, 162.0, 152.0), None);
        assert_eq!(found(162.0, 162.0, 156.0), Some(159.0));
        // The two measurements of either pace differ, too.
        assert_eq!(found(150.0, 174.0, 156.0), None);
    }

    /// After the bend flash takes a page every 100 µs; four every 400 µs, at once, as four dies do; or forty every 4
    /// ms.
    #[test]
    fn pages_taken_in_turns_vary_with_the_interval() {
        let taken_after = |times: Vec<f64>| {
            let filled = Filled { times, request_pages: 1.0, flush_us: 0.0 };
            let bend = Bend { at: 330, at_us: 3300.0, after_us: None, uneven: 0.0, steeper: 10.0 };
            filled
                .taken_after(&bend, WriteTimes { plain_us: 10.0, durable_us: 410.0, least_durable_us: 410.0 })
                .unwrap()
        };
        let (mean, deviation) = taken_after(filling(100.0));
        assert!((mean - 29.0).abs() < 1.0 && deviation < 1.0, "{mean} {deviation}");
        let in_turns = |pages: usize| -> Vec<f64> {
            let turn_us = |n: usize| 4000.0 + 100.0 * ((n - 330) / pages * pages) as f64;
            (0..2000).map(|n| if n < 330 { 10.0 * n as f64 } else { turn_us(n) }).collect()
        };
        let (mean, deviation) = taken_after(in_turns(4));
        assert!((mean - 29.0).abs() < 2.0 && deviation < 1.0, "{mean} {deviation}");
        let (mean, deviation) = taken_after(in_turns(40));
        assert!((20.0..40.0).contains(&mean) && deviation > 10.0, "{mean} {deviation}");
    }

    #[test]
    fn few_pages_that_flash_took_are_subtracted() {
        let found = pages(200.0, 0.0).unwrap();
        assert!((found / 300.0 - 1.0).abs() < 0.05, "{found}");
    }

    /// Flash took two fifths of the pages.
    #[test]
    fn many_pages_that_flash_took_need_a_flush_that_agrees() {
        let found = pages(25.0, 400.0 + 300.0 * 25.0).unwrap();
        assert!((found / 300.0 - 1.0).abs() < 0.06, "{found}");
        assert_eq!(pages(25.0, 500.0 * 25.0), None);
    }
}
