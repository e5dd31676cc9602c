//! Figure 3: buffers of 1 to 64 MB with programs. The gain of `parallel` shrinks as the buffer grows; with PostMark it
//! becomes a loss.
//!
//! `parallel` drains half the buffer at once. With 8 pages of each package at any size, a large buffer would stay
//! nearly full once it was full, and would have no more room for a burst of writes than a small one. Draining half of a
//! large buffer to all packages at once also delays PostMark's reads, as in the paper; with `lru` a package is usually
//! free for them.
//!
//! With writes only, the gain does not shrink in percent of `lru`: a large buffer removes more waiting with `parallel`
//! than with `lru`, which drains an eighth as many pages at once. In ms the two get closer with IOzone (difference from
//! 1.8 to 1.1; from 0.3 to 0.15 if `lru` drained as many) and the kernel build (from 2.3 to 0.8), not with the word
//! count (2.1 and 3.5).
//!
//! The loss to the large batch is greater than in the paper: with 64 MB PostMark takes 5.7 times as long with
//! `parallel` as with `lru`, and the word count, which also reads much, 2.5 times, where the paper finds the two equal.

use super::method::{Buffer, Pair, compare, mean_ms, requests};
use super::workload::{IOZONE, KERNEL_BUILD, POSTMARK, Program, WORD_COUNT};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Verdict, row};
use flashlane_measure::Replay;
use flashlane_result::{Axis, Figure, Series, Warning};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig3",
    "Section IV.B: buffers of 1 to 64 MB: parallel gains most with small ones and little with large ones; with large ones lru is better for PostMark. Half the buffer leaves at once by parallel, an eighth as many pages, those of one list, by lru. IOzone and PostMark with --traces DIR",
    measure,
);

/// A program, the name of its plot, and whether `lru` is better with the largest buffer.
const PROGRAMS: [(Program, &str, bool); 6] = [
    (KERNEL_BUILD, "fig3-kernel-build", false),
    (KERNEL_BUILD.all_writes("kernel build, all writes"), "fig3-kernel-build-aw", false),
    (WORD_COUNT, "fig3-word-count", false),
    (WORD_COUNT.all_writes("word count, all writes"), "fig3-word-count-aw", false),
    (POSTMARK, "fig3-postmark", true),
    (IOZONE, "fig3-iozone", false),
];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let sizes: &[u32] = lab.either(&[1, 2, 4, 8, 16, 32, 64], &[1, 64]);
    let mut outcome = Outcome::default();
    for (program, id, crosses) in PROGRAMS {
        let Some(records) = requests(lab, &program, &mut outcome)? else { continue };
        let pairs = sizes
            .iter()
            .map(|&size| compare(lab, Buffer::of(size), || records.iter().copied()))
            .collect::<Result<Vec<Pair>, _>>()?;
        judge(program.name, crosses, &pairs, &mut outcome);
        outcome.figures.push(Figure {
            id: id.into(),
            title: format!("Buffer size under the {} trace", program.name),
            x: Axis::log("buffer", "MiB"),
            y: Axis::linear("mean response time", "ms"),
            series: series(sizes, &pairs),
            caption: "The same requests by either policy, at their time stamps.".into(),
            ..Figure::default()
        });
    }
    Ok(outcome)
}

fn judge(name: &str, crosses: bool, pairs: &[Pair], outcome: &mut Outcome) {
    let (first, last) = (&pairs[0], &pairs[pairs.len() - 1]);
    let better = |pair: &Pair| if pair.gain_percent() > 0.0 { "parallel" } else { "lru" };
    let shrinks = row::at_least(
        &format!("{name}: gain with 1 MB, less that with 64 MB"),
        "more than 0",
        first.gain_percent() - last.gain_percent(),
        "points",
        0.0,
    );
    if shrinks.verdict == Verdict::Missed {
        outcome.warnings.push(does_not_shrink(name, first, last));
    }
    outcome.rows.extend([
        row::exact(&format!("{name}: better policy with 1 MB"), "parallel", Some(better(first)), ""),
        shrinks,
        row::at_most(
            &format!("{name}: lru's mean response with 64 MB over that with 1 MB"),
            "shorter",
            mean_ms(&last.lru) / mean_ms(&first.lru),
            "",
            1.0,
        ),
    ]);
    // For the others the paper finds the two equal with the largest buffer: either may be slightly better.
    if crosses {
        let quantity = format!("{name}: better policy with 64 MB");
        outcome.rows.push(row::exact(&quantity, "lru", Some(better(last)), ""));
    }
}

fn does_not_shrink(name: &str, first: &Pair, last: &Pair) -> Warning {
    let left = |of: fn(&Pair) -> &Replay| 100.0 * mean_ms(of(last)) / mean_ms(of(first));
    let (lru, parallel) = (left(|pair| &pair.lru), left(|pair| &pair.parallel));
    let [before, after] = [first, last].map(|pair| mean_ms(&pair.lru) - mean_ms(&pair.parallel));
    Warning::new(
        "gain-does-not-shrink",
        format!(
            "fig3: {name}: with 64 MB the mean response is {parallel:.0}% of that with 1 MB by parallel and {lru:.0}% by lru, which lets an eighth as many pages go at once; the two are {before:.1} ms apart with 1 MB and {after:.1} ms with 64 MB"
        ),
    )
}

fn series(sizes: &[u32], pairs: &[Pair]) -> Vec<Series> {
    let series = |policy: &str, mean: &dyn Fn(&Pair) -> f64| Series {
        name: policy.into(),
        points: sizes.iter().zip(pairs).map(|(&size, pair)| (f64::from(size), mean(pair))).collect(),
        scatter: false,
        ..Series::default()
    };
    vec![series("lru", &|pair| mean_ms(&pair.lru)), series("parallel", &|pair| mean_ms(&pair.parallel))]
}
