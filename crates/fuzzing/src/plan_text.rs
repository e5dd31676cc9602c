//! Plans of `flashlane advise plan`.

use crate::Target;
use flashlane_advise::{Plan, Reads};

pub(crate) const TARGET: Target = Target {
    name: "plan_text",
    body,
    seeds: &[
        "index: random,pages=25k,band=800MiB,depth=8",
        "hash join: scan,pages=400 + random, pages=25k, band=800MiB, depth=8",
        "scan: scan,pages=100k,size=1MiB,depth=8+scan,pages=1",
    ],
};

const PAGE: u64 = 8 << 10;

fn body(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Plan::parse(text, PAGE) {
        Ok(plan) => {
            assert!(!plan.name.is_empty() && !plan.reads.is_empty());
            for reads in &plan.reads {
                let (pages, depth) = match *reads {
                    Reads::Random { pages, band_pages, depth } => {
                        assert!(band_pages >= 1.0, "{reads:?}");
                        (pages, depth)
                    }
                    Reads::Scan { pages, request_bytes, depth } => {
                        assert!(request_bytes >= PAGE && request_bytes.is_multiple_of(PAGE), "{reads:?}");
                        (pages, depth)
                    }
                };
                assert!(pages >= 1.0 && depth >= 1, "{reads:?}");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
