//! The cost model as plots.

use crate::CostModel;
use flashlane_base::units::format_bytes;
use flashlane_result::{Axis, Figure, Series};
use std::collections::BTreeMap;

/// Draws the time of a page by what is in flight: a curve for each band, and one for each size of scans' requests.
pub(crate) fn figures(model: &CostModel) -> Vec<Figure> {
    let page = model.page_bytes();
    let random = model.random().iter().map(|cost| (cost.band_pages * page, cost.depth, cost.page_ns));
    let scans = model.scans().iter().map(|cost| (cost.request_bytes, cost.depth, cost.page_ns));
    vec![
        figure("random-page", &format!("Time of a page of {} at random", format_bytes(page)), random),
        figure("scanned-page", &format!("Time of a page of {} in a scan", format_bytes(page)), scans),
    ]
}

fn figure(id: &str, title: &str, costs: impl Iterator<Item = (u64, u32, crate::Estimate)>) -> Figure {
    let mut curves: BTreeMap<u64, Series> = BTreeMap::new();
    for (bytes, depth, page_ns) in costs {
        let curve =
            curves.entry(bytes).or_insert_with(|| Series { name: format_bytes(bytes), ..Series::default() });
        curve.points.push((f64::from(depth), page_ns.mean / 1e3));
        curve.intervals.push((page_ns.low() / 1e3, page_ns.high() / 1e3));
    }
    Figure {
        id: id.into(),
        title: title.into(),
        x: Axis::log("in flight", "requests"),
        y: Axis::log("time of a page", "us"),
        series: curves.into_values().collect(),
        ..Figure::default()
    }
}
