//! `flashlane.probe/1`: structure of a drive, with confidences and recommendations.

use super::probe_diagram::diagram_of;
use super::tail::{shown, with_reason};
use super::{Content, Reportable, named, part_table, scalar, sentence_of};
use crate::document::{Advice, Cell, Column, Comparable, Document, Fact, Row, Table, Tone};
use crate::format::{exact, percent, plain_name, plain_value};
use flashlane_result::WarningCode;
use flashlane_result::feature::Feature;
use flashlane_result::layouts::Layout;
use flashlane_result::probe::{Advice as ProbeAdvice, Finding, ProbeResult, Rate, Recommendation, Status};

impl Reportable for ProbeResult {
    fn content(&self) -> Content {
        Content(document_of(self))
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
        Feature::SlcCache => &["slc-cache"],
        Feature::MappingCacheReach => &["mapping-cache"],
        Feature::PageSize
        | Feature::LinkBandwidth
        | Feature::CommandCost
        | Feature::RoundTrip
        | Feature::ReadWriteSlowdown => &[],
    }
}

/// Number of findings shown as facts.
const FACTS: usize = 7;

fn document_of(result: &ProbeResult) -> Document {
    let findings: Vec<(Feature, &Finding)> =
        Feature::ALL.iter().filter_map(|&feature| Some((feature, result.finding(feature)?))).collect();
    let sure = findings.iter().filter(|(_, finding)| finding.status != Status::NotDetermined).count();
    let facts = findings.iter().take(FACTS).map(|(feature, finding)| {
        let tone = if finding.status == Status::NotDetermined { Tone::Muted } else { Tone::Plain };
        Fact::new(feature.title(), value(*feature, finding)).tone(tone)
    });
    let figures = Feature::ALL.iter().flat_map(|&feature| shown_by(feature).iter().copied());
    let mut tables = vec![finding_table(&findings).beside(figures)];
    tables.extend(layouts(result));
    tables.extend(recommendation(result));
    let advice = result.advice.iter().map(|advice| Advice {
        text: advice.text.clone(),
        evidence: advice.evidence.clone(),
        commands: commands(result, advice),
    });
    Document {
        kind: "Probe",
        title: result.device.name.clone(),
        subtitle: "What the drive's timing shows of its inside".into(),
        caution: why_nothing(result),
        headline: result.headline.clone(),
        advice: advice.collect(),
        diagram: diagram_of(result),
        summary: format!("{sure} of {} questions answered.", findings.len()),
        facts: facts.collect(),
        tables,
        ..Document::default()
    }
}

/// Returns why nothing is recommended, where there is no flash to be read; empty otherwise.
fn why_nothing(result: &ProbeResult) -> String {
    let not_written = result.warnings.iter().find(|warning| warning.code == WarningCode::NotWritten);
    not_written.filter(|_| result.recommendation.is_empty()).map(sentence_of).unwrap_or_default()
}

/// Returns the commands that measure a piece of advice again. Older results have them in the recommendation alone.
fn commands(result: &ProbeResult, advice: &ProbeAdvice) -> Vec<String> {
    if advice.repeat.is_empty() {
        return result
            .recommendation
            .get(&advice.about)
            .and_then(|point| point.command.clone())
            .into_iter()
            .collect();
    }
    advice.repeat.iter().filter_map(|repeat| repeat.command.clone()).collect()
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

/// Returns the layouts that fit the evidence, where there are several.
fn layouts(result: &ProbeResult) -> Option<Table> {
    let candidates = result.layout_candidates.as_ref().filter(|candidates| candidates.layouts.len() > 1)?;
    let row = |layout: &Layout| {
        let sub_domains = layout.sub_domains.map_or_else(|| "?".into(), |count| count.to_string());
        Row::new(vec![
            Cell::text(layout.domains.to_string()),
            Cell::exact(sub_domains, exact(&scalar(layout.sub_domains))),
            Cell::exact(percent(layout.odds), exact(&scalar(layout.odds))),
        ])
    };
    let mut rows: Vec<Row> = candidates.layouts.iter().map(row).collect();
    if let (Some(last), Some(experiment)) = (rows.last_mut(), &candidates.experiment) {
        last.note = format!("what would tell the first two apart: {experiment}");
    }
    Some(Table {
        title: "Layouts that fit what was measured".into(),
        columns: vec![
            Column::right("Domains", "domains"),
            Column::right("Sub-domains of each", "sub_domains"),
            Column::right("Odds", "odds"),
        ],
        rows,
        ..Table::default()
    })
}

/// Returns the numbers of each recommended workload; those of writes for each state of the drive.
fn recommendation(result: &ProbeResult) -> Option<Table> {
    let rates: Vec<(String, &Recommendation, &Rate)> =
        result.recommendation.iter().flat_map(|(load, point)| rates(plain_name(load), point)).collect();
    let numbers = |(name, point, rate): &(String, &Recommendation, &Rate)| {
        let fields = named([
            ("request_bytes", scalar(point.request_bytes)),
            ("queue_depth", scalar(point.queue_depth)),
            ("bandwidth_bytes_per_s", scalar(rate.bandwidth_bytes_per_s)),
            ("iops", scalar(rate.iops)),
            ("p50_ns", scalar(rate.p50_ns)),
            ("p99_ns", scalar(shown("p99", rate.p99_ns, rate.requests))),
        ]);
        (name.clone(), fields)
    };
    let table = part_table("Recommendation", Column::left("For", "work"), rates.iter().map(numbers))?;
    let table = with_reason(table, rates.iter().map(|(_, _, rate)| rate.requests));
    Some(Table { comparable: Comparable::Values { first: 0, labels: 1 }, ..table.beside(["bandwidth"]) })
}

/// Returns the rates of a recommended workload, each with the state of the drive that it holds for.
fn rates(name: String, point: &Recommendation) -> Vec<(String, &Recommendation, &Rate)> {
    let Some(writes) = &point.writes else { return vec![(name, point, &point.rate)] };
    let state = match (writes.cleaning, writes.steady) {
        (Some(false), _) if writes.fragmented.is_none() => "spare space left, sustained not measured",
        (Some(false), _) => "spare space left",
        (_, true) => "sustained",
        (_, false) => "not steady yet",
    };
    let mut rates = vec![(format!("{name}, {state}"), point, &point.rate)];
    rates.extend(writes.burst.as_ref().map(|burst| (format!("{name}, burst"), point, burst)));
    rates.extend(writes.fragmented.as_ref().map(|rate| {
        let state = if rate.steady { "fragmented, sustained" } else { "fragmented, not steady" };
        (format!("{name}, {state}"), point, rate)
    }));
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_result::probe::Writes;

    fn rate(bandwidth_bytes_per_s: f64) -> Rate {
        Rate {
            bandwidth_bytes_per_s,
            iops: 1000.0,
            p50_ns: 1e5,
            p99_ns: 2e5,
            p50_range_ns: None,
            p99_range_ns: None,
            p99_limits_ns: None,
            requests: 10_000,
            steady: true,
            workload: "random-write".into(),
        }
    }

    #[test]
    fn writes_have_a_row_for_each_state_of_the_drive() {
        let writes = Writes {
            steady: true,
            cleaning: Some(false),
            write_amplification: None,
            written_bytes: 0,
            stale_bytes: 0,
            filling_share: None,
            buffer_bytes: None,
            burst: Some(rate(132.6e6)),
            fragmented: Some(rate(4.1e6)),
            fragmented_filling_share: None,
        };
        let point = Recommendation {
            request_bytes: 4096,
            queue_depth: 2,
            queue_depth_max: None,
            rate: rate(80.8e6),
            range_bytes_per_s: None,
            p99_bound_ns: None,
            more_may_be_better: false,
            state: "never-written".into(),
            area_bytes: None,
            command: None,
            writes: Some(writes),
            reason: String::new(),
        };
        let rows: Vec<(String, f64)> = rates("Random write".into(), &point)
            .into_iter()
            .map(|(name, _, rate)| (name, rate.bandwidth_bytes_per_s))
            .collect();
        let expected = [
            ("Random write, spare space left", 80.8e6),
            ("Random write, burst", 132.6e6),
            ("Random write, fragmented, sustained", 4.1e6),
        ];
        assert_eq!(rows, expected.map(|(name, rate)| (name.to_owned(), rate)));
        let mut quick = point;
        quick.writes.as_mut().unwrap().fragmented = None;
        let rows = rates("Random write".into(), &quick);
        assert_eq!(rows[0].0, "Random write, spare space left, sustained not measured");
    }
}
