//! The findings as a whole: whether they fit each other, and which layouts fit all of the evidence, with their odds.
//!
//! - *Layouts.* A found degree and found sub-domains are one layout. Where one is open, the number of dies or the
//!   distance at which chunks recur on a die bounds it: degree times sub-domains are the dies, and dies times planes
//!   that distance. All that these allow fit the evidence, and are equally likely as far as it goes. Domains of one die
//!   look like one domain of as many dies. Where no program showed the dies, chunks that recur may share a channel
//!   only, which is busy as a whole: then there are as many domains, whose sub-domains are not bounded.
//! - *Experiment.* Two layouts predict different things for pairs of requests at some distance, the shortest of which
//!   would tell them apart, by a wait for a bus.
//! - *Relations.* A chunk holds whole pages, a buffer at least one, and the stripe recurs after whole turns of all
//!   dies. Findings that do not meet one of these are taken back, all of them, as nothing tells which is wrong.

use crate::advice_text::Findings;
use crate::dies::PLANES_MAX;
use flashlane_result::feature::Feature;
use flashlane_result::layouts::{Layout, LayoutCandidates, Relation};
use flashlane_result::probe::Finding;

/// What the experiments show of the layout beside the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LayoutEvidence {
    /// Number of dies, where programs showed them.
    pub(crate) dies: Option<usize>,
    /// Shortest distance, in chunks, at which all pairs share a die, or seem to.
    pub(crate) period: Option<usize>,
}

/// Most domains.
const DOMAINS_MAX: u64 = 64;
/// Two measurements of one time differ by less than this factor.
const MEASURED: f64 = 1.1;
/// Most layouts that are named.
const LAYOUTS_MAX: usize = 12;
/// Confidence in evidence that bounds an open finding, as in the findings that it leads to.
const BOUNDED: f64 = 0.93;

/// Takes back findings that do not fit each other, and returns the layouts that fit the evidence.
pub(crate) fn reconcile(
    findings: &mut Findings,
    evidence: LayoutEvidence,
    capacity_bytes: u64,
) -> LayoutCandidates {
    let relations = relations(findings, evidence, capacity_bytes);
    for relation in relations.iter().filter(|relation| !relation.holds) {
        for feature in &relation.features {
            let why = format!("it does not fit other findings: {}", relation.text);
            findings.insert(*feature, Finding::not_determined(why));
        }
    }
    let layouts = layouts(findings, evidence);
    let experiment = match layouts[..] {
        [ref one, ref other, ..] => experiment(one, other),
        _ => None,
    };
    LayoutCandidates { layouts, experiment, relations }
}

fn number(findings: &Findings, feature: Feature) -> Option<u64> {
    findings.get(&feature).and_then(Finding::number)
}

fn relations(findings: &Findings, evidence: LayoutEvidence, capacity_bytes: u64) -> Vec<Relation> {
    let of = |feature| number(findings, feature);
    let mut all = Vec::new();
    let mut add = |features: &[Feature], holds: bool, text: String| {
        all.push(Relation { features: features.to_vec(), holds, text });
    };
    let (chunk, page) = (of(Feature::ChunkSize), of(Feature::PageSize));
    let (degree, sub_domains) = (of(Feature::InterleavingDegree), of(Feature::SubDomains));
    if let (Some(chunk), Some(page)) = (chunk, page) {
        let text = format!("a chunk of {chunk} bytes holds whole pages of {page}");
        add(&[Feature::ChunkSize, Feature::PageSize], chunk.is_multiple_of(page), text);
    }
    if let (Some(buffer), Some(page)) = (of(Feature::WriteBuffer), page) {
        let text = format!("a buffer of {buffer} bytes holds pages of {page}");
        add(&[Feature::WriteBuffer, Feature::PageSize], buffer >= page, text);
    }
    if let (Some(degree), Some(sub_domains)) = (degree, sub_domains) {
        let both = [Feature::InterleavingDegree, Feature::SubDomains];
        let dies = degree * sub_domains;
        if let Some(period) = evidence.period {
            let holds = (period as u64).is_multiple_of(degree);
            let text = format!("chunks recur on a die every {period}: whole turns of {degree} domains");
            add(&both, holds, text);
        }
        if let Some(chunk) = chunk {
            let text = format!(
                "a turn of {degree} times {sub_domains} dies, in chunks of {chunk} bytes, is within the drive"
            );
            add(&both, dies.saturating_mul(chunk) <= 2 * capacity_bytes, text);
        }
    }
    if let (Some(command), Some(round_trip)) =
        (factor(findings, Feature::CommandCost), factor(findings, Feature::RoundTrip))
    {
        let text = format!("a command of {command:.0} ns is part of a round trip of {round_trip:.0} ns");
        add(&[Feature::CommandCost, Feature::RoundTrip], command <= MEASURED * round_trip, text);
    }
    all
}

fn factor(findings: &Findings, feature: Feature) -> Option<f64> {
    findings.get(&feature).and_then(Finding::factor)
}

/// Returns the layouts that fit, the likeliest first.
fn layouts(findings: &Findings, evidence: LayoutEvidence) -> Vec<Layout> {
    let confidence = |feature| findings.get(&feature).map_or(0.0, |finding| finding.confidence);
    let degree = number(findings, Feature::InterleavingDegree);
    let sub_domains = number(findings, Feature::SubDomains);
    let (all, odds) = match (degree, sub_domains) {
        // Each die has its domain, or all share one.
        (Some(degree), Some(1)) if degree > 1 => {
            let both = [Feature::InterleavingDegree, Feature::SubDomains].map(confidence);
            let stated = both[0].min(both[1]);
            return vec![
                Layout { domains: degree, sub_domains: Some(1), odds: stated },
                Layout { domains: 1, sub_domains: Some(degree), odds: 1.0 - stated },
            ];
        }
        (Some(degree), Some(sub_domains)) => {
            let both = [Feature::InterleavingDegree, Feature::SubDomains].map(confidence);
            (vec![(degree, Some(sub_domains))], both[0].min(both[1]))
        }
        (Some(degree), None) => {
            let all = bounded(evidence, |domains| domains == degree);
            // Dies that seem to be as many are channels.
            let is_bounded =
                !all.is_empty() && all.iter().all(|(_, sub_domains)| sub_domains.is_some_and(|n| n > 1));
            (if is_bounded { all } else { vec![(degree, None)] }, confidence(Feature::InterleavingDegree))
        }
        (None, _) => (bounded(evidence, |_| true), BOUNDED),
    };
    if all.len() > LAYOUTS_MAX {
        return Vec::new();
    }
    let each = odds / all.len().max(1) as f64;
    all.into_iter().map(|(domains, sub_domains)| Layout { domains, sub_domains, odds: each }).collect()
}

/// Returns the domains and sub-domains that dies, or the distance at which chunks recur, allow.
fn bounded(evidence: LayoutEvidence, is_possible: impl Fn(u64) -> bool) -> Vec<(u64, Option<u64>)> {
    let of_dies = |dies: u64| {
        (1..=dies.min(DOMAINS_MAX))
            .filter(move |domains| dies.is_multiple_of(*domains))
            .map(move |domains| (domains, dies / domains))
    };
    let mut all: Vec<(u64, u64)> = match (evidence.dies, evidence.period) {
        (Some(dies), _) => of_dies(dies as u64).collect(),
        (None, Some(period)) => (1..=PLANES_MAX as u64)
            .filter(|planes| (period as u64).is_multiple_of(*planes))
            .flat_map(|planes| of_dies(period as u64 / planes))
            .collect(),
        (None, None) => Vec::new(),
    };
    all.retain(|(domains, _)| is_possible(*domains));
    all.sort_unstable_by_key(|(domains, sub_domains)| std::cmp::Reverse((*domains, *sub_domains)));
    all.dedup();
    let may_be_channels = |domains: u64| evidence.dies.is_none() && evidence.period == Some(domains as usize);
    all.into_iter()
        .map(|(domains, sub_domains)| match sub_domains {
            1 if may_be_channels(domains) => (domains, None),
            _ => (domains, Some(sub_domains)),
        })
        .collect()
}

/// Returns the experiment that tells two layouts apart; `None` where they look alike from outside.
fn experiment(one: &Layout, other: &Layout) -> Option<String> {
    let alike = |layout: &Layout| layout.domains == 1 || layout.sub_domains == Some(1);
    if one.domains != other.domains {
        // A bus that all share, and one for each, are never waited for by some pairs more than by others.
        if alike(one) && alike(other) {
            return None;
        }
        let distance = one.domains.min(other.domains).max(2);
        let distance = if distance == one.domains.max(other.domains) { 1 } else { distance };
        let (shares, not) =
            match one.domains != 1 && distance.is_multiple_of(one.domains) || other.domains > one.domains {
                true => (one.domains, other.domains),
                false => (other.domains, one.domains),
            };
        return Some(format!(
            "two reads or writes on different dies, {distance} apart in turn, wait for one bus with {shares} domains, and for none \
             with {not}: pairs whose transfers take longer than their commands, and enough of them, tell"
        ));
    }
    let (few, many) = (one.sub_domains?.min(other.sub_domains?), one.sub_domains?.max(other.sub_domains?));
    let distance = one.domains * few;
    Some(format!(
        "two pages written at once to chunks {distance} apart take two programs with {few} sub-domains a domain, and one with {many}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_result::probe::Status;

    fn findings(values: &[(Feature, u64)]) -> Findings {
        values.iter().map(|(feature, value)| (*feature, Finding::found(*value, 0.9, "seen"))).collect()
    }

    fn pairs(candidates: &LayoutCandidates) -> Vec<(u64, Option<u64>)> {
        candidates.layouts.iter().map(|layout| (layout.domains, layout.sub_domains)).collect()
    }

    #[test]
    fn findings_of_a_whole_are_one_layout() {
        let mut found = findings(&[
            (Feature::ChunkSize, 16384),
            (Feature::PageSize, 4096),
            (Feature::InterleavingDegree, 6),
            (Feature::SubDomains, 4),
        ]);
        let evidence = LayoutEvidence { dies: Some(24), period: Some(48) };
        let candidates = reconcile(&mut found, evidence, 1 << 30);
        assert_eq!(pairs(&candidates), [(6, Some(4))]);
        assert_eq!((candidates.layouts[0].odds, candidates.experiment), (0.9, None));
        assert!(candidates.relations.iter().all(|relation| relation.holds), "{:?}", candidates.relations);
    }

    #[test]
    fn open_channels_are_divisors_of_the_dies() {
        let evidence = LayoutEvidence { dies: Some(12), period: Some(24) };
        let candidates = reconcile(&mut findings(&[]), evidence, 1 << 30);
        assert_eq!(pairs(&candidates).len(), 6);
        assert_eq!(pairs(&candidates)[1], (6, Some(2)));
        let sum: f64 = candidates.layouts.iter().map(|layout| layout.odds).sum();
        assert!((sum - BOUNDED).abs() < 1e-9);
        let experiment = candidates.experiment.unwrap();
        assert!(
            experiment.contains("6 apart in turn") && experiment.contains("none with 12"),
            "{experiment}"
        );
    }

    #[test]
    fn planes_leave_the_sub_domains_open() {
        let mut found = findings(&[(Feature::InterleavingDegree, 4)]);
        let recurs = |period| LayoutEvidence { dies: None, period: Some(period) };
        let candidates = reconcile(&mut found.clone(), recurs(4), 1 << 30);
        assert_eq!(pairs(&candidates), [(4, None)], "chunks that recur share a channel");
        let candidates = reconcile(&mut found, recurs(64), 1 << 30);
        assert_eq!(pairs(&candidates), [(4, Some(16)), (4, Some(8)), (4, Some(4))]);
        assert!(candidates.experiment.unwrap().contains("32 apart take two programs with 8"));
    }

    #[test]
    fn one_die_a_domain_looks_like_one_domain() {
        let mut found = findings(&[(Feature::InterleavingDegree, 8), (Feature::SubDomains, 1)]);
        let candidates = reconcile(&mut found, LayoutEvidence::default(), 1 << 30);
        assert_eq!(pairs(&candidates), [(8, Some(1)), (1, Some(8))]);
        assert_eq!(candidates.experiment, None);
        // The stated one has the confidence of the findings.
        assert_eq!(candidates.layouts[0].odds, found[&Feature::InterleavingDegree].confidence);
        assert!((candidates.layouts[1].odds - 0.1).abs() < 1e-9, "{candidates:?}");
    }

    #[test]
    fn findings_that_do_not_fit_are_taken_back() {
        let mut found = findings(&[(Feature::ChunkSize, 12288), (Feature::PageSize, 8192)]);
        let candidates = reconcile(&mut found, LayoutEvidence::default(), 1 << 30);
        assert!(!candidates.relations[0].holds);
        let is_open = |feature| found[&feature].status == Status::NotDetermined;
        assert!(is_open(Feature::ChunkSize) && is_open(Feature::PageSize));
        assert!(found[&Feature::PageSize].evidence.contains("8192"));
    }
}
