//! The device against the conformance body, its own determinism, and arithmetic done by hand.

use super::*;
use crate::config::load;
use flashlane_device::conformance;

fn sdf(settings: &[(&str, &str)]) -> Sdf {
    let settings: Vec<(String, String)> = settings.iter().map(|&(k, v)| (k.into(), v.into())).collect();
    Sdf::new(&load("sdf", &settings).unwrap_or_else(|error| panic!("{error}")), Seed(1))
}

/// Four lanes of 16 units of 16 KiB: two chips of two planes, with four pages of 1 KiB a block.
const TINY: &[(&str, &str)] = &[
    ("capacity", "1MiB"),
    ("flash.channels", "4"),
    ("flash.blocks", "20"),
    ("flash.pages", "4"),
    ("flash.page", "1KiB"),
    ("flash.spare", "0"),
    ("lanes.stripe", "4KiB"),
    ("lanes.read_unit", "512B"),
    ("lanes.window", "16KiB"),
];

fn tiny(settings: &[(&str, &str)]) -> Sdf {
    sdf(&[TINY, settings].concat())
}

#[test]
fn it_conforms() {
    for settings in [
        &[][..],
        &[("initial.state", "full")],
        &[("flash.packages", "1"), ("flash.planes", "4"), ("lanes.stripe", "1KiB"), ("host.jitter", "10%")],
        &[("flash.multi_plane", "false"), ("flash.cache_mode", "false"), ("scheduling.policy", "fifo")],
        &[("flash.suspend", "20us"), ("flash.noise", "5%"), ("link.depth", "3"), ("link.bandwidth", "0")],
        &[("flash.factory_bad", "10%"), ("host.submission", "0us"), ("wear.policy", "none")],
        &[("flash.channels", "1"), ("flash.factory_bad", "40%"), ("flash.blocks", "64")],
    ] {
        conformance::check(&mut || Box::new(tiny(settings)));
    }
}
