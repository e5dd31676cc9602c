//! The verdicts follow from the rows; that all figures come out is shown by `flashlane study uflip09`, which takes
//! longer than a test may.

use super::STUDY;
use std::collections::BTreeSet;

#[test]
fn every_figure_has_a_name_of_its_own_and_a_claim_with_its_section() {
    let names: BTreeSet<&str> = STUDY.figures.iter().map(|figure| figure.id).collect();
    assert_eq!(names.len(), STUDY.figures.len());
    assert!(STUDY.figures.iter().all(|figure| figure.claim.starts_with("Section")));
}
