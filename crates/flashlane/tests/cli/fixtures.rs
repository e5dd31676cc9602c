//! The report's fixtures are results of the program, one for each kind of result.
//!
//! After changes of a result's fields, `RENEW_FIXTURES=1 cargo test -p flashlane --test cli fixtures` writes them anew.

use crate::program::command;
use crate::transactions::pages;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Fixtures and the commands of which they are the results. Seeds have their defaults, where none is given.
const FIXTURES: &[(&str, &[&str])] = &[
    // With this seed a quick probe finds all that it can find.
    ("probe", &["probe", "sim:ssd-s", "--quick", "--seed", "4"]),
    ("run", &["run", "sim:ssd-s,initial.state=full", "mix.toml"]),
    ("runs", &["run", "sim:ssd-s", "stages.fio"]),
    ("replay", &["replay", "sim:ssd-s", "pgbench.blktrace.xz", "--limit", "1500", "--speed", "2"]),
    (
        "transactions",
        &["transactions", "sim:he-4g", "some.pages", "--pool", "100", "--clients", "4", "--warmup", "100"],
    ),
    ("study", &["study", "chen11/fig3", "--quick"]),
    ("score", &["probe", "--score", "1"]),
    (
        "sweep",
        &[
            "run",
            "sim:ssd-s,capacity=1GiB,flash.blocks=275,initial.state=full",
            "random-read,requests=1000",
            "--sweep",
            "workload.depth=1,4,16",
            "--sweep",
            "flash.read=25us,50us",
            "--repeat",
            "3",
        ],
    ),
    ("trace", &["trace", "info", "pgbench.blktrace.xz"]),
    ("uflip", &["uflip", "sim:ssd-s", "--quick", "--only", "order,pause"]),
    ("uflip-plan", &["uflip", "sim:ssd-s", "--plan"]),
    (
        "calibration",
        &[
            "calibrate",
            "drive.csv",
            "--start",
            "ssd-s",
            "--keep-counts",
            "--out",
            "twin.toml",
            "--format",
            "json",
        ],
    ),
    ("advice", &["advise", "postgresql", "sim:ssd-s,flash.blocks=1024,capacity=4GB", "--check"]),
    ("sdf", &["sdf", "status", "lanes(./store)"]),
    ("sdf-bench", &["sdf", "bench", "sim:sdf", "--blocks", "44", "--gets", "100"]),
];

/// Most points of a curve that a fixture keeps: the words beside it show none of them.
const POINTS: usize = 24;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../report/tests/fixtures/{name}.json"))
}

/// The files that the commands read, in a folder.
fn inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let write =
        |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).expect("it is ours");
    write(
        "drive.csv",
        b"workload,quantity,value,source\n\
          \"random-read,size=4KiB,depth=1\",p50,52us,a test\n\
          \"random-read,size=4KiB,depth=1\",mean,53us,a test\n\
          \"random-read,size=4KiB,depth=1\",rate,19k/s,a test\n\
          \"random-read,size=64KiB,depth=4\",bandwidth,300MB/s,a test\n",
    );
    write("some.pages", &pages(10, 1500));
    write(
        "mix.toml",
        b"requests = 1500\n\n[[job]]\nname = \"lookup\"\npattern = \"random-read\"\ndepth = 4\n\n\
          [[job]]\nname = \"log\"\npattern = \"sequential-write\"\nsize = \"16KiB\"\n",
    );
    write(
        "stages.fio",
        b"[global]\nsize=4m\n[fill]\nrw=write\n[again]\nstonewall\nrw=randread\nio_size=8m\n",
    );
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/pgbench.blktrace.xz");
    write("pgbench.blktrace.xz", &fs::read(trace).expect("it is in the repository"));
    write("block", &[0x5a; 100_000]);
    let format = "sdf format lanes(./store,channels=2,unit=1MiB) --create 16MiB";
    let put = "sdf put lanes(./store) block block block";
    for words in [format, put] {
        let words: Vec<&str> = words.split(' ').collect();
        let output = command(&words).current_dir(folder.path()).output().expect("the program can be started");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    folder
}

/// Returns the result of a command, without properties of the machine and with fewer points.
fn result(folder: &Path, name: &str, words: &[&str]) -> Value {
    let out = folder.join(name);
    let mut command = command(words);
    // Where `--out` is a file for something else, the result is printed.
    let is_printed = words.contains(&"--out");
    if !is_printed {
        command.arg("--out").arg(&out);
    }
    let output = command.current_dir(folder).output().expect("the program can be started");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = if is_printed {
        String::from_utf8(output.stdout).expect("JSON is UTF-8")
    } else {
        fs::read_to_string(out.join("result.json")).expect("it is written")
    };
    let mut result: Value = serde_json::from_str(&text).expect("it is JSON");
    let fields = result.as_object_mut().expect("a result is an object");
    fields.shift_remove("machine");
    fields.shift_remove("files");
    fields.shift_remove("checksums");
    if let Some(format) = fields.get_mut("format").filter(|_| name == "sdf") {
        // It is random for each formatting of a real device.
        *format = "0123456789abcdef0123456789abcdef".into();
    }
    for figure in fields.get_mut("figures").and_then(Value::as_array_mut).into_iter().flatten() {
        let series = figure["series"].as_array_mut().expect("a figure has a list of series");
        for points in series.iter_mut().flat_map(|series| series.as_object_mut()).flatten() {
            let Value::Array(points) = points.1 else { continue };
            let step = points.len().div_ceil(POINTS).max(1);
            let mut at = 0..;
            points.retain(|_| at.next().is_some_and(|at| at % step == 0));
        }
    }
    result
}

/// Returns the paths of all fields. Warnings may depend on the file system.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "warnings") {
                let path = format!("{path}.{name}");
                paths(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, path, found)),
        _ => {}
    }
}

#[test]
fn fixtures_of_the_report_have_the_fields_of_results() {
    let folder = inputs();
    for (name, words) in FIXTURES {
        let result = result(folder.path(), name, words);
        let path = fixture(name);
        if std::env::var_os("RENEW_FIXTURES").is_some() {
            let mut text = Vec::new();
            let indented = PrettyFormatter::with_indent(b" ");
            let mut writer = Serializer::with_formatter(&mut text, indented);
            result.serialize(&mut writer).expect("a value can be written");
            text.push(b'\n');
            fs::write(&path, text).expect("it can be written");
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let kept: Value = serde_json::from_str(&text).expect("it is JSON");
        let of = |value: &Value| {
            let mut found = BTreeSet::new();
            paths(value, "", &mut found);
            found
        };
        let (kept, wanted) = (of(&kept), of(&result));
        let differing: Vec<_> = kept.symmetric_difference(&wanted).collect();
        assert!(
            differing.is_empty(),
            "the fixture '{name}' and the program differ in {differing:?}: \
             RENEW_FIXTURES=1 cargo test -p flashlane --test cli fixtures"
        );
    }
}
