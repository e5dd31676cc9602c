//! The table of a run over time, in slices of equal length.

use super::tail::with_reason;
use super::{part_table, scalar};
use crate::document::{Column, Table};
use crate::format::plain_value;
use serde_json::{Map, Value};

/// Most rows of the table; the plots include every slice.
const ROWS: usize = 16;

/// A row of the table.
pub(super) struct Slice {
    /// Its begin, in seconds from the run's begin.
    pub from_s: f64,
    /// Requests, or transactions, that determine whether its p99 is shown.
    pub requests: u64,
    /// Its numbers, by name.
    pub fields: Map<String, Value>,
}

/// Returns a table with up to [`ROWS`] of the slices of `slice_s` seconds, evenly spaced; `None` without slices.
pub(super) fn over_time<S>(slice_s: f64, slices: &[S], slice: impl Fn(&S) -> Slice) -> Option<Table> {
    let step = slices.len().div_ceil(ROWS).max(1);
    let rows: Vec<Slice> = slices.iter().step_by(step).map(slice).collect();
    let requests: Vec<u64> = rows.iter().map(|row| row.requests).collect();
    let width = plain_value("slice_s", &scalar(slice_s));
    let title = match step {
        1 => format!("Over time, {width} each"),
        step => format!("Over time, {width} each, one of every {step}"),
    };
    let parts = rows.into_iter().map(|row| (plain_value("from_s", &scalar(row.from_s)), row.fields));
    let table = part_table(&title, Column::right("From", "from_s"), parts)?;
    Some(with_reason(table, requests.into_iter()))
}
