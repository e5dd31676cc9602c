//! The plot by which a reader checks the phases: uFLIP's figures 3 and 4.

use super::Phases;
use flashlane_result::{Axis, Figure, Mark, Series};

/// I/Os that are drawn one by one, and points of a curve.
const POINTS: usize = 2000;
/// Periods that are marked.
const MARKED: usize = 4;

/// Draws the response times of a run with its running averages, with and without the start-up, and marks where the
/// start-up ends and the first periods behind it. `id` and `title` are the figure's.
pub fn plot(id: &str, title: &str, latencies_ns: &[u64], phases: &Phases) -> Figure {
    let startup = phases.startup.requests;
    let mut series = vec![
        Series {
            name: "response time".into(),
            points: beginning(latencies_ns, phases),
            scatter: true,
            ..Series::default()
        },
        Series {
            name: "running average".into(),
            points: running_average(latencies_ns, 0),
            scatter: false,
            ..Series::default()
        },
    ];
    let mut marks = Vec::new();
    if startup > 0 {
        let points = running_average(latencies_ns, startup);
        series.push(Series {
            name: "running average without start-up".into(),
            points,
            scatter: false,
            ..Series::default()
        });
        marks.push(Mark { x: startup as f64, y: None, label: format!("start-up: {startup} I/Os") });
    }
    if let Some(period) = phases.period {
        let label =
            |round| if round == 1 { format!("period: {} I/Os", period.requests) } else { String::new() };
        marks.extend((1..=MARKED).map(|round| Mark {
            x: (startup + round * period.requests) as f64,
            y: None,
            label: label(round),
        }));
    }
    marks.retain(|mark| mark.x < latencies_ns.len() as f64);
    Figure {
        id: id.into(),
        title: title.into(),
        x: Axis::log("I/O", ""),
        y: Axis::log("response time", "us"),
        series,
        marks,
        caption: caption(phases),
    }
}

fn caption(phases: &Phases) -> String {
    let startup = match (phases.startup.requests, phases.startup.mean_ns) {
        (requests, Some(mean_ns)) if requests > 0 => {
            format!("A start-up of {requests} I/Os of {:.3} ms", mean_ns / 1e6)
        }
        _ => "No start-up".into(),
    };
    let period = match phases.period {
        Some(period) => format!("repeats itself every {} I/Os", period.requests),
        None => "has no period".into(),
    };
    format!("{startup}; the running phase, {:.3} ms on average, {period}.", phases.running_mean_ns / 1e6)
}

/// Single response times: the start-up and the first periods where there is room for them, else an even draw.
fn beginning(latencies_ns: &[u64], phases: &Phases) -> Vec<(f64, f64)> {
    let shown =
        phases.startup.requests + (MARKED + 1) * phases.period.map_or(POINTS, |period| period.requests);
    let shown = shown.max(POINTS).min(latencies_ns.len());
    // An expensive I/O among cheap ones must not fall through: of each part, the most expensive one.
    let step = shown.div_ceil(POINTS).max(1);
    let parts = latencies_ns[..shown].chunks(step).enumerate();
    let dearest = parts.filter_map(|(part, chunk)| {
        let (i, ns) = chunk.iter().enumerate().max_by_key(|(_, ns)| **ns)?;
        Some(((part * step + i + 1) as f64, *ns as f64 / 1e3))
    });
    dearest.collect()
}

/// The mean of all from the `from`-th on up to so many, at places that are even on a logarithmic axis.
fn running_average(latencies_ns: &[u64], from: usize) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let (mut sum, mut next) = (0.0, 1.0);
    for (i, ns) in latencies_ns.iter().enumerate().skip(from) {
        sum += *ns as f64;
        let count = (i + 1 - from) as f64;
        if count >= next || i + 1 == latencies_ns.len() {
            points.push(((i + 1) as f64, sum / count / 1e3));
            next = (count * 1.01).max(count + 1.0);
        }
    }
    points
}
