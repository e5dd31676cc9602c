//! Figure 8: write latency on a drive that is almost full.

use super::clients::Run;
use super::drives::{CHANNELS, GEN3, MIB, OnChannel, on_channels, places, random, sequential};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "fig8",
    "Section 3.2: 28 GB written to drives that are almost full. Gen3, 8 MB at a time: 7 to 650 ms, 73 ms in the mean; 352 MB at a time: a spread of 25% around 2.94 s. SDF, 8 MB on each of 44 channels, with the erase before each: 383 ms with little variation. Gen3 is in the state of random overwriting, and is written at random places, one request at a time",
    measure,
)
.with_weight(112);

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let total = lab.either(28_000 * MIB, 8_000 * MIB);
    let blocks = lab.either(512, 256);
    let mut sdf = lab.device("sdf", &[("initial.state", "full")])?;
    let sdf = on_channels(lab.part(2), &mut *sdf, CHANNELS, OnChannel::Rewrites, total / (8 * MIB))?;
    let mut gen3 = GEN3.with(lab.part(5), blocks, 0.25, "fragmented")?;
    let small =
        random(lab.part(50), &mut *gen3, 1, 8 * MIB, total / (8 * MIB), &mut places(), Access::write)?;
    let mut gen3 = GEN3.with(lab.part(5), blocks, 0.25, "fragmented")?;
    let large = sequential(lab.part(50), &mut *gen3, 1, 352 * MIB, total / (352 * MIB), Access::write)?;

    let (of_sdf, of_small, of_large) = (Summary::of(&sdf), Summary::of(&small), Summary::of(&large));
    let rows = vec![
        row::between("SDF: mean latency", 383.0, of_sdf.mean, "ms", (350.0, 420.0)),
        row::at_most("SDF: standard deviation", "little variation", of_sdf.deviation_percent(), "%", 2.0),
        row::at_least("Gen3, 8 MB: largest over smallest", 93.0, of_small.most / of_small.least, "", 20.0),
        // Gen3 has no stricter target; the paper's point is that the spread shrinks with large requests.
        row::at_most(
            "Gen3, 352 MB: standard deviation over that of 8 MB",
            "less",
            of_large.deviation_percent() / of_small.deviation_percent(),
            "",
            0.5,
        ),
    ];
    let figures = [
        ("sdf", "SDF, 8 MB on 44 channels", sdf),
        ("gen3-8mb", "Huawei Gen3, 8 MB", small),
        ("gen3-352mb", "Huawei Gen3, 352 MB", large),
    ];
    let figures = figures.map(|(id, name, run)| latencies(id, name, &run));
    Ok(Outcome { rows, figures: figures.into(), ..Outcome::default() })
}

/// Latencies in ms.
struct Summary {
    least: f64,
    mean: f64,
    most: f64,
    deviation: f64,
}

impl Summary {
    fn of(run: &Run) -> Self {
        let all = run.latencies_ms();
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        Self {
            least: all.iter().copied().fold(f64::INFINITY, f64::min),
            mean,
            most: all.iter().copied().fold(0.0, f64::max),
            deviation: (all.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / n).sqrt(),
        }
    }

    fn deviation_percent(&self) -> f64 {
        100.0 * self.deviation / self.mean
    }
}

fn latencies(id: &str, name: &str, run: &Run) -> Figure {
    let Summary { least, mean, most, .. } = Summary::of(run);
    let points = run.latencies_ms().into_iter().enumerate().map(|(i, ms)| (i as f64, ms)).collect();
    Figure {
        id: format!("fig8-{id}"),
        title: format!("Latency of writes: {name}"),
        x: Axis::linear("write", ""),
        y: Axis::log("latency", "ms"),
        series: vec![Series { name: name.into(), points, scatter: true, ..Series::default() }],
        caption: format!("{least:.1} to {most:.0} ms, {mean:.0} ms in the mean."),
        ..Figure::default()
    }
}
