//! Table 3: the key characteristics. A drive is in the class of the published one where the ratio of random to
//! sequential writes is within a factor of two, the same cells are blank, limits are within a power of two, and effects
//! have the same sign.

use super::{benchmarked, figure};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, row};
use flashlane_result::Figure;
use flashlane_result::uflip::{Characteristics, Effect, Reach};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table3",
    "Section 5.2: a few numbers tell a high-end drive from a low-end one: the four baselines, what a pause, an area, partitions and the order of writes do",
    measure,
);

/// A row of the table; locality and partitions have a limit and the cost up to it.
struct Published {
    profile: &'static str,
    drive: &'static str,
    /// SR, RR, SW, RW in milliseconds.
    base_ms: [f64; 4],
    /// Pause that makes random writes cheap, in milliseconds.
    pause_ms: Option<f64>,
    locality_mb: Option<f64>,
    partitions: f64,
    reverse: f64,
    in_place: f64,
    large_increment: f64,
}

const TABLE: [Published; 5] = [
    Published {
        profile: "memoright-like",
        drive: "Memoright",
        base_ms: [0.3, 0.4, 0.3, 5.0],
        pause_ms: Some(5.0),
        locality_mb: Some(8.0),
        partitions: 8.0,
        reverse: 1.0,
        in_place: 1.0,
        large_increment: 4.0,
    },
    Published {
        profile: "mtron-like",
        drive: "Mtron",
        base_ms: [0.4, 0.5, 0.4, 9.0],
        pause_ms: Some(9.0),
        locality_mb: Some(8.0),
        partitions: 4.0,
        reverse: 1.0,
        in_place: 1.0,
        large_increment: 2.0,
    },
    Published {
        profile: "samsung-like",
        drive: "Samsung",
        base_ms: [0.5, 0.5, 0.6, 18.0],
        pause_ms: None,
        locality_mb: Some(16.0),
        partitions: 4.0,
        reverse: 1.5,
        in_place: 0.6,
        large_increment: 2.0,
    },
    Published {
        profile: "transcend-module-like",
        drive: "Transcend Module",
        base_ms: [1.2, 1.3, 1.7, 18.0],
        pause_ms: None,
        locality_mb: Some(4.0),
        partitions: 4.0,
        reverse: 3.0,
        in_place: 2.0,
        large_increment: 2.0,
    },
    Published {
        profile: "kingston-dti-like",
        drive: "Kingston DTI",
        base_ms: [1.9, 2.2, 2.9, 256.0],
        pause_ms: None,
        locality_mb: None,
        partitions: 4.0,
        reverse: 8.0,
        in_place: 40.0,
        large_increment: 1.0,
    },
];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for published in &TABLE {
        let found = benchmarked(lab, published.profile, &mut outcome);
        judge(published, &found.result.characteristics, &mut outcome);
        outcome.figures.extend(["locality", "order"].into_iter().filter_map(|id| {
            let figure = figure(&found, id, &format!("table3-{}-{id}", published.profile))?;
            Some(Figure { title: format!("{}: {}", published.profile, figure.title), ..figure })
        }));
    }
    Ok(outcome)
}

fn judge(published: &Published, found: &Characteristics, outcome: &mut Outcome) {
    let Published { drive, base_ms, .. } = published;
    let measured = [found.sr_ms, found.rr_ms, found.sw_ms, found.rw_ms].map(|ms| ms.unwrap_or(f64::NAN));
    let quotient = base_ms[3] / base_ms[2];
    outcome.rows.push(row::between(
        &format!("{drive}: RW over SW"),
        quotient,
        measured[3] / measured[2],
        "",
        (quotient / 2.0, quotient * 2.0),
    ));
    for (name, (published, measured)) in
        ["SR", "RR", "SW", "RW"].into_iter().zip(base_ms.iter().zip(measured))
    {
        let limits = (published / 2.0, published * 2.0);
        outcome.rows.push(row::between(&format!("{drive}: {name}"), *published, measured, "ms", limits));
    }
    let blank = |value: Option<f64>| if value.is_some() { "an effect" } else { "none" };
    let unknown = found.unknown.iter().any(|name| name == "pause_rw");
    outcome.rows.push(row::exact(
        &format!("{drive}: effect of a pause on RW"),
        blank(published.pause_ms),
        Some(if unknown { "not known" } else { blank(found.pause_rw_ms) }),
        "",
    ));
    reach(
        &format!("{drive}: area of cheap random writes"),
        published.locality_mb,
        found.locality,
        "MiB",
        outcome,
    );
    reach(&format!("{drive}: partitions"), Some(published.partitions), found.partitions, "", outcome);
    for (name, published, found) in [
        ("reverse writes over SW", published.reverse, found.reverse),
        ("in-place writes over SW", published.in_place, found.in_place),
        ("writes with large increments over RW", published.large_increment, found.large_increment),
    ] {
        outcome.rows.push(same_sign(&format!("{drive}: {name}"), published, found));
    }
}

/// Compares limits: within a power of two, or absent in both.
fn reach(name: &str, published: Option<f64>, found: Option<Reach>, unit: &str, outcome: &mut Outcome) {
    let limit = found.and_then(|reach| reach.limit);
    let words = |reach: Reach| if reach.limit.is_some() { "an area" } else { "none" };
    outcome.rows.push(match published {
        None => row::exact(name, "none", Some(found.map_or("not measured", words)), unit),
        Some(published) => {
            let limits = (published / 2.0, published * 2.0);
            row::between(name, published, limit.unwrap_or(f64::NAN), unit, limits)
        }
    });
}

/// Effects this close to 1 count as none: the paper's `=` and `x1`.
const EFFECT: f64 = 1.25;

fn same_sign(name: &str, published: f64, found: Option<Effect>) -> Row {
    let measured = found.map_or(f64::NAN, |effect| effect.cost);
    if published > EFFECT {
        row::at_least(name, published, measured, "", EFFECT)
    } else if published < 1.0 / EFFECT {
        row::at_most(name, published, measured, "", 1.0 / EFFECT)
    } else {
        row::between(name, published, measured, "", (1.0 / EFFECT, EFFECT))
    }
}
