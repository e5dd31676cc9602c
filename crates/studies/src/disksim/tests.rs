//! The quick form, and the traces where they are.

use crate::{Options, run};
use std::path::Path;

#[test]
fn the_synthetic_workloads_agree() {
    let options = Options { quick: true, ..Options::default() };
    let result = run("disksim", Some("synthetic"), options).unwrap();
    assert_eq!(result.rows.len(), 4);
    assert!(result.is_reproduced(), "{:#?}", result.rows);
}

#[test]
fn the_traces_agree_where_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let options = Options { traces: Some(&folder), ..Options::default() };
    let result = run("disksim", Some("traces"), options).unwrap();
    if folder.exists() {
        assert_eq!((result.rows.len(), result.warnings.len()), (2, 0));
        assert!(result.is_reproduced(), "{:#?}", result.rows);
    } else {
        eprintln!("skipped: there are no reference traces beside the checkout");
        assert_eq!((result.rows.len(), result.warnings.len()), (0, 2));
    }
}
