//! The drives of uFLIP's day beside what was published of them (Bouganim et al., CIDR 2009, table 3).

use super::*;

const IO_BYTES: u64 = 32 << 10;

/// Mean latency in ms of the later half of writes or reads of 32 KiB, one after the other, after the drive was left
/// alone.
fn mean_ms(drive: &mut Drive, write: bool, offsets: impl Iterator<Item = u64>) -> f64 {
    let (mut out, until) = (Vec::new(), drive.now() + Duration::from_s(5));
    while drive.now() < until {
        drive.reap(until, &mut out);
    }
    for (id, offset) in offsets.enumerate() {
        let request = if write { Request::write } else { Request::read };
        drive.submit(request(id as u64, offset, IO_BYTES)).unwrap();
        while out.len() <= id {
            drive.reap(Instant::FAR, &mut out);
        }
    }
    let later = &out[out.len() / 2..];
    later.iter().map(|completion| completion.latency().as_ns() as f64 / 1e6).sum::<f64>() / later.len() as f64
}

/// Whether a cost relative to another is less, about the same, or more.
fn sign(factor: f64) -> i32 {
    i32::from(factor > 1.25) - i32::from(factor < 0.8)
}

#[test]
fn the_mechanisms_make_the_published_numbers() {
    // SR, RR, SW, RW in ms; reverse and in-place as a factor of SW.
    for (name, published, effects) in [
        ("memoright-like", [0.3, 0.4, 0.3, 5.0], [1.0, 1.0]),
        ("mtron-like", [0.4, 0.5, 0.4, 9.0], [1.0, 1.0]),
        ("samsung-like", [0.5, 0.5, 0.6, 18.0], [1.5, 0.6]),
        ("transcend-module-like", [1.2, 1.3, 1.7, 18.0], [3.0, 2.0]),
        ("kingston-dti-like", [1.9, 2.2, 2.9, 256.0], [8.0, 40.0]),
    ] {
        let mut drive = Drive::new(&config(name, &[]), Seed(1));
        let drive = &mut drive;
        let capacity = drive.info().capacity_bytes / IO_BYTES;
        let run = |from_gib: u64, count: u64| (0..count).map(move |i| (from_gib << 30) + i * IO_BYTES);
        let mut random = Seed(2).source();
        let mut anywhere =
            |count: u64| -> Vec<u64> { (0..count).map(|_| random.below(capacity) * IO_BYTES).collect() };
        let measured = [
            mean_ms(drive, false, run(1, 512)),
            mean_ms(drive, false, anywhere(512).into_iter()),
            mean_ms(drive, true, run(1, 1024)),
            mean_ms(drive, true, anywhere(1024).into_iter()),
        ];
        for (measured, published) in measured.iter().zip(published) {
            assert!((0.5..2.0).contains(&(measured / published)), "{name}: {measured} for {published} ms");
        }
        let ratio = measured[3] / measured[2] / (published[3] / published[2]);
        assert!((0.5..2.0).contains(&ratio), "{name}: {ratio} of the published ratio");
        let order = [
            mean_ms(drive, true, run(2, 1024).rev()),
            mean_ms(drive, true, std::iter::repeat_n(3 << 30, 512)),
        ];
        for (cost, published) in order.map(|cost| cost / measured[2]).into_iter().zip(effects) {
            assert_eq!(sign(cost), sign(published), "{name}: x{cost} for x{published}");
        }
    }
}

#[test]
fn reads_without_idle_dies_are_disturbed_once() {
    let config = config("mtron-like", &[("cleaning.idle", "2ms")]);
    let mut drive = Drive::new(&config, Seed(1));
    let capacity = drive.info().capacity_bytes / IO_BYTES;
    let mut random = Seed(2).source();
    let reads = |drive: &mut Drive| -> Vec<u64> {
        // A unit of 1 MiB: all on one stripe.
        let offsets = (0..32).map(|i| (1 << 30) + i * IO_BYTES);
        offsets.map(|offset| one_ns(drive, Request::read(0, offset, IO_BYTES))).collect()
    };
    let calm_ns = reads(&mut drive)[16];
    for _ in 0..400 {
        one_ns(&mut drive, Request::write(0, random.below(capacity) * IO_BYTES, IO_BYTES));
    }
    let merges = |drive: &Drive| drive.counters().get("full_merges").unwrap();
    let (mut out, until, before) = (Vec::new(), drive.now() + Duration::from_ms(200), merges(&drive));
    while drive.now() < until {
        drive.reap(until, &mut out);
    }
    assert!(merges(&drive) > before + 20, "the idle drive cleans");
    let disturbed = reads(&mut drive);
    // The first comes upon a cleaning, which then waits; a page that was being moved is as far as it gets.
    assert!(disturbed[2..].iter().all(|ns| *ns < calm_ns * 102 / 100), "{disturbed:?} for {calm_ns} ns");
}

/// The latency of a request to an otherwise silent drive.
fn one_ns(drive: &mut Drive, request: Request) -> u64 {
    let mut out = Vec::new();
    drive.submit(request).unwrap();
    while out.is_empty() {
        drive.reap(Instant::FAR, &mut out);
    }
    out[0].latency().as_ns()
}
