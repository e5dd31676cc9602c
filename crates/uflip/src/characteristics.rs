//! The key characteristics: a drive in one row (uflip09, Table 3).
//!
//! The paper reads its cells off plots. Here each has a rule:
//! - *SR, RR, SW, RW*: mean response time of 32 KiB.
//! - *Pause RW*: the shortest pause with which random writes cost nearly what sequential ones do; blank where none
//!   does, or where they do without a pause.
//! - *Locality* and *Partitions*: the largest area (number of partitions) in which writes cost nearly what sequential
//!   ones do (section 5.3, hints 4 and 5); where even the least costs more, the geometric mean of the least and the last
//!   takes that place. In parentheses the greatest cost up to there. `No` where the last is less than half again the
//!   least: there is nothing to gain by keeping to an area.
//! - *Nearly* is what the paper's notation still calls x2.
//! - *Reverse* and *In-place*: cost relative to sequential writes. *Large Incr*: the mean cost of increments from 1 MiB
//!   on, relative to random writes.

use crate::curve::{Curves, Point};
use crate::options::IO_BYTES;
use crate::{Baseline, Benchmark, RunRow};
use serde::{Deserialize, Serialize};

/// How far something can go before it costs, and what it costs until then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reach {
    /// The last value before the cost rises; none where keeping below any value gains nothing.
    pub limit: Option<f64>,
    /// The greatest cost up to there, relative to sequential writes.
    pub cost: f64,
    /// Whether the cost never rose as far as was measured.
    pub unlimited: bool,
}

/// What something costs, relative to something else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The factor.
    pub cost: f64,
}

/// A drive's row. What was not measured, or has no effect, is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Characteristics {
    /// Sequential reads of 32 KiB, in milliseconds.
    pub sr_ms: Option<f64>,
    /// Random reads.
    pub rr_ms: Option<f64>,
    /// Sequential writes.
    pub sw_ms: Option<f64>,
    /// Random writes.
    pub rw_ms: Option<f64>,
    /// The pause with which random writes cost what sequential ones do, in milliseconds.
    pub pause_rw_ms: Option<f64>,
    /// Random writes within an area of so many MiB …
    pub locality: Option<Reach>,
    /// … and sequential writes to so many partitions.
    pub partitions: Option<Reach>,
    /// Writes in descending order, relative to sequential writes.
    pub reverse: Option<Effect>,
    /// Writes to one place, relative to sequential writes.
    pub in_place: Option<Effect>,
    /// Writes with large gaps, relative to random writes.
    pub large_increment: Option<Effect>,
    /// The row in the paper's notation: the fields above, in their order.
    pub row: Vec<String>,
}

/// What costs less than this much of another costs nearly the same: it rounds to x2 at most.
const ALIKE: f64 = 2.5;
/// A cost that rises by less than this has no limit worth naming.
const RISE: f64 = 1.5;
/// What is within this factor of one is shown as equal.
const EQUAL: f64 = 1.25;
/// Increments from 1 MiB on (uflip09, section 5.2).
const LARGE_INCR: i64 = (1 << 20) / IO_BYTES as i64;

impl Characteristics {
    /// The row that follows from these runs.
    pub fn of_runs(runs: &[RunRow]) -> Self {
        Self::of(&Curves::of(runs))
    }

    pub(crate) fn of(curves: &Curves) -> Self {
        let base = |baseline| curves.alone(baseline);
        let (sw, rw) = (base(Baseline::Sw), base(Baseline::Rw));
        let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
        let order = |value| curves.at(Benchmark::Order, Baseline::Sw, value);
        let relative = |cost: Option<f64>, to: Option<f64>| {
            let to = to.filter(|&ns| ns > 0.0)?;
            Some(Effect { cost: cost? / to })
        };
        let mut found = Self {
            sr_ms: ms(base(Baseline::Sr)),
            rr_ms: ms(base(Baseline::Rr)),
            sw_ms: ms(sw),
            rw_ms: ms(rw),
            pause_rw_ms: sw.zip(rw).and_then(|(sw, rw)| {
                let like = |ns: f64| ns <= ALIKE * sw;
                let pauses = curves.baseline(Benchmark::Pause, Baseline::Rw);
                let first = pauses.iter().find(|point| like(point.mean_ns)).filter(|_| !like(rw))?;
                Some(first.value as f64 / 1e6)
            }),
            // One I/O's own size is in-place writing, which has a column of its own.
            locality: reach(skip_in_place(curves.baseline(Benchmark::Locality, Baseline::Rw)), sw)
                .map(|reach| Reach { limit: reach.limit.map(|bytes| bytes / f64::from(1 << 20)), ..reach }),
            partitions: reach(curves.baseline(Benchmark::Partitioning, Baseline::Sw), sw),
            reverse: relative(order(-1), sw),
            in_place: relative(order(0), sw),
            large_increment: relative(
                mean(
                    curves
                        .baseline(Benchmark::Order, Baseline::Sw)
                        .iter()
                        .filter(|point| point.value >= LARGE_INCR),
                ),
                rw,
            ),
            row: Vec::new(),
        };
        found.row = found.cells();
        found
    }

    fn cells(&self) -> Vec<String> {
        let ms = |value: Option<f64>| value.map_or_else(String::new, milliseconds);
        let reach = |reach: &Option<Reach>| reach.map_or_else(String::new, |reach| reach.text());
        let effect = |effect: &Option<Effect>| effect.map_or_else(String::new, |effect| factor(effect.cost));
        vec![
            ms(self.sr_ms),
            ms(self.rr_ms),
            ms(self.sw_ms),
            ms(self.rw_ms),
            ms(self.pause_rw_ms),
            reach(&self.locality),
            reach(&self.partitions),
            effect(&self.reverse),
            effect(&self.in_place),
            effect(&self.large_increment),
        ]
    }
}

impl Reach {
    /// In the paper's notation: `8 (x2)`, `No`.
    pub fn text(&self) -> String {
        match self.limit {
            None if self.unlimited => format!("any ({})", factor(self.cost)),
            None => "No".into(),
            Some(limit) => {
                let at_least = if self.unlimited { "≥" } else { "" };
                format!("{at_least}{} ({})", short(limit), factor(self.cost))
            }
        }
    }
}

fn skip_in_place(points: &[Point]) -> &[Point] {
    match points {
        [first, rest @ ..] if first.value == IO_BYTES as i64 => rest,
        points => points,
    }
}

fn mean<'a>(points: impl Iterator<Item = &'a Point>) -> Option<f64> {
    let (sum, count) = points.fold((0.0, 0), |(sum, count), point| (sum + point.mean_ns, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// How far the points go before the cost rises. They are by ascending value.
pub(crate) fn reach(points: &[Point], unit_ns: Option<f64>) -> Option<Reach> {
    let unit_ns = unit_ns.filter(|&ns| ns > 0.0)?;
    let (first, last) = (points.first()?, points.last()?);
    let least = points.iter().map(|point| point.mean_ns).fold(f64::INFINITY, f64::min);
    let cost = |points: &[Point]| points.iter().map(|point| point.mean_ns).fold(0.0, f64::max) / unit_ns;
    if last.mean_ns < RISE * least {
        let like_sequential = last.mean_ns <= ALIKE * unit_ns;
        return Some(Reach {
            // Where nothing is dear there is no limit; where all is, there is no area that helps.
            limit: like_sequential.then_some(last.value as f64),
            cost: cost(points),
            unlimited: like_sequential,
        });
    }
    let alike = ALIKE * unit_ns;
    let threshold =
        if least <= alike { alike.min(last.mean_ns / RISE) } else { (least * last.mean_ns).sqrt() };
    let within = points.iter().rposition(|point| point.mean_ns <= threshold).map_or(0, |last| last + 1);
    if within == 0 {
        // Dear from the first value on, `first` among the dearest.
        return Some(Reach { limit: None, cost: first.mean_ns / unit_ns, unlimited: false });
    }
    Some(Reach {
        limit: Some(points[within - 1].value as f64),
        cost: cost(&points[..within]),
        unlimited: false,
    })
}

/// A factor in the paper's notation: `=`, `x1.5`, `x20`.
pub(crate) fn factor(factor: f64) -> String {
    if (1.0 / EQUAL..=EQUAL).contains(&factor) { "=".into() } else { format!("x{}", short(factor)) }
}

/// Two digits, as in the paper.
pub(crate) fn short(value: f64) -> String {
    let text = if value >= 9.95 {
        format!("{value:.0}")
    } else if value >= 0.095 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn milliseconds(ms: f64) -> String {
    if ms >= 0.095 {
        short(ms)
    } else {
        format!("{:.2}", (ms * 1000.0).round() / 1000.0).trim_end_matches('0').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(means: &[(i64, f64)]) -> Vec<Point> {
        means.iter().map(|&(value, mean_ns)| Point { value, mean_ns, ..Point::default() }).collect()
    }

    #[test]
    fn a_reach_ends_where_the_cost_rises() {
        let of = |means: &[(i64, f64)]| reach(&points(means), Some(10.0)).unwrap();
        let rises = of(&[(1, 10.0), (2, 12.0), (4, 15.0), (8, 90.0), (16, 100.0)]);
        assert_eq!(rises, Reach { limit: Some(4.0), cost: 1.5, unlimited: false });
        assert_eq!(rises.text(), "4 (x1.5)");
        let flat = of(&[(1, 10.0), (2, 11.0), (4, 10.5)]);
        assert_eq!((flat.limit, flat.text()), (Some(4.0), "≥4 (=)".into()));
        let dear = of(&[(1, 900.0), (2, 1000.0), (4, 1000.0)]);
        assert_eq!((dear.limit, dear.text()), (None, "No".into()));
    }

    #[test]
    fn factors_are_written_as_the_paper_writes_them() {
        let texts = [1.0, 1.2, 0.85, 1.5, 2.04, 0.6, 7.9, 19.7, 0.05].map(factor);
        assert_eq!(texts, ["=", "=", "=", "x1.5", "x2", "x0.6", "x7.9", "x20", "x0.05"]);
        assert_eq!([0.3, 5.0, 18.2, 256.4, 0.082].map(milliseconds), ["0.3", "5", "18", "256", "0.08"]);
    }
}
