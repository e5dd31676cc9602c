//! Checks the dependencies between crates.
//!
//! Dependencies have one direction, and the table lists those allowed for each crate. Only dependencies built into a
//! crate count: tests (dev-dependencies) may use any crate.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// Allowed dependencies by crate, without the prefix `flashlane-`; each crate comes after those that it uses.
const ALLOWED: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("files", &[]),
    ("result", &["base"]),
    ("device", &["base"]),
    ("device-testing", &["base", "device"]),
    ("policy", &["base"]),
    ("replication", &["base", "policy"]),
    ("sim", &["base", "device", "policy", "replication"]),
    ("host", &["base", "files", "result", "device"]),
    ("layer", &["base", "device", "policy", "replication"]),
    ("replicated-trial", &["base", "device", "sim", "layer"]),
    ("block", &["base", "device"]),
    ("block-trial", &["base", "device", "device-testing", "block"]),
    ("store", &["base", "device", "policy", "block"]),
    ("store-trial", &["base", "device", "device-testing", "policy", "layer", "store"]),
    ("store-tables", &["base", "device", "store"]),
    ("store-files", &["base", "device", "store"]),
    ("store-server", &["base", "device", "host", "store"]),
    ("serve", &["base", "device", "host"]),
    ("store-mount", &["base", "device", "host", "store", "store-files", "serve"]),
    ("open", &["base", "result", "device", "policy", "sim", "host", "layer", "block", "store"]),
    ("workload", &["base"]),
    ("ycsb", &["base", "device", "store", "workload"]),
    ("trace", &["base", "files"]),
    ("measure", &["base", "result", "device", "workload", "trace"]),
    ("transactions", &["base", "result", "device", "policy", "workload", "trace", "measure"]),
    ("probe", &["base", "result", "device", "workload", "measure"]),
    ("advise", &["base", "result", "device", "workload", "measure"]),
    ("uflip", &["base", "result", "device", "workload", "measure"]),
    ("sweep", &["base", "files", "result", "measure"]),
    ("calibrate", &["base", "result", "sim", "workload", "measure", "sweep"]),
    (
        "studies",
        &[
            "base",
            "result",
            "device",
            "sim",
            "layer",
            "store",
            "workload",
            "trace",
            "measure",
            "transactions",
            "probe",
            "advise",
            "uflip",
            "sweep",
        ],
    ),
    ("report", &["base", "files", "result"]),
    (
        "fuzzing",
        &[
            "base",
            "device",
            "device-testing",
            "sim",
            "layer",
            "block",
            "block-trial",
            "store",
            "store-tables",
            "store-server",
            "serve",
            "workload",
            "trace",
            "transactions",
            "advise",
            "report",
        ],
    ),
    (
        "flashlane",
        &[
            "base",
            "files",
            "result",
            "device",
            "policy",
            "sim",
            "host",
            "layer",
            "open",
            "block",
            "store",
            "store-tables",
            "store-files",
            "store-server",
            "store-mount",
            "serve",
            "workload",
            "ycsb",
            "trace",
            "measure",
            "transactions",
            "probe",
            "advise",
            "calibrate",
            "uflip",
            "sweep",
            "studies",
            "report",
        ],
    ),
    ("xtask", &["base", "block-trial", "replicated-trial", "store-trial", "fuzzing"]),
];

/// The relevant part of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or `None` for a normal one.
    kind: Option<String>,
    /// Set for crates of the workspace.
    path: Option<String>,
}

impl Dependency {
    /// Returns whether it is a crate of the workspace that is built into its dependent.
    fn is_built_in(&self) -> bool {
        self.path.is_some() && self.kind.as_deref() != Some("dev")
    }
}

/// Checks the workspace at `root` against the table.
pub fn check(root: &Path) -> Result<()> {
    let output = Command::new(crate::cargo())
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cannot read cargo metadata")?;
    let wrong = forbidden(&metadata.packages, ALLOWED);
    if !wrong.is_empty() {
        bail!("{}\nthe table is in crates/xtask/src/arrows.rs", wrong.join("\n"));
    }
    println!("arrows: the dependencies of {} crates are allowed", metadata.packages.len());
    Ok(())
}

fn short(name: &str) -> &str {
    name.strip_prefix("flashlane-").unwrap_or(name)
}

/// Returns the violations, a line each.
fn forbidden(packages: &[Package], table: &[(&str, &[&str])]) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages {
        let name = short(&package.name);
        let Some((_, allowed)) = table.iter().find(|(crate_name, _)| *crate_name == name) else {
            wrong.push(format!("{name} has no line in the table of arrows"));
            continue;
        };
        for dependency in &package.dependencies {
            let used = short(&dependency.name);
            if dependency.is_built_in() && !allowed.contains(&used) {
                let allowed = if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") };
                wrong.push(format!("{name} -> {used} is forbidden: {name} may use {allowed}"));
            }
        }
    }
    for (name, allowed) in table {
        let Some(package) = packages.iter().find(|package| short(&package.name) == *name) else {
            wrong.push(format!("{name} is in the table of arrows and not in the workspace"));
            continue;
        };
        for used in *allowed {
            if !package
                .dependencies
                .iter()
                .any(|dependency| dependency.is_built_in() && short(&dependency.name) == *used)
            {
                wrong.push(format!("{name} -> {used} is allowed and not used: take it out of the table"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|(name, kind)| Dependency {
                name: (*name).into(),
                kind: kind.map(Into::into),
                path: name.starts_with("flashlane").then(|| "here".into()),
            })
            .collect();
        Package { name: name.into(), dependencies }
    }

    #[test]
    fn workspace_obeys_the_table() {
        let root = crate::root().unwrap();
        check(&root).unwrap();
    }

    #[test]
    fn table_has_no_cycle() {
        for (at, (name, allowed)) in ALLOWED.iter().enumerate() {
            for used in *allowed {
                let below = ALLOWED.iter().position(|(name, _)| name == used);
                assert!(below.is_some_and(|below| below < at), "{name} -> {used} does not point down");
            }
        }
    }

    #[test]
    fn forbidden_dependency_is_named_with_the_allowed_ones() {
        let table: &[(&str, &[&str])] = &[("base", &[]), ("device", &["base"]), ("sim", &["device"])];
        let sound = [
            package("flashlane-base", &[("serde", None), ("flashlane-sim", Some("dev"))]),
            package("flashlane-device", &[("flashlane-base", None)]),
            package("flashlane-sim", &[("flashlane-device", None)]),
        ];
        assert_eq!(forbidden(&sound, table), [""; 0]);
        let wrong = [
            package("flashlane-base", &[("flashlane-device", Some("build"))]),
            package("flashlane-device", &[("flashlane-sim", None)]),
            package("other", &[]),
        ];
        assert_eq!(
            forbidden(&wrong, table),
            [
                "base -> device is forbidden: base may use nothing",
                "device -> sim is forbidden: device may use base",
                "other has no line in the table of arrows",
                "device -> base is allowed and not used: take it out of the table",
                "sim is in the table of arrows and not in the workspace",
            ]
        );
    }
}
