//! `flashlane trace info` and `convert`.

use crate::endings::interrupt;
use crate::program::{Ended, command, done, flashlane, json, refused, text};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn sample(name: &str) -> String {
    format!("{}/../trace/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn info_summarizes_a_trace() {
    let result = json(&["trace", "info", &sample("blkparse.txt")]);
    assert_eq!((&result["schema"], &result["format"]), (&"flashlane.trace/1".into(), &"blkparse".into()));
    assert_eq!(
        (&result["lines"], &result["requests"], &result["refused"]),
        (&30.into(), &5.into(), &0.into())
    );
    let operations = &result["operations"];
    assert_eq!(operations["write"]["requests"], 2);
    assert_eq!(operations["write"]["durable"], 1);
    assert_eq!(operations["read"]["transferred_bytes"], 131_072);
    assert_eq!(operations["trim"]["longest_bytes"], 1 << 20);
    assert_eq!(operations["flush"]["requests"], 1);
    assert_eq!(result["took_ns"]["max"], 300_000.0);
    assert_eq!(result["devices"][0]["name"], "8,0");
    assert_eq!((&result["backward"], &result["partial"]), (&().into(), &().into()));
    let shown = done(&["trace", "info", &sample("blkparse.txt")]);
    assert!(
        shown.contains("Trace: ") && shown.contains("format blkparse; time: s, decimal; RWBS:"),
        "{shown}"
    );
    let csv = done(&["trace", "info", &sample("msr.csv"), "--format", "csv"]);
    assert!(csv.starts_with("operation,requests,transferred_bytes"), "{csv}");
}

#[test]
fn info_names_time_unit_and_codes_of_each_format() {
    let samples = fs::read_dir(sample("")).unwrap().map(|entry| entry.unwrap().path());
    let blktrace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/pgbench.blktrace.xz");
    let mut missing: Vec<&str> = flashlane_trace::FORMATS.iter().map(|format| format.name).collect();
    for path in samples.chain([blktrace.into()]) {
        let result = json(&["trace", "info", text(&path)]);
        let format = flashlane_trace::Format::named(result["format"].as_str().unwrap()).unwrap();
        missing.retain(|name| *name != format.name);
        assert_eq!(
            (&result["time_unit"], &result["codes"]),
            (&format.time_unit.into(), &format.codes.into())
        );
        let shown = done(&["trace", "info", text(&path)]).split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("; time: {}; {}", format.time_unit, format.codes);
        assert!(shown.contains(&said), "{said}: {shown}");
    }
    assert!(missing.is_empty(), "no sample of {missing:?}");
}

#[test]
fn refused_lines_are_reported_and_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.trace");
    fs::write(&file, "2.5 0 1 8 0\n0.6 1 1 8\n0.7 1 1 8 1\n").unwrap();
    let result = json(&["trace", "info", text(&file)]);
    assert_eq!((&result["requests"], &result["refused"]), (&2.into(), &1.into()));
    assert_eq!(result["refusals"][0]["line"], 2);
    let codes: Vec<&str> =
        result["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["lines-refused", "time-runs-backwards"]);
    assert_eq!(result["devices"].as_array().unwrap().len(), 2, "several devices are no error here");
    assert_eq!(json(&["trace", "info", text(&file), "--device", "1"])["requests"], 1);
    let shown = done(&["trace", "info", text(&file)]);
    assert!(shown.contains("line 2: the rest of the line is missing"), "{shown}");
}

#[test]
fn exabyte_sizes_are_shown_with_units() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("far.csv");
    fs::write(&file, "0,R,3900000000000000000,512,1\n").unwrap();
    let shown = done(&["trace", "info", text(&file)]);
    assert!(shown.contains("3.38 EiB"), "{shown}");
}

#[test]
fn trailing_data_after_gz_is_reported_with_its_offset() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("day.msr.gz");
    done(&["trace", "convert", &sample("msr.csv"), text(&file)]);
    let mut bytes = fs::read(&file).unwrap();
    let place = format!("no gz member begins behind its first {} bytes", bytes.len());
    bytes.extend(b"and more");
    fs::write(&file, bytes).unwrap();
    let ended = refused(
        1,
        &["trace", "info", text(&file), "--format", "json"],
        &[
            "behind the gz data there is something else, after 2 lines",
            &place,
            "2 requests were read until then",
        ],
    );
    assert!(!ended.stderr.contains("early"), "{}", ended.stderr);
}

#[test]
fn damaged_trace_gives_a_partial_result() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..50_000).map(|n| format!("{n}.5 0 {} 8 {}\n", n * 7919 % 65_536, n % 2)).collect();
    let plain = folder.path().join("plain.disksim");
    fs::write(&plain, lines).unwrap();
    let whole = folder.path().join("whole.gz");
    done(&["trace", "convert", text(&plain), text(&whole), "--to", "disksim"]);
    let bytes = fs::read(&whole).unwrap();
    let cut = folder.path().join("cut.disksim.gz");
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let ended =
        refused(1, &["trace", "info", text(&cut), "--format", "json"], &["the gz data ends early", "lines"]);
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(result["requests"].as_u64().unwrap() > 1000);
    assert!(result["partial"].as_str().unwrap().contains("ends early"));
    let out = folder.path().join("out.msr");
    refused(
        1,
        &["trace", "convert", text(&cut), text(&out), "--to", "msr"],
        &["the requests before that are written"],
    );
    assert_eq!(json(&["trace", "info", text(&out)])["requests"], result["requests"]);
}

#[test]
fn convert_keeps_requests_and_reports_losses() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.trace.zst");
    let said = done(&["trace", "convert", &sample("blkparse.txt"), text(&out), "--to", "disksim"]);
    for part in [
        "5 requests, 3 written as disksim",
        "1 left out: the format has no trim",
        "1 no longer marked as durable",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let result = json(&["trace", "info", text(&out)]);
    assert_eq!((&result["format"], &result["compression"]), (&"disksim".into(), &"zst".into()));
    assert_eq!(result["requests"], 3);
    refused(
        2,
        &["trace", "convert", &sample("msr.csv"), text(&out), "--to", "disksim"],
        &["there already", "--force"],
    );
    done(&["trace", "convert", &sample("msr.csv"), text(&out), "--to", "disksim", "--force"]);
    assert_eq!(json(&["trace", "info", text(&out)])["requests"], 2);
}

#[test]
fn trace_errors_name_allowed_values() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let msr = sample("msr.csv");
    refused(2, &["trace", "info", "/no/such.trace"], &["/no/such.trace"]);
    refused(2, &["trace", "info", &msr, "--from", "xml"], &["'xml'", "disksim"]);
    refused(2, &["trace", "info", &msr, "--device", "9"], &["no request of device 9", "it has 0 (usr 0)"]);
    for given in ["0x1", "sda", "4294967296", ""] {
        let parts = [&format!("'{given}'"), "--device", "in decimal, from 0 to 4294967295"];
        refused(2, &["trace", "info", &msr, "--device", given], &parts);
    }
    refused(
        2,
        &["trace", "convert", &msr, text(&out), "--to", "blktrace"],
        &["not written as 'blktrace'", "msr"],
    );
    refused(2, &["trace", "convert", &msr, text(&out), "--to", "xml"], &["'xml'"]);
    let whole_numbers = folder.path().join("requests.txt");
    fs::write(&whole_numbers, "500 0 100 8 1\n").unwrap();
    refused(2, &["trace", "info", text(&whole_numbers)], &["disksim, mqsim"]);
    assert_eq!(json(&["trace", "info", text(&whole_numbers), "--from", "mqsim"])["requests"], 1);
    refused(2, &["trace", "convert", &msr, text(&out)], &["'", "out' does not say", "--to NAME", "spc"]);
    // Three formats share this ending.
    refused(2, &["trace", "convert", &msr, text(&out.with_extension("csv.gz"))], &["does not say"]);
    assert!(!out.exists());
    assert_eq!(flashlane(&["trace"]).status, 2);
}

#[test]
fn unwritable_output_is_refused_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    let dangling = folder.path().join("dangling.msr");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    let inside = |name: &str| format!("{}/{name}", text(folder.path()));
    for (out, words) in [
        (inside(""), "it is a directory"),
        (inside("new/"), "it is a directory"),
        (inside("none/x.msr"), "No such file or directory"),
        (inside("dangling.msr"), "is a symbolic link to 'nowhere', where nothing is"),
        ("/dev/null".into(), "it is a device, pipe or socket, not a regular file"),
    ] {
        // This input never ends: reading it would block.
        let mut child = command(&["trace", "convert", "-", &out, "--from", "msr", "--to", "msr"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let silent = child.stdin.take();
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{stderr}");
        let starts =
            [format!("flashlane: cannot write the trace '{out}': "), format!("flashlane: '{out}' is ")];
        assert!(
            starts.iter().any(|start| stderr.starts_with(start))
                && stderr.contains(words)
                && !stderr.contains(".part"),
            "{stderr}"
        );
        drop(silent);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn convert_streams_and_infers_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let (msr, out) = (sample("msr.csv"), folder.path().join("out.spc.zst"));
    done(&["trace", "convert", &msr, text(&out)]);
    assert_eq!(json(&["trace", "info", text(&out)])["format"], "spc");
    // The name of each format is an ending, including fio's versions.
    for format in flashlane_trace::FORMATS.iter().filter(|format| format.is_written()) {
        let out = folder.path().join(format!("own.{}", format.name));
        done(&["trace", "convert", &msr, text(&out)]);
        assert_eq!(json(&["trace", "info", text(&out)])["format"], format.name);
    }

    let streamed = command(&["trace", "convert", "-", "-", "--from", "msr", "--to", "spc"])
        .stdin(fs::File::open(&msr).unwrap())
        .output()
        .unwrap();
    assert!(streamed.status.success(), "{streamed:?}");
    let plain = folder.path().join("plain.spc");
    done(&["trace", "convert", &msr, text(&plain)]);
    assert_eq!(fs::read(&plain).unwrap(), streamed.stdout);
    // Messages are not part of the trace.
    assert!(String::from_utf8_lossy(&streamed.stderr).contains("written as spc"));
}

#[test]
fn ending_case_is_ignored_and_bz2_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (msr, inside) = (sample("msr.csv"), |name: &str| format!("{}/{name}", text(folder.path())));
    for (name, compression) in [("a.MSR.GZ", "gz"), ("b.msr.zstd", "zst"), ("c.Msr.XZ", "xz"), ("d.MSR", "")]
    {
        done(&["trace", "convert", &msr, &inside(name)]);
        let info = json(&["trace", "info", &inside(name)]);
        assert_eq!(
            (&info["format"], info["compression"].as_str().unwrap_or("")),
            (&"msr".into(), compression)
        );
    }
    for (name, ending) in [("e.msr.bz2", "as .bz2"), ("e.lz4", "as .lz4"), ("e.ZIP", "as .ZIP")] {
        let arguments = ["trace", "convert", &msr, &inside(name), "--to", "msr"];
        refused(2, &arguments, &[&inside(name), ending, ".gz, .xz and .zst"]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

/// A trace that may be overwritten.
const OLD: &str = "0,8,512,r,0.5\n";

#[test]
fn overwritten_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.spc");
    fs::write(&out, OLD).unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).unwrap();
    done(&["trace", "convert", &sample("msr.csv"), text(&out), "--force"]);
    assert_eq!(out.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
}

#[test]
fn convert_without_requests_writes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let [trims, new, old] = ["trims.iolog", "new.msr.gz", "old.msr"].map(|name| folder.path().join(name));
    fs::write(&trims, "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a trim 0 4096\n").unwrap();
    fs::write(&old, OLD).unwrap();
    for out in [&new, &old] {
        let ended = refused(
            1,
            &["trace", "convert", text(&trims), text(out), "--force"],
            &[
                "no request of '",
                "trims.iolog' can be written as msr; 1 left out: the format has no trim",
                text(out),
            ],
        );
        assert_eq!(ended.stdout, "");
    }
    assert_eq!(fs::read(&old).unwrap(), OLD.as_bytes());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn standard_streams_are_named_in_messages() {
    let given = |arguments: &[&str]| {
        let output = command(arguments).stdin(fs::File::open(sample("msr.csv")).unwrap()).output().unwrap();
        Ended::from(output)
    };
    let info = given(&["trace", "info", "-", "--format", "json"]);
    assert!(info.stdout.contains("\"trace\": \"standard input\""), "{}", info.stdout);
    let refused = given(&["trace", "info", "-", "--device", "9"]);
    assert!(refused.stderr.starts_with("flashlane: the trace 'standard input': "), "{}", refused.stderr);
    let written = given(&["trace", "convert", "-", "-", "--to", "spc"]);
    assert!(written.stderr.starts_with("flashlane: standard output: 2 requests"), "{}", written.stderr);
}

#[test]
fn force_follows_the_output_link_only() {
    let folder = tempfile::tempdir().unwrap();
    let [link, target, precious] = ["link.spc", "target", "precious"].map(|name| folder.path().join(name));
    fs::write(&target, OLD).unwrap();
    fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    std::os::unix::fs::symlink(&precious, folder.path().join(".link.spc.part")).unwrap();
    let msr = sample("msr.csv");
    refused(2, &["trace", "convert", &msr, text(&link)], &["there already", "--force"]);
    done(&["trace", "convert", &msr, text(&link), "--force"]);
    assert!(link.is_symlink());
    assert_ne!(fs::read(&target).unwrap(), OLD.as_bytes());
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn force_overwrites_only_traces() {
    let folder = tempfile::tempdir().unwrap();
    let (out, msr) = (folder.path().join("out.spc"), sample("msr.csv"));
    let convert = ["trace", "convert", &msr, text(&out)];
    for (content, words) in
        [(&b"precious"[..], "begins with 'precious'"), (&[0; 4096], "does not hold a trace")]
    {
        fs::write(&out, content).unwrap();
        let forced = [&convert[..], &["--force"]].concat();
        let ended = refused(2, &convert, &["is not overwritten", words, "give another name"]);
        assert!(!ended.stderr.contains("--force"), "it would not help: {}", ended.stderr);
        refused(2, &forced, &["is not overwritten", words]);
        assert_eq!(fs::read(&out).unwrap(), content);
    }
    fs::write(&out, "").unwrap();
    done(&[&convert[..], &["--force"]].concat());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn traces_document_lists_every_format() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md");
    let document = fs::read_to_string(path).unwrap();
    for format in flashlane_trace::FORMATS {
        let row = document.lines().find(|line| line.starts_with(&format!("| `{}` |", format.name)));
        let row = row.unwrap_or_else(|| panic!("docs/traces.md lacks {}", format.name));
        assert!(row.ends_with(if format.is_written() { "| yes |" } else { "| no |" }), "{row}");
        for ending in format.endings() {
            assert!(row.contains(&format!("`.{ending}`")), "the row lacks the ending {ending}: {row}");
        }
        let section = document.lines().filter(|line| line.starts_with("### "));
        assert!(
            section.into_iter().any(|line| line.contains(&format!("`{}`", format.name))),
            "docs/traces.md does not explain the fields of {}",
            format.name
        );
        assert!(done(&["trace", "--help"]).contains(format.name));
    }
}

#[test]
fn ctrl_c_ends_a_wait_for_input() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.disksim");
    let commands: [&[&str]; 4] = [
        &["trace", "info", "/dev/stdin", "--from", "disksim"],
        &["trace", "convert", "/dev/stdin", text(&out), "--from", "disksim", "--to", "disksim"],
        &["replay", "sim:ssd-s", "/dev/stdin", "--trace-format", "disksim"],
        &["replay", text(&out), "/dev/stdin", "--trace-format", "disksim", "--destroy-data"],
    ];
    for arguments in commands {
        for line in ["# a comment", "no request"] {
            let mut lines = Command::new("yes").arg(line).stdout(Stdio::piped()).spawn().unwrap();
            let child = command(arguments)
                .stdin(lines.stdout.take().unwrap())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            interrupt(&child);
            let ended = child.wait_with_output().unwrap();
            lines.wait().unwrap();
            let stderr = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(1), "{stderr}");
            for part in ["'/dev/stdin'", "stopped on request"] {
                assert!(stderr.contains(part), "{stderr}");
            }
            assert!(!out.exists() && ended.stdout.is_empty());
        }
    }
}

/// A trace is not replaced by what another format holds of it.
#[test]
fn trace_is_not_converted_onto_itself() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.csv");
    fs::copy(sample("msr.csv"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let link = dir.path().join("link.trace");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for out in [&path, &link] {
        let words = ["trace", "convert", text(&path), text(out), "--to", "disksim", "--force"];
        refused(2, &words, &["is the file that is read"]);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}
