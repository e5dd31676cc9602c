//! What a sweep found, in a sentence: which points differ, and the knee of a depth. `docs/sweeps.md` has the rules.

use super::{is_measured, settings};
use crate::document::{Cell, Tone};
use crate::kinds::items;
use crate::wording::{capitalised, plain_value, time_ns};
use serde_json::{Value, json};

/// Points that are named one by one; of more, the number.
const NAMED: usize = 4;

/// The sentences.
pub(super) fn summary(result: &Value, rows: &[&Value]) -> String {
    if !rows.iter().any(|row| is_measured(row) || row["status"] == "partial") {
        return "Nothing was measured.".into();
    }
    let knees: Vec<String> = items(&result["knees"]).map(knee).collect();
    let differences = compared(result, rows).unwrap_or_default();
    if knees.is_empty() {
        return differences;
    }
    // A knee of points that do not differ is chance.
    let none = result["comparison"]["verdict"] == "no-difference";
    let first = none.then_some(differences).filter(|text| !text.is_empty());
    first.into_iter().chain(knees).collect::<Vec<_>>().join(" ")
}

/// Which points differ by the metric that they were compared by.
fn compared(result: &Value, rows: &[&Value]) -> Option<String> {
    let comparison = &result["comparison"];
    let (title, field) = (comparison["title"].as_str()?, comparison["field"].as_str()?);
    let standing =
        |wanted: &'static str| rows.iter().filter(move |row| row["compared"]["standing"] == wanted);
    let best = standing("best").next()?;
    let value = plain_value(field, &best[field]);
    let worse: Vec<f64> =
        standing("worse").filter_map(|row| row["compared"]["difference"].as_f64()).collect();
    let (least, most) =
        (worse.iter().copied().fold(f64::INFINITY, f64::min), worse.iter().copied().fold(0.0, f64::max));
    let others = if worse.len() == 1 { "the other point is" } else { "the others are" };
    let by = by(least, most);
    let title = capitalised(title);
    Some(match comparison["verdict"].as_str()? {
        "no-difference" => {
            let largest = standing("no-difference").filter_map(|row| row["compared"]["difference"].as_f64());
            let within = largest.fold(0.0, f64::max);
            match rows.len() {
                2 => format!(
                    "No difference between the two points: {title} {value}, within {}.",
                    share(within)
                ),
                _ => format!(
                    "No difference between the points: {title} {value}, within {} at all of them.",
                    share(within)
                ),
            }
        }
        "too-few-repetitions" => {
            let open: Vec<&&Value> =
                rows.iter().filter(|row| row["compared"]["standing"] == "too-few-repetitions").collect();
            let differences = open.iter().filter_map(|row| row["compared"]["difference"].as_f64());
            let apart = apart(differences.fold(0.0, f64::max));
            let points = match open.len() {
                1 => format!("{} and {}", settings(best), settings(open[0])),
                more if more + 1 == rows.len() => "the points".into(),
                more => format!("{} and {more} other points", settings(best)),
            };
            let worse = if worse.is_empty() { String::new() } else { format!("; {others} {by}") };
            format!(
                "The repetitions are too few to tell {points} apart: {title} is {value} with {}, and the means lie up \
                 to {apart}{worse}. More repetitions help (--repeat).",
                settings(best)
            )
        }
        "one-best" => format!("{title} is best with {}: {value}; {others} {by}.", settings(best)),
        "several-best" => {
            let alike: Vec<String> = rows
                .iter()
                .filter(|row| ["best", "no-difference"].iter().any(|s| row["compared"]["standing"] == *s))
                .map(|row| settings(row))
                .collect();
            let named = match alike.len() {
                ..=NAMED => list(&alike),
                more => {
                    format!("{more} points ({} and {} more)", alike[..NAMED - 1].join("; "), more + 1 - NAMED)
                }
            };
            format!("No difference between {named}: {title} {value}; {others} {by}.")
        }
        _ => format!(
            "{title} is best with {}: {value}; each point was measured once, so this may be chance (--repeat 5 tells).",
            settings(best)
        ),
    })
}

/// From this difference on a factor says more than a percentage.
const FACTOR_FROM: f64 = 10.0;

/// A difference as a factor of the best, where it is so large that a percentage says little.
fn factor(difference: f64) -> Option<String> {
    (difference >= FACTOR_FROM).then(|| format!("x {}", plain_value("", &json!((1.0 + difference).round()))))
}

/// By how much points are worse, from the least to the most of them.
fn by(least: f64, most: f64) -> String {
    match (factor(least), factor(most)) {
        (Some(least), Some(most)) if least == most => most,
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (None, Some(most)) => format!("{} worse to {most}", share(least)),
        _ if share(least) == share(most) => format!("{} worse", share(most)),
        _ => format!("{} to {} worse", share(least), share(most)),
    }
}

/// How far means lie apart.
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

/// Where more depth gains little.
fn knee(knee: &Value) -> String {
    let point = settings(knee);
    let of = if point.is_empty() { String::new() } else { format!("With {point}: ") };
    let depth = plain_value("", &knee["depth"]);
    let (iops, share_of_best) =
        (plain_value("iops", &knee["iops"]), share(knee["share"].as_f64().unwrap_or(0.0)));
    let p99 = knee["p99_ns"].as_f64().map_or(String::new(), |ns| format!(", p99 {}", time_ns(ns)));
    if knee["is_at_edge"] == true {
        return format!(
            "{of}no knee up to a depth of {depth}, the largest measured ({iops} requests a second{p99}): more may be better."
        );
    }
    format!(
        "{of}The knee is at a depth of {depth}: {iops} requests a second{p99}, {share_of_best} of the best measured."
    )
}

/// A share in percent, in as many digits as it has meaning.
pub(super) fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.005 => "0%".into(),
        percent if percent < 1.0 => format!("{percent:.2}%"),
        percent if percent < 10.0 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}

/// How a row compares with the best: by how much more or less it has than that.
pub(super) fn standing(result: &Value, row: &Value) -> Cell {
    let (compared, comparison) = (&row["compared"], &result["comparison"]);
    let sign = if comparison["larger_is_better"] == true { '-' } else { '+' };
    let difference = compared["difference"].as_f64().unwrap_or(0.0);
    let difference = factor(difference).unwrap_or_else(|| format!("{sign}{}", share(difference)));
    let Some(standing) = compared["standing"].as_str() else { return Cell::text("–").tone(Tone::Muted) };
    match (standing, comparison["verdict"].as_str()) {
        // Where nothing differs there is no best.
        ("best" | "no-difference", Some("no-difference")) => {
            Cell::exact("no difference", standing).tone(Tone::Muted)
        }
        ("best" | "no-difference", Some("several-best")) => Cell::exact("among the best", standing),
        ("no-difference", _) => Cell::exact("no difference", standing).tone(Tone::Muted),
        ("best", Some("too-few-repetitions")) => Cell::exact("best mean", standing).tone(Tone::Muted),
        ("too-few-repetitions", _) => {
            Cell::exact(format!("{difference}, not told apart"), standing).tone(Tone::Muted)
        }
        ("worse", _) => Cell::exact(difference, standing),
        ("unknown", _) => Cell::exact(format!("{difference}, once"), standing).tone(Tone::Muted),
        _ => Cell::text(standing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(verdict: &str, standings: &[(&str, f64)]) -> String {
        let rows: Vec<Value> = standings
            .iter()
            .zip(["a", "b", "c", "d", "e", "f"])
            .map(|((standing, difference), name)| {
                json!({ "point": { "policy": name }, "status": "measured", "mean_ns": 125e3,
                    "compared": { "standing": standing, "difference": difference } })
            })
            .collect();
        let comparison = json!({ "title": "mean latency", "field": "mean_ns", "verdict": verdict });
        summary(&json!({ "comparison": comparison }), &rows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn only_a_difference_makes_a_winner() {
        let text = said("one-best", &[("worse", 0.12), ("best", 0.0), ("worse", 0.5)]);
        assert_eq!(text, "Mean latency is best with policy=b: 125 µs; the others are 12% to 50% worse.");
        let text = said("no-difference", &[("best", 0.0), ("no-difference", 0.0), ("no-difference", 0.002)]);
        assert_eq!(
            text,
            "No difference between the points: Mean latency 125 µs, within 0.20% at all of them."
        );
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
    fn a_knee_is_named_and_an_edge_is_none() {
        let row = json!({ "status": "measured", "mean_ns": 1.0 });
        let said = |is_at_edge: bool| {
            let knee = json!({ "key": "workload.depth", "point": {}, "depth": 16.0, "iops": 81_920.0, "share": 0.97,
                "p99_ns": 410e3, "is_at_edge": is_at_edge });
            summary(&json!({ "knees": [knee] }), &[&row])
        };
        assert_eq!(
            said(false),
            "The knee is at a depth of 16: 81,920 requests a second, p99 410 µs, 97% of the best measured."
        );
        assert!(said(true).contains("more may be better"), "{}", said(true));
        // Where the points do not differ, that comes first.
        let alike = json!({ "status": "measured", "iops": 1e4, "compared": { "standing": "best", "difference": 0.0 } });
        let knee = json!({ "key": "workload.depth", "point": {}, "depth": 1.0, "iops": 1e4, "share": 1.0 });
        let comparison = json!({ "title": "requests a second", "field": "iops", "verdict": "no-difference" });
        let text = summary(&json!({ "knees": [knee], "comparison": comparison }), &[&alike, &alike, &alike]);
        assert!(text.starts_with("No difference between the points") && text.contains("The knee"), "{text}");
    }
}
