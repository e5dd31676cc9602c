//! The knee of a depth sweep: the depth beyond which more requests in flight gain little throughput and only wait.
//!
//! It is the smallest depth whose throughput is at least 95% of the highest measured, or does not differ from it, for
//! each combination of the other keys. Where that is the largest depth measured, there is no knee yet: more may be
//! better. Depths are compared with the best one as points are (module `compare`): in pairs of repetitions with the
//! same seed, at the level of all points. Where the intervals of the differences leave open which depth it is, the
//! result says between which it lies. (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
//! computer communications", ICC 1979, takes the largest quotient of throughput and latency; on a drive with many
//! channels that depth gives far too little throughput.)

use crate::compare::compare_among;
use crate::grid::{DEPTHS, Grid, SEED};
use crate::outcome::Outcome;
use flashlane_base::requests_needed;
use flashlane_result::sweep::{Compared, Knee, PointRow, PointSettings, Standing};

/// The largest difference from the highest throughput, as a share of it, with which a depth is enough.
const LITTLE: f64 = 0.05;

/// A depth of a curve.
struct Depth<'a> {
    depth: f64,
    /// Several where the seed is swept.
    rows: Vec<&'a PointRow>,
    /// Requests per second of each repetition.
    iops: Vec<Option<f64>>,
}

/// Returns the knees of a sweep over a depth; empty where no depth is swept, or too few were measured. `repetitions`
/// are the outcomes of each row, which are not random with `is_exact`, and count where the row is not in
/// `not_compared`.
pub(crate) fn knees(
    grid: &Grid,
    rows: &[PointRow],
    repetitions: &[Vec<&Outcome>],
    not_compared: &[bool],
    is_exact: bool,
) -> Vec<Knee> {
    let Some(depth) = grid.depth_key() else { return Vec::new() };
    let key = &grid.keys()[depth];
    let Some((_, numbers)) = &key.numbers else { return Vec::new() };
    let mut curves: Vec<(PointSettings, Vec<Depth<'_>>)> = Vec::new();
    for (at, (row, repetitions)) in rows.iter().zip(repetitions).enumerate() {
        let (point, depth) = (row.point.without(&[&key.name, SEED]), numbers[grid.places(at)[depth]]);
        let iops = repetitions.iter().map(|outcome| outcome.measures.iops.filter(|_| !not_compared[at]));
        let curve = match curves.iter().position(|(known, _)| *known == point) {
            Some(curve) => curve,
            None => {
                curves.push((point, Vec::new()));
                curves.len() - 1
            }
        };
        let curve = &mut curves[curve].1;
        match curve.iter_mut().find(|known| known.depth == depth) {
            Some(known) => {
                known.rows.push(row);
                known.iops.extend(iops);
            }
            None => curve.push(Depth { depth, rows: vec![row], iops: iops.collect() }),
        }
    }
    let is_measured = |depth: &Depth<'_>| depth.iops.iter().any(Option::is_some);
    for (_, curve) in &mut curves {
        curve.retain(is_measured);
        curve.sort_by(|a, b| a.depth.total_cmp(&b.depth));
    }
    let points = curves.iter().map(|(_, curve)| curve.len()).sum();
    curves.into_iter().filter_map(|(point, curve)| knee(&key.name, point, &curve, points, is_exact)).collect()
}

/// Returns the knee of a curve, whose depths rise; it is one of those of a sweep with `points` points.
fn knee(key: &str, point: PointSettings, curve: &[Depth<'_>], points: usize, is_exact: bool) -> Option<Knee> {
    if curve.len() < DEPTHS {
        return None;
    }
    let iops: Vec<Vec<Option<f64>>> = curve.iter().map(|depth| depth.iops.clone()).collect();
    let compared: Vec<Option<Compared>> = compare_among(points, &iops, true, is_exact);
    // Whether the loss is little with this part of its half-width added.
    let is_enough = |part: f64| {
        compared.iter().position(|compared| {
            compared.is_some_and(|of| {
                let is_alike = matches!(of.standing, Standing::Best | Standing::NoDifference);
                is_alike || of.difference + part * of.half_width.unwrap_or(0.0) <= LITTLE
            })
        })
    };
    let (first, at, last) = (is_enough(-1.0)?, is_enough(0.0)?, is_enough(1.0)?);
    let range = (first < last).then(|| [curve[first].depth, curve[last].depth]);
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        (count > 0.0).then(|| sum / count)
    };
    let means: Vec<f64> =
        curve.iter().filter_map(|depth| mean(&mut depth.iops.iter().flatten().copied())).collect();
    let highest = means.iter().copied().fold(0.0, f64::max);
    let is_known = |row: &&PointRow| row.measures.requests.is_some_and(|n| n >= requests_needed(0.99));
    let known = curve[at].rows.iter().copied().filter(is_known);
    Some(Knee {
        key: key.into(),
        point,
        depth: curve[at].depth,
        iops: means[at],
        share: means[at] / highest.max(f64::MIN_POSITIVE),
        p99_ns: mean(&mut known.filter_map(|row| row.measures.p99_ns)),
        is_at_edge: at + 1 == curve.len(),
        range,
    })
}
