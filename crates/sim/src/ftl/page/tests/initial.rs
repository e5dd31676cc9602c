//! Prepared states against those that are reached by writing.

use super::*;
use crate::config::InitialState;
use crate::ftl::never_stop;
use flashlane_base::Random;

/// A drive of random shape and policies, in an initial state.
fn random_drive(seed: u64, state: &str) -> (DriveConfig, PageMapped) {
    let mut random = Seed(seed).derive("prepared").source();
    let mut draw = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
    let parity = draw(&["no", "no", "2"]);
    let mut settings = vec![
        ("flash.channels", if parity == "no" { draw(&["1", "2", "3"]) } else { "6" }),
        ("flash.planes", draw(&["1", "2", "4"])),
        ("flash.blocks", draw(&["16", "33"])),
        ("flash.pages", draw(&["1", "7", "16"])),
        ("flash.page", "8KiB"),
        ("buffer.policy", "none"),
        ("flash.factory_bad", draw(&["0%", "5%"])),
        ("mapping.unit", if parity == "no" { draw(&["4KiB", "8KiB"]) } else { "8KiB" }),
        ("mapping.chunk", "8KiB"),
        ("mapping.policy", if parity == "no" { draw(&["lba", "write-order"]) } else { "write-order" }),
        ("cleaning.policy", draw(&["greedy", "cost-benefit"])),
        ("cleaning.pacing", draw(&["watermark", "proportional"])),
        ("cleaning.separate", draw(&["true", "false"])),
        ("cleaning.defer", "no"),
        ("wear.policy", draw(&["none", "static"])),
        ("over_provisioning", draw(&["60%", "99%"])),
        ("initial.state", state),
        ("compat.disksim.summary_pages", "0"),
    ];
    match parity {
        "no" => settings.push(("compat.disksim.pool", draw(&["plane", "die", "channel"]))),
        _ => settings.push(("mapping.parity", parity)),
    }
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let config = load("ssd-m", &settings).unwrap_or_else(|error| panic!("{error}: {settings:?}"));
    let ftl = PageMapped::new(&config, Seed(seed)).unwrap();
    (config, ftl)
}

fn prepared(config: &DriveConfig, state: InitialState, seed: u64) -> PageMapped {
    let mut config = config.clone();
    config.initial.state = state;
    let mut ftl = PageMapped::new(&config, Seed(seed)).unwrap();
    assert!(ftl.prepare(&config, Seed(seed), &mut never_stop).is_continue());
    ftl
}

/// Overwrites units at random; returns what GC did.
fn overwrite(ftl: &mut PageMapped, writes: u64, random: &mut Random) -> Vec<GcWork> {
    let (units, mut due) = (u64::from(ftl.geometry.logical_units), Vec::new());
    for _ in 0..writes {
        ftl.place(Lpn(random.below(units) as u32), &mut due).unwrap();
    }
    due
}

#[test]
fn full_by_formula_is_full_by_writing() {
    for seed in 0..60 {
        let (config, mut formula) = random_drive(seed, "full");
        assert!(formula.prepare(&config, Seed(seed), &mut never_stop).is_continue());
        assert!(formula.layout.is_some(), "{seed} is striped");
        let mut written = PageMapped::new(&config, Seed(seed)).unwrap();
        assert!(written.fill(&mut never_stop).is_continue());
        written.counters = FtlCounters::default();
        assert_eq!(mapped_units(&formula), mapped_units(&written), "{seed}");
        check(&formula);
        let mut random = Seed(seed).derive("writes").source();
        let (mut of_formula, mut of_written) = (Vec::new(), Vec::new());
        let units = u64::from(formula.geometry.logical_units);
        for write in 0..units * 3 {
            let lpn = Lpn(random.below(units) as u32);
            if random.chance(0.03) {
                formula.trim(lpn);
                written.trim(lpn);
                continue;
            }
            let places = (formula.place(lpn, &mut of_formula), written.place(lpn, &mut of_written));
            assert_eq!(places.0, places.1, "write {write} of drive {seed}");
            assert_eq!(of_formula, of_written, "GC after write {write} of drive {seed}");
        }
        assert_eq!(formula.counters(), written.counters());
        assert_eq!(formula.wear_spread(), written.wear_spread());
        check(&formula);
    }
}

#[test]
fn fragmented_drive_keeps_every_unit_through_overwriting() {
    for seed in 0..60 {
        let (config, mut ftl) = random_drive(seed, "fragmented");
        assert!(ftl.prepare(&config, Seed(seed), &mut never_stop).is_continue());
        let units = ftl.geometry.logical_units;
        check(&ftl);
        assert_eq!(mapped_units(&ftl).len(), units as usize);
        let mut random = Seed(seed).derive("writes").source();
        overwrite(&mut ftl, u64::from(units) / 4, &mut random);
        check(&ftl);
        overwrite(&mut ftl, u64::from(units) * 3, &mut random);
        check(&ftl);
        assert_eq!(mapped_units(&ftl).len(), units as usize);
    }
}

#[test]
fn allocation_without_a_stripe_is_prepared_too() {
    for state in [InitialState::Full, InitialState::Fragmented] {
        let config = config(&[("mapping.policy", "write-order"), ("mapping.allocation", "random")]);
        let mut ftl = prepared(&config, state, 3);
        assert_eq!(ftl.layout.is_some(), state == InitialState::Fragmented);
        check(&ftl);
        let units = u64::from(ftl.geometry.logical_units);
        overwrite(&mut ftl, 3 * units, &mut Seed(5).source());
        check(&ftl);
    }
}

#[test]
fn the_smallest_drives_can_be_prepared() {
    for state in [InitialState::Full, InitialState::Fragmented] {
        for capacity in ["512B", "4KiB", "40KiB"] {
            let config = config(&[("capacity", capacity)]);
            let ftl = prepared(&config, state, 1);
            assert!((0..ftl.geometry.logical_units).all(|lpn| ftl.plane_of(Lpn(lpn)).is_some()));
            check(&ftl);
        }
    }
}

/// Mean and variance of the units moved off a victim, and units moved for each that the host wrote.
fn victims(ftl: &mut PageMapped, writes: u64, random: &mut Random) -> [f64; 3] {
    let before = ftl.counters();
    let moves: Vec<f64> = overwrite(ftl, writes, random).iter().map(|gc| f64::from(gc.moves)).collect();
    let mean = moves.iter().sum::<f64>() / moves.len() as f64;
    let variance = moves.iter().map(|moves| (moves - mean).powi(2)).sum::<f64>() / moves.len() as f64;
    [mean, variance, (ftl.counters().moved_units - before.moved_units) as f64 / writes as f64]
}

#[test]
fn fragmented_state_is_the_one_that_overwriting_leads_to() {
    for settings in [
        [("mapping.policy", "lba"), ("cleaning.policy", "greedy"), ("cleaning.separate", "false")],
        [("mapping.policy", "write-order"), ("cleaning.policy", "greedy"), ("cleaning.separate", "true")],
        [("mapping.policy", "lba"), ("cleaning.policy", "cost-benefit"), ("cleaning.separate", "false")],
        [("mapping.policy", "write-order"), ("cleaning.policy", "d-choice"), ("cleaning.separate", "true")],
    ] {
        let mut overrides = vec![("flash.blocks", "256"), ("capacity", "50MiB")];
        overrides.extend(settings);
        let config = config(&overrides);
        // The means over seeds of the victims in the first half of an overwrite, as prepared and after many overwrites.
        let (mut prepared_mean, mut written_mean) = ([0.0; 3], [0.0; 3]);
        const SEEDS: u64 = 8;
        for seed in 0..SEEDS {
            let mut random = Seed(seed).derive("writes").source();
            let mut add = |mean: &mut [f64; 3], ftl: &mut PageMapped| {
                let writes = u64::from(ftl.geometry.logical_units) / 2;
                for (mean, value) in mean.iter_mut().zip(victims(ftl, writes, &mut random)) {
                    *mean += value / SEEDS as f64;
                }
            };
            let mut fragmented = prepared(&config, InitialState::Fragmented, seed);
            add(&mut prepared_mean, &mut fragmented);
            let mut full = prepared(&config, InitialState::Full, seed);
            let overwritten = u64::from(full.geometry.logical_units) * 8;
            overwrite(&mut full, overwritten, &mut Seed(seed).derive("overwrites").source());
            add(&mut written_mean, &mut full);
        }
        for (i, (tolerance, of)) in
            [(0.02, "mean"), (0.15, "variance"), (0.03, "amplification")].into_iter().enumerate()
        {
            let (prepared, written) = (prepared_mean[i], written_mean[i]);
            assert!(
                (prepared / written - 1.0).abs() < tolerance,
                "{of} of {settings:?}: {prepared} prepared, {written} written"
            );
        }
    }
}

#[test]
fn fragmented_drive_cleans_from_the_first_write_on() {
    const SEEDS: u64 = 40;
    // In half a block a plane, GC moves as much as it does later, and the planes do not begin to clean at one time.
    for settings in [
        [("cleaning.pacing", "watermark"), ("cleaning.separate", "true")],
        [("cleaning.pacing", "watermark"), ("cleaning.separate", "false")],
        [("cleaning.pacing", "proportional"), ("cleaning.separate", "true")],
        [("cleaning.pacing", "proportional"), ("cleaning.separate", "false")],
    ] {
        let mut overrides = vec![
            ("flash.pages", "64"),
            ("flash.blocks", "128"),
            ("capacity", "100MiB"),
            ("mapping.policy", "write-order"),
            ("cleaning.defer", "no"),
        ];
        overrides.extend(settings);
        let config = config(&overrides);
        let (mut first, mut later) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let mut ftl = prepared(&config, InitialState::Fragmented, seed);
            let writes = u64::from(ftl.geometry.planes * ftl.geometry.data_units / 2);
            let mut random = Seed(seed).derive("writes").source();
            let mut moved = |ftl: &mut PageMapped, writes| {
                let before = ftl.counters().moved_units;
                overwrite(ftl, writes, &mut random);
                (ftl.counters().moved_units - before) as f64 / writes as f64
            };
            first += moved(&mut ftl, writes);
            overwrite(&mut ftl, 8 * writes, &mut Seed(seed).derive("between").source());
            later += moved(&mut ftl, 8 * writes);
        }
        assert!(
            (first / later - 1.0).abs() < 0.1,
            "{settings:?}: {} at first, {} later",
            first / 16.0,
            later / 16.0
        );
    }
}
