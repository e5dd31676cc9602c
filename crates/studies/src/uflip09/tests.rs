//! Consistency of the study's tables. `flashlane study uflip09`, which takes too long for a test, shows that all
//! figures are reproduced.

use super::STUDY;
use std::collections::BTreeSet;

#[test]
fn figures_have_unique_names_and_claims_with_section() {
    let names: BTreeSet<&str> = STUDY.figures.iter().map(|figure| figure.id).collect();
    assert_eq!(names.len(), STUDY.figures.len());
    assert!(STUDY.figures.iter().all(|figure| figure.claim.starts_with("Section")));
}

#[test]
fn shared_drives_have_known_profiles_and_figures() {
    let figures: BTreeSet<&str> = STUDY.figures.iter().map(|figure| figure.id).collect();
    for drive in STUDY.shared {
        flashlane_sim::profile::load(drive.name, &[]).unwrap();
        assert!(!figures.contains(drive.name), "kept results of the two would meet");
        assert!(!drive.figures.is_empty() && drive.figures.iter().all(|id| figures.contains(id)));
    }
}
