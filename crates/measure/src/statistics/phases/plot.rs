//! Plot of the phases: uFLIP's figures 3 and 4.

use super::Phases;
use flashlane_result::{Axis, Figure, Mark, Series};

/// Most single I/Os drawn, and points of a curve.
const POINTS: usize = 2000;
/// Periods marked.
const MARKED: usize = 4;

/// Draws the response times of a run with its running averages, with and without the start-up, and marks the end of the
/// start-up and the first periods after it. `id` and `title` are the figure's.
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

/// Returns single response times: of the start-up and the first periods where these fit, else the greatest of each
/// part.
fn beginning(latencies_ns: &[u64], phases: &Phases) -> Vec<(f64, f64)> {
    let shown =
        phases.startup.requests + (MARKED + 1) * phases.period.map_or(POINTS, |period| period.requests);
    let shown = shown.max(POINTS).min(latencies_ns.len());
    // The greatest of each part, so that an expensive I/O among cheap ones is not lost.
    let step = shown.div_ceil(POINTS).max(1);
    let parts = latencies_ns[..shown].chunks(step).enumerate();
    let greatest = parts.filter_map(|(part, chunk)| {
        let (i, ns) = chunk.iter().enumerate().max_by_key(|(_, ns)| **ns)?;
        Some(((part * step + i + 1) as f64, *ns as f64 / 1e3))
    });
    greatest.collect()
}

/// Returns the means of all I/Os since `from`, at points spaced evenly on a logarithmic axis.
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
