//! `flashlane.transactions/1`: a recording of transactions on one device.

use super::over_time::{Slice, over_time};
use super::run::{counter_table, device_table, harness, mean, nonzero, statistics_table};
use super::tail::{p99_fact, shown, why_not};
use super::{Content, Reportable, caution, fact, field_table, fields, named, part_table, scalar, time_cell};
use crate::document::{Cell, Column, Document, Fact, Row, Table};
use crate::format::{capitalised, plain_value};
use flashlane_result::run::{OperationRow, plural};
use flashlane_result::transactions::{TransactionsResult, TransactionsSliceRow};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

impl Reportable for TransactionsResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(result: &TransactionsResult) -> Document {
    let response = &result.response_ns;
    let worst = result.worst_percent_ns.and_then(|worst| shown("p99", worst, result.transactions));
    let facts = [
        fact("transactions_per_s", "Transactions a second", result.transactions_per_s),
        Some(Fact { label: "Mean response time".into(), ..mean(response, result.confidence) }),
        Some(p99_fact("p99", response, result.transactions)),
        fact("worst_percent_ns", "Mean of the slowest 1%", worst),
        fact("transactions", "Transactions", result.transactions),
        fact("restarts", "Restarts", result.restarts.all),
        fact("hit_share", "Found in the pool", result.hit_share),
        fact("elapsed_s", "Elapsed", result.elapsed_s),
        harness(result.harness_ns_per_request, "a request"),
    ];
    let tables = [
        Some(responses(result).beside(["response-distribution", "response-over-time"])),
        part_table("Kinds of transactions", Column::left("Kind", "kind"), kinds(result)),
        requests(&result.operations),
        field_table(
            "Transactions",
            &punctuality(result)
                .into_iter()
                .chain(named([
                    ("accesses", scalar(result.accesses)),
                    ("lock_waits", scalar(result.lock_waits)),
                    ("restarts_after_a_deadlock", scalar(result.restarts.deadlock)),
                    ("restarts_after_a_long_lock_wait", scalar(result.restarts.lock_wait)),
                    ("transactions_of_the_warm_up", scalar(result.warmup)),
                ]))
                .collect(),
        ),
        over_time(result.over_time.slice_s, &result.over_time.slices, slice)
            .map(|table| table.beside(["throughput-over-time"])),
        result
            .recording
            .as_ref()
            .and_then(|recording| field_table("Recording", &nonzero_counts(fields(recording)))),
        counter_table(&result.device.counters),
        device_table(&result.device),
    ];
    Document {
        caution: caution(&result.warnings),
        kind: "Transactions",
        title: result.device.name.clone(),
        subtitle: subtitle(result),
        facts: facts.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
        ..Document::default()
    }
}

/// Returns how many transactions began late, where they had a time to begin.
fn punctuality(result: &TransactionsResult) -> Map<String, Value> {
    match result.speed {
        None => Map::new(),
        Some(_) => named([
            ("begun_late", scalar(result.late)),
            ("longest_delay_ns", scalar(result.longest_delay_ns)),
        ]),
    }
}

/// Leaves out transactions that the recorder left out, where there are none.
fn nonzero_counts(fields: Map<String, Value>) -> Map<String, Value> {
    let is_count = |name: &str| matches!(name, "aborted" | "cut");
    let (counts, mut rest): (Map<String, Value>, Map<String, Value>) =
        fields.into_iter().partition(|(name, _)| is_count(name));
    rest.extend(nonzero(counts));
    rest
}

/// Formats the recording, the clients and the pool.
fn subtitle(result: &TransactionsResult) -> String {
    let clients = match result.clients {
        1 => "1 client".to_owned(),
        clients => format!("{} clients", plain_value("", &scalar(clients))),
    };
    let clients = match result.speed {
        None => clients,
        Some(1.0) => format!("{clients} at recorded times"),
        Some(speed) => format!("{clients} at {} times the recorded speed", plain_value("", &scalar(speed))),
    };
    let pool_bytes = u64::from(result.pool_pages) * u64::from(result.page_bytes);
    let ahead = match result.readahead_bytes {
        0 => String::new(),
        bytes => format!(", readahead of {}", plain_value("_bytes", &scalar(bytes))),
    };
    let pool = format!(
        "a pool of {} pages ({}, {}{ahead})",
        plain_value("", &scalar(result.pool_pages)),
        plain_value("_bytes", &scalar(pool_bytes)),
        result.buffer
    );
    let recording = result.recording.iter().map(|recording| recording.name.clone());
    recording.chain([clients]).chain(processors(result)).chain([pool]).collect::<Vec<_>>().join(", ")
}

/// Formats the processors, where they are not as recorded.
fn processors(result: &TransactionsResult) -> Option<String> {
    let shared = result.processors.map(|count| match count {
        1 => "1 processor".to_owned(),
        count => format!("{count} processors"),
    });
    let slower = (result.cpu_factor != 1.0).then(|| {
        format!("{} times the recorded processor time", plain_value("", &scalar(result.cpu_factor)))
    });
    let both: Vec<String> = [shared, slower].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(", "))
}

fn responses(result: &TransactionsResult) -> Table {
    let all = ("All".to_owned(), "response_ns".to_owned(), &result.response_ns, result.transactions);
    let mut subjects = vec![all];
    for kind in result.kinds.iter().filter(|_| result.kinds.len() > 1) {
        subjects.push((
            capitalised(&kind.kind),
            format!("{}_ns", kind.kind),
            &kind.response_ns,
            kind.transactions,
        ));
    }
    statistics_table("Response time", &subjects)
}

/// Returns the numbers of each kind of transaction, where there are several.
fn kinds(result: &TransactionsResult) -> impl Iterator<Item = (String, Map<String, Value>)> {
    result.kinds.iter().filter(|_| result.kinds.len() > 1).map(|kind| {
        let fields = named([
            ("number", scalar(kind.transactions)),
            ("transactions_per_s", scalar(kind.transactions_per_s)),
            ("mean_ns", scalar(kind.response_ns.mean)),
        ]);
        (kind.kind.clone(), fields)
    })
}

/// Returns the requests to the device.
fn requests(operations: &BTreeMap<String, OperationRow>) -> Option<Table> {
    let row = |(name, row): (&String, &OperationRow)| {
        let latency = &row.latency_ns;
        let times = [
            Some(latency.mean),
            Some(latency.p50),
            shown("p99", latency.p99, row.requests),
            Some(latency.max),
        ];
        let head = [
            Cell::exact(capitalised(&plural(name)), name),
            super::cell("requests", row.requests),
            super::cell("iops", row.iops),
        ];
        let cells = head.into_iter().chain(times.map(time_cell)).collect();
        let reason = why_not("p99", row.requests);
        let note = if reason.is_empty() { reason } else { format!("p99 is {reason}") };
        Row { note, ..Row::new(cells) }
    };
    let columns = vec![
        Column::left("Requests to the device", "operation"),
        Column::right("Requests", "requests"),
        Column::right("A second", "iops"),
        Column::right("Mean", "mean_ns"),
        Column::right("p50", "p50_ns"),
        Column::right("p99", "p99_ns"),
        Column::right("Longest", "max_ns"),
    ];
    let rows: Vec<Row> = operations.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table { title: "Device".into(), columns, rows, ..Table::default() })
}

/// Returns a slice's numbers.
fn slice(row: &TransactionsSliceRow) -> Slice {
    let fields = named([
        ("number", scalar(row.transactions)),
        ("transactions_per_s", scalar(row.transactions_per_s)),
        ("mean_ns", scalar(row.mean_ns)),
        ("p99_ns", scalar(row.p99_ns.and_then(|p99| shown("p99", p99, row.transactions)))),
        ("max_ns", scalar(row.max_ns)),
    ]);
    Slice { from_s: row.from_s, requests: row.transactions, fields }
}
