//! Findings and recommendations as advice in sentences, each with its evidence.

use crate::area::MeasuredArea;
use crate::choice::Choice;
use crate::drive_state::DriveState;
use crate::load::Load;
use crate::options::Medium;
use crate::point_measurement::{is_stable, is_stable_latency, is_timed};
use flashlane_base::units::{format_bytes, format_rate, typed_bytes};
use flashlane_base::{Duration, requests_needed};
use flashlane_result::feature::Feature;
use flashlane_result::probe::{
    Advice, FULL, Finding, ProbeResult, Rate, Recommendation, Repeat, Status, Writes,
};
use std::collections::BTreeMap;

pub(crate) type Findings = BTreeMap<Feature, Finding>;
type Recommendations = BTreeMap<String, Recommendation>;

/// Findings that show flash.
const STRUCTURE: [Feature; 5] = [
    Feature::ChunkSize,
    Feature::PageSize,
    Feature::InterleavingDegree,
    Feature::SubDomains,
    Feature::MappingPolicy,
];

const WRITES: &str = "Random writes";

/// Fewest requests of a burst that a command repeats: among fewer, one merge or GC decides the rate.
const BURST_REPEATED_MIN: u64 = 32;

/// Formats a latency.
fn latency(ns: f64) -> String {
    Duration::from_ns(ns.round() as u64).to_string()
}

/// Formats a rate of requests of a size.
fn speed(bytes_per_s: f64, request_bytes: u64) -> String {
    match is_timed(bytes_per_s, request_bytes) {
        true => format_rate(bytes_per_s),
        false => "faster than can be timed".into(),
    }
}

/// States why a point was chosen.
pub(crate) fn reason(load: Load, choice: &Choice, bound: Option<Duration>) -> String {
    let best = match load {
        Load::RandomWrite => choice.best_bytes_per_s,
        // The chosen point was measured again, and may be faster than what seemed best.
        _ => choice.best_bytes_per_s.max(choice.measured.bandwidth_bytes_per_s),
    };
    let [rate, best] =
        [choice.cell.bytes_per_s, best].map(|bytes_per_s| speed(bytes_per_s, choice.cell.request_bytes));
    let mut text = match (bound, load) {
        (Some(bound), _) if choice.measured.requests < requests_needed(0.99) => format!(
            "the greatest bandwidth, within 2%, whose slowest requests seem to be within {bound}, of too few to tell their p99 \
             (--full takes longer)"
        ),
        (Some(bound), _) if choice.measured.longest_p99_ns() > bound.as_ns() as f64 => {
            format!(
                "no number in flight is certain to keep p99 within {bound}, and this one has the shortest"
            )
        }
        (Some(bound), _) => format!("the greatest bandwidth, within 2%, whose p99 is within {bound}"),
        // The sustained rate is measured later than those compared, on a drive with less spare space.
        (None, Load::RandomWrite) => format!(
            "the fewest bytes in flight that gave 90% or more of the best in short measurements, {rate} of {best}"
        ),
        (None, _) => format!("the fewest bytes in flight that give 90% or more of the best measured, {best}"),
    };
    match (choice.deeper_may_be_better, choice.larger_may_be_better) {
        (true, true) => text += ", at the most and largest requests that were tried: more may be better",
        (true, false) => text += ", at the most requests in flight that were tried: more may be better",
        (false, true) => text += ", at the largest requests that were tried: larger ones may be better",
        (false, false) => {}
    }
    text
}

/// States how a point was measured, and where.
pub(crate) fn conditions(choice: &Choice, measured_area: MeasuredArea, state: DriveState) -> String {
    let mut text = format!("; confirmed by {} requests over ", choice.measured.requests);
    text += &match (measured_area, state.name()) {
        (MeasuredArea::Filled(area), _) => {
            format!("the first {}, which the probe had written in order", format_bytes(area.length_bytes))
        }
        (MeasuredArea::FullDrive { .. }, _) => {
            "the whole of a drive of this kind that is full of data".into()
        }
        (_, "written") => "the whole drive, which had been written before".into(),
        (_, "never-written") => "the whole drive, which had never been written".into(),
        (_, "partly-written") => format!(
            "the whole drive, of which {:.0}% had never been written",
            100.0 * state.never_written_share.unwrap_or_default()
        ),
        (_, _) => "the whole drive, of which it is not known whether it was ever written".into(),
    };
    text
}

/// States the conditions of a rate of writes, and its limits.
pub(crate) fn of_writes(writes: &Writes, rate: f64, capacity_bytes: u64) -> String {
    let mut text =
        format!("; {} were written at random in several sizes by then", format_bytes(writes.written_bytes));
    text += &match writes.buffer_bytes {
        Some(bytes) => format!(", against a write buffer of {}", format_bytes(bytes)),
        None => String::new(),
    };
    if let Some(share) = writes.filling_share {
        text += &format!(
            "; emptying the drive's buffer then took {:.0}% as long as these writes: it may have been filling all along, and \
             flash may sustain only {}",
            100.0 * share,
            format_rate(rate / (1.0 + share))
        );
    }
    text += match writes.steady {
        true => "; steady by SNIA's rule over five rounds",
        false if writes.filling_share.is_some() => "",
        false if writes.written_bytes < writes.stale_bytes => {
            "; the probe's other experiments may have left more than that stale, which a drive reclaims at no cost, so it \
             may be slower in the long run (--full takes longer)"
        }
        false => {
            "; five rounds are not steady by SNIA's rule within the probe's budget (--full takes longer)"
        }
    };
    text += &match (writes.cleaning, writes.write_amplification) {
        (Some(true), Some(amplification)) => {
            format!("; GC ran, at a write amplification of {amplification:.2}")
        }
        (Some(false), _) => {
            "; the drive had spare space and no GC ran, so it is slower in the long run".into()
        }
        _ if writes.written_bytes < 2 * capacity_bytes => format!(
            "; of {} only so much was overwritten: a drive that is in use for longer may be slower",
            format_bytes(capacity_bytes)
        ),
        _ => String::new(),
    };
    text
}

/// States that no point meets the bound, or none for certain; `choice` is the nearest one, measured under `conditions`.
pub(crate) fn bound_missed(
    load: Load,
    bound: Duration,
    choice: &Choice,
    measured_area: MeasuredArea,
    conditions: &str,
) -> Advice {
    let Choice { cell, measured, .. } = choice;
    // A further measurement may keep it, as some of these may have.
    let certainty = if measured.shortest_p99_ns() > bound.as_ns() as f64 { "" } else { " for certain" };
    Advice {
        about: load.name().into(),
        text: format!(
            "{} of {}: no number in flight keeps p99 within {bound}{certainty}",
            load.title(),
            format_bytes(cell.request_bytes)
        ),
        evidence: format!(
            "the shortest p99 is {}, with {} in flight at {}{conditions}",
            p99_of(&Rate::from(measured)),
            cell.depth,
            speed(measured.bandwidth_bytes_per_s, cell.request_bytes)
        ),
        repeat: vec![repeat(choice, measured_area)],
    }
}

/// States that requests took no time that could be measured: a rate of them would mean nothing.
pub(crate) fn untimed(
    load: Load,
    choice: &Choice,
    bound: Option<Duration>,
    measured_area: MeasuredArea,
) -> Advice {
    let Choice { cell, measured, .. } = choice;
    let kept = bound.filter(|bound| measured.longest_p99_ns() <= bound.as_ns() as f64);
    Advice {
        about: load.name().into(),
        text: format!(
            "{} of {}: faster than can be timed, so that no number in flight is better than another{}",
            load.title(),
            format_bytes(cell.request_bytes),
            kept.map_or_else(String::new, |bound| format!("; p99 is within the {bound} asked for"))
        ),
        evidence: format!(
            "{} requests took less than {} in all",
            measured.requests,
            Duration::from_ns(measured.requests)
        ),
        repeat: vec![repeat(choice, measured_area)],
    }
}

fn repeat(choice: &Choice, measured_area: MeasuredArea) -> Repeat {
    Repeat {
        state: (!matches!(measured_area, MeasuredArea::Whole { .. })).then(|| FULL.to_owned()),
        workload: choice.measured.workload.clone(),
        command: None,
    }
}

/// Returns all advice, the most important first; `early` was reported by the stages.
pub(crate) fn advice(
    findings: &Findings,
    recommendations: &Recommendations,
    early: Vec<Advice>,
    medium: Medium,
) -> Vec<Advice> {
    let mut advice: Vec<Advice> = about_medium(findings, medium).into_iter().collect();
    advice.extend(early);
    for (load, title) in [("random_read", "Random reads"), ("scan", "Scans"), ("random_write", WRITES)] {
        advice.extend(recommendations.get(load).map(|point| of_load(load, title, point)));
    }
    advice.extend(about_alignment(findings));
    advice.extend(about_extents(findings));
    advice.extend(about_mixing(findings));
    advice
}

/// Adds the rate of writes of another drive of this kind, filled and overwritten at random. `filling_share` is as
/// [`Writes::fragmented_filling_share`].
pub(crate) fn enter_fragmented(result: &mut ProbeResult, rate: Rate, filling_share: Option<f64>) {
    let Some(point) = result.recommendation.get_mut("random_write") else { return };
    let Some(writes) = point.writes.as_mut() else { return };
    (writes.fragmented, writes.fragmented_filling_share) = (Some(rate), filling_share);
    let updated = of_load("random_write", WRITES, point);
    if let Some(advice) = result.advice.iter_mut().find(|advice| advice.about == updated.about) {
        *advice = updated;
    }
}

/// Summarizes the advice in one line.
pub(crate) fn headline(findings: &Findings, recommendations: &Recommendations) -> String {
    let mut parts = Vec::new();
    if let Some(read) = recommendations.get("random_read") {
        let requests = if at_least(read) == "1" { "request" } else { "requests" };
        // Within a bound, writes may need another number, or have none.
        let whose = if read.p99_bound_ns.is_some() { "for random reads, " } else { "" };
        parts.push(format!("{whose}use {} {requests} in flight", at_least(read)));
    }
    match (recommendations.get("random_read"), alignment(findings)) {
        (Some(read), Some(unit)) if read.request_bytes.is_multiple_of(unit) => {
            parts.push(format!("{} aligned to {}", format_bytes(read.request_bytes), format_bytes(unit)));
        }
        (Some(read), Some(unit)) => {
            let [size, unit] = [read.request_bytes, unit].map(format_bytes);
            parts.push(format!(
                "{size} at a time, though multiples of {unit}, aligned to {unit}, are recommended"
            ));
        }
        (Some(read), None) => parts.push(format!("{} at a time", format_bytes(read.request_bytes))),
        _ => {}
    }
    if let Some((extent, _, _)) = extent(findings) {
        parts.push(format!("keep extents of {} together", format_bytes(extent)));
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// Returns the number of requests in flight, and whether more serve as well, where the drive takes more.
fn at_least(point: &Recommendation) -> String {
    let takes_more = point.queue_depth_max.is_none_or(|most| most > point.queue_depth);
    match point.p99_bound_ns {
        None if takes_more => format!("{} or more", point.queue_depth),
        _ => point.queue_depth.to_string(),
    }
}

fn of_load(load: &str, title: &str, point: &Recommendation) -> Advice {
    let size = format_bytes(point.request_bytes);
    let mut text = format!("{title}: {size} at a time, {} in flight: ", at_least(point));
    match &point.writes {
        None => {
            let rate = format_rate(point.rate.bandwidth_bytes_per_s);
            let latencies = percentiles(&point.rate) + &bound_verdict(point, &point.rate);
            text += &format!("{rate}, {latencies}{}", bound_open(point, &point.rate));
        }
        Some(writes) => {
            text += &written(point, writes);
            text += "; no write waits for a flush, as commits do: fsync=1 in the workload measures them";
        }
    }
    text += &point.range_bytes_per_s.map_or_else(String::new, spread);
    if point.more_may_be_better {
        text += "; more may be better";
    }
    let (repeat, without_repeat) = repeats(point);
    let evidence = point.reason.clone() + &unstable_latency(&point.rate) + &without_repeat;
    Advice { about: load.into(), text, evidence, repeat }
}

/// States the rates of writes: of a burst, sustained, and on a fragmented drive.
fn written(point: &Recommendation, writes: &Writes) -> String {
    let mut text = String::new();
    if let Some(burst) = &writes.burst {
        let bytes = format_bytes(burst.requests * point.request_bytes);
        let rate = format_rate(burst.bandwidth_bytes_per_s);
        text += &match writes.buffer_bytes {
            Some(_) => format!("{rate} for a burst of {bytes}, then "),
            None => format!("{rate} for a burst of at least {bytes}, whose end was not reached, then "),
        };
    }
    let rate = format_rate(point.rate.bandwidth_bytes_per_s);
    let latencies = percentiles(&point.rate) + &bound_verdict(point, &point.rate);
    text += &match (writes.cleaning, writes.steady) {
        _ if writes.filling_share.is_some() => {
            format!("{rate} ({latencies}) while a large buffer may have been filling")
        }
        (Some(false), _) => {
            format!("{rate} ({latencies}) as long as spare space lasts{}", not_sustained(point, writes))
        }
        (_, true) => {
            format!("{rate} ({latencies}) sustained after {} of writes", format_bytes(writes.written_bytes))
        }
        (_, false) => format!("{rate} ({latencies}), not steady yet"),
    };
    text += &bound_open(point, &point.rate);
    if let Some(fragmented) = &writes.fragmented {
        text += &of_fragmented(point, fragmented, writes.fragmented_filling_share);
        text += &bound_open(point, fragmented);
        text += for_fragmented(point, fragmented);
    }
    text
}

/// Says that the rate without spare space was not measured, and how to measure it, where that is so.
fn not_sustained(point: &Recommendation, writes: &Writes) -> String {
    if writes.fragmented.is_some() {
        return String::new();
    }
    format!(
        "; the sustained rate was not measured and may be much lower: flashlane run DEVICE \
         random-write,size={},depth={},precondition=steady measures it",
        typed_bytes(point.request_bytes),
        point.queue_depth
    )
}

/// Returns what repeats the measurements of a point, and why nothing repeats one of them, if so.
fn repeats(point: &Recommendation) -> (Vec<Repeat>, String) {
    let mut without_repeat = String::new();
    let of_rate = |rate: &Rate, state| Repeat { state, workload: rate.workload.clone(), command: None };
    let filled = || point.initial_state().map(str::to_owned);
    let mut repeat = vec![of_rate(&point.rate, filled())];
    if let Some(writes) = &point.writes {
        // A drive that was just opened, or has been idle, has an empty buffer.
        match &writes.burst {
            Some(burst) if burst.requests >= BURST_REPEATED_MIN => repeat.push(of_rate(burst, filled())),
            Some(burst) => {
                without_repeat = format!(
                    "; no command repeats the burst: what its {} requests take depends on what the drive did before",
                    burst.requests
                );
            }
            None => {}
        }
        repeat.extend(writes.fragmented.as_ref().map(|rate| of_rate(rate, Some("fragmented".into()))));
    }
    (repeat, without_repeat)
}

/// States the rate of writes to a fragmented drive, and what it is not where they filled the write buffer to the end.
fn of_fragmented(point: &Recommendation, rate: &Rate, filling_share: Option<f64>) -> String {
    let bytes_per_s = rate.bandwidth_bytes_per_s;
    let stated =
        format!("; {} ({}{})", format_rate(bytes_per_s), percentiles(rate), bound_verdict(point, rate));
    match filling_share {
        Some(share) => format!(
            "{stated} once the drive is fragmented, while a large buffer was filling: flash may sustain only {}",
            format_rate(bytes_per_s / (1.0 + share))
        ),
        None if rate.steady => {
            let bytes = format_bytes(rate.requests * point.request_bytes);
            format!("{stated} sustained over {bytes} of writes once the drive is fragmented")
        }
        None => format!("{stated} and not steady once the drive is fragmented"),
    }
}

/// Explains latencies that differ between measurements, if they do, and says how far that of a further one may: the
/// range of a few measurements is no limit of the next.
fn unstable_latency(rate: &Rate) -> String {
    let ranges = [rate.p50_range_ns, rate.p99_range_ns];
    if ranges.into_iter().flatten().all(is_stable_latency) {
        return String::new();
    }
    let further = match rate.p99_limits_ns.map(|limits| limits.map(latency)) {
        Some([lowest, longest]) => format!("a further one may give a p99 of {lowest} to {longest}"),
        None => "a further one may differ more".into(),
    };
    format!(
        "; latencies differ between the measurements of this point, and depend on what the drive did before: {further}"
    )
}

/// States that it cannot be told whether a rate keeps the bound for which its point was chosen, and why, if that is so.
fn bound_open(point: &Recommendation, rate: &Rate) -> String {
    let Some(bound) = point.p99_bound_ns.filter(|_| point.keeps_bound(rate).is_none()) else {
        return String::new();
    };
    let bound = latency(bound);
    let requests = rate.requests;
    if requests < requests_needed(0.99) {
        return format!(
            "; {requests} requests are too few to tell whether p99 is within the {bound} asked for"
        );
    }
    let limits_ns = rate.p99_limits_ns.or(rate.p99_range_ns).unwrap_or([rate.p99_ns; 2]);
    if limits_ns[1] <= point.p99_bound_ns.unwrap_or_default() {
        return format!(
            "; whether p99 stays within the {bound} asked for once that buffer is full cannot be told"
        );
    }
    let [lowest, longest] = limits_ns.map(latency);
    format!(
        "; whether p99 stays within the {bound} asked for cannot be told: a further measurement may give {lowest} to {longest}"
    )
}

/// States whether the 99th percentile of a rate keeps the bound for which its point was chosen, where that can be told
/// ([`bound_open`] otherwise).
fn bound_verdict(point: &Recommendation, rate: &Rate) -> String {
    let Some((bound, keeps)) = point.p99_bound_ns.zip(point.keeps_bound(rate)) else { return String::new() };
    format!(", {} the {} asked for", if keeps { "within" } else { "above" }, latency(bound))
}

/// Says how to find a smaller number in flight that keeps the bound on a fragmented drive, where the chosen one does
/// not.
fn for_fragmented(point: &Recommendation, rate: &Rate) -> &'static str {
    if point.p99_bound_ns.is_none() || point.keeps_bound(rate) == Some(true) || point.queue_depth == 1 {
        ""
    } else {
        " (a probe of the drive with initial.state=fragmented says whether fewer in flight keep it)"
    }
}

/// States that repeated measurements differ, if they do by more than a recommendation may be off.
fn spread(range: [f64; 2]) -> String {
    if is_stable(range) {
        return String::new();
    }
    let [lowest, highest] = range.map(format_rate);
    format!(", not stable: {lowest} to {highest} in repeated measurements, of which the slowest is stated")
}

/// Returns the median latency, as a range where it is not stable, and the 99th percentile where enough requests lie
/// beyond it, as the range of all measurements of the point.
fn percentiles(rate: &Rate) -> String {
    let unstable = rate.p50_range_ns.filter(|&range| !is_stable_latency(range));
    let p50 = format!("p50 {}", in_range(rate.p50_ns, unstable));
    if rate.requests < requests_needed(0.99) {
        return p50;
    }
    format!("{p50}, p99 {}", p99_of(rate))
}

/// Returns the 99th percentile, as the range of all measurements of the point.
fn p99_of(rate: &Rate) -> String {
    in_range(rate.p99_ns, rate.p99_range_ns)
}

/// Returns a latency, or its range.
fn in_range(ns: f64, range: Option<[f64; 2]>) -> String {
    match range.map(|range| range.map(latency)) {
        Some([low, high]) if low != high => format!("{low} to {high}"),
        _ => latency(ns),
    }
}

/// Returns the alignment for requests: the page, else the chunk.
fn alignment(findings: &Findings) -> Option<u64> {
    let number = |feature| findings.get(&feature).and_then(Finding::number);
    number(Feature::PageSize).or_else(|| number(Feature::ChunkSize))
}

fn about_alignment(findings: &Findings) -> Option<Advice> {
    let unit = alignment(findings)?;
    let page = findings.get(&Feature::PageSize).filter(|page| page.number().is_some());
    // A page that was seen in writes only may be the mapping unit, several of which one array time reads.
    let (name, source) = match page {
        Some(page) => ("page or mapping unit", page),
        None => ("chunk", findings.get(&Feature::ChunkSize)?),
    };
    Some(Advice {
        about: "alignment".into(),
        text: format!("Align requests to {}, and make them multiples of it", format_bytes(unit)),
        evidence: format!("{name} of {}: {}", format_bytes(unit), source.evidence),
        repeat: Vec::new(),
    })
}

/// Returns the bytes of a stripe and of a chunk, and the number of domains.
fn extent(findings: &Findings) -> Option<(u64, u64, u64)> {
    let number = |feature| findings.get(&feature).and_then(Finding::number);
    let (chunk, degree) = (number(Feature::ChunkSize)?, number(Feature::InterleavingDegree)?);
    Some((chunk.saturating_mul(degree), chunk, degree))
}

fn about_extents(findings: &Findings) -> Option<Advice> {
    let (bytes, chunk, degree) = extent(findings)?;
    Some(Advice {
        about: "extents".into(),
        text: format!("Keep what is read together in extents of {}, written at once", format_bytes(bytes)),
        evidence: format!(
            "chunks of {} lie on {degree} domains in turn, so such an extent is read by all of them at once: {}",
            format_bytes(chunk),
            findings.get(&Feature::InterleavingDegree).map_or("", |finding| &finding.evidence)
        ),
        repeat: Vec::new(),
    })
}

fn about_mixing(findings: &Findings) -> Option<Advice> {
    let slowdown =
        findings.get(&Feature::ReadWriteSlowdown).filter(|finding| finding.status == Status::Found)?;
    let factor = slowdown.factor()?;
    Some(Advice {
        about: "mixing".into(),
        text: format!(
            "Keep writes in batches apart from reads: side by side one of them is {factor:.1} times slower"
        ),
        evidence: slowdown.evidence.clone(),
        repeat: Vec::new(),
    })
}

/// Where no structure is visible through a file or virtual disk, states that the results show the host.
fn about_medium(findings: &Findings, medium: Medium) -> Option<Advice> {
    let what = match medium {
        Medium::Drive => return None,
        Medium::File => "this file",
        Medium::VirtualDisk => "this virtual disk",
    };
    let found =
        |feature: &Feature| findings.get(feature).is_some_and(|finding| finding.status == Status::Found);
    if STRUCTURE.iter().any(found) {
        return None;
    }
    Some(Advice {
        about: "host".into(),
        text: format!(
            "No flash structure is visible through {what}: all that follows is about the host, its caches and its disk"
        ),
        evidence: "no chunk, page, interleaving or mapping shows in the timing".into(),
        repeat: Vec::new(),
    })
}

#[cfg(test)]
#[path = "advice_text_tests.rs"]
pub(crate) mod tests;
