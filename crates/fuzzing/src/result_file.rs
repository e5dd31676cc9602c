//! The reader of result files. Any content is shown, or refused with a reason, and none of its control characters
//! reaches the page or the terminal.
//!
//! Mutated bytes are seldom JSON. Other bytes are read as a list of edits of a seed: the result, the position in it,
//! and the new value.

use crate::Target;
use flashlane_report::{PageInput, Report, render_page};
use serde_json::{Value, json};

pub(crate) const TARGET: Target = Target {
    name: "result_file",
    body,
    seeds: &[
        include_str!("../seeds/probe.json"),
        include_str!("../seeds/run.json"),
        include_str!("../seeds/replay.json"),
        include_str!("../seeds/study.json"),
        include_str!("../seeds/score.json"),
        include_str!("../seeds/sweep.json"),
        include_str!("../seeds/trace.json"),
        include_str!("../seeds/transactions.json"),
        include_str!("../seeds/uflip.json"),
        include_str!("../seeds/uflip_plan.json"),
        include_str!("../seeds/sdf.json"),
        include_str!("../seeds/sdf_bench.json"),
        r#"{"schema":"flashlane.run/1","figures":[1]}"#,
        r#"{"schema":"flashlane.replay/1","latency_ns":{},"lateness_ns":{}}"#,
        r#"{"schema":"flashlane.sdf_bench/1","phases":[1]}"#,
    ],
};

fn body(data: &[u8]) {
    let result = serde_json::from_slice(data).unwrap_or_else(|_| edited(data));
    let report = match Report::read(result) {
        Ok(report) => report,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for width in [40, 100] {
        let shown = report.text(width);
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    }
    report.csv();
    let drawn = render_page(&[PageInput { report: &report, samples: None }]);
    assert!(drawn.ends_with("</html>\n"));
}

/// Returns a seed with one change for each group of three bytes, up to eight.
fn edited(data: &[u8]) -> Value {
    let Some((&first, edits)) = data.split_first() else { return Value::Null };
    let seed = TARGET.seeds[usize::from(first) % TARGET.seeds.len()];
    let mut result: Value = serde_json::from_str(seed).expect("seeds are JSON");
    for edit in edits.chunks_exact(3).take(8) {
        let position = usize::from(edit[0]) | usize::from(edit[1]) << 8;
        let count = count_values(&result);
        *nth(&mut result, &mut (position % count)).expect("the position is below the count") = other(edit[2]);
    }
    result
}

/// Returns the number of values in a value, itself included.
fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(fields) => fields.values().map(count_values).sum(),
        _ => 0,
    }
}

/// Returns the value at a position, in the order of the text.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, left)),
        _ => None,
    }
}

/// Returns a value that a reader may not expect.
fn other(choice: u8) -> Value {
    let all = [
        json!(null),
        json!(true),
        json!(1),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(-1e308),
        json!(1e-300),
        json!(u64::MAX),
        json!(""),
        json!("\u{1b}[2J\u{9b}1m\r\n\u{202e}"),
        json!("µ – 🦀"),
        json!("log"),
        json!([]),
        json!({}),
        json!([1]),
        json!([[]]),
        json!([{}]),
        json!([null, 1, "x", [], {}]),
        json!([[1, 2], [1, 2]]),
        json!([[1e308, -1e308], [-1e308, 1e308]]),
        json!({ "": "" }),
        json!({ "p99": {} }),
        json!({ "mean": 1e308, "name": "x" }),
    ];
    all[usize::from(choice) % all.len()].clone()
}
