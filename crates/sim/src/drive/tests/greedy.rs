//! Greedy cleaning under uniform random overwrites against its closed form.

use super::*;

/// Returns pages programmed per page written, in the limit of many blocks of `pages`, of which the valid pages are the
/// share `utilization` of all.
///
/// A block that holds `j` valid pages loses one at the rate `j`, in units of the rate at which one page is overwritten.
/// The victims are blocks that have just fallen to some number `m`, and a part of those with `m + 1`; no block has
/// fewer. With `closed` blocks filled per unit of time and block, and `fallen` of them that reach `m`,
/// `x_j = closed / j` of all blocks hold `j > m + 1` pages and `fallen / (m + 1)` hold `m + 1`. These shares add up to
/// 1, and their pages to the utilization:
///
/// ```text
/// closed * (1/(m+2) + … + 1/pages) + fallen / (m+1) = 1
/// closed * (pages - m - 1)         + fallen         = utilization * pages
/// ```
///
/// `m` is the number for which `fallen` lies between 0 and `closed`. Per unit of time and block, `closed * pages` pages
/// are programmed and `utilization * pages` written.
fn amplification(utilization: f64, pages: u32) -> f64 {
    let valid = utilization * f64::from(pages);
    let mut harmonic = 0.0;
    for m in (0..pages - 1).rev() {
        harmonic += 1.0 / f64::from(m + 2);
        let (from_next, rest) = (1.0 / f64::from(m + 1), f64::from(pages - m - 1));
        let closed = (1.0 - valid * from_next) / (harmonic - rest * from_next);
        let fallen = valid - closed * rest;
        if (0.0..=closed).contains(&fallen) {
            return closed / utilization;
        }
    }
    unreachable!("a share of {utilization} leaves blocks with fewer valid pages than {pages}")
}

/// Overwrites a drive of one plane at random, and returns its write amplification and that of the closed form.
fn measured_and_expected(blocks: u32, pages: u32, units: u64, seed: u64) -> (f64, f64) {
    let settings = [
        ("flash.channels", "1"),
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", &blocks.to_string()),
        ("flash.pages", &pages.to_string()),
        ("flash.page", "4KiB"),
        ("flash.factory_bad", "0%"),
        ("mapping.chunk", "4KiB"),
        ("buffer.policy", "none"),
        ("wear.policy", "dynamic"),
        ("cleaning.low", "2%"),
        ("cleaning.pacing", "watermark"),
        ("capacity", &format!("{}KiB", units * 4)),
        ("initial.state", "fragmented"),
    ];
    let mut drive = Drive::new(&config("nvme-tlc", &settings), Seed(seed));
    let (mut random, mut out) = (Seed(seed).derive("greedy").source(), Vec::new());
    let mut overwrite = |drive: &mut Drive, count: u64| {
        for id in 0..count {
            drive.submit(Request::write(id, random.below(units) * 4096, 4096)).unwrap();
            while drive.in_flight() >= 8 {
                drive.reap(Instant::FAR, &mut out);
            }
            out.clear();
        }
        let counters = drive.counters();
        ["flash_pages_programmed", "host_pages_settled"].map(|name| counters.get(name).unwrap() as f64)
    };
    let [before, written_before] = overwrite(&mut drive, units);
    let [after, written_after] = overwrite(&mut drive, 2 * units);
    // No valid pages lie on the free blocks, nor on one block's worth of the two that are being filled.
    let low = (blocks * 2 / 100).max(1);
    let closed = u64::from(blocks - low - 1) * u64::from(pages);
    let expected = amplification(units as f64 / closed as f64, pages);
    ((after - before) / (written_after - written_before), expected)
}

#[test]
fn greedy_cleaning_costs_what_its_closed_form_says() {
    // Large blocks with a spare share of a: about 1/(2a).
    assert!((amplification(0.95, 100_000) - 10.0).abs() < 0.2, "{}", amplification(0.95, 100_000));
    // Two pages a block, 3 of 4 valid: of the victims, half hold one page and half none.
    assert!((amplification(0.75, 2) - 4.0 / 3.0).abs() < 1e-9, "{}", amplification(0.75, 2));
    for (blocks, pages, share) in [(4096, 16, 0.88), (2048, 64, 0.8), (2048, 64, 0.9), (1024, 256, 0.85)] {
        let units = (f64::from(blocks * pages) * share) as u64;
        for seed in [1, 2] {
            let (measured, expected) = measured_and_expected(blocks, pages, units, seed);
            assert!(
                (measured / expected - 1.0).abs() < 0.02,
                "{pages} pages a block, share {share}, seed {seed}: {measured}, expected {expected}"
            );
        }
    }
}
