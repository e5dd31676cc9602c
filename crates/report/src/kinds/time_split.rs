//! The table of where the time of requests went, for runs and replays on simulated drives.

use super::time_cell;
use crate::document::{Cell, Column, Comparable, Row, Table};
use crate::format::{capitalised, number};
use flashlane_result::run::plural;
use flashlane_result::time_split::{BandRow, PartsRow, TimeSplitRow};

/// Returns the table, with the parts that took time; `None` where the device does not record them.
pub(super) fn time_split(operations: &[TimeSplitRow]) -> Option<Table> {
    let bands = || operations.iter().flat_map(|operation| &operation.bands);
    let takes_time = |part: &usize| bands().any(|band| band.parts_ns.times_ns()[*part] > 0.0);
    let parts: Vec<usize> = (0..PartsRow::NAMES.len()).filter(takes_time).collect();
    let has_several = operations.len() > 1;
    let mut rows = Vec::new();
    for operation in operations {
        for band in &operation.bands {
            rows.push(row(operation, band, &parts, has_several));
        }
    }
    if rows.is_empty() {
        return None;
    }
    let name = |part: &usize| {
        let key = PartsRow::NAMES[*part];
        Column::right(&capitalised(&key.replace('_', " ").replace("gc", "GC")), &format!("{key}_ns"))
    };
    let operation = has_several.then(|| Column::grouped("Operation", "operation"));
    let mut columns: Vec<Column> = operation.into_iter().collect();
    columns.push(Column::left("Requests", "band"));
    let comparable = Comparable::Values { first: 0, labels: columns.len() };
    columns.push(Column::right("Mean", "mean_ns"));
    columns.extend(parts.iter().map(name));
    Some(
        Table { title: "Where the time went".into(), columns, rows, comparable, ..Table::default() }
            .beside(["time-split"]),
    )
}

fn row(operation: &TimeSplitRow, band: &BandRow, parts: &[usize], has_several: bool) -> Row {
    let words = match band.band.strip_prefix('p') {
        Some(digits) => {
            let percentile: f64 = format!("0.{digits}").parse().unwrap_or_default();
            format!("around p{}", number((percentile * 1000.0).round() / 10.0))
        }
        None => band.band.clone(),
    };
    let times = band.parts_ns.times_ns();
    let cell = |part: &usize| time_cell((times[*part] > 0.0).then_some(times[*part]));
    let operation =
        has_several.then(|| Cell::exact(capitalised(&plural(&operation.operation)), &operation.operation));
    let cells = operation
        .into_iter()
        .chain([Cell::exact(words, &band.band), time_cell(Some(band.mean_ns))])
        .chain(parts.iter().map(cell));
    Row::new(cells.collect())
}
