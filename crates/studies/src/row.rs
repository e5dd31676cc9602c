//! The row of one quantity: published value, measured value and tolerance.

use flashlane_result::study::{Row, Value, Verdict};

/// A number within `share` of the published one.
pub(crate) fn near(quantity: &str, published: f64, measured: f64, unit: &str, share: f64) -> Row {
    let holds = (measured - published).abs() <= share * published.abs();
    new(quantity, published, measured, unit, format!("±{}%", tidy(share * 100.0)), holds)
}

/// A number from `least` to `most`.
pub(crate) fn between(
    quantity: &str,
    published: impl Into<Value>,
    measured: f64,
    unit: &str,
    (least, most): (f64, f64),
) -> Row {
    let tolerance = format!("{} to {}", tidy(least), tidy(most));
    new(quantity, published, measured, unit, tolerance, (least..=most).contains(&measured))
}

/// A number of at least `least`.
pub(crate) fn at_least(
    quantity: &str,
    published: impl Into<Value>,
    measured: f64,
    unit: &str,
    least: f64,
) -> Row {
    new(quantity, published, measured, unit, format!("at least {}", tidy(least)), measured >= least)
}

/// A number of at most `most`.
pub(crate) fn at_most(
    quantity: &str,
    published: impl Into<Value>,
    measured: f64,
    unit: &str,
    most: f64,
) -> Row {
    new(quantity, published, measured, unit, format!("at most {}", tidy(most)), measured <= most)
}

/// Exactly the published number or word; a missing measured value does not agree.
pub(crate) fn exact(
    quantity: &str,
    published: impl Into<Value>,
    measured: Option<impl Into<Value>>,
    unit: &str,
) -> Row {
    let published = published.into();
    let measured = measured.map_or_else(|| Value::from("none"), Into::into);
    let holds = measured == published;
    new(quantity, published, measured, unit, "exact".into(), holds)
}

fn new(
    quantity: &str,
    published: impl Into<Value>,
    measured: impl Into<Value>,
    unit: &str,
    tolerance: String,
    holds: bool,
) -> Row {
    Row {
        figure: String::new(),
        quantity: quantity.into(),
        published: published.into(),
        measured: measured.into(),
        unit: unit.into(),
        tolerance,
        verdict: if holds { Verdict::Reproduced } else { Verdict::Missed },
    }
}

/// Formats a limit without trailing zeros.
fn tidy(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_states_and_applies_its_tolerance() {
        let near_100 = |measured| near("q", 100.0, measured, "MB/s", 0.15);
        assert_eq!(near_100(85.0).tolerance, "±15%");
        for (row, expected) in [
            (near_100(85.0), Verdict::Reproduced),
            (near_100(115.0), Verdict::Reproduced),
            (near_100(84.9), Verdict::Missed),
            (near_100(f64::NAN), Verdict::Missed),
            (between("q", 4.2, 3.5, "", (3.5, 5.5)), Verdict::Reproduced),
            (between("q", 4.2, 5.51, "", (3.5, 5.5)), Verdict::Missed),
            (at_least("q", "recovers", 1.0, "", 1.0), Verdict::Reproduced),
            (at_least("q", "recovers", 0.99, "", 1.0), Verdict::Missed),
            (at_most("q", "flat", 2.1, "%", 2.0), Verdict::Missed),
            (exact("q", 10_usize, Some(10_usize), "chunks"), Verdict::Reproduced),
            (exact("q", 10_usize, None::<usize>, "chunks"), Verdict::Missed),
            (exact("q", "lba", Some("lba"), ""), Verdict::Reproduced),
        ] {
            assert_eq!(row.verdict, expected, "{row:?}");
        }
        assert_eq!(between("q", 4.2, 4.0, "", (3.5, 5.5)).tolerance, "3.5 to 5.5");
    }
}
