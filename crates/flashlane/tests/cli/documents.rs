//! The documents say what the program knows.

use crate::program::{done, flashlane, json};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// A trace that is in the repository.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/pgbench.blktrace.xz");

fn document(name: &str) -> String {
    let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether a document explains a word: in a table's first column.
fn explains(document: &str, word: &str) -> bool {
    document.lines().any(|line| line.starts_with(&format!("| `{word}`")))
}

#[test]
fn every_key_and_pattern_of_a_workload_is_explained() {
    let text = document("workloads");
    for key in flashlane_workload::KEYS {
        assert!(explains(&text, key.name), "docs/workloads.md does not explain '{}'", key.name);
    }
    for pattern in flashlane_workload::NAMED {
        assert!(explains(&text, pattern.name), "docs/workloads.md does not explain '{}'", pattern.name);
    }
}

#[test]
fn every_field_of_the_drives_is_explained() {
    let text = document("profiles");
    for profile in flashlane_sim::profile::PROFILES {
        let csv = done(&["profile", "show", profile.name, "--format", "csv"]);
        for line in csv.lines().skip(1) {
            let field = line.split(',').next().unwrap();
            let field = if field.contains("options.") { field.rsplit_once('.').unwrap().0 } else { field };
            assert!(
                explains(&text, field),
                "docs/profiles.md does not explain '{field}' of {}",
                profile.name
            );
        }
    }
}

#[test]
fn every_field_that_a_drive_can_have_is_explained() {
    let text = document("profiles");
    for section in [
        "host",
        "link",
        "readahead",
        "buffer",
        "mapping",
        "cleaning",
        "wear",
        "scheduling",
        "lanes",
        "flash",
        "initial",
    ] {
        // A field that cannot be is answered with those that can.
        let refusal =
            flashlane(&["run", &format!("sim:ssd-s,{section}.no-such-field=1"), "random-read"]).stderr;
        let (_, allowed) = refusal.split_once("allowed: ").expect(&refusal);
        for field in allowed.trim().split(", ") {
            assert!(explains(&text, &format!("{section}.{field}")), "{section}.{field}");
        }
    }
}

#[test]
fn every_field_of_a_result_is_explained() {
    fn collect(value: &Value, names: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                // The settings of a point are named by their keys.
                if !name.contains('.') {
                    names.insert(name.clone());
                }
                collect(value, names);
            }),
            Value::Array(members) => members.iter().for_each(|member| collect(member, names)),
            _ => {}
        }
    }
    let text = document("json");
    for arguments in [
        &["run", "sim:ssd-s", "mixed,requests=2k"][..],
        &[
            "run",
            "backed((sim:ssd-s,capacity=64MiB,flash.blocks=16))",
            "mixed,fsync=9,verify,rate=9/s,precondition=steady,requests=50",
        ],
        &["probe", "sim:ssd-s"],
        &["profile", "list"],
        &["probe", "--score", "1"],
        &["study", "list"],
        &["trace", "info", concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/samples/blkparse.txt")],
        &["study", "chen11/fig2", "--quick"],
        &["run", "sim:ssd-s", "mixed,requests=2k", "--sweep", "seed=1,2"],
        &["run", "sim:ssd-s", "mixed,requests=500", "--sweep", "workload.depth=1,2,4"],
        &["replay", "sim:ssd-s", TRACE, "--limit", "2k"],
        &["uflip", "sim:ssd-s,capacity=256MiB,flash.blocks=64", "--quick", "--only", "order"],
        &["uflip", "sim:ssd-s", "--plan"],
        &["sdf", "bench", "sim:sdf,channels=4,capacity=65216MiB", "--blocks", "4"],
    ] {
        let mut names = BTreeSet::new();
        collect(&json(arguments), &mut names);
        for name in names {
            assert!(explains(&text, &name), "docs/json.md does not explain '{name}' of {arguments:?}");
        }
    }
}

#[test]
fn every_layer_and_its_settings_are_explained() {
    let text = document("devices");
    for layer in flashlane_layer::LAYERS {
        assert!(text.contains(&format!("`{}(", layer.name)), "docs/devices.md lacks '{}'", layer.name);
        for option in (layer.options)() {
            assert!(explains(&text, option.key), "docs/devices.md does not explain '{}'", option.key);
        }
    }
}

#[test]
fn the_example_job_file_can_be_run() {
    let text = document("workloads");
    let (_, rest) = text.split_once("```toml\n").expect("an example stands in it");
    let (example, _) = rest.split_once("```").unwrap();
    flashlane_workload::Workload::parse_toml(example, "docs/workloads.md").unwrap();
}
