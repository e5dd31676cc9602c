//! The reader of profiles and of the settings in a spec. An accepted profile must be a drive that can be built and
//! used: the reader must refuse all others.

use crate::Target;
use flashlane_base::{Instant, Seed};
use flashlane_device::{Device, Request, SubmitError};
use flashlane_sim::config::DriveConfig;
use flashlane_sim::profile::{self, ConfigError};

pub(crate) const TARGET: Target = Target {
    name: "profile_reader",
    body,
    seeds: &[
        SMALL,
        "channels=16,flash.read=30us",
        "mapping.policy=lba,buffer.size=1MiB,link.depth=8",
        "cleaning.policy=d-choice,initial.fill=100%,flash.page=8KiB",
    ],
};

/// A drive small enough to build for each input.
const SMALL: &str = r#"name = "small"
description = "for fuzzing"
capacity = "4MiB"
[host]
submission = "10us"
[link]
bandwidth = "250MB/s"
read_command = "9us"
depth = 8
read_write_exclusion = true
[readahead]
window = "32KiB"
cache = "64KiB"
options = { streams = 1, trigger = 2 }
[buffer]
policy = "fifo"
size = "64KiB"
[mapping]
policy = "write-order"
chunk = "4KiB"
allocation = "striped"
order = ["channel", "package", "die", "plane"]
[cleaning]
policy = "greedy"
low = "5%"
[flash]
channels = 2
packages = 2
dies = 1
planes = 1
blocks = 32
pages = 16
page = "4KiB"
read = "25us"
program = "250us"
erase = "700us"
bus = "36MB/s"
[provenance]
"capacity" = "made up"
"#;

/// Largest drive that is built; larger ones are only read and checked.
const PAGES_MAX: u64 = 1 << 14;

fn body(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A single line is read as settings of a spec.
    let answer = if text.contains('\n') {
        profile::parse("fuzzed.toml", text, &[])
    } else {
        let settings = text.split(',').filter_map(|setting| setting.split_once('='));
        let settings: Vec<_> = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        profile::parse("fuzzed.toml", SMALL, &settings)
    };
    match answer {
        Ok(config) => exercise(&config),
        Err(error) => check_message(&error),
    }
}

fn check_message(error: &ConfigError) {
    let message = error.to_string();
    assert!(message.contains("fuzzed.toml") && !error.reason.is_empty(), "{message} gives no reason");
}

fn exercise(config: &DriveConfig) {
    let flash = &config.flash;
    let parts = [flash.channels, flash.packages, flash.dies, flash.planes, flash.blocks, flash.pages];
    let pages = parts.iter().try_fold(1_u64, |product, &part| product.checked_mul(u64::from(part)));
    let buffered = config.buffer.as_ref().map_or(0, |buffer| buffer.size.0 / flash.page.0.max(1));
    if pages.is_none_or(|pages| pages > PAGES_MAX) || buffered > PAGES_MAX {
        return;
    }
    let mut drive = flashlane_sim::device(config, Seed(1), "fuzzed".into());
    let (unit, capacity) = (drive.info().write_unit_bytes, drive.info().capacity_bytes);
    let erases = drive.info().erase_unit_bytes > 0;
    let mut out = Vec::new();
    for id in 0..40 {
        let offset = (id * 7 * unit) % capacity;
        let request =
            if id % 3 == 0 { Request::read(id, offset, unit) } else { Request::write(id, offset, unit) };
        match drive.submit(request) {
            Ok(()) => {}
            // Where software erases, the state of a unit can forbid the request.
            Err(SubmitError::Rule { .. }) if erases => continue,
            Err(error) => panic!("{request:?} is refused: {error}"),
        }
        let before = out.len();
        drive.reap(Instant::FAR, &mut out);
        assert!(out.len() > before, "{request:?} never completes");
    }
}
