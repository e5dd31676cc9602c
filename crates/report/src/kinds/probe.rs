//! `flashlane.probe/1`: structure of a drive, with confidences and recommendations.

use super::tail::{shown, with_reason};
use super::{Content, Reportable, named, part_table, scalar};
use crate::document::{Advice, Cell, Column, Document, Fact, Row, Table, Tone};
use crate::format::{exact, percent, plain_name, plain_value};
use flashlane_result::feature::Feature;
use flashlane_result::probe::{Finding, ProbeResult, Recommendation, Status};
use serde_json::{Map, Value};

impl Reportable for ProbeResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

/// Returns the ids of the figures that show a finding.
fn shown_by(feature: Feature) -> &'static [&'static str] {
    match feature {
        Feature::ChunkSize => &["chunk-size"],
        Feature::InterleavingDegree => &["pair-distance", "stride"],
        Feature::SubDomains => &["stride"],
        Feature::MappingPolicy => &["mapping"],
        Feature::ReadaheadStreams => &["readahead"],
        Feature::WriteBuffer => &["write-buffer"],
        Feature::ReclaimUnit => &["reclaim"],
        Feature::PageSize
        | Feature::LinkBandwidth
        | Feature::CommandCost
        | Feature::RoundTrip
        | Feature::ReadWriteSlowdown => &[],
    }
}

/// Number of findings shown as facts.
const FACTS: usize = 7;

fn of(result: &ProbeResult) -> Document {
    let findings: Vec<(Feature, &Finding)> =
        Feature::ALL.iter().filter_map(|&feature| Some((feature, result.finding(feature)?))).collect();
    let sure = findings.iter().filter(|(_, finding)| finding.status != Status::NotDetermined).count();
    let facts = findings.iter().take(FACTS).map(|(feature, finding)| {
        let tone = if finding.status == Status::NotDetermined { Tone::Muted } else { Tone::Plain };
        Fact::new(feature.title(), value(*feature, finding)).tone(tone)
    });
    let figures = Feature::ALL.iter().flat_map(|&feature| shown_by(feature).iter().copied());
    let mut tables = vec![finding_table(&findings).beside(figures)];
    tables.extend(recommendation(result));
    let advice = result.advice.iter().map(|advice| Advice {
        text: advice.text.clone(),
        evidence: advice.evidence.clone(),
        // Advice on a workload includes the command that measures it again.
        command: result
            .recommendation
            .get(&advice.about)
            .and_then(|point| point.command.clone())
            .unwrap_or_default(),
    });
    Document {
        kind: "Probe",
        title: result.device.name.clone(),
        subtitle: "What the drive's timing shows of its inside".into(),
        headline: result.headline.clone(),
        advice: advice.collect(),
        summary: format!("{sure} of {} questions answered.", findings.len()),
        facts: facts.collect(),
        tables,
        ..Document::default()
    }
}

fn value(feature: Feature, finding: &Finding) -> String {
    match finding.status {
        Status::Found => plain_value(feature.name(), &scalar(&finding.value)),
        Status::Absent => "none".into(),
        Status::NotDetermined => "not determined".into(),
    }
}

fn finding_table(findings: &[(Feature, &Finding)]) -> Table {
    let row = |&(feature, finding): &(Feature, &Finding)| {
        let is_determined = finding.status != Status::NotDetermined;
        let (word, tone) = match finding.status {
            Status::Found => ("found", Tone::Good),
            Status::Absent => ("absent", Tone::Plain),
            Status::NotDetermined => ("not determined", Tone::Muted),
        };
        let (shown, confidence) = if is_determined {
            (value(feature, finding), percent(finding.confidence))
        } else {
            ("–".into(), "–".into())
        };
        Row {
            cells: vec![
                Cell::exact(feature.title(), feature.name()),
                Cell::exact(shown, exact(&scalar(&finding.value))),
                Cell::exact(word, exact(&scalar(finding.status))).tone(tone),
                Cell::exact(confidence, exact(&scalar(finding.confidence))),
            ],
            note: finding.evidence.clone(),
            figures: shown_by(feature).iter().map(|&id| id.into()).collect(),
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

/// Returns the numbers of each recommended workload.
fn recommendation(result: &ProbeResult) -> Option<Table> {
    let numbers = |(load, point): (&String, &Recommendation)| -> (String, Map<String, Value>) {
        let fields = named([
            ("request_bytes", scalar(point.request_bytes)),
            ("queue_depth", scalar(point.queue_depth)),
            ("bandwidth_bytes_per_s", scalar(point.rate.bandwidth_bytes_per_s)),
            ("iops", scalar(point.rate.iops)),
            ("p50_ns", scalar(point.rate.p50_ns)),
            ("p99_ns", scalar(shown("p99", point.rate.p99_ns, point.rate.requests))),
        ]);
        (plain_name(load), fields)
    };
    let table =
        part_table("Recommendation", Column::left("For", "work"), result.recommendation.iter().map(numbers))?;
    let table = with_reason(table, result.recommendation.values().map(|point| point.rate.requests));
    Some(table.beside(["bandwidth"]))
}
