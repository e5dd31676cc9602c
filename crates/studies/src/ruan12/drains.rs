//! The share of drains that keep all packages busy. The paper assumes that pages of each package appear at the same
//! rate, estimates the probability that eight consecutive ones go to eight packages as (1/8)^8, and calls that "the
//! rate of full package-level parallelism" of a single queue (section II). Under its assumption the probability is
//! 8!/8^8, 0.24%; that is what a drain by `lru` is judged by, give or take a factor of two. A drain here is an interval
//! in which at least one page is draining: a long one keeps all packages busy sooner or later, so its duration says
//! more.
//!
//! With random requests of one page, which `lru` drains eight at a time, 0.26% of the drains do with `lru`, and 99.9%
//! with `parallel`. Requests of 250 KB (table II) would not distinguish the two: each goes to all packages in turn, and
//! drains have no end. Most programs write like this too: there the rate is no matter of chance, which is a miss of the
//! paper's estimate, and only the duration differs.

use super::method::{Buffer, Pair, compare, counted, requests};
use super::workload::{IOZONE, KERNEL_BUILD, PAGE_KIB, POSTMARK, SYNTHETIC_REQUESTS, WORD_COUNT, synthetic};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Verdict, row};
use flashlane_result::Warning;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "drains",
    "Section II: parallel keeps every package busy in almost every drain, lru by chance only",
    measure,
);

/// Probability that eight pages, each of a random package of eight, are of different ones: 8!/8^8.
const CHANCE_PERCENT: f64 = 100.0 * 40_320.0 / 16_777_216.0;

/// Random pages written by the quick form.
const FEW: u64 = 20_000;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    // The paper's assumption. Larger requests go to all packages in turn with either policy.
    let at_random = synthetic(false, PAGE_KIB, lab.either(SYNTHETIC_REQUESTS, FEW));
    let pair = compare(lab, Buffer::of(1), || at_random.records())?;
    judge("pages at random", &pair, &mut outcome);
    for program in [KERNEL_BUILD, WORD_COUNT, POSTMARK, IOZONE] {
        let Some(records) = requests(lab, &program, &mut outcome)? else { continue };
        let pair = compare(lab, Buffer::of(1), || records.iter().copied())?;
        judge(program.name, &pair, &mut outcome);
    }
    Ok(outcome)
}

fn judge(name: &str, pair: &Pair, outcome: &mut Outcome) {
    let drains = |replay| {
        100.0 * counted(replay, "buffer_drains_on_all_packages") / counted(replay, "buffer_drains").max(1.0)
    };
    let time = |replay| {
        100.0 * counted(replay, "buffer_drain_on_all_packages_ns")
            / counted(replay, "buffer_drain_ns").max(1.0)
    };
    let by_lru = row::at_most(
        &format!("{name}: drains by lru that keep all packages busy"),
        "(1/8)^8, by chance",
        drains(&pair.lru),
        "%",
        2.0 * CHANCE_PERCENT,
    );
    if by_lru.verdict == Verdict::Missed {
        outcome.warnings.push(in_turn(name, drains(&pair.lru)));
    }
    outcome.rows.extend([
        row::at_least(
            &format!("{name}: drains by parallel that keep all packages busy"),
            "almost every",
            drains(&pair.parallel),
            "%",
            95.0,
        ),
        by_lru,
        row::at_most(
            &format!("{name}: time of drains by lru in which all packages are busy"),
            "less than by parallel",
            time(&pair.lru),
            "%",
            time(&pair.parallel),
        ),
    ]);
}

/// Explains a rate that is no matter of chance.
fn in_turn(name: &str, percent: f64) -> Warning {
    Warning::new(
        "packages-not-by-chance",
        format!(
            "drains: {name}: {percent:.1}% of the drains by lru keep all packages busy, where {CHANCE_PERCENT:.2}% would by \
             chance: pages of consecutive addresses lie on the packages in turn, and requests of several pages fill the \
             queue in that order"
        ),
    )
}
