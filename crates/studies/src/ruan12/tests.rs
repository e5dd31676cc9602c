//! The quick form of what needs nothing but the repository, and the rest where the traces are.

use crate::{Options, StudyResult, run};
use std::path::Path;

fn quick(figure: &str) -> StudyResult {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let traces = folder.exists().then_some(&*folder);
    run("ruan12", Some(figure), Options { quick: true, traces, ..Options::default() }).unwrap()
}

#[test]
fn sequential_writes_are_alike() {
    assert!(quick("fig4d").is_reproduced());
}

#[test]
fn random_writes_gain_what_they_should() {
    assert!(quick("fig4e").is_reproduced());
}
