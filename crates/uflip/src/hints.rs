//! The paper's seven design hints (uflip09, section 5.3), checked on this drive: kept or contradicted, with numbers.

use crate::characteristics::{LEAST_AREA, factor, reach, short};
use crate::curve::{Curves, Point};
use crate::options::IO_BYTES;
use flashlane_base::units::format_bytes;
use flashlane_result::uflip::{Baseline, Benchmark, Hint, Verdict};

/// Least factor that an application would notice.
const NOTICEABLE: f64 = 1.25;

/// Why the absence of an effect decides nothing.
const NOT_CLEANED: &str =
    "the drive collected no garbage meanwhile, so that it may be otherwise once no block is free";

/// Whether a hint holds, `None` where the measurements do not decide it, and the reason.
type Finding = Option<(Option<bool>, String)>;

/// The seven hints.
pub(crate) fn hints(curves: &Curves, throughput: impl Fn(Baseline, i64) -> Option<f64>) -> Vec<Hint> {
    let hints: [(&str, Finding, &[Benchmark]); 7] = [
        (
            "larger I/Os are cheaper a byte, reads too: every I/O has its latency",
            latency(curves),
            &[Benchmark::Granularity],
        ),
        ("blocks of 32 KiB are a good size", block_size(curves), &[Benchmark::Granularity]),
        ("I/Os should be aligned to flash pages", alignment(curves), &[Benchmark::Alignment]),
        ("random writes should keep to a focused area", area(curves), &[Benchmark::Locality]),
        ("sequential writes should keep to a few partitions", partitions(curves), &[Benchmark::Partitioning]),
        ("a few patterns at a time do not disturb each other", mix(curves), &[Benchmark::Mix]),
        (
            "neither concurrent nor delayed I/Os improve the performance",
            concurrent_or_delayed(curves, throughput),
            &[Benchmark::Parallelism, Benchmark::Pause],
        ),
    ];
    hints
        .into_iter()
        .zip(1..)
        .map(|((hint, finding, benchmarks), number)| Hint {
            number,
            hint: hint.into(),
            verdict: match &finding {
                None | Some((None, _)) => Verdict::Open,
                Some((Some(true), _)) => Verdict::Kept,
                Some((Some(false), _)) => Verdict::Contradicted,
            },
            because: finding
                .map_or_else(|| "what it rests on was not measured".into(), |(_, because)| because),
            figures: benchmarks.iter().map(|benchmark| benchmark.name().to_owned()).collect(),
        })
        .collect()
}

fn us(ns: f64) -> String {
    if ns >= 1e6 { format!("{} ms", short(ns / 1e6)) } else { format!("{} µs", short(ns / 1e3)) }
}

/// Compares the time per byte of the largest I/O with that of 4 KiB.
fn latency(curves: &Curves) -> Finding {
    let reads = curves.baseline(Benchmark::Granularity, Baseline::Rr);
    let (small, large) = (reads.iter().find(|point| point.value >= 4096)?, reads.last()?);
    let a_byte = |point: &Point| point.mean_ns / point.value as f64;
    let gain = a_byte(small) / a_byte(large);
    Some((
        Some(gain >= NOTICEABLE),
        format!(
            "a random read of {} takes {}, one of {} takes {}: {} times {} a byte",
            format_bytes(small.value as u64),
            us(small.mean_ns),
            format_bytes(large.value as u64),
            us(large.mean_ns),
            short(gain.max(1.0 / gain)),
            if gain >= 1.0 { "cheaper" } else { "dearer" },
        ),
    ))
}

/// 32 KiB is a good size where no other size costs less than half per byte, for sequential writes and random reads.
fn block_size(curves: &Curves) -> Finding {
    let a_byte =
        |baseline, value: i64| Some(curves.at(Benchmark::Granularity, baseline, value)? / value as f64);
    let block = IO_BYTES as i64;
    let mut words = Vec::new();
    let mut kept = true;
    for baseline in [Baseline::Sw, Baseline::Rr] {
        let Some(own) = a_byte(baseline, block) else { continue };
        let points = curves.baseline(Benchmark::Granularity, baseline);
        let (best, best_a_byte) = points
            .iter()
            .map(|point| (point.value, point.mean_ns / point.value as f64))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        kept &= own <= 2.0 * best_a_byte;
        words.push(if best == block {
            format!("{}: no size is cheaper a byte than 32 KiB", baseline.name())
        } else {
            let (times, best) = (short(own / best_a_byte), format_bytes(best as u64));
            format!("{}: 32 KiB costs {times} times as much a byte as {best}, the best", baseline.name())
        });
    }
    (!words.is_empty()).then(|| (Some(kept), words.join("; ")))
}

/// Smallest flash page of drives: a shift by any number of these may be one of whole pages.
const LEAST_PAGE: i64 = 4096;

/// A shift costs something where it leaves the pages; where none costs, it decides only if it was within a page.
fn alignment(curves: &Curves) -> Finding {
    // A shift by a whole I/O is aligned.
    let worst = Baseline::ALL
        .into_iter()
        .filter_map(|baseline| {
            let aligned = curves.at(Benchmark::Alignment, baseline, IO_BYTES as i64)?;
            let points = curves.baseline(Benchmark::Alignment, baseline);
            let worst = points.iter().max_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns))?;
            Some((worst.mean_ns / aligned, baseline, *worst, aligned))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (cost, baseline, point, aligned) = worst;
    let found = format!(
        "{} shifted by {} takes {}, aligned {}: {}",
        baseline.name(),
        format_bytes(point.value as u64),
        us(point.mean_ns),
        us(aligned),
        factor(cost)
    );
    let least = curves.baseline(Benchmark::Alignment, baseline).iter().map(|point| point.value).min()?;
    if cost < NOTICEABLE && least >= LEAST_PAGE {
        let least = format_bytes(least as u64);
        let undecided =
            format!("{found}; shifts of less than {least}, which may be whole pages, were not measured");
        return Some((None, undecided));
    }
    Some((Some(cost >= NOTICEABLE), found))
}

fn area(curves: &Curves) -> Finding {
    let sw = curves.alone(Baseline::Sw)?;
    let points = curves.baseline(Benchmark::Locality, Baseline::Rw);
    let reach = reach(points, Some(sw), LEAST_AREA)?;
    let worst = dearest(points)?;
    let gains = reach.limit.is_some() && !reach.unlimited;
    let everywhere = format!(
        "at worst, over {}, a random write takes {}, a sequential one {}",
        format_bytes(worst.value as u64),
        us(worst.mean_ns),
        us(sw)
    );
    Some(match (reach.limit.filter(|_| gains), reach.rises_at) {
        (Some(limit), rises_at) => {
            let until = rises_at.map_or_else(String::new, |bytes| {
                format!(" (the next area that was measured is {})", format_bytes(bytes as u64))
            });
            let limit = format_bytes(limit as u64);
            let text =
                format!("within {limit}{until} it costs {} at most; {everywhere}", relative_cost(reach.cost));
            (Some(true), text)
        }
        (None, Some(bytes)) if !reach.unlimited => {
            let least = format_bytes(bytes as u64);
            (None, format!("{least} is too large an area, and smaller ones were not measured; {everywhere}"))
        }
        _ if curves.nothing_cleaned_by(Benchmark::Locality, Baseline::Rw) => {
            (None, format!("{everywhere}; {NOT_CLEANED}"))
        }
        _ => (Some(false), format!("no area makes it cheaper; {everywhere}")),
    })
}

/// The point with the greatest mean.
fn dearest(points: &[Point]) -> Option<&Point> {
    points.iter().max_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns))
}

/// Describes a cost relative to sequential writes.
fn relative_cost(cost: f64) -> String {
    match factor(cost).as_str() {
        "=" => "what a sequential write does".into(),
        factor => format!("{factor} of a sequential write"),
    }
}

fn partitions(curves: &Curves) -> Finding {
    let sw = curves.alone(Baseline::Sw)?;
    let points = curves.baseline(Benchmark::Partitioning, Baseline::Sw);
    let reach = reach(points, Some(sw), 1)?;
    let worst = dearest(points)?;
    let costs = format!(
        "at worst, with {} partitions, a write costs {}",
        worst.value,
        relative_cost(worst.mean_ns / sw)
    );
    let limited = !reach.unlimited;
    let text = match reach.limit.filter(|_| limited) {
        Some(limit) => {
            let until = reach.rises_at.filter(|&next| next > limit + 1.0).map_or_else(String::new, |next| {
                format!(" (from {} to {} nothing was measured)", limit + 1.0, next - 1.0)
            });
            format!("up to {limit}{until} it costs {} at most; {costs}", relative_cost(reach.cost))
        }
        None => costs,
    };
    if !limited && curves.nothing_cleaned_by(Benchmark::Partitioning, Baseline::Sw) {
        return Some((None, format!("{text}; {NOT_CLEANED}")));
    }
    Some((Some(limited), text))
}

/// Finds the largest difference between the cost of a mix and that of its parts.
fn mix(curves: &Curves) -> Finding {
    let alone = |baseline| curves.alone(baseline);
    let mut worst: Option<(f64, String)> = None;
    for ((benchmark, first, second), points) in curves.iter() {
        let (Benchmark::Mix, Some(second)) = (benchmark, second) else { continue };
        let (Some(one), Some(other)) = (alone(*first), alone(*second)) else { continue };
        for point in points {
            let ratio = point.value as f64;
            let expected = (ratio * one + other) / (ratio + 1.0);
            let cost = point.mean_ns / expected;
            if worst.as_ref().is_none_or(|(known, _)| cost > *known) {
                worst = Some((
                    cost,
                    format!(
                        "the dearest mix is {} {} to one {}: {} an I/O, where its parts alone would give {}",
                        point.value,
                        first.name(),
                        second.name(),
                        us(point.mean_ns),
                        us(expected)
                    ),
                ));
            }
        }
    }
    worst.map(|(cost, because)| match cost < NOTICEABLE {
        true if curves.nothing_cleaned(Benchmark::Mix) => (None, format!("{because}; {NOT_CLEANED}")),
        kept => (Some(kept), because),
    })
}

fn concurrent_or_delayed(curves: &Curves, throughput: impl Fn(Baseline, i64) -> Option<f64>) -> Finding {
    let mut words = Vec::new();
    let mut kept = true;
    let degrees =
        |baseline| curves.baseline(Benchmark::Parallelism, baseline).iter().map(|point| point.value);
    let best = Baseline::ALL
        .into_iter()
        .filter_map(|baseline| {
            let alone = throughput(baseline, 1)?;
            let most =
                degrees(baseline).filter_map(|degree| Some((throughput(baseline, degree)? / alone, degree)));
            most.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(gain, degree)| (gain, degree, baseline))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((gain, degree, baseline)) = best {
        kept &= gain < NOTICEABLE;
        words.push(if gain < NOTICEABLE {
            "no number of processes brings more I/Os a second".into()
        } else {
            format!(
                "{degree} processes bring {} times the {} I/Os a second of one",
                short(gain),
                baseline.name()
            )
        });
    }
    // A pause helps where it saves more than its own time.
    let pauses = curves.baseline(Benchmark::Pause, Baseline::Rw);
    if let Some(without) = curves.alone(Baseline::Rw).filter(|_| !pauses.is_empty()) {
        let total = |point: &Point| point.mean_ns + point.value as f64;
        let best = pauses.iter().min_by(|a, b| total(a).total_cmp(&total(b)))?;
        let gain = without / total(best);
        kept &= gain < NOTICEABLE;
        words.push(format!(
            "random writes with a pause of {} take {} and the pause, {} without",
            us(best.value as f64),
            us(best.mean_ns),
            us(without)
        ));
    }
    let not_cleaned = curves.nothing_cleaned(Benchmark::Parallelism)
        || curves.nothing_cleaned_by(Benchmark::Pause, Baseline::Rw);
    if kept && not_cleaned && !words.is_empty() {
        words.push(NOT_CLEANED.into());
        return Some((None, words.join("; ")));
    }
    (!words.is_empty()).then(|| (Some(kept), words.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{row, row_of_methodology};
    use crate::{Experiment, curve::PHASES};

    fn at(benchmark: Benchmark, value: i64, ns: u64) -> flashlane_result::uflip::RunRow {
        let first = if benchmark == Benchmark::Locality { Baseline::Rw } else { Baseline::Sw };
        row(&Experiment { benchmark, first, second: None, value }, 1, 0, &[ns; 8], 8 * ns)
    }

    #[test]
    fn shifts_by_whole_pages_decide_nothing_about_alignment() {
        let verdict_of = |shifts: &[(i64, u64)]| {
            let rows: Vec<_> = shifts.iter().map(|&(by, ns)| at(Benchmark::Alignment, by, ns)).collect();
            let hint = hints(&Curves::of(&rows), |_, _| None).remove(2);
            (hint.verdict, hint.because)
        };
        let sectors_of_pages = [(4096, 100_000), (16384, 100_000), (32768, 100_000)];
        let (verdict, because) = verdict_of(&sectors_of_pages);
        assert_eq!(verdict, Verdict::Open, "{because}");
        assert!(
            because.contains("shifts of less than 4 KiB, which may be whole pages, were not"),
            "{because}"
        );
        let within_pages = [&[(512, 100_000)][..], &sectors_of_pages].concat();
        assert_eq!(verdict_of(&within_pages).0, Verdict::Contradicted);
        let dear = [&[(4096, 200_000)][..], &sectors_of_pages[1..]].concat();
        assert_eq!(verdict_of(&dear).0, Verdict::Kept);
    }

    /// The worst value lies between the others, and takes one time and a half of what a sequential write takes.
    #[test]
    fn hints_quote_the_worst_case() {
        let mut rows = vec![
            row_of_methodology(PHASES, Baseline::Sw, 0, &[100_000; 8], 800_000),
            row_of_methodology(PHASES, Baseline::Rr, 0, &[200_000; 8], 1_600_000),
        ];
        for (partitions, ns) in [(1, 100_000), (16, 150_000), (256, 120_000)] {
            rows.push(at(Benchmark::Partitioning, partitions, ns));
        }
        for (bytes, ns) in [(1 << 23, 110_000), (1 << 27, 930_000), (1 << 30, 840_000)] {
            rows.push(at(Benchmark::Locality, bytes, ns));
        }
        for (ratio, ns) in [(1, 160_000), (4, 300_000), (16, 130_000)] {
            let (first, second) = (Baseline::Sw, Some(Baseline::Rr));
            let mixed = Experiment { benchmark: Benchmark::Mix, first, second, value: ratio };
            rows.push(row(&mixed, 1, 0, &[ns; 8], 8 * ns));
        }
        let hints = hints(&Curves::of(&rows), |_, _| None);
        let because = |number: usize| hints[number - 1].because.as_str();
        let partitions = "at worst, with 16 partitions, a write costs x1.5 of a sequential write";
        assert!(because(5).contains(partitions), "{}", because(5));
        let area = "at worst, over 128 MiB, a random write takes 930 µs, a sequential one 100 µs";
        assert!(because(4).contains(area), "{}", because(4));
        let mix = "the dearest mix is 4 SW to one RR: 300 µs an I/O, where its parts alone would give 120 µs";
        assert_eq!(because(6), mix);
    }
}
