//! Figures of the structure experiments.

use crate::mapping::Collisions;
use crate::pattern::Point;
use crate::stripe::Stripe;
use flashlane_result::{Axis, Figure, Mark, Series};

/// The curves of chen11 figure 2 for this drive: (sectors, curve); `period` is the chunk in sectors.
pub(crate) fn chunk(
    curves: Vec<(u64, Vec<Point>)>,
    sector: u64,
    offsets: usize,
    period: Option<u64>,
) -> Figure {
    let series = curves.into_iter().map(|(sectors, curve)| Series {
        name: if sectors == 1 { "1 sector".into() } else { format!("{sectors} sectors") },
        points: curve.iter().enumerate().map(|(k, p)| (k as f64, p.value)).collect(),
        ..Series::default()
    });
    let marks = period.into_iter().flat_map(|p| {
        (1..=offsets as u64 / p).map(move |i| Mark {
            x: (i * p) as f64,
            y: None,
            label: if i == 1 { "chunk boundary".into() } else { String::new() },
        })
    });
    Figure {
        id: "chunk-size".into(),
        title: "Latency of a small read against its offset".into(),
        x: Axis::linear("offset", &format!("sectors of {sector} B")),
        y: Axis::linear("latency", "us"),
        series: series.collect(),
        marks: marks.collect(),
        caption:
            "As chen11 figure 2: a read that crosses into the next chunk is served by two domains at once."
                .into(),
    }
}

/// Pair times by distance.
pub(crate) fn pair_distance(stripe: &Stripe) -> Figure {
    let period = stripe.first_level.map(|level| level.period);
    let shown = period.map_or(128, |p| (8 * p).max(40)).min(stripe.row.len());
    let value = |(i, p): (usize, &Point)| ((i + 1) as f64, p.value);
    Figure {
        id: "pair-distance".into(),
        title: "Two simultaneous reads, by their distance".into(),
        x: Axis::linear("distance", "chunks"),
        y: Axis::linear("time until both are done", "us"),
        series: vec![Series {
            name: "pairs".into(),
            points: stripe.row.iter().take(shown).enumerate().map(value).collect(),
            ..Series::default()
        }],
        marks: marks_every(period, shown),
        caption:
            "Pairs that share a channel wait for its bus; pairs that share a die wait for its array too."
                .into(),
    }
}

/// The curves of chen11 figure 3 for this drive: (jobs, curve).
pub(crate) fn stride(curves: Vec<(u32, Vec<f64>)>, strides: usize, degree: usize) -> Figure {
    let series = curves.into_iter().map(|(jobs, curve)| Series {
        name: format!("{jobs} jobs"),
        points: curve.iter().enumerate().map(|(i, b)| ((i + 1) as f64, *b)).collect(),
        ..Series::default()
    });
    Figure {
        id: "stride".into(),
        title: "Bandwidth of reads of one chunk at a common stride".into(),
        x: Axis::linear("stride", "chunks"),
        y: Axis::linear("bandwidth", "MB/s"),
        series: series.collect(),
        marks: marks_every(Some(degree), strides),
        caption: "As chen11 figure 3: the bandwidth dips where the stride keeps all jobs in one domain."
            .into(),
    }
}

/// The collisions that name the mapping policy.
pub(crate) fn mapping(c: &Collisions) -> Figure {
    let bar = |name: &str, at: f64, apart: f64| Series {
        name: name.into(),
        points: vec![(0.0, apart), (1.0, at)],
        ..Series::default()
    };
    Figure {
        id: "mapping".into(),
        title: "Pairs after a random overwrite: on different channels (0) or a whole stripe apart (1)".into(),
        x: Axis::linear("stripes apart", ""),
        y: Axis::linear("time until both are done", "us"),
        series: vec![
            bar("by address", c.by_address, c.by_address_apart),
            bar("by turn of writing", c.by_turn, c.by_turn_apart),
        ],
        marks: Vec::new(),
        caption: "As chen11 figure 4: the pairs that still collide name the mapping policy.".into(),
    }
}

fn marks_every(period: Option<usize>, reach: usize) -> Vec<Mark> {
    let Some(period) = period else { return Vec::new() };
    (1..=reach / period)
        .map(|i| Mark {
            x: (i * period) as f64,
            y: None,
            label: if i == 1 { format!("every {period}") } else { String::new() },
        })
        .collect()
}
