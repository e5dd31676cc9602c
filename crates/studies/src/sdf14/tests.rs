//! The quick form of what is quick, and the arithmetic.

use super::fig7::r_squared;
use crate::{Options, StudyResult, run};

fn quick(figure: &str) -> StudyResult {
    run("sdf14", Some(figure), Options { quick: true, ..Options::default() }).unwrap()
}

#[test]
fn a_line_explains_what_lies_on_it() {
    assert!((r_squared(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]) - 1.0).abs() < 1e-12);
    // Of y = 0, 1, 0 nothing.
    assert_eq!(r_squared(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]), 0.0);
    assert_eq!(r_squared(&[(0.0, 0.0), (1.0, 1.0)]), 0.0, "any line fits two points");
}

#[test]
fn channels_add_up_and_their_flash_is_the_users() {
    for figure in ["fig7", "capacity"] {
        let result = quick(figure);
        assert!(result.is_reproduced() && result.rows.len() == 2, "{:#?}", result.rows);
    }
}
