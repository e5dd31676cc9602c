//! `flashlane.probe/1`: what is inside a drive, how sure that is, and what to do with it.

use super::{Kind, device_name, field_table, is_plain, items, object_table};
use crate::document::{Advice, Cell, Column, Document, Fact, Row, Table, Tone};
use crate::wording::{exact, percent, plain_name, plain_value};
use serde_json::Value;

pub(super) const KIND: Kind = Kind { schema: "flashlane.probe/1", document, singles: None };

/// The findings in the order in which a drive is explained, from its geometry outwards. Others follow by name.
const ORDER: &[&str] = &[
    "chunk_size_bytes",
    "page_size_bytes",
    "interleaving_degree",
    "sub_domains",
    "mapping_policy",
    "readahead_streams",
    "write_buffer_bytes",
    "reclaim_unit_bytes",
    "link_bandwidth_bytes_per_s",
    "command_cost_ns",
    "round_trip_ns",
    "read_write_slowdown",
];

/// The figures that show a finding.
const SHOWN: &[(&str, &[&str])] = &[
    ("chunk_size_bytes", &["chunk-size"]),
    ("interleaving_degree", &["pair-distance", "stride"]),
    ("sub_domains", &["stride"]),
    ("mapping_policy", &["mapping"]),
    ("readahead_streams", &["readahead"]),
    ("write_buffer_bytes", &["write-buffer"]),
    ("reclaim_unit_bytes", &["reclaim"]),
];

/// The findings that make the portrait.
const FACTS: usize = 7;

fn document(result: &Value) -> Document {
    let findings = findings(result);
    let sure = findings.iter().filter(|(_, finding)| status(finding) != Status::NotDetermined).count();
    let facts = findings.iter().take(FACTS).map(|(name, finding)| {
        let tone = if status(finding) == Status::NotDetermined { Tone::Muted } else { Tone::Plain };
        Fact::new(&plain_name(name), value(name, finding)).tone(tone)
    });
    let figures = SHOWN.iter().flat_map(|(_, figures)| figures.iter().copied());
    let mut tables = vec![finding_table(&findings).beside(figures)];
    tables.extend(recommendation(&result["recommendation"]));
    Document {
        kind: "Probe",
        title: device_name(&result["device"]),
        subtitle: "What the drive's timing shows of its inside".into(),
        headline: result["headline"].as_str().map(in_print).unwrap_or_default(),
        advice: items(&result["advice"]).map(|advice| advice_of(advice, &result["recommendation"])).collect(),
        summary: format!("{sure} of {} questions answered.", findings.len()),
        facts: facts.collect(),
        tables,
        ..Document::default()
    }
}

/// A piece of advice; one on a load comes with the command that measures it once more.
fn advice_of(advice: &Value, recommendation: &Value) -> Advice {
    let text = |key: &str| advice[key].as_str().unwrap_or_default();
    let point = &recommendation[text("about")];
    Advice {
        text: in_print(text("text")),
        evidence: in_print(text("evidence")),
        command: point["command"].as_str().unwrap_or_default().to_owned(),
    }
}

fn findings(result: &Value) -> Vec<(&String, &Value)> {
    let mut findings: Vec<_> = result["findings"].as_object().into_iter().flatten().collect();
    findings.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    findings
}

#[derive(Clone, Copy, PartialEq)]
enum Status {
    Found,
    Absent,
    NotDetermined,
}

fn status(finding: &Value) -> Status {
    match finding["status"].as_str() {
        Some("found") => Status::Found,
        Some("absent") => Status::Absent,
        // What this version cannot read has not been determined as far as it knows.
        _ => Status::NotDetermined,
    }
}

fn value(name: &str, finding: &Value) -> String {
    match status(finding) {
        Status::Found => plain_value(name, &finding["value"]),
        Status::Absent => "none".into(),
        Status::NotDetermined => "not determined".into(),
    }
}

fn finding_table(findings: &[(&String, &Value)]) -> Table {
    let row = |&(name, finding): &(&String, &Value)| {
        let (status, word, tone) = match status(finding) {
            Status::Found => ("found", "found", Tone::Good),
            Status::Absent => ("absent", "absent", Tone::Plain),
            Status::NotDetermined => ("not-determined", "not determined", Tone::Muted),
        };
        let shown = if status == "not-determined" { "–".into() } else { value(name, finding) };
        let confidence = match finding["confidence"].as_f64() {
            Some(confidence) if status != "not-determined" => percent(confidence),
            _ => "–".into(),
        };
        Row {
            cells: vec![
                Cell::exact(plain_name(name), name),
                Cell::exact(shown, exact(&finding["value"])),
                Cell::exact(word, status).tone(tone),
                Cell::exact(confidence, exact(&finding["confidence"])),
            ],
            note: in_print(&evidence(&finding["evidence"])),
            figures: shown_by(name).iter().map(|&id| id.into()).collect(),
        }
    };
    Table {
        title: "Findings".into(),
        columns: vec![
            Column::left("Finding", "name"),
            Column::left("Value", "value"),
            Column::left("Status", "status"),
            Column::right("Confidence", "confidence"),
        ],
        rows: findings.iter().map(row).collect(),
        note_key: "evidence",
        ..Table::default()
    }
}

fn shown_by(name: &str) -> &'static [&'static str] {
    SHOWN.iter().find(|(finding, _)| *finding == name).map_or(&[], |(_, figures)| figures)
}

/// The evidence in one line: a sentence as it is; an object by its own sentence, else its plain fields.
fn evidence(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            match ["summary", "text", "message"].iter().find_map(|key| value[*key].as_str()) {
                Some(sentence) => sentence.to_owned(),
                None => fields
                    .iter()
                    .filter(|(_, value)| is_plain(value))
                    .map(|(name, value)| {
                        format!("{} {}", plain_name(name).to_lowercase(), plain_value(name, value))
                    })
                    .collect::<Vec<_>>()
                    .join("; "),
            }
        }
        Value::Null => String::new(),
        other => plain_value("", other),
    }
}

/// Microseconds as print has them; results keep to ASCII.
fn in_print(evidence: &str) -> String {
    [" ", ",", ";", ".", ")"]
        .iter()
        .fold(evidence.to_owned(), |text, after| text.replace(&format!(" us{after}"), &format!(" µs{after}")))
}

/// One row a kind of work where the recommendation is given by work; one row a setting otherwise.
fn recommendation(value: &Value) -> Vec<Table> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    let objects = fields.iter().filter(|(_, value)| value.is_object());
    let points: Vec<(String, Value)> =
        objects.map(|(name, value)| (plain_name(name), numbers(value))).collect();
    let works = points.iter().map(|(name, value)| (name.clone(), value));
    let by_work = object_table("Recommendation", Column::left("For", "work"), works)
        .map(reasons_below)
        .map(|table| table.beside(["bandwidth"]));
    let general = field_table(if by_work.is_some() { "In general" } else { "Recommendation" }, fields);
    by_work.into_iter().chain(general).collect()
}

/// What a table shows of a recommendation; the rest is in its advice. One of another form is shown as it is.
fn numbers(point: &Value) -> Value {
    const SHOWN: [&str; 6] =
        ["request_bytes", "queue_depth", "bandwidth_bytes_per_s", "iops", "p50_ns", "p99_ns"];
    match point.as_object() {
        Some(fields) if fields.contains_key("p99_ns") => {
            let shown = fields.iter().filter(|(name, _)| SHOWN.contains(&name.as_str()));
            Value::Object(shown.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => point.clone(),
    }
}

/// A reason is a sentence: it stands below its row, like evidence.
fn reasons_below(mut table: Table) -> Table {
    if let Some(at) = table.columns.iter().position(|column| column.key == "reason") {
        table.columns.remove(at);
        for row in &mut table.rows {
            row.note = row.cells.remove(at).text;
        }
        table.note_key = "reason";
    }
    table
}
