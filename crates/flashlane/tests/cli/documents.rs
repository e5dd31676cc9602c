//! The documents are complete: every key, field and setting of the program is explained. `crates/sim` holds
//! `docs/profiles.md` to the settings and counters of simulated drives.

use crate::program::{json, text};
use crate::transactions::recording;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A trace in the repository.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/pgbench.blktrace.xz");

fn document(name: &str) -> String {
    let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns whether a document explains a word in the first column of a table.
fn explains(document: &str, word: &str) -> bool {
    document.lines().any(|line| line.starts_with(&format!("| `{word}`")))
}

#[test]
fn document_explains_workload_keys_and_patterns() {
    let text = document("workloads");
    for key in flashlane_workload::KEYS {
        assert!(explains(&text, key.name), "docs/workloads.md does not explain '{}'", key.name);
    }
    for pattern in flashlane_workload::NAMED {
        assert!(explains(&text, pattern.name), "docs/workloads.md does not explain '{}'", pattern.name);
    }
}

#[test]
fn document_explains_every_result_field() {
    fn collect(value: &Value, names: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                // Settings of a point have their keys as names.
                if !name.contains('.') {
                    names.insert(name.clone());
                }
                // The crate of the simulated drives holds `profiles.md` to their counters.
                if name != "counters" {
                    collect(value, names);
                }
            }),
            Value::Array(members) => members.iter().for_each(|member| collect(member, names)),
            _ => {}
        }
    }
    let document = document("json");
    let (dir, path) = recording(1, 200);
    let (drive, twin) = (dir.path().join("drive.csv"), dir.path().join("twin.toml"));
    fs::write(&drive, "workload,quantity,value\n\"random-read,size=4KiB\",p50,52us\n").unwrap();
    for arguments in [
        &["run", "sim:ssd-s", "mixed,requests=2k"][..],
        &["calibrate", text(&drive), "--start", "ssd-s", "--keep-counts", "--out", text(&twin)],
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
        &["transactions", "sim:ssd-s", text(&path), "--pool", "100"],
        &["transactions", "sim:ssd-s", text(&path), "--sweep", "pool=50,100"],
        &["uflip", "sim:ssd-s,capacity=256MiB,flash.blocks=64", "--quick", "--only", "order"],
        &["uflip", "sim:ssd-s", "--plan"],
        &["advise", "postgresql", "sim:ssd-s,flash.blocks=1024,capacity=4GB", "--check"],
        &[
            "advise",
            "plan",
            "sim:ssd-s,flash.blocks=1024,capacity=4GB",
            "--plan",
            "a:scan,pages=9",
            "--plan",
            "b:scan,pages=8",
        ],
        &["sdf", "bench", "sim:sdf,channels=4,capacity=65216MiB", "--blocks", "4"],
    ] {
        let mut names = BTreeSet::new();
        collect(&json(arguments), &mut names);
        for name in names {
            assert!(explains(&document, &name), "docs/json.md does not explain '{name}' of {arguments:?}");
        }
    }
}

#[test]
fn document_explains_layers_and_settings() {
    let text = document("devices");
    for layer in flashlane_layer::LAYERS {
        assert!(text.contains(&format!("`{}(", layer.name)), "docs/devices.md lacks '{}'", layer.name);
        for option in (layer.options)() {
            assert!(explains(&text, option.key), "docs/devices.md does not explain '{}'", option.key);
        }
    }
}

#[test]
fn example_job_file_runs() {
    let text = document("workloads");
    let (_, rest) = text.split_once("```toml\n").expect("an example stands in it");
    let (example, _) = rest.split_once("```").unwrap();
    flashlane_workload::Workload::parse_toml(example, "docs/workloads.md").unwrap();
}

/// A source file: its module, from the crate on, and its text.
type Module = (Vec<String>, String);

/// Adds the source files in `dir`, whose module is `parent`.
fn add_modules(dir: &Path, parent: &[String], modules: &mut Vec<Module>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_root = matches!(name.as_str(), "lib" | "main");
        let module = if is_root { parent.to_vec() } else { [parent, &[name]].concat() };
        if entry.is_dir() {
            add_modules(&entry, &module, modules);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            modules.push((module, fs::read_to_string(&entry).unwrap()));
        }
    }
}

/// Returns whether Rust code declares an item or method of this name.
fn declares(code: &str, name: &str) -> bool {
    let is_end = |c: char| !c.is_alphanumeric() && c != '_';
    let declarations = ["fn", "struct", "enum", "trait", "const", "type", "static", "mod"];
    declarations.iter().any(|keyword| {
        let declaration = format!("{keyword} {name}");
        code.match_indices(&declaration).any(|(at, _)| code[at + declaration.len()..].starts_with(is_end))
    })
}

/// Returns whether a path as in `ARCHITECTURE.md` names a module, an item in or below one, or a method of a type.
fn resolves(path: &[&str], modules: &[Module]) -> bool {
    let (name, parent) = path.split_last().unwrap();
    let owner = parent.last().unwrap();
    let has_methods =
        |line: &str| (line.starts_with("impl") || line.starts_with("pub trait")) && line.contains(owner);
    modules.iter().any(|(module, code)| {
        let is_module = module.len() >= path.len() && module[module.len() - path.len()..] == *path;
        let is_below = module.windows(parent.len()).any(|part| part == parent);
        is_module || declares(code, name) && (is_below || code.lines().any(has_methods))
    })
}

#[test]
fn architecture_names_modules_and_items_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut modules = Vec::new();
    for krate in fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = krate.file_name().unwrap().to_str().unwrap().replace('-', "_");
        add_modules(&krate.join("src"), &[name], &mut modules);
    }
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let code = text.split('`').skip(1).step_by(2).filter(|code| code.contains("::"));
    let unresolved = code.filter(|code| {
        let path: Vec<&str> = code.trim_start_matches("flashlane_").split("::").collect();
        !resolves(&path, &modules)
    });
    assert_eq!(unresolved.collect::<Vec<_>>(), Vec::<&str>::new());
    // A path may begin in any folder: `drive/write.rs`.
    let mut files = Vec::new();
    add_files(&root.join("crates"), &mut files);
    let paths = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| code.ends_with(".rs") && !code.contains([' ', '*', '…']));
    let missing = paths.filter(|path| !files.iter().any(|file| file.ends_with(path)));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Adds all files below `dir`.
fn add_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => add_files(&entry, files),
            false => files.push(entry),
        }
    }
}

#[test]
fn tests_that_store_md_names_exist() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = document("store");
    let named: Vec<(&str, &str)> =
        text.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(".rs::")).collect();
    assert!(named.len() > 30, "{} tests are named", named.len());
    let is_there = |(file, test): &(&str, &str)| {
        let source = fs::read_to_string(crates.join(format!("{file}.rs"))).unwrap_or_default();
        source.contains(&format!("#[test]\nfn {test}()"))
            || source.contains(&format!("#[test]\n    fn {test}()"))
    };
    let missing: Vec<_> = named.iter().filter(|named| !is_there(named)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
