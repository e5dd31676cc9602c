//! Figure 2: the chunk. Small reads at growing offsets; those that cross into the next chunk are served by two
//! domains at once and faster.

use super::method::{AREA, fill};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, row};
use flashlane_probe::chunk;
use flashlane_probe::pattern::{self, Point};
use flashlane_result::{Axis, Figure, Mark, Series};

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig2",
    "Section 4.2: reads of 2 to 8 sectors dip every 8 sectors, a chunk of 4 KB; those of 1 sector are flat",
    measure,
);

/// Request sizes, in sectors.
const SIZES: [u64; 4] = [1, 2, 4, 8];
const OFFSETS: usize = 64;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let repetitions = lab.either(1000, 300);
    let curves = lab.experiment("ssd-s", &[], |bench| {
        fill(bench, AREA.length_bytes)?;
        SIZES.map(|sectors| chunk::curve(bench, AREA, sectors, OFFSETS, repetitions)).into_iter().collect()
    })?;
    let curves: Vec<Vec<Point>> = curves;
    let mut rows: Vec<Row> = SIZES[1..]
        .iter()
        .zip(&curves[1..])
        .map(|(sectors, curve)| {
            let quantity = format!("distance of valleys, reads of {sectors} sectors");
            row::exact(&quantity, 8_usize, chunk::valley_distance(curve), "sectors of 512 B")
        })
        .collect();
    let one = &curves[0];
    rows.push(row::exact(
        "distance of valleys, reads of 1 sector",
        "none",
        chunk::valley_distance(one),
        "sectors of 512 B",
    ));
    let (least, most) =
        one.iter().fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), p| (a.min(p.value), b.max(p.value)));
    // Of 65 values that differ by chance alone the highest and the lowest lie about five standard errors apart.
    let unevenness = (most - least) / pattern::typical_error(one);
    rows.push(row::at_most(
        "highest over lowest latency, reads of 1 sector",
        "flat",
        unevenness,
        "standard errors",
        8.0,
    ));
    Ok(Outcome { rows, figures: vec![figure(&curves)], ..Outcome::default() })
}

fn figure(curves: &[Vec<Point>]) -> Figure {
    let points = |curve: &[Point]| curve.iter().enumerate().map(|(k, p)| (k as f64, p.value)).collect();
    Figure {
        id: "fig2".into(),
        title: "Detecting the chunk size on SSD-S".into(),
        x: Axis::linear("offset", "sectors of 512 B"),
        y: Axis::linear("latency", "us"),
        series: SIZES
            .iter()
            .zip(curves)
            .map(|(sectors, curve)| Series {
                name: format!("{sectors} sector{}", if *sectors == 1 { "" } else { "s" }),
                points: points(curve),
                scatter: false,
                ..Series::default()
            })
            .collect(),
        // The valley of a read of 8 sectors that is halved by a chunk's end.
        marks: (0..OFFSETS / 8)
            .map(|i| Mark {
                x: (8 * i + 4) as f64,
                y: None,
                label: if i == 0 { "every 8 (published)".into() } else { String::new() },
            })
            .collect(),
        caption: "A read that crosses from one chunk into the next is faster; the valleys lie a chunk apart."
            .into(),
    }
}
