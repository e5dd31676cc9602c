//! Guarantees for programs: the JSON of each command, and the same bytes for the same seed.

use crate::program::{done, flashlane, json, refused, text};
use serde_json::Value;
use std::fs;

#[test]
fn run_result_has_its_schema() {
    let result = json(&["run", "sim:ssd-s", "mixed,size=4k,depth=4,requests=2k,area=16MiB"]);
    assert_eq!(result["schema"], "flashlane.run/1");
    assert_eq!(result["requests"], 2000);
    for number in ["elapsed_s", "iops", "bandwidth_bytes_per_s"] {
        assert!(result[number].as_f64().unwrap() > 0.0, "{number}");
    }
    let latency = result["latency_ns"].as_object().unwrap();
    let names: Vec<&str> = latency.keys().map(String::as_str).collect();
    assert_eq!(names, ["min", "mean", "stddev", "p50", "p90", "p99", "p999", "p9999", "max"]);
    assert!(latency.values().all(Value::is_number));
    assert!(result["device"]["counters"]["write_amplification"].as_f64().unwrap() >= 1.0);
    assert_eq!(result["device"]["counters"]["host_reads"].as_u64().map(|n| n > 1000), Some(true));
    assert_eq!((&result["partial"], &result["harness_ns_per_request"]), (&Value::Null, &Value::Null));
    assert!(result.get("figures").is_none() && result.get("samples").is_none(), "it is lean");
}

#[test]
fn changed_over_provisioning_is_a_warning() {
    let share_and_warning = |settings: &str| {
        let device = format!("sim:msr-32g{settings}");
        let result = json(&["run", &device, "random-read,requests=2k"]);
        let warnings = result["warnings"].as_array().unwrap().clone();
        let warning = warnings.into_iter().find(|warning| warning["code"] == "over-provisioning-changed");
        let words = warning.map(|warning| warning["message"].as_str().unwrap().to_owned());
        (result["device"]["over_provisioning_share"].as_f64().unwrap(), words)
    };
    let (share, words) = share_and_warning(",flash.channels=16");
    assert!((1.34..1.36).contains(&share), "{share}");
    let words = words.expect("a warning");
    for part in ["26.78 GiB", "135%", "17.6%", "over_provisioning=17.6%"] {
        assert!(words.contains(part), "{part} in {words}");
    }
    // The same for half the capacity, unless the flash is halved too.
    let (share, words) = share_and_warning(",capacity=13720MiB");
    assert!((1.34..1.36).contains(&share), "{share}");
    let words = words.expect("a warning");
    for part in ["13.4 GiB", "135%", "17.6%", "set flash.blocks in proportion"] {
        assert!(words.contains(part), "{part} in {words}");
    }
    let (_, words) = share_and_warning(",capacity=24GiB");
    assert!(words.as_ref().is_some_and(|words| words.contains("over_provisioning=31.3%")), "{words:?}");
    assert_eq!(share_and_warning(",capacity=13720MiB,flash.blocks=1024").1, None);
    assert_eq!(share_and_warning(",capacity=26.5GiB").1, None);
    for settings in ["", ",flash.channels=16,over_provisioning=17.6%"] {
        let (share, words) = share_and_warning(settings);
        assert!((0.175..0.178).contains(&share), "{settings}: {share}");
        assert_eq!(words, None, "{settings}");
    }
}

#[test]
fn only_a_fresh_drive_warns_not_written() {
    let codes = |device: &str| {
        let result = json(&["run", device, "random-read,requests=2k"]);
        let warnings = result["warnings"].as_array().unwrap().clone();
        warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(codes("sim:ssd-s").contains(&"not-written".to_owned()));
    assert!(!codes("sim:ssd-s,initial.state=full").contains(&"not-written".to_owned()));
}

#[test]
fn probe_result_has_its_schema() {
    let result = json(&["probe", "sim:ssd-s"]);
    assert_eq!((&result["schema"], &result["partial"]), (&"flashlane.probe/1".into(), &Value::Null));
    assert_eq!(result["device"]["name"], "sim:ssd-s");
    let findings = result["findings"].as_object().unwrap();
    for (name, finding) in findings {
        let status = finding["status"].as_str().unwrap();
        assert!(["found", "absent", "not-determined"].contains(&status), "{name} is {status}");
        assert_eq!(finding["value"].is_null(), status != "found", "{name}");
        assert!((0.0..=1.0).contains(&finding["confidence"].as_f64().unwrap()), "{name}");
        assert!(!finding["evidence"].as_str().unwrap().is_empty(), "{name}");
    }
    for (name, value) in [
        ("chunk_size_bytes", Value::from(4096)),
        ("interleaving_degree", 10.into()),
        ("sub_domains", 2.into()),
        ("mapping_policy", "write-order".into()),
        ("readahead_streams", 1.into()),
    ] {
        assert_eq!(findings[name]["value"], value, "{name}");
    }
    assert_eq!(findings["write_buffer_bytes"]["status"], "found");
    assert!(result["recommendation"].is_object() && result["warnings"].is_array());
    let writes = &result["recommendation"]["random_write"]["writes"];
    assert_eq!(writes["cleaning"], false, "it is fresh");
    assert!(writes["burst"].is_null(), "its small buffer makes no burst");
    let [spare, worn] = [&result["recommendation"]["random_write"], &writes["fragmented"]]
        .map(|rate| rate["bandwidth_bytes_per_s"].as_f64().unwrap());
    assert!(worn < 0.7 * spare, "{spare} {worn}");
    assert!(result.get("figures").is_none(), "it is lean");
    assert_eq!(json(&["probe", "sim:ssd-s"]), result, "it can be repeated");
}

#[test]
fn probe_accepts_a_profile_file_with_settings_and_a_bound() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.toml");
    fs::write(&file, done(&["profile", "show", "ssd-s"])).unwrap();
    let device = format!("sim:{},channels=16,mapping.policy=lba", file.display());
    let result = json(&["probe", &device, "--quick", "--page", "8KiB", "--p99", "1ms"]);
    assert_eq!(result["findings"]["interleaving_degree"]["value"], 16);
    assert_eq!(result["findings"]["mapping_policy"]["value"], "lba");
    for load in ["random_read", "random_write"] {
        let point = &result["recommendation"][load];
        assert_eq!((&point["request_bytes"], &point["p99_bound_ns"]), (&8192.into(), &1e6.into()), "{load}");
        assert!(point["p99_ns"].as_f64().unwrap() <= 1e6, "{load}: {point}");
    }
}

#[test]
fn score_result_has_its_schema() {
    let dir = tempfile::tempdir().unwrap();
    let result = json(&["probe", "--score", "2", "--out", text(dir.path())]);
    assert_eq!((&result["schema"], &result["drives"]), (&"flashlane.score/1".into(), &2.into()));
    for feature in result["features"].as_array().unwrap() {
        let count = |key: &str| feature[key].as_u64().unwrap();
        assert_eq!(count("right") + count("wrong") + count("not_determined"), 2, "{feature}");
    }
    assert!(result["mistakes"].is_array());
    assert!(done(&["report", text(dir.path())]).contains("Score: 2 random drives"));
}

#[test]
fn study_result_has_its_schema() {
    let dir = tempfile::tempdir().unwrap();
    let result = json(&["study", "chen11/fig2", "--quick", "--out", text(dir.path())]);
    assert_eq!((&result["schema"], &result["paper"]), (&"flashlane.study/1".into(), &"chen11".into()));
    let rows = result["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["figure", "quantity", "published", "measured", "unit", "tolerance", "verdict"]);
        assert_eq!((&row["figure"], &row["verdict"]), (&"fig2".into(), &"reproduced".into()));
    }
    assert!(done(&["report", text(dir.path())]).contains("quantities reproduced"));
}

#[test]
fn study_list_has_its_schema() {
    let list = json(&["study", "list"]);
    assert_eq!(list["schema"], "flashlane.studies/1");
    assert_eq!(list["studies"][0]["paper"], "chen11");
    assert_eq!(done(&["study"]), done(&["study", "list"]));
    assert!(done(&["study"]).contains("chen11/fig3"));
    assert!(done(&["study", "list", "--format", "csv"]).starts_with("paper,figure,claim\r\nchen11,fig2,"));
}

#[test]
fn output_depends_on_the_seed_only() {
    let run = |seed: &str, format: &str| {
        done(&[
            "run",
            "sim:ssd-s",
            "mixed,depth=8,requests=5k,area=64MiB",
            "--seed",
            seed,
            "--format",
            format,
        ])
    };
    for format in ["json", "text", "csv"] {
        assert_eq!(run("7", format), run("7", format));
    }
    assert_ne!(run("7", "json"), run("8", "json"));
    let inline =
        done(&["run", "sim:ssd-s", "mixed,depth=8,requests=5k,area=64MiB,seed=7", "--format", "json"]);
    assert_eq!(inline, run("7", "json"), "a workload's own seed is the same thing");
}

#[test]
fn out_saves_all_input_of_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("deep/down");
    let printed = json(&["run", "sim:ssd-s", "random-read,requests=2k", "--out", text(&out)]);
    let kept: Value = serde_json::from_str(&fs::read_to_string(out.join("result.json")).unwrap()).unwrap();
    let figures = kept["figures"].as_array().unwrap();
    assert!(!figures.is_empty());
    for figure in figures {
        assert!(out.join(format!("{}.svg", figure["id"].as_str().unwrap())).exists());
    }
    assert!(fs::read(out.join("samples.parquet")).unwrap().starts_with(b"PAR1"));
    let mut lean = kept.clone();
    lean.as_object_mut()
        .unwrap()
        .retain(|name, _| !["figures", "files", "checksums"].contains(&name.as_str()));
    assert_eq!(lean, printed);

    // The report renders it again, alone and twice, without measuring.
    assert_eq!(json(&["report", text(&out)]), printed);
    let again = dir.path().join("again");
    let printed = done(&["report", text(&out), text(&out.join("result.json")), "--out", text(&again)]);
    assert!(printed.starts_with("Comparison: 2 results of the kind Run\n"), "{printed}");
    let rate = printed.lines().find(|line| line.starts_with("Requests a second")).unwrap();
    assert!(rate.ends_with(" 0%"), "the same twice: {rate}");
    let page = fs::read_to_string(again.join("report.html")).unwrap();
    assert!(page.contains("</html>"));
    assert_eq!(page.matches("class=\"samples").count(), 2, "the requests beside each result are on the page");
}

#[test]
fn quick_probe_states_what_a_fresh_drive_sustains() {
    let result = json(&["probe", "sim:msr-32g", "--quick"]);
    let writes = &result["recommendation"]["random_write"]["writes"];
    assert_eq!(writes["cleaning"], false);
    let sustained = writes["fragmented"]["bandwidth_bytes_per_s"].as_f64().unwrap();
    // Its own line repeats it.
    let line = writes["fragmented"]["workload"].as_str().unwrap();
    let run = json(&["run", "sim:msr-32g,initial.state=fragmented", line]);
    let repeated = run["bandwidth_bytes_per_s"].as_f64().unwrap();
    assert!((sustained / repeated - 1.0).abs() < 0.2, "{sustained} {repeated}");
    assert!(
        sustained < 0.9 * result["recommendation"]["random_write"]["bandwidth_bytes_per_s"].as_f64().unwrap()
    );
}

#[test]
fn result_replaces_only_an_earlier_result() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("result.json");
    let arguments = ["run", "sim:ssd-s", "random-read,requests=100", "--out", text(dir.path())];
    fs::write(&file, "precious\n").unwrap();
    refused(2, &arguments, &["result.json' exists", "empty or new directory", "--force"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious\n");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    fs::remove_file(&file).unwrap();
    for _ in 0..2 {
        done(&arguments);
        fs::remove_file(dir.path().join("report.html")).unwrap();
    }
    // A link to a device is not replaced either.
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    refused(2, &arguments, &["result.json' exists"]);
}

#[test]
fn changed_files_of_a_result_require_force() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["run", "sim:ssd-s", "random-read,requests=100", "--out", text(dir.path())];
    done(&arguments);
    for name in ["samples.parquet", "report.html", "result.json", "time-split.svg"] {
        let file = dir.path().join(name);
        let changed = [&fs::read(&file).unwrap()[..], b"mine\n"].concat();
        fs::write(&file, &changed).unwrap();
        refused(
            2,
            &arguments,
            &[&format!("{name}' exists"), "not an unchanged file", "--force to replace it"],
        );
        assert_eq!(fs::read(&file).unwrap(), changed);
        done(&[&arguments[..], &["--force"]].concat());
    }
}

#[test]
fn plot_beside_a_file_with_its_name_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["run", "sim:ssd-s", "random-read,requests=100", "--out", text(dir.path())];
    done(&arguments);
    // An earlier result without this plot.
    let [result, plot] = ["result.json", "time-split.svg"].map(|name| dir.path().join(name));
    let mut earlier: Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    earlier["checksums"].as_array_mut().unwrap().retain(|stated| stated["file"] != "time-split.svg");
    fs::write(&result, earlier.to_string()).unwrap();
    fs::write(&plot, "mine").unwrap();
    let ended = flashlane(&arguments);
    assert_eq!(ended.status, 0);
    for part in ["warning: ", "time-split.svg' exists", "time-split-2.svg'"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(&plot).unwrap(), "mine");
    assert!(dir.path().join("time-split-2.svg").exists());
}

#[test]
fn report_replaces_another_result_only_with_force() {
    let dir = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| dir.path().join(name));
    for (out, seed) in [(&one, "1"), (&other, "2")] {
        done(&["run", "sim:ssd-s", "random-read,requests=100", "--seed", seed, "--out", text(out)]);
    }
    let saved = fs::read(other.join("result.json")).unwrap();
    let holds = ["other' holds a saved result", "empty or new directory", "--force to replace it"];
    refused(2, &["report", text(&one), "--out", text(&other)], &holds);
    refused(2, &["report", text(&one), text(&other), "--out", text(&other)], &holds);
    assert_eq!(fs::read(other.join("result.json")).unwrap(), saved);
    done(&["report", text(&other), "--out", text(&other)]);
    assert_eq!(fs::read(other.join("result.json")).unwrap(), saved);
    done(&["report", text(&one), "--out", text(&other), "--force"]);
    assert_ne!(fs::read(other.join("result.json")).unwrap(), saved);
}

#[test]
fn other_content_in_out_requires_force() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    fs::write(dir.path().join("samples.parquet"), "mine").unwrap();
    let arguments = ["run", "sim:ssd-s", "random-read,requests=100", "--out", text(dir.path())];
    refused(2, &arguments, &["samples.parquet' exists", "--force to replace it"]);
    fs::remove_file(dir.path().join("samples.parquet")).unwrap();
    refused(2, &arguments, &["holds '.git'", "--force to write into this one"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    done(&[&arguments[..], &["--force"]].concat());
    // The directory now belongs to a result.
    done(&arguments);
    // Links are never followed.
    let precious = dir.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    fs::remove_file(dir.path().join("samples.parquet")).unwrap();
    std::os::unix::fs::symlink(&precious, dir.path().join("samples.parquet")).unwrap();
    refused(
        2,
        &[&arguments[..], &["--force"]].concat(),
        &["samples.parquet' exists", "links are not followed"],
    );
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
}

#[test]
fn malformed_result_is_refused_by_field() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("result.json");
    for (result, field) in [
        (r#"{"schema":"flashlane.run/1","figures":[1]}"#, "figures[0] is 1"),
        (r#"{"schema":"flashlane.sdf_bench/1","phases":[1]}"#, "phases[0] is 1"),
        (r#"{"schema":"flashlane.replay/1","latency_ns":7}"#, "latency_ns is 7"),
    ] {
        fs::write(&file, result).unwrap();
        refused(2, &["report", text(&file)], &["cannot show the result", field, "is expected"]);
    }
    fs::write(&file, r#"{"schema":"flashlane.replay/1","latency_ns":{},"lateness_ns":{}}"#).unwrap();
    refused(2, &["report", text(&file)], &["cannot show the result", "latency_ns.min is missing"]);
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("result.json");
    let hostile = r"\u001b]0;owned\u0007\u009b2J";
    let result = done(&["run", "sim:ssd-s", "random-read,requests=100", "--format", "json"]);
    assert!(result.contains("\"sim:ssd-s\""), "{result}");
    fs::write(&file, result.replace("\"sim:ssd-s\"", &format!("\"{hostile}\""))).unwrap();
    for format in ["text", "json", "csv"] {
        let printed = done(&["report", text(&file), "--format", format]);
        assert!(!printed.contains(|c: char| c.is_control() && !"\r\n\t".contains(c)), "{printed:?}");
    }
    // In file names and in lines of a trace.
    let name = dir.path().join("a\u{1b}[31mb");
    refused(2, &["report", text(&name)], &["a\\u001b[31mb"]);
    let trace = dir.path().join("trace.csv");
    fs::write(&trace, "128166372003061629,\u{1b}[31mhost,0,Read,8192,4096,100\n").unwrap();
    for format in ["text", "json", "csv"] {
        let printed = done(&["trace", "info", text(&trace), "--from", "msr", "--format", format]);
        assert!(!printed.contains('\u{1b}'), "{printed:?}");
    }
}

#[test]
fn memory_beyond_limits_is_refused() {
    let program = env!("CARGO_BIN_EXE_flashlane");
    // The same room whatever the size of the program, which takes its part of the limit.
    let limit_kb = fs::metadata(program).unwrap().len() / 1024 + 480_000;
    for (arguments, part) in [
        ("run sim:nvme-tlc,flash.blocks=20000 random-read,requests=10", "tables of the simulated drive"),
        // Its tables or its operations, whichever the limit forbids.
        ("sdf bench sim:sdf", "which the system does not give"),
    ] {
        let command = format!("ulimit -v {limit_kb} && exec \"$0\" {arguments}");
        let output = std::process::Command::new("sh").args(["-c", &command, program]).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains(part) && words.contains("ulimit -v"), "{words}");
        assert_eq!(output.status.code(), Some(2), "{words}");
    }
}

#[test]
fn program_without_memory_says_so_and_ends() {
    let program = env!("CARGO_BIN_EXE_flashlane");
    let mut ended_early = 0;
    // The kernel ends a program whose file does not fit, without a word.
    let file_kb = fs::metadata(program).unwrap().len() / 1024;
    for limit_kb in (file_kb + 10_000..file_kb + 290_000).step_by(20_000) {
        let run = "run sim:ssd-s,capacity=64MiB,initial.state=full random-read,requests=10";
        let command = format!("ulimit -v {limit_kb} && exec \"$0\" {run}");
        let mut shell = std::process::Command::new("sh");
        // A panic without memory once waited for itself, where it printed a backtrace.
        let output = shell.args(["-c", &command, program]).env("RUST_BACKTRACE", "1").output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        if words.contains("error while loading shared libraries") {
            continue;
        }
        assert!(!words.contains("panicked") && !words.contains("memory allocation"), "{limit_kb}: {words}");
        match output.status.code() {
            Some(0) => {}
            Some(1 | 2) => {
                assert!(words.contains("ulimit -v"), "{limit_kb}: {words}");
                ended_early += 1;
            }
            code => panic!("{limit_kb}: {code:?} {words}"),
        }
    }
    assert!(ended_early > 0, "the limits end it");
}

#[test]
fn program_without_descriptors_for_a_handler_ends_on_a_signal() {
    let program = env!("CARGO_BIN_EXE_flashlane");
    let slow = "run sim:ssd-s random-read,requests=100M";
    let command = format!("ulimit -n 4 && exec timeout --preserve-status -s INT -k 20 1 \"$0\" {slow}");
    let status = std::process::Command::new("sh").args(["-c", &command, program]).output().unwrap().status;
    assert_eq!(status.code(), Some(128 + libc::SIGINT), "{status}");
}

#[test]
fn argument_that_is_not_text_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let argument = std::ffi::OsStr::from_bytes(b"./dri\xffve");
    let output = crate::program::command(&["probe"]).arg(argument).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("'./dri\u{fffd}ve' is not UTF-8") && words.contains("through a link"), "{words}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn out_names_a_directory() {
    let run = ["run", "sim:ssd-s", "random-read,requests=10", "--out", "/dev/null"];
    refused(2, &run, &["'/dev/null' is not a directory"]);
}

#[test]
fn quick_and_full_change_run_length() {
    let requests = |option: &str| {
        json(&["run", "sim:ssd-s", "random-read,requests=2k", option])["requests"].as_u64().unwrap()
    };
    assert_eq!((requests("--quick"), requests("--full")), (200, 20_000));
}

#[test]
fn profiles() {
    let list = json(&["profile", "list"]);
    assert_eq!(list["schema"], "flashlane.profiles/1");
    let names: Vec<&str> =
        list["profiles"].as_array().unwrap().iter().map(|drive| drive["name"].as_str().unwrap()).collect();
    let of_uflip =
        ["memoright-like", "mtron-like", "samsung-like", "transcend-module-like", "kingston-dti-like"];
    assert_eq!(names[..5], ["ssd-s", "ssd-m", "msr-32g", "msr-64g", "nvme-tlc"]);
    assert_eq!(names[5..10], of_uflip);
    assert!(["sdf", "sdf-tlc"].iter().all(|name| names.contains(name)), "{names:?}");
    for name in names {
        let shown = json(&["profile", "show", name]);
        assert_eq!(
            (&shown["schema"], &shown["profile"]["name"]),
            (&"flashlane.profile/1".into(), &name.into())
        );
        let csv = done(&["profile", "show", name, "--format", "csv"]);
        for line in csv.lines().skip(1).filter(|line| line.starts_with("flash.")) {
            assert!(!line.ends_with(','), "{name} does not say where {line} comes from");
        }
    }
}

#[test]
fn profile_is_shown_with_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wide.toml");
    let settings = "ssd-s,flash.channels=16,flash.blocks=6000,buffer.high_watermark=50%";
    fs::write(&file, done(&["profile", "show", settings])).unwrap();
    let file = file.to_str().unwrap();
    let line = |given: &str| done(&["profile", "check", given]).split_once("good: ").unwrap().1.to_owned();
    // The file is a drive of its own, whose over-provisioning nothing changed.
    assert!(line(settings).starts_with(line(file).trim_end()), "{}", line(settings));
    let csv = done(&["profile", "show", settings, "--format", "csv"]);
    assert!(csv.contains("flash.channels,16,set on the command line"), "{csv}");
    assert!(csv.contains("buffer.high_watermark,50%,set on the command line"), "{csv}");
}

#[test]
fn free_blocks_out_of_reach_are_a_warning() {
    let settings = "msr-32g,cleaning.high=40%";
    assert!(done(&["profile", "check", settings]).contains("cleaning.high of 40.0% is never reached"));
    let result = json(&["run", &format!("sim:{settings}"), "random-read,requests=1k"]);
    let warnings = result["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "free-out-of-reach"), "{warnings:?}");
}

#[test]
fn programs_in_parts_are_a_warning() {
    let settings = "nvme-tlc,buffer.drain_per_die=2";
    let expected = "less than the 16 mapping units that a program of a die takes (4 on each of 4 planes), so that pages are \
                    programmed in parts";
    assert!(done(&["profile", "check", settings]).contains(expected));
    assert!(!done(&["profile", "check", "nvme-tlc,buffer.drain_per_die=16"]).contains("drain_per_die of"));
    let warned = |workload: &str| {
        let result = json(&["run", &format!("sim:{settings},buffer.size=1MiB"), workload]);
        let warnings = result["warnings"].as_array().unwrap();
        warnings.iter().any(|warning| warning["code"] == "programs-in-parts")
    };
    assert!(warned("sequential-write,size=1MiB,requests=20"));
    assert!(!warned("random-read,requests=1k"), "nothing was programmed");
}

#[test]
fn pipes_get_no_colour() {
    for arguments in [&["--help"][..], &["run", "sim:ssd-s", "random-read,requests=1k"], &["run"]] {
        let ended = flashlane(arguments);
        assert!(!ended.stdout.contains('\x1b') && !ended.stderr.contains('\x1b'), "{arguments:?}");
    }
}
