//! The result of a sweep in a sentence: which points differ, and the knee of a depth. `docs/sweeps.md` has the rules.

use super::super::sentence_of;
use super::{MEASURES, scalar};
use crate::document::{Cell, Fact, Tone};
use crate::format::{capitalised, exact, plain_value, time_ns};
use flashlane_result::sweep::{
    Compared, Comparison, Knee, PointRow, PointStatus, Standing, SweepResult, Verdict,
};
use flashlane_result::{Warning, WarningCode};
use serde_json::json;

/// Most points named one by one; beyond that, some and the number of the others.
const NAMED: usize = 4;

/// Returns the sentences.
pub(super) fn summary(result: &SweepResult) -> String {
    let has_numbers = |row: &PointRow| matches!(row.status, PointStatus::Measured | PointStatus::Partial);
    if !result.rows.iter().any(has_numbers) {
        return "Nothing was measured.".into();
    }
    if result.comparison.is_none() && result.count(PointStatus::Measured) == 0 {
        return without_whole_point(result);
    }
    let knees: Vec<String> = result.knees.iter().map(knee).collect();
    let differences = result
        .comparison
        .as_ref()
        .and_then(|comparison| compared(comparison, &result.rows))
        .unwrap_or_default();
    // A knee among points that do not differ is random.
    let shows_differences = knees.is_empty() || verdict(result) == Some(Verdict::NoDifference);
    let differences = Some(differences).filter(|text| shows_differences && !text.is_empty());
    [cautions(result), differences.into_iter().collect(), knees].concat().join(" ")
}

/// Says why no point is named as the best where none was measured to its end.
fn without_whole_point(result: &SweepResult) -> String {
    let reason =
        result.rows.iter().find(|row| row.status == PointStatus::Partial).and_then(|row| row.reason.as_ref());
    let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
    format!("No point was measured to its end, so that none is named as the best{reason}.")
}

/// Returns the warnings about points which say that the comparison shows little: GC that never ran has no best policy,
/// what a buffer took shows no rate of the flash, and points that are alike before they are steady may differ later.
fn cautions(result: &SweepResult) -> Vec<String> {
    let verdict = verdict(result);
    let matters = |warning: &&Warning| match warning.code {
        // The points concerned are not compared.
        WarningCode::GcOutOfBalance => true,
        WarningCode::NothingCleaned => verdict.is_some(),
        // A rate of the buffer's is best with the largest one, and ends once that is full.
        WarningCode::LeftInBuffer => verdict.is_some_and(|verdict| verdict != Verdict::Unknown),
        WarningCode::Unsteady => verdict == Some(Verdict::NoDifference),
        _ => false,
    };
    result.warnings.iter().filter(matters).map(sentence_of).collect()
}

fn verdict(result: &SweepResult) -> Option<Verdict> {
    result.comparison.as_ref().map(|comparison| comparison.verdict)
}

/// Says which points differ by the metric compared.
fn compared(comparison: &Comparison, rows: &[PointRow]) -> Option<String> {
    let (title, field) = (&comparison.title, comparison.field.as_str());
    let (best, _) = *of_standing(rows, Standing::Best).first()?;
    let measure = MEASURES.iter().find(|measure| measure.field == field);
    let value =
        plain_value(field, &measure.map(|measure| (measure.value)(&best.measures)).unwrap_or_default());
    let worse: Vec<f64> =
        of_standing(rows, Standing::Worse).into_iter().map(|(_, difference)| difference).collect();
    let (least, most) =
        (worse.iter().copied().fold(f64::INFINITY, f64::min), worse.iter().copied().fold(0.0, f64::max));
    let others = if worse.len() == 1 { "the other point is" } else { "the others are" };
    let by = by(least, most);
    let title = capitalised(title);
    let with = &best.point;
    let measured = rows.iter().filter(|row| row.compared.is_some()).count();
    let all = match (measured, rows.len() - measured) {
        (2, 0) => "the two points".to_owned(),
        (_, 0) => "the points".to_owned(),
        (_, _) => format!("the {measured} points that are compared"),
    };
    Some(match comparison.verdict {
        Verdict::NoDifference => {
            let alike = of_standing(rows, Standing::NoDifference);
            let within = alike.into_iter().map(|(_, difference)| difference).fold(0.0, f64::max);
            let everywhere = if measured == 2 { "" } else { " at all of them" };
            format!("No difference between {all}: {title} {value}, within {}{everywhere}.", share(within))
        }
        Verdict::TooFewRepetitions => {
            let open = of_standing(rows, Standing::TooFewRepetitions);
            let apart = apart(open.iter().map(|(_, difference)| *difference).fold(0.0, f64::max));
            let points = match &open[..] {
                [(one, _)] => format!("{with} and {}", one.point),
                more if more.len() + 1 == measured => all.clone(),
                more => format!("{with} and {} other points", more.len()),
            };
            let worse = if worse.is_empty() { String::new() } else { format!("; {others} {by}") };
            format!(
                "The repetitions are too few to tell {points} apart: {title} is {value} with {with}, and the means lie up \
                 to {apart}{worse}. More repetitions help (--repeat).",
            )
        }
        Verdict::OneBest => format!("{title} is best with {with}: {value}; {others} {by}."),
        Verdict::SeveralBest => {
            format!("No difference between {}: {title} {value}; {others} {by}.", several_best(rows))
        }
        Verdict::Unknown => format!(
            "{title} is best with {with}: {value}; {} measured once, so this may be chance (--repeat 5 shows).",
            measured_once(rows)
        ),
    })
}

/// Returns the points of a standing, each with its difference from the best.
fn of_standing(rows: &[PointRow], wanted: Standing) -> Vec<(&PointRow, f64)> {
    let compared = |row| -> Option<(&PointRow, f64)> {
        let row: &PointRow = row;
        row.compared.filter(|of| of.standing == wanted).map(|of| (row, of.difference))
    };
    rows.iter().filter_map(compared).collect()
}

/// Names the points that do not differ from the best.
fn several_best(rows: &[PointRow]) -> String {
    let is_alike = |of: Compared| matches!(of.standing, Standing::Best | Standing::NoDifference);
    let alike = rows.iter().filter(|row| row.compared.is_some_and(is_alike));
    let alike: Vec<String> = alike.map(|row| row.point.to_string()).collect();
    match alike.len() {
        ..=NAMED => list(&alike),
        more => format!("{more} points ({} and {} more)", alike[..NAMED - 1].join("; "), more + 1 - NAMED),
    }
}

/// Names the points that were measured once. An interrupted sweep has others.
fn measured_once(rows: &[PointRow]) -> String {
    let compared = || rows.iter().filter(|row| row.compared.is_some());
    let once: Vec<&PointRow> = compared().filter(|row| row.half_widths.is_empty()).collect();
    match &once[..] {
        all if all.len() == compared().count() => "each point was".into(),
        [one] => format!("{} was", one.point),
        more => format!("{} of the {} points were", more.len(), compared().count()),
    }
}

/// Difference from which it is shown as a factor, not a percentage.
const FACTOR_FROM: f64 = 10.0;

/// Formats a large difference as a factor of the best.
fn factor(difference: f64) -> Option<String> {
    (difference >= FACTOR_FROM).then(|| format!("x {}", plain_value("", &json!((1.0 + difference).round()))))
}

/// Formats the range by which points are worse.
fn by(least: f64, most: f64) -> String {
    match (factor(least), factor(most)) {
        (Some(least), Some(most)) if least == most => most,
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (None, Some(most)) => format!("{} worse to {most}", share(least)),
        _ if share(least) == share(most) => format!("{} worse", share(most)),
        _ => format!("{} to {} worse", share(least), share(most)),
    }
}

/// Formats the difference of means.
fn apart(difference: f64) -> String {
    factor(difference).unwrap_or_else(|| format!("{} apart", share(difference)))
}

fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Describes the depth beyond which more gains little.
fn knee(knee: &Knee) -> String {
    let point = knee.point.to_string();
    let of = if point.is_empty() { String::new() } else { format!("With {point}: ") };
    let depth = plain_value("", &scalar(knee.depth));
    let (iops, share_of_best) = (plain_value("iops", &scalar(knee.iops)), share(knee.share));
    let p99 = knee.p99_ns.map_or(String::new(), |ns| format!(", p99 {}", time_ns(ns)));
    if let Some(range) = knee.range {
        let [first, last] = range.map(|depth| plain_value("", &scalar(depth)));
        return format!(
            "{of}The knee is at a depth of {first} to {last}: the repetitions differ too much to tell which (at {depth}, {iops} \
             requests a second{p99})."
        );
    }
    if knee.is_at_edge {
        return format!(
            "{of}no knee up to a depth of {depth}, the largest measured ({iops} requests a second{p99}): more may be better."
        );
    }
    format!(
        "{of}The knee is at a depth of {depth}: {iops} requests a second{p99}, {share_of_best} of the best measured."
    )
}

/// Returns the depth of a knee alone.
pub(super) fn knee_fact(knee: &Knee) -> Fact {
    let point = knee.point.to_string();
    let label = if point.is_empty() { "Knee".into() } else { format!("Knee with {point}") };
    let depth = plain_value("", &scalar(knee.depth));
    match knee.range {
        Some([first, last]) => Fact::new(&label, format!("depth {first} to {last}")),
        None if knee.is_at_edge => Fact::new(&label, format!("none up to depth {depth}")),
        None => Fact::exact(&label, format!("depth {depth}"), exact(&scalar(knee.depth))),
    }
}

/// Formats a share in percent, with more digits below 10%.
pub(super) fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.005 => "0%".into(),
        percent if percent < 1.0 => format!("{percent:.2}%"),
        percent if percent < 10.0 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}

/// Formats how a row compares with the best.
pub(super) fn standing(result: &SweepResult, row: &PointRow) -> Cell {
    let Some(Compared { standing, difference, half_width }) = row.compared else {
        return Cell::text("–").tone(Tone::Muted);
    };
    let larger_is_better = result.comparison.as_ref().is_some_and(|comparison| comparison.larger_is_better);
    let sign = if larger_is_better { '-' } else { '+' };
    // The interval of the difference reaches zero.
    let reach = half_width.map_or(String::new(), |half_width| format!(" ± {}", share(half_width)));
    let is_apart = difference > 0.0;
    let difference = factor(difference).unwrap_or_else(|| format!("{sign}{}", share(difference)));
    let name = exact(&scalar(standing));
    match (standing, verdict(result)) {
        // Without differences there is no best point.
        (Standing::Best | Standing::NoDifference, Some(Verdict::NoDifference)) => {
            Cell::exact("no difference", name).tone(Tone::Muted)
        }
        (Standing::NoDifference, Some(Verdict::SeveralBest)) if is_apart => {
            Cell::exact(format!("among the best, {difference}{reach}"), name).tone(Tone::Good)
        }
        (Standing::Best | Standing::NoDifference, Some(Verdict::SeveralBest)) => {
            Cell::exact("among the best", name).tone(Tone::Good)
        }
        (Standing::NoDifference, _) => Cell::exact("no difference", name).tone(Tone::Muted),
        (Standing::Best, Some(Verdict::TooFewRepetitions)) => {
            Cell::exact("best mean", name).tone(Tone::Muted)
        }
        (Standing::TooFewRepetitions, _) => {
            Cell::exact(format!("{difference}, not told apart"), name).tone(Tone::Muted)
        }
        (Standing::Worse, _) => Cell::exact(difference, name),
        (Standing::Unknown, _) => Cell::exact(format!("{difference}, once"), name).tone(Tone::Muted),
        (Standing::Best, _) => Cell::text(name).tone(Tone::Good),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn sweep(rows: &Value, knees: &Value, comparison: &Value) -> SweepResult {
        let sweep = json!({ "schema": "flashlane.sweep/1", "command": "run", "device": "x", "workload": "random-read",
            "seed": 0, "keys": [], "rows": rows, "comparison": comparison, "knees": knees, "warnings": [],
            "partial": null });
        flashlane_result::read(&sweep).unwrap()
    }

    fn compared_by(title: &str, field: &str, verdict: &str) -> Value {
        json!({ "metric": "mean", "title": title, "field": field, "larger_is_better": false, "verdict": verdict })
    }

    fn said(verdict: &str, standings: &[(&str, f64)]) -> String {
        let rows =
            standings.iter().zip(["a", "b", "c", "d", "e", "f"]).map(|((standing, difference), name)| {
                json!({ "point": { "policy": name }, "status": "measured", "reason": null, "mean_ns": 125e3,
                "compared": { "standing": standing, "difference": difference, "half_width": null } })
            });
        let comparison = compared_by("mean latency", "mean_ns", verdict);
        summary(&sweep(&rows.collect(), &json!([]), &comparison))
    }

    #[test]
    fn point_among_the_best_shows_its_difference_and_interval() {
        let row = |standing: &str, difference: f64| {
            json!({ "point": { "policy": standing }, "status": "measured", "reason": null, "mean_ns": 125e3,
                "compared": { "standing": standing, "difference": difference, "half_width": 0.034 } })
        };
        let rows = json!([row("best", 0.0), row("no-difference", 0.029)]);
        let sweep = sweep(&rows, &json!([]), &compared_by("mean latency", "mean_ns", "several-best"));
        let cells: Vec<String> = sweep.rows.iter().map(|row| standing(&sweep, row).text).collect();
        assert_eq!(cells, ["among the best", "among the best, +2.9% ± 3.4%"]);
    }

    #[test]
    fn points_of_an_interrupted_sweep_that_were_measured_once_are_named() {
        let row = |name: &str, standing: &str, repeated: bool| {
            let half_widths = if repeated { json!({ "mean_ns": 1e3 }) } else { json!({}) };
            json!({ "point": { "policy": name }, "status": "measured", "reason": null, "mean_ns": 125e3,
                "half_widths": half_widths,
                "compared": { "standing": standing, "difference": 0.1, "half_width": null } })
        };
        let text = |repeated: [bool; 3]| {
            let rows = [
                row("a", "best", repeated[0]),
                row("b", "unknown", repeated[1]),
                row("c", "worse", repeated[2]),
            ];
            summary(&sweep(&json!(rows), &json!([]), &compared_by("mean latency", "mean_ns", "unknown")))
        };
        assert!(text([false; 3]).contains("; each point was measured once"), "{}", text([false; 3]));
        assert!(text([true, false, true]).contains("; policy=b was measured once"));
        assert!(text([false, false, true]).contains("; 2 of the 3 points were measured once"));
    }

    #[test]
    fn sweep_without_a_whole_point_names_no_best_one() {
        let row = json!({ "point": { "policy": "a" }, "status": "partial", "reason": "a read failed", "mean_ns": 125e3 });
        assert_eq!(
            summary(&sweep(&json!([row, row]), &json!([]), &Value::Null)),
            "No point was measured to its end, so that none is named as the best (a read failed)."
        );
    }

    #[test]
    fn summary_names_a_best_point_only_by_difference() {
        let text = said("one-best", &[("worse", 0.12), ("best", 0.0), ("worse", 0.5)]);
        assert_eq!(text, "Mean latency is best with policy=b: 125 µs; the others are 12% to 50% worse.");
        let text = said("no-difference", &[("best", 0.0), ("no-difference", 0.0), ("no-difference", 0.002)]);
        assert_eq!(
            text,
            "No difference between the points: Mean latency 125 µs, within 0.20% at all of them."
        );
        let rows = json!([
            { "point": { "policy": "a" }, "status": "measured", "reason": null, "mean_ns": 125e3,
              "compared": { "standing": "best", "difference": 0.0, "half_width": null } },
            { "point": { "policy": "b" }, "status": "measured", "reason": null, "mean_ns": 125e3,
              "compared": { "standing": "no-difference", "difference": 0.0, "half_width": null } },
            { "point": { "policy": "c" }, "status": "failed", "reason": "it has no such policy", "mean_ns": null,
              "compared": null },
        ]);
        let comparison = compared_by("mean latency", "mean_ns", "no-difference");
        let text = summary(&sweep(&rows, &json!([]), &comparison));
        assert!(text.starts_with("No difference between the 2 points that are compared: "), "{text}");
        let text = said("several-best", &[("best", 0.0), ("no-difference", 0.01), ("worse", 0.3)]);
        assert!(text.starts_with("No difference between policy=a and policy=b: "), "{text}");
        assert!(text.ends_with("the other point is 30% worse."), "{text}");
        let few = |difference| {
            said(
                "too-few-repetitions",
                &[("best", 0.0), ("too-few-repetitions", difference), ("worse", 12.0)],
            )
        };
        assert!(few(0.3).contains("too few to tell policy=a and policy=b apart"), "{}", few(0.3));
        assert!(few(0.3).contains("up to 30% apart; the other point is x 13. More"), "{}", few(0.3));
        assert!(few(20.44).contains("up to x 21; "), "{}", few(20.44));
        assert_eq!(by(0.12, 1_250_056.08), "12% worse to x 1,250,057");
        let text = said("unknown", &[("best", 0.0), ("unknown", 0.01)]);
        assert!(text.contains("may be chance (--repeat 5"), "{text}");
    }

    #[test]
    fn comparison_without_gc_is_cautioned_first() {
        let rows = json!([
            { "point": { "cleaning.policy": "greedy" }, "status": "measured", "reason": null, "mean_ns": 125e3,
              "compared": { "standing": "best", "difference": 0.0, "half_width": null } },
            { "point": { "cleaning.policy": "fifo" }, "status": "measured", "reason": null, "mean_ns": 125e3,
              "compared": { "standing": "no-difference", "difference": 0.0, "half_width": null } },
        ]);
        let said = |verdict: &str, codes: &[&'static str]| {
            let mut result = sweep(&rows, &json!([]), &compared_by("mean latency", "mean_ns", verdict));
            result.warnings =
                codes.iter().map(|&code| Warning::new(code, format!("at 2 of 2 points: {code}"))).collect();
            summary(&result)
        };
        let text = said("no-difference", &["too-few-requests", "nothing-cleaned", "unsteady"]);
        let expected = "At 2 of 2 points: nothing-cleaned. At 2 of 2 points: unsteady. No difference between the two points";
        assert!(text.starts_with(expected), "{text}");
        let text = said("one-best", &["gc-out-of-balance"]);
        assert!(text.starts_with("At 2 of 2 points: gc-out-of-balance. Mean latency is best with"), "{text}");
        let text = said("one-best", &["nothing-cleaned", "unsteady"]);
        assert!(text.starts_with("At 2 of 2 points: nothing-cleaned. Mean latency is best with"), "{text}");
        assert!(said("no-difference", &[]).starts_with("No difference"));
    }

    #[test]
    fn knee_at_the_edge_is_reported_as_open() {
        let row = json!({ "point": {}, "status": "measured", "reason": null, "mean_ns": 1.0 });
        let said = |is_at_edge: bool| {
            let knee = json!({ "key": "workload.depth", "point": {}, "depth": 16.0, "iops": 81_920.0, "share": 0.97,
                "p99_ns": 410e3, "is_at_edge": is_at_edge });
            summary(&sweep(&json!([row]), &json!([knee]), &Value::Null))
        };
        assert_eq!(
            said(false),
            "The knee is at a depth of 16: 81,920 requests a second, p99 410 µs, 97% of the best measured."
        );
        assert!(said(true).contains("more may be better"), "{}", said(true));
        let knee = json!({ "key": "workload.depth", "point": {}, "depth": 8.0, "iops": 81_920.0, "share": 0.96,
            "p99_ns": 410e3, "is_at_edge": false, "range": [4.0, 16.0] });
        let open = summary(&sweep(&json!([row]), &json!([knee]), &Value::Null));
        assert!(
            open.starts_with("The knee is at a depth of 4 to 16: the repetitions differ too much"),
            "{open}"
        );
        // The summary begins with the absence of a difference.
        let alike = json!({ "point": {}, "status": "measured", "reason": null, "iops": 1e4,
            "compared": { "standing": "best", "difference": 0.0, "half_width": null } });
        let knee = json!({ "key": "workload.depth", "point": {}, "depth": 1.0, "iops": 1e4, "share": 1.0,
            "p99_ns": null, "is_at_edge": false });
        let comparison = compared_by("requests a second", "iops", "no-difference");
        let text = summary(&sweep(&json!([alike, alike, alike]), &json!([knee]), &comparison));
        assert!(text.starts_with("No difference between the points") && text.contains("The knee"), "{text}");
    }
}
