//! The quick form, and the arithmetic.

use super::method::change_percent;
use crate::{Options, Row, StudyResult, Value, Verdict, run};

fn quick(figure: &str) -> StudyResult {
    run("he14", Some(figure), Options { quick: true, jobs: 2, ..Options::default() }).unwrap().result
}

#[test]
fn fragmentation_costs_more_than_half_the_throughput() {
    let result = quick("fig4");
    assert_eq!((result.rows.len(), result.figures.len()), (6, 2));
    let (lost, returned): (Vec<_>, Vec<_>) =
        result.rows.iter().partition(|row| row.quantity.ends_with("lost by fragmentation"));
    assert!(lost.iter().all(|row| row.verdict == Verdict::Reproduced), "{lost:#?}");
    let missed = returned.iter().filter(|row| row.verdict == Verdict::Missed).count();
    let explained =
        result.warnings.iter().filter(|warning| warning.code.name() == "replication-returns-less").count();
    assert_eq!(explained, missed);
}

#[test]
fn extra_writes_disturb_others_little() {
    let result = quick("interference");
    assert!(result.is_reproduced() && result.rows.len() == 3, "{:#?}", result.rows);
}

#[test]
fn layer_is_tried_on_drives_with_and_without_a_write_cache() {
    let result = quick("fig7");
    assert_eq!((result.rows.len(), result.figures.len()), (20, 2));
    let is_finite = |row: &Row| matches!(row.measured, Value::Number(number) if number.is_finite());
    assert!(result.rows.iter().all(is_finite), "{:#?}", result.rows);
}

#[test]
fn changes_are_in_percent_of_the_first() {
    assert_eq!([change_percent(4.0, 1.0), change_percent(1.0, 4.0)], [-75.0, 300.0]);
}
