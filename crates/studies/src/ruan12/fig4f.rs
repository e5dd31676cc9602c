//! Figure 4(f), the benchmarks: IOzone and PostMark, whose traces come with the simulator.
//!
//! They write in runs of 256 KB and more, whose pages go to the packages in turn: in this drain order one queue is
//! hardly slower than eight independent ones, except for GC. `lru` is slower because it drains an eighth as many pages
//! at once and waits for them. With PostMark, where 83% of the requests are reads, its reads gain from this: they wait
//! 0.63 ms with `lru` and 0.82 with `parallel`, while its writes take 10.4 and 8.1 ms.
//!
//! An `lru` that drains one page for each page that arrives would differ by 40% with IOzone and by 11% with PostMark.
//! With batches that begin before the last has ended, PostMark gains 24 to 30%, and IOzone 60 to 64%.

use super::method::{Buffer, compare, requests};
use super::workload::{IOZONE, POSTMARK};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Verdict, row};
use flashlane_result::Warning;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig4f",
    "Section IV.B: 1 MB: 27% less mean response time for IOzone and about 45% for PostMark; with --traces DIR, where DIR has the traces of DiskSim's SSD extension; by lru an eighth as many pages leave at once: those of one list",
    measure,
);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for (program, published) in [(IOZONE, 27.0), (POSTMARK, 45.0)] {
        let Some(records) = requests(lab, &program, &mut outcome)? else { continue };
        let pair = compare(lab, Buffer::of(1), || records.iter().copied())?;
        let quantity = format!("{}: less mean response time by parallel", program.name);
        let row = row::between(&quantity, published, pair.gain_percent(), "%", (20.0, 60.0));
        if row.verdict == Verdict::Missed {
            outcome.warnings.push(nearly_in_turn(program.name, pair.drains_longer()));
        }
        outcome.rows.push(row);
    }
    Ok(outcome)
}

fn nearly_in_turn(name: &str, longer: f64) -> Warning {
    Warning::new(
        "packages-come-nearly-in-turn",
        format!(
            "fig4f: {name}: all drains together take {longer:.2} times as long by lru as by parallel: in the order in which its pages leave, the packages come nearly in turn"
        ),
    )
}
