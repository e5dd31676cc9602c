//! The knee of a depth sweep: the depth beyond which more requests in flight gain little throughput and only wait.
//!
//! It is the smallest depth whose throughput is at least 95% of the highest measured, for each combination of the other
//! keys. Where that is the largest depth measured, there is no knee yet: more may be better. Where the intervals of
//! repetitions leave open which depth it is, the result says between which it lies. (Kleinrock, "Power and
//! deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979, takes the largest
//! quotient of throughput and latency; on a drive with many channels that depth gives far too little throughput.)

use crate::grid::{DEPTHS, Grid, SEED};
use flashlane_base::requests_needed;
use flashlane_result::sweep::{Knee, PointRow, PointSettings};

/// The share of the highest throughput that is enough.
const ENOUGH: f64 = 0.95;

/// Returns the knees of a sweep over a depth; empty where no depth is swept, or too few were measured.
pub(crate) fn knees(grid: &Grid, rows: &[PointRow]) -> Vec<Knee> {
    let Some(depth) = grid.depth_key() else { return Vec::new() };
    let key = &grid.keys()[depth];
    let Some((_, numbers)) = &key.numbers else { return Vec::new() };
    let mut curves: Vec<(PointSettings, Curve<'_>)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let (point, depth) = (row.point.without(&[&key.name, SEED]), numbers[grid.places(at)[depth]]);
        match curves.iter_mut().find(|(known, _)| *known == point) {
            Some((_, curve)) => curve.push((depth, row)),
            None => curves.push((point, vec![(depth, row)])),
        }
    }
    curves.into_iter().filter_map(|(point, curve)| knee(&key.name, point, &curve)).collect()
}

/// Rows by their depth.
type Curve<'a> = Vec<(f64, &'a PointRow)>;

fn knee(key: &str, point: PointSettings, curve: &[(f64, &PointRow)]) -> Option<Knee> {
    let mut depths: Vec<f64> = curve.iter().map(|(depth, _)| *depth).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    // A depth has several rows where the seed is swept.
    let mean = |depth: f64, of: &dyn Fn(&PointRow) -> Option<f64>| {
        let values = curve.iter().filter(|(other, _)| *other == depth).filter_map(|(_, row)| of(row));
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        (count > 0.0).then(|| sum / count)
    };
    let measured: Vec<(f64, f64)> = depths
        .into_iter()
        .filter_map(|depth| Some((depth, mean(depth, &|row| row.measures.iops)?)))
        .collect();
    if measured.len() < DEPTHS {
        return None;
    }
    let highest = measured.iter().map(|(_, iops)| *iops).fold(0.0, f64::max);
    let &(depth, iops) = measured.iter().find(|(_, iops)| *iops >= ENOUGH * highest)?;
    let is_at_edge = measured.last().is_some_and(|(last, _)| *last == depth);
    // Of one row each; means over rows of several seeds have no interval here.
    let half_width = |depth: f64| mean(depth, &|row| row.half_widths.get("iops").copied()).unwrap_or(0.0);
    let of_highest =
        measured.iter().find(|(_, iops)| *iops == highest).map_or(0.0, |(depth, _)| half_width(*depth));
    let spread = |depth: f64| half_width(depth).hypot(of_highest);
    let may_be = |&&(depth, iops): &&(f64, f64)| iops + spread(depth) >= ENOUGH * highest;
    let is_certain =
        |&&(depth, iops): &&(f64, f64)| iops == highest || iops - spread(depth) >= ENOUGH * highest;
    let ends = (measured.iter().find(may_be), measured.iter().find(is_certain));
    let range = match ends {
        (Some(&(first, _)), Some(&(last, _))) if first < last => Some([first, last]),
        _ => None,
    };
    let is_known = |row: &PointRow| row.measures.requests.is_some_and(|n| n >= requests_needed(0.99));
    let p99_ns = mean(depth, &|row| row.measures.p99_ns.filter(|_| is_known(row)));
    Some(Knee {
        key: key.into(),
        point,
        depth,
        iops,
        share: iops / highest.max(f64::MIN_POSITIVE),
        p99_ns,
        is_at_edge,
        range,
    })
}
