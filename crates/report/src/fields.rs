//! What a result's fields must be before anything is drawn from them: a file from elsewhere can hold any JSON.
//!
//! Only structure is checked here, so that a refusal can name the field. What is missing is shown as missing, and values
//! of single numbers and texts are looked at where they are shown.

use crate::ReportError;
use serde_json::Value;

/// Fields that are lists of objects, by schema.
const LISTS: &[(&str, &[&str])] = &[
    ("flashlane.run/1", &["jobs"]),
    ("flashlane.replay/1", &["slowest"]),
    ("flashlane.study/1", &["rows"]),
    ("flashlane.score/1", &["features", "mistakes"]),
    ("flashlane.sweep/1", &["keys", "rows"]),
    ("flashlane.trace/1", &["devices", "sizes"]),
    ("flashlane.uflip/1", &["runs", "phases", "hints"]),
    ("flashlane.uflip-plan/1", &["benchmarks"]),
    ("flashlane.sdf/1", &["lanes"]),
    ("flashlane.sdf_bench/1", &["phases"]),
];

/// Fields that are objects, in every schema that has them.
const OBJECTS: &[&str] = &[
    "latency_ns",
    "device_latency_ns",
    "recorded_latency_ns",
    "lateness_ns",
    "operations",
    "machine",
    "findings",
];

/// Refuses a result with a field of another structure than its schema says.
pub(crate) fn check(result: &Value) -> Result<(), ReportError> {
    if !result.is_object() {
        return Err(refusal("the result", result, "an object"));
    }
    let schema = result["schema"].as_str().unwrap_or_default();
    let lists = LISTS.iter().filter(|(name, _)| *name == schema).flat_map(|(_, lists)| lists.iter().copied());
    for name in lists.chain(["figures"]) {
        match &result[name] {
            Value::Null => {}
            Value::Array(items) => {
                if let Some(at) = items.iter().position(|item| !item.is_object()) {
                    return Err(refusal(&format!("{name}[{at}]"), &items[at], "an object"));
                }
            }
            other => return Err(refusal(name, other, "a list of objects")),
        }
    }
    for name in OBJECTS {
        let value = &result[*name];
        if !value.is_null() && !value.is_object() {
            return Err(refusal(name, value, "an object"));
        }
    }
    Ok(())
}

/// Characters of a value that a refusal quotes.
const QUOTED: usize = 60;

fn refusal(field: &str, value: &Value, expected: &'static str) -> ReportError {
    let text = value.to_string();
    let found = match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    ReportError::Field { field: field.to_owned(), found, expected }
}

#[cfg(test)]
mod tests {
    use crate::check;
    use serde_json::json;

    #[test]
    fn a_field_of_another_structure_is_refused_by_name() {
        for (result, expected) in [
            (
                json!({ "schema": "flashlane.run/1", "figures": [1] }),
                "figures[0] is 1, where an object is expected",
            ),
            (json!({ "schema": "flashlane.sdf_bench/1", "phases": [{}, 1] }), "phases[1] is 1"),
            (
                json!({ "schema": "flashlane.sdf_bench/1", "phases": "x" }),
                "phases is \"x\", where a list of objects",
            ),
            (
                json!({ "schema": "flashlane.replay/1", "latency_ns": [] }),
                "latency_ns is [], where an object",
            ),
        ] {
            let error = check(&result).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_missing_is_shown_as_missing() {
        for schema in crate::kinds::KINDS.iter().map(|kind| kind.schema) {
            let result = json!({ "schema": schema, "latency_ns": {}, "lateness_ns": {}, "figures": [{}], "phases": [{}] });
            check(&result).unwrap();
            let _ = (crate::text(&result, 80), crate::csv(&result));
            // A list of numbers in place of objects is refused by `check`, and harmless without it.
            let _ = crate::text(&json!({ "schema": schema, "figures": [1], "phases": [1], "jobs": [1] }), 80);
        }
    }
}
