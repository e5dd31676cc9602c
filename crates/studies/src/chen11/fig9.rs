//! Figure 9: the better of two plans changes with the number of sub-queries, and a cost model that prices a page by
//! what is in flight says so.
//!
//! The model is measured on the drive as `flashlane advise` does. A planner would estimate how many pages an index join
//! reads; here these are the pages that it missed.

use super::queries::{Join, MOST, PAPERS, READAHEAD, Times, processor_time_estimated};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_advise::{Calibration, CostModel, Plan, Reads, calibrate, compare};
use flashlane_result::{Axis, Figure, Series, Warning};
use std::ops::ControlFlow;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig9",
    "Section 6.3: alone, Q2.2 is 1.9 times as slow by index joins as by hash joins; in sub-queries it is 1.4 times as fast. Q1.2n, with d_weeknuminyear = 1, changes its better plan, too",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let times = Times::of(lab);
    let model = model(lab)?;
    let time = |query, join, n| times.get(query, join, n, PAPERS).elapsed_s;
    let slower_by_index = |query, n| time(query, Join::Index, n) / time(query, Join::Hash, n);
    let mut rows = vec![
        row::between("Q2.2 alone: index over hash joins", 1.9, slower_by_index("Q2.2", 1), "x", (1.2, 3.0)),
        row::between(
            "Q2.2 in 16 sub-queries: hash over index joins",
            1.4,
            1.0 / slower_by_index("Q2.2", MOST),
            "x",
            (1.1, 2.1),
        ),
    ];
    for query in ["Q2.2", "Q1.2n"] {
        let [alone, divided] = [1, MOST].map(|n| faster(slower_by_index(query, n)));
        let both = format!("{alone}, {divided}");
        rows.push(row::exact(
            &format!("{query}: the faster plan, alone and in 16"),
            "hash, index",
            Some(both.as_str()),
            "",
        ));
        let [alone, divided] = [1, MOST].map(|n| chosen(&model, &times, query, n));
        let both = format!("{alone}, {divided}");
        rows.push(row::exact(
            &format!("{query}: the plan by the cost model"),
            "hash, index",
            Some(both.as_str()),
            "",
        ));
    }
    let figures = ["Q2.2", "Q1.2n"].map(|query| figure(lab, &times, query)).into();
    let other_query = Warning::new(
        "query-changed",
        "fig9: the paper does not print Q1.2n. Here d_weeknuminyear = 1 stands in place of Q1.2's month: beside it 7 days would be \
         chosen, and the index join would be the faster one even alone",
    );
    Ok(Outcome {
        rows,
        figures,
        warnings: vec![processor_time_estimated(), other_query],
        ..Outcome::default()
    })
}

fn faster(index_over_hash: f64) -> &'static str {
    if index_over_hash < 1.0 { Join::Index.name() } else { Join::Hash.name() }
}

/// Measures the cost model of the drive.
fn model(lab: &mut Lab<'_>) -> Result<CostModel, FigureError> {
    let calibration = Calibration { most_in_flight: MOST, repetitions: 2, ..Calibration::default() };
    let mut device = lab.device("ssd-s", &[("initial.state", "full")])?;
    let mut watch = |_: &f64| match lab.advance(0.0) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    Ok(calibrate(&mut *device, &calibration, &mut watch)?)
}

/// The plan that is predicted to be faster, with as many reads in flight as there are sub-queries.
fn chosen(model: &CostModel, times: &Times, query: &str, sub_queries: u32) -> String {
    let fetched = times.get(query, Join::Index, 1, PAPERS).misses as f64;
    let (pages, depth) = (f64::from(times.fact_pages), sub_queries);
    let index = Reads::Random { pages: fetched, band_pages: pages, depth };
    let hash = Reads::Scan { pages, request_bytes: READAHEAD, depth };
    let plans = [(Join::Index, index), (Join::Hash, hash)]
        .map(|(join, reads)| Plan { name: join.name().into(), reads: vec![reads] });
    compare(model, &plans)[0].0.name.clone()
}

fn figure(lab: &Lab<'_>, times: &Times, query: &str) -> Figure {
    let series = |join: Join| Series {
        name: format!("{} joins", join.name()),
        points: times.curve(lab, query, join),
        ..Series::default()
    };
    Figure {
        id: format!("fig9-{}", query.to_lowercase().replace('.', "-")),
        title: format!("SSD-S: {query} by index and by hash joins"),
        x: Axis::log("sub-queries", ""),
        y: Axis::linear("time of the query", "s"),
        series: [Join::Index, Join::Hash].map(series).into(),
        marks: Vec::new(),
        caption: "Queries of the Star Schema Benchmark, recorded on PostgreSQL 15.".into(),
    }
}
