//! The key characteristics: a drive in one row (uflip09, Table 3).
//!
//! The paper reads its cells off plots. Here each cell has a rule; "nearly" means up to x2 in the paper's notation:
//! - *SR, RR, SW, RW*: mean response time of 32 KiB.
//! - *Pause RW*: the shortest pause with which random writes cost nearly the same as sequential ones; blank where no
//!   pause does, or where they do without a pause.
//! - *Locality* and *Partitions*: the largest area (number of partitions) in which writes cost nearly the same as
//!   sequential ones (section 5.3, hints 4 and 5); where even the least cost is higher, the threshold is the geometric
//!   mean of the least and the last cost. In parentheses the greatest cost up to the limit. `No` where the last cost is
//!   less than 1.5 times the least: a smaller area gains nothing.
//! - Only some values were measured. Where the last cheap value and the first expensive one are more than a factor of
//!   two apart, the limit is between them, and the cell has both ends: `1–15`. Where the smallest measured value is
//!   expensive and smaller ones were skipped, the limit is below it: `<0.5`.
//! - `?`: nothing was seen to have an effect, but the drive collected no garbage meanwhile.
//! - *Reverse* and *In-place*: cost relative to sequential writes. *Large Incr*: the mean cost of increments from 1 MiB
//!   on, relative to random writes.

use crate::curve::{Curves, Interval, Point};
use crate::options::IO_BYTES;
use flashlane_result::uflip::{Baseline, Benchmark, Characteristics, Effect, Reach, RunRow};

/// Costs up to this factor apart are nearly the same: they round to x2 at most.
const ALIKE: f64 = 2.5;
/// A cost that rises by less than this factor has no limit.
const RISE: f64 = 1.5;
/// Factor between neighbouring values of the paper's grid, and so the resolution of its limits.
const GRID_STEP: f64 = 2.0;
/// Factors this close to 1 are shown as equal.
const EQUAL: f64 = 1.25;
/// Increments from 1 MiB on (uflip09, section 5.2).
const LARGE_INCR: i64 = (1 << 20) / IO_BYTES as i64;

/// Computes the row from these runs.
pub fn of_runs(runs: &[RunRow]) -> Characteristics {
    of(&Curves::of(runs))
}

/// Computes the row from these curves.
pub(crate) fn of(curves: &Curves) -> Characteristics {
    let base = |baseline| curves.alone_with_interval(baseline);
    let (sw, rw) = (base(Baseline::Sw), base(Baseline::Rw));
    let (sw_ns, rw_ns) = (sw.map(|(ns, _)| ns), rw.map(|(ns, _)| ns));
    let ms = |mean: Option<(f64, Interval)>| mean.map(|(ns, _)| ns / 1e6);
    let interval_ms = |baseline| base(baseline).map(|(_, ends)| ends.map(|ns| ns / 1e6));
    let order = |value| {
        let point = curves.point(Benchmark::Order, Baseline::Sw, value)?;
        Some((point.mean_ns, point.interval_ns))
    };
    let pauses = curves.baseline(Benchmark::Pause, Baseline::Rw);
    // The first pause that is long enough, where random writes without a pause are expensive.
    let pause = sw_ns.zip(rw_ns).and_then(|(sw, rw)| {
        let like = |ns: f64| ns <= ALIKE * sw;
        pauses.iter().position(|point| like(point.mean_ns)).filter(|_| !like(rw))
    });
    let pause_ms = |at: usize| pauses[at].value as f64 / 1e6;
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let large = curves.baseline(Benchmark::Order, Baseline::Sw);
    let large = large.iter().filter(|point| point.value >= LARGE_INCR);
    let mut found = Characteristics {
        sr_ms: ms(base(Baseline::Sr)),
        rr_ms: ms(base(Baseline::Rr)),
        sw_ms: ms(sw),
        rw_ms: ms(rw),
        intervals_ms: Baseline::ALL.map(interval_ms),
        pause_rw_ms: pause.map(pause_ms),
        pause_rw_above_ms: pause.and_then(|at| at.checked_sub(1)).map(pause_ms),
        // An area of one I/O is in-place writing, which has its own column.
        locality: reach(skip_in_place(curves.baseline(Benchmark::Locality, Baseline::Rw)), sw_ns, LEAST_AREA)
            .map(|reach| Reach { limit: reach.limit.map(mib), rises_at: reach.rises_at.map(mib), ..reach }),
        partitions: reach(curves.baseline(Benchmark::Partitioning, Baseline::Sw), sw_ns, 1),
        reverse: relative(order(-1), sw),
        in_place: relative(order(0), sw),
        large_increment: relative(mean(large), rw),
        unknown: Vec::new(),
        row: Vec::new(),
        row_intervals: Vec::new(),
    };
    withhold(&mut found, curves);
    found.row = cells(&found);
    found.row_intervals = interval_cells(&found);
    found
}

/// Takes back what says that something has no effect on writes, where the drive collected no garbage in the runs behind
/// it: it may have one once no block is free. An effect that was measured remains.
fn withhold(found: &mut Characteristics, curves: &Curves) {
    let not_cleaned = |benchmark, baseline| curves.nothing_cleaned_by(benchmark, baseline);
    let mut unknown = Vec::new();
    if not_cleaned(Benchmark::Pause, Baseline::Rw) && found.pause_rw_ms.is_none() {
        unknown.push("pause_rw");
    }
    let reaches = [
        ("locality", &mut found.locality, (Benchmark::Locality, Baseline::Rw)),
        ("partitions", &mut found.partitions, (Benchmark::Partitioning, Baseline::Sw)),
    ];
    for (name, reach, (benchmark, baseline)) in reaches {
        let no_effect =
            |reach: &mut Reach| reach.unlimited || reach.limit.is_none() && reach.rises_at.is_none();
        if not_cleaned(benchmark, baseline) && reach.take_if(no_effect).is_some() {
            unknown.push(name);
        }
    }
    let effects = [
        ("reverse", &mut found.reverse),
        ("in_place", &mut found.in_place),
        ("large_increment", &mut found.large_increment),
    ];
    for (name, effect) in effects {
        let no_effect = |effect: &mut Effect| is_equal(effect.cost);
        if not_cleaned(Benchmark::Order, Baseline::Sw) && effect.take_if(no_effect).is_some() {
            unknown.push(name);
        }
    }
    found.unknown = unknown.into_iter().map(str::to_owned).collect();
}

fn cells(found: &Characteristics) -> Vec<String> {
    let unknown = |name: &str| found.unknown.iter().any(|unknown| unknown == name);
    let or_unknown = |name: &str, text: String| if unknown(name) { "?".into() } else { text };
    let ms = |value: Option<f64>| value.map_or_else(String::new, milliseconds);
    let reach = |reach: &Option<Reach>| reach.map_or_else(String::new, |reach| text(&reach));
    let effect = |effect: &Option<Effect>| effect.map_or_else(String::new, |effect| factor(effect.cost));
    let pause = match (found.pause_rw_above_ms, found.pause_rw_ms) {
        (Some(above), Some(pause)) if pause > GRID_STEP * above => {
            format!("{}–{}", milliseconds(above), milliseconds(pause))
        }
        (_, pause) => ms(pause),
    };
    vec![
        ms(found.sr_ms),
        ms(found.rr_ms),
        ms(found.sw_ms),
        ms(found.rw_ms),
        or_unknown("pause_rw", pause),
        or_unknown("locality", reach(&found.locality)),
        or_unknown("partitions", found.partitions.map_or_else(String::new, |reach| text_of_counts(&reach))),
        or_unknown("reverse", effect(&found.reverse)),
        or_unknown("in_place", effect(&found.in_place)),
        or_unknown("large_increment", effect(&found.large_increment)),
    ]
}

fn interval_cells(found: &Characteristics) -> Vec<String> {
    let base = [found.sr_ms, found.rr_ms, found.sw_ms, found.rw_ms].into_iter().zip(found.intervals_ms);
    let base = base.map(|(mean, ends)| plus_minus(mean?, ends?));
    let effects = [found.reverse, found.in_place, found.large_increment].into_iter();
    let effects = effects.map(|effect| effect.and_then(|effect| plus_minus(effect.cost, effect.interval?)));
    base.chain([None, None, None]).chain(effects).map(Option::unwrap_or_default).collect()
}

/// Formats half an interval's width in percent of its mean, `±5%`; `None` below 0.5%.
fn plus_minus(mean: f64, [low, high]: Interval) -> Option<String> {
    let percent = 100.0 * (mean - low).max(high - mean) / mean;
    (percent >= 0.5 && percent.is_finite()).then(|| format!("±{percent:.0}%"))
}

/// Divides a mean by another.
fn relative(of: Option<(f64, Interval)>, to: Option<(f64, Interval)>) -> Option<Effect> {
    let ((of, [of_low, of_high]), (to, [to_low, to_high])) = (of?, to.filter(|&(ns, _)| ns > 0.0)?);
    // A divisor whose interval reaches 0 gives no bound.
    let interval = (to_low > 0.0).then(|| [of_low / to_high, of_high / to_low]);
    Some(Effect { cost: of / to, interval })
}

/// Formats a reach in the paper's notation: `8 (x2)`, `No`.
fn text(reach: &Reach) -> String {
    text_with(reach, |end| end)
}

/// Formats a reach of counts: one less than the first expensive value may still be cheap.
fn text_of_counts(reach: &Reach) -> String {
    text_with(reach, |end| end - 1.0)
}

fn text_with(reach: &Reach, last_below: impl Fn(f64) -> f64) -> String {
    match (reach.limit, reach.rises_at) {
        (None, _) if reach.unlimited => format!("any ({})", factor(reach.cost)),
        (None, Some(end)) => format!("<{}", short(end)),
        (None, None) => "No".into(),
        (Some(limit), Some(end)) if end > GRID_STEP * limit => {
            format!("{}–{} ({})", short(limit), short(last_below(end)), factor(reach.cost))
        }
        (Some(limit), _) => {
            let at_least = if reach.unlimited { "≥" } else { "" };
            format!("{at_least}{} ({})", short(limit), factor(reach.cost))
        }
    }
}

fn skip_in_place(points: &[Point]) -> &[Point] {
    match points {
        [first, rest @ ..] if first.value == IO_BYTES as i64 => rest,
        points => points,
    }
}

fn mean<'a>(points: impl Iterator<Item = &'a Point>) -> Option<(f64, Interval)> {
    let (mut sum, mut low, mut high, mut count) = (0.0, 0.0, 0.0, 0);
    for point in points {
        sum += point.mean_ns;
        low += point.interval_ns[0];
        high += point.interval_ns[1];
        count += 1;
    }
    let of = |sum: f64| sum / f64::from(count);
    (count > 0).then(|| (of(sum), [of(low), of(high)]))
}

/// The smallest area of the paper's grid above one I/O.
pub(crate) const LEAST_AREA: i64 = 2 * IO_BYTES as i64;

/// Finds the value up to which the cost does not rise. Points are in ascending order; the paper's grid begins at
/// `least_value`.
pub(crate) fn reach(points: &[Point], unit_ns: Option<f64>, least_value: i64) -> Option<Reach> {
    let unit_ns = unit_ns.filter(|&ns| ns > 0.0)?;
    let (first, last) = (points.first()?, points.last()?);
    let least = points.iter().map(|point| point.mean_ns).fold(f64::INFINITY, f64::min);
    let cost = |points: &[Point]| points.iter().map(|point| point.mean_ns).fold(0.0, f64::max) / unit_ns;
    // Where the first value is expensive, smaller ones may be cheap, if they were skipped.
    let not_below = (first.value > least_value).then_some(first.value as f64);
    if last.mean_ns < RISE * least {
        let like_sequential = last.mean_ns <= ALIKE * unit_ns;
        return Some(Reach {
            // Without an expensive value there is no limit; without a cheap one no area helps.
            limit: like_sequential.then_some(last.value as f64),
            rises_at: not_below.filter(|_| !like_sequential),
            cost: cost(points),
            unlimited: like_sequential,
        });
    }
    let alike = ALIKE * unit_ns;
    let threshold =
        if least <= alike { alike.min(last.mean_ns / RISE) } else { (least * last.mean_ns).sqrt() };
    let within = points.iter().rposition(|point| point.mean_ns <= threshold).map_or(0, |last| last + 1);
    if within == 0 {
        // Expensive from the first value on.
        let cost = first.mean_ns / unit_ns;
        return Some(Reach { limit: None, rises_at: not_below, cost, unlimited: false });
    }
    Some(Reach {
        limit: Some(points[within - 1].value as f64),
        rises_at: points.get(within).map(|point| point.value as f64),
        cost: cost(&points[..within]),
        unlimited: false,
    })
}

fn is_equal(factor: f64) -> bool {
    (1.0 / EQUAL..=EQUAL).contains(&factor)
}

/// Formats a factor in the paper's notation: `=`, `x1.5`, `x20`.
pub(crate) fn factor(factor: f64) -> String {
    if is_equal(factor) { "=".into() } else { format!("x{}", short(factor)) }
}

/// Formats a value with two digits, as in the paper.
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
    fn reach_ends_where_the_cost_rises() {
        let of = |means: &[(i64, f64)]| reach(&points(means), Some(10.0), 1).unwrap();
        let rises = of(&[(1, 10.0), (2, 12.0), (4, 15.0), (8, 90.0), (16, 100.0)]);
        assert_eq!(rises, Reach { limit: Some(4.0), rises_at: Some(8.0), cost: 1.5, unlimited: false });
        assert_eq!(text_of_counts(&rises), "4 (x1.5)");
        let flat = of(&[(1, 10.0), (2, 11.0), (4, 10.5)]);
        assert_eq!((flat.limit, text(&flat)), (Some(4.0), "≥4 (=)".into()));
        let dear = of(&[(1, 900.0), (2, 1000.0), (4, 1000.0)]);
        assert_eq!((dear.limit, text(&dear)), (None, "No".into()));
    }

    #[test]
    fn limit_between_distant_values_is_a_range() {
        // The partitions of `--quick`: 1, 16 and 256.
        let of = |means: &[(i64, f64)], least| reach(&points(means), Some(10.0), least).unwrap();
        let partitions = of(&[(1, 10.0), (16, 90.0), (256, 100.0)], 1);
        assert_eq!((partitions.limit, partitions.rises_at), (Some(1.0), Some(16.0)));
        assert_eq!(text_of_counts(&partitions), "1–15 (=)");
        assert_eq!(text(&of(&[(8, 10.0), (128, 90.0), (2048, 100.0)], 1)), "8–128 (=)");
        // Smaller areas than the first were not measured.
        let below = of(&[(8, 900.0), (128, 1000.0), (2048, 1000.0)], 1);
        assert_eq!((below.limit, below.rises_at, text(&below)), (None, Some(8.0), "<8".into()));
    }

    #[test]
    fn interval_of_a_quotient_covers_both_intervals() {
        let effect = relative(Some((20.0, [18.0, 22.0])), Some((10.0, [10.0, 11.0]))).unwrap();
        assert_eq!((effect.cost, effect.interval), (2.0, Some([18.0 / 11.0, 2.2])));
        assert_eq!(plus_minus(2.0, effect.interval.unwrap()), Some("±18%".into()));
        assert_eq!(plus_minus(100.0, [99.7, 100.2]), None);
        assert_eq!(relative(Some((20.0, [18.0, 22.0])), Some((10.0, [-1.0, 21.0]))).unwrap().interval, None);
    }

    #[test]
    fn factors_are_in_the_notation_of_the_paper() {
        let texts = [1.0, 1.2, 0.85, 1.5, 2.04, 0.6, 7.9, 19.7, 0.05].map(factor);
        assert_eq!(texts, ["=", "=", "=", "x1.5", "x2", "x0.6", "x7.9", "x20", "x0.05"]);
        assert_eq!([0.3, 5.0, 18.2, 256.4, 0.082].map(milliseconds), ["0.3", "5", "18", "256", "0.08"]);
    }
}
