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

#[test]
fn every_shared_drive_has_a_profile_and_figures_that_there_are() {
    let figures: BTreeSet<&str> = STUDY.figures.iter().map(|figure| figure.id).collect();
    for drive in STUDY.shared {
        flashlane_sim::profile::load(drive.name, &[]).unwrap();
        assert!(!figures.contains(drive.name), "kept results of the two would meet");
        assert!(!drive.figures.is_empty() && drive.figures.iter().all(|id| figures.contains(id)));
    }
}
