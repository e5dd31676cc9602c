use super::*;
use crate::profile::load;

fn build_with(name: &str, options: &[(&str, &str)]) -> Result<Scheme, String> {
    let geometry = Geometry::new(&load("samsung-like", &[]).unwrap());
    let options = Options::new(options.iter().map(|&(key, value)| (key.into(), value.into())));
    build(name, &geometry, &options).map_err(|error| error.to_string())
}

#[test]
fn every_scheme_that_maps_blocks_requires_log_blocks() {
    for entry in REGISTRY {
        let (without, with) = (build_with(entry.name, &[]), build_with(entry.name, &[("log_blocks", "3")]));
        match entry.name {
            "page" => assert!(with.err().unwrap().contains("'log_blocks' is unknown")),
            _ => {
                assert!(without.err().unwrap().contains("'log_blocks' is missing"));
                assert!(with.unwrap().maps_blocks());
            }
        }
    }
}

#[test]
fn schemes_need_spare_blocks_for_logs_and_merges() {
    let geometry = Geometry::new(&load("samsung-like", &[]).unwrap());
    let spare = |name, options: &[_]| build_with(name, options).unwrap().spare_blocks(&geometry);
    assert_eq!(spare("page", &[]), geometry.low_watermark_blocks + 2);
    assert_eq!(spare("block", &[("log_blocks", "3")]), 3);
    assert_eq!(spare("bast", &[("log_blocks", "3")]), 4);
    assert_eq!(spare("fast", &[("log_blocks", "3")]), 5);
    assert_eq!(spare("fast", &[("log_blocks", "3"), ("sequence_blocks", "4")]), 8);
}
