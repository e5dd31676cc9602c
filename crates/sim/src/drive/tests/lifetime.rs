//! From the making of a drive to power cuts.

use super::*;

#[test]
fn a_preparation_stops_where_its_watch_breaks() {
    use std::ops::ControlFlow;
    // A sixteenth of each drive.
    let msr = ("msr-32g", "128", "1797046272B");
    let mtron = ("mtron-like", "488", "1GB");
    let nvme = ("nvme-tlc", "86", "62512805376B");
    for ((name, blocks, capacity), state) in
        [(msr, "full"), (msr, "fragmented"), (mtron, "full"), (mtron, "fragmented"), (nvme, "fragmented")]
    {
        let smaller = [("initial.state", state), ("flash.blocks", blocks), ("capacity", capacity)];
        let config = config(name, &smaller);
        let looks = |at_most: u32| {
            let mut looks = 0;
            let mut watch = || {
                looks += 1;
                if looks < at_most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let made = Drive::watched(&config, Seed(1), &mut watch).is_some();
            (looks, made)
        };
        let (all, made) = looks(u32::MAX);
        // Before each plane, whose blocks take a few milliseconds at most.
        let planes = Geometry::new(&config).planes;
        assert!(made && all >= planes, "{name} {state}: {all} looks at {planes} planes");
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
