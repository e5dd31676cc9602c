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

/// Settings of a parameter's values: its value, the chips, the capacities, settings of the drive and of replication.
type Point =
    (f64, u32, [&'static str; 2], Vec<(&'static str, &'static str)>, Vec<(&'static str, &'static str)>);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let chips: [Point; 4] = [
        (
            2.0,
            2,
            CAPACITIES,
            vec![("flash.channels", "2"), ("flash.blocks", "16384")],
            vec![("replication.copies", "2")],
        ),
        (4.0, 4, CAPACITIES, vec![], vec![]),
        (8.0, 8, CAPACITIES, vec![("flash.channels", "8"), ("flash.blocks", "4096")], vec![]),
        (16.0, 16, CAPACITIES, vec![("flash.channels", "16"), ("flash.blocks", "2048")], vec![]),
    ];
    draw(lab, &mut outcome, "chips", Axis::log("chips", ""), chips.into())?;
    // With copies the capacity is lower by a tenth of itself.
    let reserve = [
        (10.0, CAPACITIES),
        (15.0, ["3481MiB", "3165MiB"]),
        (20.0, ["3276MiB", "2979MiB"]),
        (25.0, ["3072MiB", "2792MiB"]),
    ];
    let reserve = reserve
        .map(|(percent, capacities)| (percent, 4, capacities, Vec::new(), Vec::new()))
        .into_iter()
        .collect();
    draw(lab, &mut outcome, "reserve", Axis::linear("flash reserved for GC", "%"), reserve)?;
    let recency = [("0.1", 0.1), ("0.5", 0.5), ("0.9", 0.9)];
    let recency = recency
        .map(|(text, value)| (value, 4, CAPACITIES, Vec::new(), vec![("replication.options.recency", text)]))
        .into_iter()
        .collect();
    draw(lab, &mut outcome, "recency", Axis::linear("recency region, share of the copies", ""), recency)?;
    let epochs = [("30s", 30.0), ("60s", 60.0), ("300s", 300.0)];
    let epochs = epochs
        .map(|(text, value)| (value, 4, CAPACITIES, Vec::new(), vec![("replication.epoch", text)]))
        .into_iter()
        .collect();
    let throughput = draw(lab, &mut outcome, "epoch", Axis::log("epoch", "s"), epochs)?;
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
    points: Vec<Point>,
) -> Result<Vec<f64>, FigureError> {
    let mut series =
        ["without replication", "replication"].map(|name| Series { name: name.into(), ..Series::default() });
    for (value, chips, capacities, settings, replication) in points {
        let lab = lab.part(2);
        let measured = pair(lab, chips, capacities, &settings, &replication)?;
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
