//! Figure 4(f), the benchmarks: IOzone and PostMark, whose traces come with the simulator.

use super::method::{Buffer, compare, requests};
use super::workload::{IOZONE, POSTMARK};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row};

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
        outcome.rows.push(Row::between(&quantity, published, pair.gain_percent(), "%", (20.0, 60.0)));
    }
    Ok(outcome)
}
