//! What a profile says of its randomness holds: a drive without any does the same under every seed.

use crate::Drive;
use crate::profile::{load, load_with, names};
use flashlane_base::{Instant, Seed};
use flashlane_device::{Device, Request};
use flashlane_policy::registry::Entry;
use flashlane_policy::{Policies, allocation, buffer, cleaning, mapping, readahead, scheduling, wear};

/// What a drive does with some reads and writes: a hash over its events.
fn hash(profile: &str, settings: &[(String, String)], seed: u64) -> u64 {
    let mut drive = Drive::new(&load(profile, settings).expect("it was checked"), Seed(seed));
    let capacity = drive.info().capacity_bytes / 65536 - 1;
    let mut out = Vec::new();
    for id in 0..600_u64 {
        let place = (id * 7919 % capacity.min(300)) * 65536;
        let request =
            if id % 3 == 2 { Request::read(id, place, 65536) } else { Request::write(id, place, 65536) };
        while drive.submit(request).is_err() {
            drive.reap(Instant::FAR, &mut out);
        }
    }
    while out.len() < 600 {
        drive.reap(Instant::FAR, &mut out);
    }
    drive.trace_hash()
}

#[test]
fn an_added_policy_says_whether_it_is_random() {
    for is_random in [false, true] {
        let mut policies = Policies::default();
        let greedy = policies.cleaning.entries()[0];
        policies.cleaning.add(Entry { name: "mine", is_random, ..greedy }).unwrap();
        let settings = [("cleaning.policy", "mine"), ("flash.noise", "0%"), ("host.jitter", "0%")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let config = load_with(&policies, "msr-32g", &settings).unwrap();
        assert_eq!(config.is_random(), is_random);
    }
}

#[test]
fn drives_without_randomness_do_not_depend_on_the_seed() {
    let named = |key: &str, names: Vec<&'static str>| -> Vec<Vec<(String, String)>> {
        names.into_iter().map(|name| vec![(key.to_owned(), name.to_owned())]).collect()
    };
    let mut variants: Vec<Vec<(String, String)>> = vec![Vec::new()];
    variants.extend(named("mapping.policy", mapping::REGISTRY.iter().map(|e| e.name).collect()));
    variants.extend(named("mapping.allocation", allocation::REGISTRY.iter().map(|e| e.name).collect()));
    variants.extend(named("cleaning.policy", cleaning::REGISTRY.iter().map(|e| e.name).collect()));
    variants.extend(named("wear.policy", wear::REGISTRY.iter().map(|e| e.name).collect()));
    variants.extend(named("buffer.policy", buffer::REGISTRY.iter().map(|e| e.name).collect()));
    variants.extend(named("readahead.policy", readahead::REGISTRY.iter().map(|e| e.name).collect()));
    variants.extend(named("scheduling.policy", scheduling::REGISTRY.iter().map(|e| e.name).collect()));
    variants.extend(named("initial.state", vec!["fresh", "full", "fragmented"]));
    let (mut certain, mut random) = (0, 0);
    for profile in names() {
        for settings in &variants {
            let mut settings = settings.clone();
            for (key, value) in [("capacity", "256MiB"), ("flash.blocks", "64"), ("flash.noise", "0%")] {
                settings.push((key.into(), value.into()));
            }
            let Ok(config) = load(profile, &settings) else { continue };
            if config.has_erase_units() {
                continue;
            }
            if config.is_random() {
                random += 1;
                continue;
            }
            certain += 1;
            let hashes = [1, 2].map(|seed| hash(profile, &settings, seed));
            assert_eq!(hashes[0], hashes[1], "{profile} {settings:?}");
        }
    }
    assert!(certain > 30 && random > 5, "{certain} {random}");
}
