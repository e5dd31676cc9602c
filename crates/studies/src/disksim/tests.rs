//! The quick form, the traces where available, and the model of other configurations compared with published numbers.

use super::others::{DRIVE, OTHERS, settings};
use crate::{Options, run};
use flashlane_sim::profile;
use std::path::Path;

#[test]
fn the_synthetic_workloads_agree() {
    let options = Options { quick: true, ..Options::default() };
    let result = run("disksim", Some("synthetic"), options).unwrap().result;
    assert_eq!(result.rows.len(), 4);
    assert!(result.is_reproduced(), "{:#?}", result.rows);
}

#[test]
fn available_traces_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let options = Options { traces: Some(&folder), ..Options::default() };
    let result = run("disksim", Some("traces"), options).unwrap().result;
    if folder.exists() {
        assert_eq!((result.rows.len(), result.warnings.len()), (2, 0));
        assert!(result.is_reproduced(), "{:#?}", result.rows);
    } else {
        eprintln!("skipped: there are no reference traces beside the checkout");
        assert_eq!((result.rows.len(), result.warnings.len()), (0, 2));
    }
}

#[test]
fn other_configurations_agree() {
    let options = Options { quick: true, ..Options::default() };
    let result = run("disksim", Some("others"), options).unwrap().result;
    // The model's own row first.
    assert_eq!(result.rows.len(), 3);
    assert!(result.is_reproduced(), "{:#?}", result.rows);
}

#[test]
fn model_configuration_matches_the_profile() {
    let with = |parameters| {
        let settings = settings(parameters);
        let settings: Vec<_> = settings.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
        format!("{:?}", profile::load("msr-32g", &settings).unwrap_or_else(|error| panic!("{error}")))
    };
    let of_profile = format!("{:?}", profile::load("msr-32g", &[]).unwrap());
    assert_eq!(with(&DRIVE), of_profile, "the published drive is the profile itself");
    for (name, parameters) in &OTHERS {
        assert_ne!(with(parameters), of_profile, "{name}");
    }
}
