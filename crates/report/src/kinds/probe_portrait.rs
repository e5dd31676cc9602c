//! The picture of a probed drive, from its findings.

use super::scalar;
use crate::format::plain_value;
use crate::portrait::{Certainty, Part, Portrait};
use flashlane_result::feature::Feature;
use flashlane_result::probe::{Finding, ProbeResult, Status};

/// Confidence from which a finding is certain.
const CERTAIN: f64 = 0.9;

/// Returns the picture; `None` where nothing of the flash or its controller was found.
pub(super) fn portrait_of(result: &ProbeResult) -> Option<Portrait> {
    let part = |feature, name| part_of(result.finding(feature), feature, name);
    let portrait = Portrait {
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
    let flash = [&portrait.domains, &portrait.chunk, &portrait.page];
    let is_stated = |part: &Part| part.certainty != Certainty::Open;
    let has_any = flash.into_iter().chain(&portrait.controller).any(is_stated);
    has_any.then_some(portrait)
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
