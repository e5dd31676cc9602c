//! Replication beside today's remedies for accesses that GC blocks.

use super::method::{
    Measured, PACED_PBLRU, PACED_SUSPENDED, PBLRU, PREEMPTED, REBUILT, Runs, SPACE, SUSPENDED,
    SUSPENDED_PBLRU, WITH_PACED, WITH_PARITY, WITHOUT, WORKLOADS,
};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::study::{Table, TableRow};
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "rivals",
    "Section 5.4: other techniques are generally inferior to replication. The rivals are not the paper's, but those of today's drives: preemptible GC and suspended programs and erases, both with reads first, GC that is paced by the host's writes, and reads rebuilt from the parity of their row while its chips garbage-collect in turns, for which a quarter of the flash is parity",
    measure,
);

const FORMS: [&str; 11] = [
    WITHOUT,
    SPACE,
    PREEMPTED,
    SUSPENDED,
    WITH_PACED,
    PACED_SUSPENDED,
    WITH_PARITY,
    REBUILT,
    PBLRU,
    PACED_PBLRU,
    SUSPENDED_PBLRU,
];
/// Those without replication.
const RIVALS: [&str; 5] = [PREEMPTED, SUSPENDED, WITH_PACED, PACED_SUSPENDED, REBUILT];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for workload in WORKLOADS {
        let (name, runs) = (workload.name, Runs::of(lab, workload));
        let throughput = |form: &str| runs.get(form).transactions_per_s;
        let best = RIVALS
            .into_iter()
            .max_by(|a, b| throughput(a).total_cmp(&throughput(b)))
            .expect("there are rivals");
        outcome.rows.push(row::at_least(
            &format!("{name}: throughput by replication over that by the best rival, {best}"),
            "superior",
            throughput(PBLRU) / throughput(best),
            "x",
            1.0,
        ));
        outcome.figures.push(tails(name, &runs));
        outcome.tables.push(table(name, &runs));
    }
    Ok(outcome)
}

/// Draws response times at 50, 99 and 99.9%.
fn tails(name: &str, runs: &Runs) -> Figure {
    let series = ["p50", "p99", "p99.9"].into_iter().enumerate().map(|(at, quantile)| Series {
        name: quantile.into(),
        points: FORMS
            .iter()
            .zip(0..)
            .map(|(form, x)| (f64::from(x), runs.get(form).quantiles_ms[at]))
            .collect(),
        ..Series::default()
    });
    Figure {
        id: format!("rivals-{}", name.to_lowercase()),
        title: format!("{name}: response times on a fragmented drive"),
        x: Axis { names: FORMS.map(Into::into).into(), ..Axis::linear("form", "") },
        y: Axis::log("response time", "ms"),
        series: series.collect(),
        ..Figure::default()
    }
}

/// What each form gives and takes. The title says which is best at what.
fn table(name: &str, runs: &Runs) -> Table {
    let best = |number: fn(&Measured) -> f64| {
        FORMS.into_iter().min_by(|a, b| number(runs.get(a)).total_cmp(&number(runs.get(b)))).expect("forms")
    };
    let row = |form: &str| {
        let run = runs.get(form);
        let [p50, p99, p999] = run.quantiles_ms;
        let space = run.capacity_bytes as f64 / 1e9;
        let values = vec![run.transactions_per_s, p50, p99, p999, run.write_amplification(), space];
        TableRow { name: form.into(), values }
    };
    Table {
        figure: String::new(),
        title: format!(
            "{name}, the same transactions on forms of the drive: the highest throughput has {}, the lowest p99.9 {}",
            best(|run| -run.transactions_per_s),
            best(|run| run.quantiles_ms[2]),
        ),
        columns: ["Transactions/s", "p50 (ms)", "p99 (ms)", "p99.9 (ms)", "Write ampl.", "Capacity (GB)"]
            .map(Into::into)
            .into(),
        rows: FORMS.into_iter().map(row).collect(),
    }
}
