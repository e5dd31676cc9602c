//! Drives that hide their dies from reads and from two requests at once.

use crate::known::made;
use crate::{number, structure_of};
use flashlane_probe::Feature;

/// One request at a time, and addresses place pages: reads of many chunks show the channels, writes of many chunks the dies.
#[test]
fn writes_of_many_chunks_show_dies_one_request_at_a_time() {
    for planes in ["1", "2"] {
        let blocks = if planes == "1" { "512" } else { "256" };
        let overrides = [
            ("depth", "1"),
            ("mapping.policy", "lba"),
            ("channels", "3"),
            ("packages", "4"),
            ("planes", planes),
            ("blocks", blocks),
            ("link.bandwidth", "3GB/s"),
            ("bus", "60MB/s"),
        ];
        let result = structure_of(made(&overrides));
        assert_eq!(number(&result, Feature::InterleavingDegree), Some(3), "{:#?}", result.findings);
        assert_eq!(number(&result, Feature::SubDomains), Some(4), "{:#?}", result.findings);
        let evidence = &result.finding(Feature::SubDomains).unwrap().evidence;
        assert!(evidence.contains("writes of several chunks"), "{evidence}");
    }
}
