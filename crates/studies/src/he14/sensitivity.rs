//! Section 5 and appendix D: number of chips, reserved space, recency region and epoch.

use super::method::{CAPACITIES, change_percent, pair};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "sensitivity",
    "Section 5.1: performance is rather stable for epochs of 30 seconds to 5 minutes. Drawn beside it: throughput by the number of chips, the reserve for GC and the recency region, which matters only where copies give way to others. TPC-C",
    measure,
)
.with_weight(28);

/// A parameter's value, the capacities without and with replication, settings of the drive and of replication.
type Point = (
    f64,
    [&'static str; 2],
    &'static [(&'static str, &'static str)],
    &'static [(&'static str, &'static str)],
);

/// The value that is usual is measured for the other figures.
const CHIPS: [Point; 4] = [
    (2.0, CAPACITIES, &[("flash.channels", "2"), ("flash.blocks", "16384")], &[("replication.copies", "2")]),
    (4.0, CAPACITIES, &[], &[]),
    (8.0, CAPACITIES, &[("flash.channels", "8"), ("flash.blocks", "4096")], &[]),
    (16.0, CAPACITIES, &[("flash.channels", "16"), ("flash.blocks", "2048")], &[]),
];
/// With copies the capacity is lower by a tenth of itself.
const RESERVE: [Point; 4] = [
    (10.0, CAPACITIES, &[], &[]),
    (15.0, ["3481MiB", "3165MiB"], &[], &[]),
    (20.0, ["3276MiB", "2979MiB"], &[], &[]),
    (25.0, ["3072MiB", "2792MiB"], &[], &[]),
];
const RECENCY: [Point; 3] = [
    (0.1, CAPACITIES, &[], &[("replication.options.recency", "0.1")]),
    (0.5, CAPACITIES, &[], &[]),
    (0.9, CAPACITIES, &[], &[("replication.options.recency", "0.9")]),
];
const EPOCH: [Point; 3] = [
    (30.0, CAPACITIES, &[], &[("replication.epoch", "30s")]),
    (60.0, CAPACITIES, &[], &[]),
    (300.0, CAPACITIES, &[], &[("replication.epoch", "300s")]),
];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    draw(lab, &mut outcome, "chips", Axis::log("chips", ""), &CHIPS)?;
    draw(lab, &mut outcome, "reserve", Axis::linear("flash reserved for GC", "%"), &RESERVE)?;
    draw(lab, &mut outcome, "recency", Axis::linear("recency region, share of the copies", ""), &RECENCY)?;
    let throughput = draw(lab, &mut outcome, "epoch", Axis::log("epoch", "s"), &EPOCH)?;
    let (least, most) =
        throughput.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &of| (least.min(of), most.max(of)));
    outcome.rows.push(row::at_most(
        "epochs of 30 s to 5 min: largest throughput over the least",
        "rather stable",
        change_percent(least, most),
        "%",
        10.0,
    ));
    Ok(outcome)
}

/// Draws throughput without and with replication; returns that with it.
fn draw(
    lab: &mut Lab<'_>,
    outcome: &mut Outcome,
    name: &str,
    x: Axis,
    points: &[Point],
) -> Result<Vec<f64>, FigureError> {
    let mut series =
        ["without replication", "replication"].map(|name| Series { name: name.into(), ..Series::default() });
    for &(value, capacities, settings, replication) in points {
        let lab = lab.part(2);
        let measured = pair(lab, capacities, settings, replication)?;
        for (series, measured) in series.iter_mut().zip(&measured) {
            series.points.push((value, measured.transactions_per_s));
        }
        lab.advance(1.0)?;
    }
    let with = series[1].points.iter().map(|point| point.1).collect();
    outcome.figures.push(Figure {
        id: format!("sensitivity-{name}"),
        title: format!("TPC-C by {name}"),
        x,
        y: Axis::linear("throughput", "transactions/s"),
        series: series.into(),
        ..Figure::default()
    });
    Ok(with)
}
