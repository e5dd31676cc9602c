//! The write buffer in its drive: what the policies and the ways of draining are for.

use super::tests::config;
use super::*;

/// `msr-64g` with these settings beside its own.
fn drive(settings: &[(&str, &str)]) -> Drive {
    let mut all = vec![("initial.state", "fresh")];
    all.extend_from_slice(settings);
    Drive::new(&config("msr-64g", &all), Seed(1))
}

/// Mean latency in ms of writes of half a page or a page that come at random intervals, 0.5 ms in the mean, whatever the
/// drive does: at random places, or one after the other.
fn open_loop(drive: &mut Drive, random_places: bool) -> f64 {
    const REQUESTS: u64 = 20_000;
    let mut random = Seed(5).source();
    let (mut at, mut next, mut out) = (0, 0, Vec::new());
    for id in 0..REQUESTS {
        at += random.below(1_000_000);
        let at = Instant::from_ns(at);
        while drive.now < at {
            drive.reap(at, &mut out);
        }
        let length = 4096 * (1 + random.below(2));
        let offset = if random_places { random.below(800_000) * 4096 } else { next };
        next = offset + length;
        drive.submit(Request::write(id, offset, length)).unwrap();
    }
    while out.len() < REQUESTS as usize {
        drive.reap(Instant::FAR, &mut out);
    }
    out.iter().map(|completion| completion.latency().as_ns() as f64).sum::<f64>() / 1e6 / REQUESTS as f64
}

#[test]
fn lists_a_package_help_random_writes_and_leave_sequential_ones_as_they_are() {
    let mean = |policy, random| {
        let mut drive = drive(&[("buffer.policy", policy)]);
        let mean = open_loop(&mut drive, random);
        let counters = drive.counters();
        let get = |name| counters.get(name).unwrap() as f64;
        (mean, get("buffer_drains_on_all_packages") / get("buffer_drains"))
    };
    // Eight packages: an eighth of the time is the bound (ruan12, section IV.B), for a queue that never has two at work.
    let (one, lists) = (mean("lru", true), mean("parallel", true));
    assert!((0.125..0.3).contains(&(lists.0 / one.0)), "{lists:?} instead of {one:?} ms");
    assert!(one.1 < 0.3 && lists.1 > 0.99, "drains on all packages: {one:?}, {lists:?}");
    let (one, lists) = (mean("lru", false), mean("parallel", false));
    assert!((0.95..1.05).contains(&(lists.0 / one.0)), "{lists:?} instead of {one:?} ms");
    assert!(one.1 > 0.99 && lists.1 > 0.99, "drains on all packages: {one:?}, {lists:?}");
}
