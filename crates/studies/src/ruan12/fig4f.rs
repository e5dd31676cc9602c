//! Figure 4(f), the benchmarks: IOzone and PostMark, whose traces come with the simulator.
//!
//! They write in runs of 256 KB and more, and the packages of a run come in turn. In the order in which `lru` lets the
//! pages of 8 KB go, one queue is 0.6 and 1.5% slower than eight that never wait for each other, cleaning aside; so
//! whatever tells the policies apart by that order alone finds them as alike as sequential writes (figure 4(d)). The
//! paper's 27 and 45% need an `lru` that lets pages go later or fewer at a time, whatever their order is, and then
//! sequential writes are not alike: with one page for each that comes IOzone gains 40%, PostMark 11%, and sequential
//! writes 99%.
//!
//! With pages of 4 KB, the simulator's own default, drains are half as fast and cleanings, for which one queue waits one
//! after the other, more: IOzone gains 70%, PostMark 21%, but rw5m 94%, more than the paper's bound.

use super::method::{Buffer, compare, requests};
use super::workload::{IOZONE, POSTMARK};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, Verdict};
use flashlane_measure::schema::Warning;

pub(super) const FIGURE: FigureStudy = FigureStudy {
    id: "fig4f",
    claim: "Section IV.B: 1 MB: 27% less mean response time for IOzone and about 45% for PostMark; with --traces DIR, where DIR has the traces of DiskSim's SSD extension",
    measure,
};

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    for (program, published) in [(IOZONE, 27.0), (POSTMARK, 45.0)] {
        let Some(records) = requests(lab, &program, &mut outcome)? else { continue };
        let pair = compare(lab, Buffer::of(1), || records.iter().copied())?;
        let quantity = format!("{}: less mean response time by parallel", program.name);
        let row = Row::between(&quantity, published, pair.gain_percent(), "%", (20.0, 60.0));
        if row.verdict == Verdict::Missed {
            outcome.warnings.push(nearly_in_turn(program.name, pair.drains_longer()));
        }
        outcome.rows.push(row);
    }
    Ok(outcome)
}

fn nearly_in_turn(name: &str, longer: f64) -> Warning {
    Warning {
        code: "packages-come-nearly-in-turn".into(),
        message: format!(
            "fig4f: {name}: all drains together take {longer:.2} times as long by lru as by parallel: in the order in which its pages leave, the packages come nearly in turn, as with sequential writes, which figure 4(d) finds alike; an lru that let pages go one by one would lose more here, and as much there"
        ),
    }
}
