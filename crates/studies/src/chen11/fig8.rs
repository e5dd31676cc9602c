//! Figure 8: how much faster a query is in sub-queries.
//!
//! The gains of the scan and of hash joins depend on the processor time, an estimate: a figure shows how.

use super::queries::{Join, PAPERS, Times, factors, processor_time_estimated, queries};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig8",
    "Section 6.2: queries in sub-queries are up to 5 times as fast as index joins, up to twice as hash joins, and a scan without a join (Q0) is 1.4 times as fast",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let times = Times::of(lab);
    let best = |join, factor| {
        let of = queries(lab, join).iter().filter(|query| **query != "Q0");
        of.map(|query| times.speedup(lab, query, join, factor)).fold(0.0, f64::max)
    };
    let scan = |factor| times.speedup(lab, "Q0", Join::Hash, factor);
    let mut rows = vec![
        row::at_least("the best speedup of an index join", 5.0, best(Join::Index, PAPERS), "x", 3.0),
        row::between("the best speedup of a hash join", 2.0, best(Join::Hash, PAPERS), "x", (1.5, 2.5)),
        row::between("the speedup of Q0", 1.4, scan(PAPERS), "x", (1.1, 1.7)),
    ];
    let mut gains =
        [("index", best(Join::Index, PAPERS)), ("hash", best(Join::Hash, PAPERS)), ("Q0", scan(PAPERS))];
    gains.sort_by(|a, b| b.1.total_cmp(&a.1));
    let order = gains.map(|(name, _)| name).join(", ");
    rows.push(row::exact("most gain first", "index, hash, Q0", Some(order.as_str()), ""));
    let by_factor = |name: &str, speedup: &dyn Fn(f64) -> f64| Series {
        name: name.into(),
        points: factors(lab).iter().map(|&factor| (factor, speedup(factor))).collect(),
        ..Series::default()
    };
    let by_processor = Figure {
        id: "fig8-processor".into(),
        title: "SSD-S: the best speedups on slower processors".into(),
        x: Axis::linear("processor time, in times of the recorded", "x"),
        y: Axis::linear("speedup", "x"),
        series: vec![
            by_factor("index joins", &|factor| best(Join::Index, factor)),
            by_factor("hash joins", &|factor| best(Join::Hash, factor)),
            by_factor("Q0", &scan),
        ],
        marks: Vec::new(),
        caption: format!("The study takes {PAPERS} times."),
    };
    let [index, hash] = [Join::Index, Join::Hash].map(|join| figure(lab, &times, join));
    Ok(Outcome {
        rows,
        figures: vec![index, hash, by_processor],
        warnings: vec![processor_time_estimated()],
        ..Outcome::default()
    })
}

fn figure(lab: &Lab<'_>, times: &Times, join: Join) -> Figure {
    let series = |query: &&str| {
        let curve = times.curve(lab, query, join);
        let whole = curve[0].1;
        Series {
            name: (*query).into(),
            points: curve.into_iter().map(|(n, time)| (n, whole / time)).collect(),
            ..Series::default()
        }
    };
    let name = join.name();
    Figure {
        id: format!("fig8-{name}"),
        title: format!("SSD-S: queries as {name} joins, faster in sub-queries"),
        x: Axis::log("sub-queries", ""),
        y: Axis::linear("speedup", "x"),
        series: queries(lab, join).iter().map(series).collect(),
        marks: Vec::new(),
        caption: "Queries of the Star Schema Benchmark, recorded on PostgreSQL 15.".into(),
    }
}
