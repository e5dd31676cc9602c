//! How many drains keep all packages busy. The paper reckons that by chance eight pages in a row are for eight packages
//! with a probability of (1/8)^8 (section II); it is 8!/8^8, 0.24%, for pages at random, and more where the eight need
//! not be the first ones. A drain here is a spell in which some page is on its way without a break: one that lasts meets
//! eight for eight sooner or later, so that its time says more.
//!
//! With requests of one page at random, which `lru` lets go by eight, 0.26% do by `lru`, and 99.9% by `parallel`. Requests
//! of 250 KB (table II) would not tell the two apart: each goes to all packages in turn, and there are drains without end.
//! So do most of the programs write, and what is left of the difference is the time.

use super::method::{Buffer, Pair, compare, counted, requests};
use super::workload::{IOZONE, KERNEL_BUILD, PAGE_KIB, POSTMARK, SYNTHETIC_REQUESTS, WORD_COUNT, synthetic};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy {
    id: "drains",
    claim: "Section II: parallel keeps every package busy in almost every drain, lru by chance only",
    measure,
};

/// How many pages at random a first look writes.
const FEW: u64 = 20_000;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    // What the paper reckons with. Larger requests go to all packages in turn, by either policy.
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
    outcome.rows.extend([
        row::at_least(
            &format!("{name}: drains by parallel that keep all packages busy"),
            "almost every",
            drains(&pair.parallel),
            "%",
            95.0,
        ),
        row::at_most(
            &format!("{name}: drains by lru that keep all packages busy"),
            "(1/8)^8, by chance",
            drains(&pair.lru),
            "%",
            drains(&pair.parallel),
        ),
        row::at_most(
            &format!("{name}: time of drains by lru in which all packages are busy"),
            "less than by parallel",
            time(&pair.lru),
            "%",
            time(&pair.parallel),
        ),
    ]);
}
