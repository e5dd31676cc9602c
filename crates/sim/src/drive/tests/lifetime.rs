//! From the making of a drive to power cuts.

use super::*;

#[test]
fn a_preparation_stops_where_its_watch_breaks() {
    use std::ops::ControlFlow;
    // A sixteenth of each drive.
    let msr = ("msr-32g", "128", "1797046272B");
    let mtron = ("mtron-like", "488", "1GB");
    let nvme = ("nvme-tlc", "86", "62512805376B");
    for ((name, blocks, capacity), state, allocation) in [
        (msr, "full", "striped"),
        (msr, "full", "random"),
        (msr, "fragmented", "striped"),
        (mtron, "full", "striped"),
        (mtron, "fragmented", "striped"),
        (nvme, "fragmented", "striped"),
    ] {
        let mut settings = vec![("initial.state", state), ("flash.blocks", blocks), ("capacity", capacity)];
        if allocation == "random" {
            settings.extend([
                ("mapping.allocation", allocation),
                ("mapping.policy", "write-order"),
                ("compat.disksim.pool", "plane"),
            ]);
        }
        let config = config(name, &settings);
        let looks = |at_most: u32| {
            let mut looks = 0;
            let mut watch = || {
                looks += 1;
                if looks < at_most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let made = Drive::new_watched(&config, Seed(1), &mut watch).is_ok();
            (looks, made)
        };
        let (all, made) = looks(u32::MAX);
        // Every few milliseconds: at each plane where places are computed, otherwise after a number of pages.
        let Geometry { planes, logical_units: pages, .. } = Geometry::new(&config);
        let is_computed = config.mapping.translation == "page" && allocation == "striped";
        let least = if is_computed { planes } else { (pages >> 17) + 1 };
        assert!(
            made && all >= least,
            "{name} {state} {allocation}: {all} looks, {planes} planes, {pages} pages"
        );
        for stop in [1, all / 2, all] {
            assert_eq!(looks(stop), (stop, false), "{name} {state}");
        }
    }
}

#[test]
fn counters_go_on_over_power_cuts() {
    for name in ["ssd-s", "msr-32g"] {
        let mut drive = Drive::new(&config(name, &[]), Seed(1));
        for id in 0..3 {
            latency_ns(&mut drive, Request::write(id, id * 4096, 4096));
            latency_ns(&mut drive, Request::read(id, 1 << 20, 4096));
            drive.cut_power().expect("a simulated drive can lose its power");
        }
        let counters = drive.counters();
        let counted = ["host_writes", "host_pages_read"].map(|name| counters.get(name));
        assert_eq!(counted, [Some(3), Some(3)], "{name}");
    }
}
