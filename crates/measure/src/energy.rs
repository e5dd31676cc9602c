//! The energy of a measurement: what a device counted, and its power over that time.

use flashlane_base::{Duration, Instant};
use flashlane_device::{Counters, Device, PowerCurve};
use flashlane_result::energy::EnergyRow;
use flashlane_result::{Axis, Figure, Series};

/// Power over the time of a measurement.
#[derive(Clone, Debug)]
pub struct Power {
    /// Length of a window.
    pub window: Duration,
    /// The mean power, in watts, of each window within the measurement, with the time of its middle since it began.
    pub watts: Vec<(Duration, f64)>,
}

/// Returns the power of a device between two times; `None` where it does not count energy.
pub(crate) fn power(device: &dyn Device, from: Instant, to: Instant) -> Option<Power> {
    let curve: PowerCurve = device.power_curve()?;
    let watts = curve.between(from, to).into_iter().map(|(at, watts)| (at.since(from), watts));
    Some(Power { window: curve.window, watts: watts.collect() })
}

/// Converts the energy of a measurement of `requests` that moved `bytes` in `elapsed`; `None` where none was counted.
pub(crate) fn energy_row(
    counters: &Counters,
    power: Option<&Power>,
    (requests, bytes): (u64, u64),
    elapsed: Duration,
) -> Option<EnergyRow> {
    let power = power?;
    let joules = |nj: u64| nj as f64 / 1e9;
    let total_j = joules(counters.get(Counters::ENERGY)?);
    let name =
        |counter: &str| counter.strip_prefix(Counters::ENERGY_OF)?.strip_suffix("_nj").map(str::to_owned);
    let uses = counters.0.iter().filter(|(_, nj)| *nj > 0);
    let per = |count: u64, scale: f64| (count > 0).then(|| total_j * scale / count as f64);
    Some(EnergyRow {
        total_j,
        by_use_j: uses.filter_map(|&(counter, nj)| Some((name(counter)?, joules(nj)))).collect(),
        mean_w: total_j / elapsed.as_s_f64().max(1e-9),
        peak_w: power.watts.iter().map(|(_, watts)| *watts).reduce(f64::max),
        window_s: power.window.as_s_f64(),
        per_request_mj: per(requests, 1e3),
        per_gb_j: per(bytes, 1e9),
    })
}

/// Points drawn at most: where there are more windows, each is the mean of several.
const POINTS: usize = 1_000;

/// Draws power over time; `None` where fewer than two windows are known.
pub(crate) fn power_over_time(power: Option<&Power>) -> Option<Figure> {
    let Power { window, watts } = power.filter(|power| power.watts.len() > 1)?;
    let together = watts.len().div_ceil(POINTS);
    let points = watts.chunks(together).map(|windows| {
        let sum: f64 = windows.iter().map(|(_, watts)| watts).sum();
        (windows[0].0.as_s_f64(), sum / windows.len() as f64)
    });
    Some(Figure {
        id: "power-over-time".into(),
        title: "Power over time".into(),
        x: Axis::linear("time", "s"),
        y: Axis::linear("power", "W"),
        series: vec![Series { name: "power".into(), points: points.collect(), ..Series::default() }],
        marks: Vec::new(),
        caption: format!("The mean of each {}.", *window * together as u64),
    })
}
