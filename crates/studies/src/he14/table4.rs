//! Table 4: extra writes.

use super::layered::{ALWAYS, ALWAYS_LRU, OFF, Runs, VECTOR, X25_E, extra_percent};
use super::method::WORKLOADS;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table4",
    "Section 5.3, on real drives: copies add 5.4 to 8.2% to the writes by lru and 3.5 to 5.4% by pblru, over 90% of them for blocked writes; the estimate W x P + R x P x [P > t] is off by 10 to 20%. Here the layer over simulated ones, without their write caches; it always copies",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for ssd in [&X25_E, &VECTOR] {
        let runs = Runs::of(lab, ssd);
        for workload in WORKLOADS {
            let name = format!("{}, {}", ssd.name, workload.name);
            let [lru, pblru] = [ALWAYS_LRU, ALWAYS].map(|form| runs.get(workload, OFF, form));
            let [by_lru, by_pblru] = [lru, pblru].map(extra_percent);
            let fewer = if by_pblru < by_lru { "pblru < lru" } else { "not fewer" };
            let quantity = format!("{name}: extra writes, {by_lru:.2}% by lru, {by_pblru:.2}% by pblru");
            outcome.rows.push(row::exact(&quantity, "pblru < lru", Some(fewer), ""));
            let quantity = format!("{name}: extra writes by pblru");
            outcome.rows.push(row::at_most(&quantity, "3.5-5.4", by_pblru, "%", 8.0));
            let copies = pblru.counted("copies_written");
            let for_writes = 100.0 * (1.0 - pblru.counted("copies_written_for_reads") / copies);
            outcome.rows.push(row::at_least(
                &format!("{name}: extra writes for blocked writes"),
                "over 90",
                for_writes,
                "%",
                90.0,
            ));
            let quantity = format!("{name}: extra writes by the estimate");
            outcome.rows.push(row::near(&quantity, pblru.counted("copies_expected"), copies, "pages", 0.2));
        }
    }
    Ok(outcome)
}
