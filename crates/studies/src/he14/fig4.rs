//! Figure 4: throughput and mean response time.

use super::method::{Measured, PBLRU, RESTORED, Runs, WITHOUT, WORKLOADS, change_percent};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series, Warning};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig4",
    "Section 5.2: fragmentation costs TPC-C 71% of its throughput and doubles its response time; replication raises throughput by 176%, so that 64% of the loss returns. The others are similar. Transactions of PostgreSQL 15 on a drive of which 2.2 to 2.6 GB are the database, in a closed loop, where response time rises as throughput falls",
    measure,
);

/// The forms of a drive that are compared.
const FORMS: [&str; 3] = [RESTORED, WITHOUT, PBLRU];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let mut measured = Vec::new();
    for workload in WORKLOADS {
        let name = workload.name;
        let runs = Runs::of(lab, workload);
        let [restored, without, with] = FORMS.map(|form| runs.get(form).clone());
        let throughput = |of: &Measured| of.transactions_per_s;
        let lost = -change_percent(throughput(&restored), throughput(&without));
        outcome.rows.push(row::at_least(
            &format!("{name}: throughput lost by fragmentation"),
            if name == "TPC-C" { "71" } else { "similar" },
            lost,
            "%",
            50.0,
        ));
        let returned = 100.0 * (throughput(&with) - throughput(&without))
            / (throughput(&restored) - throughput(&without));
        outcome.rows.push(row::at_least(
            &format!("{name}: share of the loss that replication returns"),
            if name == "TPC-C" { "64" } else { "similar" },
            returned,
            "%",
            50.0,
        ));
        if returned < 50.0 {
            outcome.warnings.push(Warning::new("replication-returns-less", explain(name, &without, &with)));
        }
        measured.push([restored, without, with]);
    }
    outcome.figures = figures(&measured);
    Ok(outcome)
}

/// Draws what was measured of each workload in each of [`FORMS`].
fn figures(measured: &[[Measured; 3]]) -> Vec<Figure> {
    let names: Vec<String> = WORKLOADS.iter().map(|workload| workload.name.into()).collect();
    let draw = |id: &str, title: &str, y: Axis, value: fn(&Measured) -> f64| Figure {
        id: id.into(),
        title: title.into(),
        x: Axis { names: names.clone(), ..Axis::linear("workload", "") },
        y,
        series: FORMS
            .iter()
            .enumerate()
            .map(|(at, form)| Series {
                name: (*form).into(),
                points: measured.iter().zip(0..).map(|(of, x)| (f64::from(x), value(&of[at]))).collect(),
                ..Series::default()
            })
            .collect(),
        ..Figure::default()
    };
    let (throughput, response) =
        (Axis::log("throughput", "transactions/s"), Axis::log("mean response time", "ms"));
    vec![
        draw("fig4-throughput", "Throughput", throughput, |of| of.transactions_per_s),
        draw("fig4-response", "Mean response time", response, |of| of.mean_ms),
    ]
}

/// Says what keeps replication from returning more.
fn explain(name: &str, without: &Measured, with: &Measured) -> String {
    format!(
        "{name}: replication changes throughput by {:+.0}%. The chips handle requests for {:.0}% of the time without it and {:.0}% with it, garbage-collect for {:.0}% and {:.0}%, and write amplification goes from {:.2} to {:.2}: copies are writes, too, and GC moves those that are kept. {:.0} copies were written, {:.0} were dropped because their chip was never idle for long enough; {:.0} reads of flash pages were answered by a copy",
        change_percent(without.transactions_per_s, with.transactions_per_s),
        without.busy_percent,
        with.busy_percent,
        without.collecting_percent,
        with.collecting_percent,
        without.write_amplification(),
        with.write_amplification(),
        with.counted("copies_written"),
        with.counted("copies_dropped"),
        with.counted("reads_answered_by_copies"),
    )
}
