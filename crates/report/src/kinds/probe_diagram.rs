//! The picture of a probed drive, from its findings.

use super::scalar;
use crate::diagram::{Certainty, DriveDiagram, Part};
use crate::format::plain_value;
use flashlane_result::feature::Feature;
use flashlane_result::probe::{Finding, ProbeResult, Status};

/// Confidence from which a finding is certain.
const CERTAIN: f64 = 0.9;

/// Returns the picture; `None` where nothing of the flash or its controller was found.
pub(super) fn diagram_of(result: &ProbeResult) -> Option<DriveDiagram> {
    let part = |feature, name| part_of(result.finding(feature), feature, name);
    let diagram = DriveDiagram {
        link: part(Feature::LinkBandwidth, "Link"),
        controller: [
            part(Feature::WriteBuffer, "Write buffer"),
            part(Feature::ReadaheadStreams, "Readahead streams"),
            part(Feature::MappingPolicy, "Mapping"),
        ],
        domains: part(Feature::InterleavingDegree, "Domains"),
        sub_domains: part(Feature::SubDomains, "Sub-domains"),
        chunk: part(Feature::ChunkSize, "Chunk"),
        page: part(Feature::PageSize, "Page"),
    };
    let flash = [&diagram.domains, &diagram.chunk, &diagram.page];
    let is_stated = |part: &Part| part.certainty != Certainty::Open;
    let has_any = flash.into_iter().chain(&diagram.controller).any(is_stated);
    has_any.then_some(diagram)
}

fn part_of(finding: Option<&Finding>, feature: Feature, name: &'static str) -> Part {
    let stated = finding.filter(|finding| finding.status != Status::NotDetermined);
    let Some(finding) = stated else {
        return Part { name, value: "?".into(), number: None, certainty: Certainty::Open };
    };
    let value = match finding.status {
        Status::Absent => "none".into(),
        _ => plain_value(feature.name(), &scalar(&finding.value)),
    };
    let certainty = if finding.confidence >= CERTAIN { Certainty::Certain } else { Certainty::Likely };
    Part { name, value, number: finding.number(), certainty }
}
