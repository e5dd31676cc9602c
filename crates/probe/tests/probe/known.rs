//! Drives of known structure: no finding is wrong, and clear structure is found.

use crate::{assert_right_or_open, drive, number, options, structure_of};
use flashlane_base::{Instant, Seed};
use flashlane_device::{Device, Request};
use flashlane_probe::{Effort, Feature, Options, ProbeError, ProbeResult, Status, probe};
use flashlane_sim::{Drive, profile};

fn status(result: &ProbeResult, feature: Feature) -> Status {
    result.finding(feature).unwrap().status
}

/// Chunk, degree, sub-domains and mapping.
pub(crate) fn assert_layout(result: &ProbeResult, chunk: u64, degree: u64, sub_domains: u64, mapping: &str) {
    assert_eq!(number(result, Feature::ChunkSize), Some(chunk), "{:#?}", result.findings);
    assert_eq!(number(result, Feature::InterleavingDegree), Some(degree), "{:#?}", result.findings);
    assert_eq!(number(result, Feature::SubDomains), Some(sub_domains), "{:#?}", result.findings);
    assert_eq!(
        result.finding(Feature::MappingPolicy).unwrap().word(),
        Some(mapping),
        "{:#?}",
        result.findings
    );
}

#[test]
fn chen11_drives_have_published_structure() {
    for profile in ["ssd-s", "ssd-m"] {
        let result = structure_of(drive(profile, &[]));
        assert_layout(&result, 4096, 10, 2, "write-order");
        assert_eq!(number(&result, Feature::PageSize), Some(4096));
        assert_eq!(number(&result, Feature::ReadaheadStreams), Some(1));
        assert_eq!(status(&result, Feature::ReadWriteSlowdown), Status::Found);
        let buffer = number(&result, Feature::WriteBuffer).unwrap() as f64;
        assert!((buffer / 262_144.0 - 1.0).abs() < 0.1, "{buffer}");
    }
}

/// Two lines met as many as five writes behind the bend, which left the size open with each of these seeds.
#[test]
fn buffer_of_noisy_drive_is_found_with_any_seed() {
    for seed in [2, 8, 10] {
        let options = Options { structure_only: true, ..options(Effort::Normal, seed) };
        let result = probe(&mut drive("ssd-s", &[]), options).unwrap();
        let buffer = number(&result, Feature::WriteBuffer).unwrap_or_default() as f64;
        assert!((buffer / 262_144.0 - 1.0).abs() < 0.1, "seed {seed}: {buffer}");
    }
}

#[test]
fn missing_buffer_and_readahead_are_absent() {
    let result = structure_of(drive("msr-32g", &[]));
    assert_layout(&result, 4096, 8, 1, "lba");
    for feature in [Feature::ReadaheadStreams, Feature::WriteBuffer, Feature::ReadWriteSlowdown] {
        assert_eq!(status(&result, feature), Status::Absent, "{feature}");
    }
}

#[test]
fn channels_are_domains_with_four_planes_per_die() {
    let result = structure_of(drive("nvme-tlc", &[]));
    assert_eq!(number(&result, Feature::ChunkSize), Some(16384));
    assert_eq!(number(&result, Feature::InterleavingDegree), Some(8));
    assert_eq!(number(&result, Feature::ReadaheadStreams), Some(8));
    assert_right_or_open(&result, Feature::SubDomains, &[2]);
}

#[test]
fn single_changed_settings_are_found() {
    assert_layout(&structure_of(drive("ssd-s", &[("mapping.policy", "lba")])), 4096, 10, 2, "lba");
    let four = structure_of(drive("ssd-s", &[("readahead.options.streams", "4")]));
    assert_eq!(number(&four, Feature::ReadaheadStreams), Some(4));
    for (setting, bytes) in [("64KiB", 65_536.0), ("1MiB", 1_048_576.0), ("4MiB", 4_194_304.0)] {
        let result = structure_of(drive("ssd-s", &[("buffer.size", setting)]));
        assert_ne!(status(&result, Feature::WriteBuffer), Status::Absent);
        if let Some(found) = number(&result, Feature::WriteBuffer) {
            assert!((found as f64 / bytes - 1.0).abs() < 0.1, "{found} of {bytes}");
        }
    }
    let dies = structure_of(drive("ssd-s", &[("flash.dies", "2"), ("flash.blocks", "4096")]));
    assert_layout(&dies, 4096, 10, 4, "write-order");
}

/// On a small drive the overwrite in random order takes up most of the area.
#[test]
fn overwrite_of_most_of_the_area_shows_the_mapping() {
    let small =
        [("capacity", "64MiB"), ("flash.page", "16KiB"), ("blocks", "24"), ("pages", "16"), ("noise", "1%")];
    for policy in ["write-order", "lba"] {
        let overrides: Vec<_> = small.into_iter().chain([("mapping.policy", policy)]).collect();
        assert_layout(&structure_of(made(&overrides)), 16384, 6, 2, policy);
    }
}

#[test]
fn random_allocation_has_no_degree_or_mapping() {
    let result = structure_of(drive("ssd-s", &[("mapping.allocation", "random")]));
    for feature in [Feature::InterleavingDegree, Feature::SubDomains, Feature::MappingPolicy] {
        assert_eq!(status(&result, feature), Status::NotDetermined, "{feature}");
    }
}

#[test]
fn initial_state_does_not_mislead() {
    for state in ["full", "fragmented"] {
        let result = structure_of(drive("ssd-s", &[("initial.state", state)]));
        assert_layout(&result, 4096, 10, 2, "write-order");
    }
}

pub(crate) const MADE: &str = r#"
name = "made"
capacity = "1GiB"
[host]
submission = "10us"
jitter = "2%"
[link]
bandwidth = "600MB/s"
read_command = "1us"
write_command = "1us"
depth = 32
[mapping]
policy = "write-order"
chunk = "16KiB"
order = ["channel", "package", "die", "plane"]
[cleaning]
low = "3%"
[flash]
channels = 6
packages = 2
dies = 1
planes = 2
blocks = 256
pages = 64
page = "4KiB"
read = "40us"
program = "300us"
erase = "2ms"
bus = "100MB/s"
noise = "2%"
cache_mode = false
multi_plane = false
"#;

const ORDER: &str = r#"["channel", "package", "die", "plane"]"#;

pub(crate) fn made(overrides: &[(&str, &str)]) -> Drive {
    made_in_order(ORDER, overrides)
}

pub(crate) fn made_in_order(order: &str, overrides: &[(&str, &str)]) -> Drive {
    made_with_seed(order, overrides, 1)
}

pub(crate) fn made_with_seed(order: &str, overrides: &[(&str, &str)], seed: u64) -> Drive {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let with_sector = format!("sector = \"512B\"\n{}", MADE.replace(ORDER, order));
    Drive::new(&profile::parse("made", &with_sector, &overrides).unwrap(), Seed(seed))
}

/// Creates a drive of settings in a text: pairs of a key and a value, with commas between them, as a score prints them.
pub(crate) fn made_of(order: &str, settings: &str, seed: u64) -> Drive {
    let pairs = settings.split(", ").map(|pair| pair.split_once(' ').expect("a key and a value"));
    let mut pairs: Vec<_> = pairs.collect();
    if pairs.contains(&("flash.planes", "1")) {
        // Refused as without effect, where it is given beside a profile.
        pairs.retain(|(key, _)| *key != "flash.multi_plane");
    }
    made_with_seed(order, &pairs, seed)
}

/// Chunk, page, degree, sub-domains and mapping are right or not determined.
fn assert_not_wrong(result: &ProbeResult, chunk: u64, degree: u64, sub_domains: &[u64]) {
    assert_right_or_open(result, Feature::ChunkSize, &[chunk]);
    assert_right_or_open(result, Feature::PageSize, &[4096]);
    assert_right_or_open(result, Feature::InterleavingDegree, &[degree]);
    assert_right_or_open(result, Feature::SubDomains, sub_domains);
    let mapping = result.finding(Feature::MappingPolicy).unwrap();
    assert!(mapping.status == Status::NotDetermined || mapping.word() == Some("write-order"), "{mapping:?}");
}

#[test]
fn earlier_unaligned_writes_do_not_mislead() {
    for pages in [1, 3, 5] {
        let mut drive = made(&[]);
        for page in 0..pages {
            drive.submit(Request::write(0, page * 4096, 4096)).unwrap();
            drive.reap(Instant::FAR, &mut Vec::new());
        }
        assert_not_wrong(&structure_of(drive), 16384, 6, &[2]);
    }
}

#[test]
fn cache_mode_and_multi_plane_do_not_mislead() {
    for bus in ["25MB/s", "100MB/s", "800MB/s"] {
        for (cache_mode, multi_plane) in [("true", "false"), ("false", "true"), ("true", "true")] {
            let result = structure_of(made(&[
                ("flash.bus", bus),
                ("flash.cache_mode", cache_mode),
                ("flash.multi_plane", multi_plane),
            ]));
            assert_not_wrong(&result, 16384, 6, &[2, 4]);
        }
    }
}

/// Without multi-plane operations the planes of one die are one queue, so the chunks on them are one chunk.
#[test]
fn other_orders_of_levels_do_not_mislead() {
    let planes_first = structure_of(made_in_order(r#"["plane", "channel", "package", "die"]"#, &[]));
    assert_not_wrong(&planes_first, 32768, 6, &[2]);
    let packages_first = structure_of(made_in_order(r#"["package", "channel", "die", "plane"]"#, &[]));
    assert_not_wrong(&packages_first, 16384, 6, &[2]);
}

#[test]
fn page_sized_sectors_do_not_mislead() {
    for sector in ["4096B", "2048B"] {
        assert_not_wrong(&structure_of(made(&[("sector", sector)])), 16384, 6, &[2]);
        assert_not_wrong(&structure_of(made(&[("sector", sector), ("chunk", "4KiB")])), 4096, 6, &[2]);
    }
}

#[test]
fn noisy_drive_does_not_mislead() {
    for seed in 0..4 {
        let mut drive = made(&[("flash.noise", "20%"), ("host.jitter", "20%")]);
        let result = probe(&mut drive, options(Effort::Quick, seed)).unwrap();
        assert_not_wrong(&result, 16384, 6, &[2]);
    }
}

#[test]
fn drive_of_depth_one_is_probed_completely() {
    let mut drive = drive("ssd-s", &[("link.depth", "1"), ("initial.state", "full")]);
    let result = probe(&mut drive, options(Effort::Normal, 1)).unwrap();
    assert_eq!(result.partial, None);
    assert_right_or_open(&result, Feature::ChunkSize, &[4096]);
    assert_eq!(result.recommendation["random_read"].queue_depth, 1);
    assert_eq!(result.recommendation.len(), 3);
}

#[test]
fn too_small_drive_is_refused() {
    let mut drive = made(&[("capacity", "16MiB")]);
    let error = probe(&mut drive, options(Effort::Quick, 1)).unwrap_err();
    assert_eq!(error, ProbeError::TooSmall { capacity_bytes: 16 << 20, needed_bytes: 20 << 20 });
    assert_eq!(error.to_string(), "the device has 16 MiB, and a probe needs at least 20 MiB");
}

#[test]
fn same_seed_gives_same_result() {
    let json = |seed| {
        let result = probe(&mut drive("ssd-s", &[]), options(Effort::Quick, seed)).unwrap();
        serde_json::to_string(&result).unwrap()
    };
    assert_eq!(json(7), json(7));
    assert_ne!(json(7), json(8));
}
