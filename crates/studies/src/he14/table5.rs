//! Table 5: a buffer pool that knows which pages are blocked, alone and with replication.

use super::layered::{CFLRU_E, LAYER, LAYER_CFLRU_E, OFF, PLAIN, Runs, VECTOR};
use super::method::{Measured, TPC_C, change_percent};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table5",
    "Section 5.4, TPC-C on a real drive: throughput +5% by CFLRU/E, +16% by replication, +18% by both; writes 90.5, 103.9 and 97.8% of those without. Writes are those of the pool and of the copies; here the layer over a simulated one, without its write cache",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let runs = Runs::of(lab, &VECTOR);
    let run = |form| runs.get(&TPC_C, OFF, form);
    let without = run(PLAIN);
    let forms = [CFLRU_E, LAYER, LAYER_CFLRU_E].map(|form| (form, run(form)));
    let writes = |of: &Measured| of.pool_writes as f64 + of.counted("copies_written");
    let gains =
        forms.map(|(name, of)| (name, change_percent(without.transactions_per_s, of.transactions_per_s)));
    let shares = forms.map(|(name, of)| (name, 100.0 * writes(of) / writes(without)));
    let mut outcome = Outcome::default();
    let order = |of: [(&'static str, f64); 3]| {
        let mut sorted = of;
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        sorted.map(|(name, _)| name).join(" < ")
    };
    let list = |of: [(&str, f64); 3]| of.map(|(name, value)| format!("{name} {value:.1}%")).join(", ");
    outcome.rows.push(row::exact(
        &format!("throughput: {}", list(gains)),
        &*[CFLRU_E, LAYER, LAYER_CFLRU_E].join(" < "),
        Some(&*order(gains)),
        "",
    ));
    outcome.rows.push(row::exact(
        &format!("writes: {}", list(shares)),
        &*[CFLRU_E, LAYER_CFLRU_E, LAYER].join(" < "),
        Some(&*order(shares)),
        "",
    ));
    let series = |name: &str, of: [(&str, f64); 3]| Series {
        name: name.into(),
        points: of.iter().zip(0..).map(|((_, value), x)| (f64::from(x), *value)).collect(),
        ..Series::default()
    };
    outcome.figures.push(Figure {
        id: "table5".into(),
        title: "A pool that avoids blocked pages, and replication".into(),
        x: Axis { names: forms.map(|(name, _)| name.into()).into(), ..Axis::linear("form", "") },
        y: Axis::linear("share of the drive without", "%"),
        series: vec![
            series("throughput", gains.map(|(name, gain)| (name, 100.0 + gain))),
            series("writes", shares),
        ],
        ..Figure::default()
    });
    Ok(outcome)
}
