//! Complete results from fixtures in every output format.

use flashlane_report::{PageInput, Report, ReportError, Samples};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn text(result: &Value, width: usize) -> String {
    Report::read(result.clone()).unwrap().text(width)
}

fn csv(result: &Value) -> String {
    Report::read(result.clone()).unwrap().csv()
}

fn write_all(dir: &Path, result: &Value, samples: Option<&Samples>) -> Result<Vec<PathBuf>, ReportError> {
    Ok(flashlane_report::write_all(dir, false, &Report::read(result.clone())?, samples)?.files)
}

fn page(results: &[Value]) -> String {
    let reports: Vec<Report> = results.iter().map(|result| Report::read(result.clone()).unwrap()).collect();
    let shown: Vec<PageInput<'_>> =
        reports.iter().map(|report| PageInput { report, samples: None }).collect();
    flashlane_report::render_page(&shown)
}

fn fixtures() -> [Value; 3] {
    ["probe", "run", "study"].map(fixture)
}

#[test]
fn probe_text_orders_findings_and_counts_answers() {
    let text = text(&fixture("probe"), 80);
    assert!(text.contains("11 of 14 questions answered."), "{text}");
    // Commands are not wrapped, so that they can be copied.
    let is_command = |line: &str| line.trim_start().starts_with("flashlane ");
    assert!(text.lines().all(|line| line.chars().count() <= 80 || is_command(line)), "{text}");
    let places = ["├─ domain 2   ■ ■", "Chunk size", "Interleaving", "Command cost"]
        .map(|finding| text.find(finding).unwrap());
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn probe_shows_advice_before_findings() {
    let mut probe = fixture("probe");
    probe["headline"] = json!("Use 32 or more requests in flight; 16 KiB aligned to 16 KiB");
    probe["advice"] = json!([
        { "about": "random_read", "text": "Random reads: 16 KiB at a time", "evidence": "measured: p99 310 us" },
        { "about": "extents", "text": "Keep extents of 40 KiB together", "evidence": "ten channels <take> turns" },
    ]);
    let point = &mut probe["recommendation"]["random_read"];
    point["bandwidth_bytes_per_s"] = json!(4.1e8);
    point["command"] = json!("flashlane run sim:ssd-s random-read,depth=32");
    let text = text(&probe, 80);
    let order = [
        "Use 32 or more requests in flight; 16 KiB aligned to 16 KiB",
        "- Random reads: 16 KiB at a time",
        "    measured: p99 310 us",
        "    flashlane run sim:ssd-s random-read,depth=32",
        "- Keep extents of 40 KiB together",
        "Findings",
        "410.0 MB/s",
    ];
    let places: Vec<_> =
        order.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}"))).collect();
    assert!(places.is_sorted(), "{text}");
    let page = page(&[probe]);
    let places = ["Use 32 or more", "p99 310", "Keep extents of 40 KiB", "class=\"facts\"", ">Findings<"];
    let places: Vec<_> =
        places.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
    assert!(places.is_sorted() && page.contains("Ten channels &lt;take&gt; turns"), "{places:?}");
}

#[test]
fn study_counts_missed_quantities() {
    let mut study = fixture("study");
    for row in &mut study["rows"].as_array_mut().unwrap()[1..3] {
        row["verdict"] = json!("missed");
    }
    let text = text(&study, 80);
    assert!(text.contains("2 missed."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn run_shows_its_partial_state() {
    let mut run = fixture("run");
    run["partial"] = json!("interrupted");
    let text = text(&run, 80);
    assert!(text.contains("Partial result: interrupted"), "{text}");
}

#[test]
fn run_fixture_is_a_run_result() {
    let run: flashlane_result::run::RunResult = serde_json::from_value(fixture("run")).unwrap();
    assert_eq!(run.figures.len(), 3);
}

#[test]
fn csv_has_the_names_and_exact_values_of_the_result() {
    let probe = csv(&fixture("probe"));
    assert!(
        probe.starts_with("name,value,status,confidence,evidence\r\nchunk_size_bytes,4096,found,0.97,"),
        "{probe}"
    );
    assert!(probe.contains("\r\nreclaim_unit_bytes,,not-determined,"), "{probe}");
    let run = csv(&fixture("run"));
    assert!(run.contains("\r\np90,601087.0,"), "{run}");
    let study = csv(&fixture("study"));
    assert!(study.starts_with("figure,quantity,published,measured,unit,tolerance,verdict\r\n"), "{study}");
    assert_eq!(study.matches("\r\nfig3,").count(), 4, "grouped cells are repeated for programs");
}

#[test]
fn page_is_small_and_self_contained() {
    let html = page(&fixtures());
    assert!(html.len() < 1_000_000, "{}", html.len());
    // Allows the SVG namespace and clip paths.
    let html = html.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
    for outside in ["http://", "https://", "src=", "<link", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(
        html.contains("href=\"#result-3\"") && !html.contains("Side by side"),
        "unlike results are listed only"
    );
    let two = page(&[fixture("run"), fixture("run")]);
    assert!(two.contains("Side by side; of tables, what differs"));
}

#[test]
fn text_in_a_result_is_escaped() {
    let evil = "</script><img src=x onerror=alert(1)>";
    let mut probe = fixture("probe");
    probe["device"]["name"] = json!(evil);
    probe["warnings"] = json!([{ "code": evil, "message": evil }]);
    probe["partial"] = json!(evil);
    probe["findings"]["chunk_size_bytes"]["evidence"] = json!(evil);
    probe["figures"][0]["title"] = json!(evil);
    probe["figures"][0]["series"][0]["name"] = json!(evil);
    let page = page(&[probe]);
    assert!(!page.contains("<img"), "markup came through");
    // The script, and one data element per figure.
    assert_eq!(page.matches("</script>").count(), 1 + 10);
}

#[test]
fn all_files_are_written_and_others_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/out");
    let samples = Samples::new().with_u64("latency_ns", (0..1000).collect()).unwrap();
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("notes.txt"), "mine").unwrap();
    write_all(&out, &fixture("run"), None).unwrap();
    let written = write_all(&out, &fixture("probe"), Some(&samples)).unwrap();
    let names: Vec<&str> = written.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "result.json",
            "samples.parquet",
            "portrait.svg",
            "chunk-size.svg",
            "pair-distance.svg",
            "stride.svg",
            "readahead.svg",
            "bandwidth-random-read.svg",
            "bandwidth-scan.svg",
            "mapping.svg",
            "link.svg",
            "write-buffer.svg",
            "bandwidth-random-write.svg",
            "report.html"
        ]
    );
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&written[0]).unwrap()).unwrap();
    let listed = kept.as_object_mut().unwrap().shift_remove("files").unwrap();
    let stated = kept.as_object_mut().unwrap().shift_remove("checksums").unwrap();
    assert_eq!(kept, fixture("probe"));
    assert!(names.iter().all(|name| listed.as_array().unwrap().contains(&(*name).into())), "{listed}");
    assert_eq!(stated.as_array().unwrap().len(), names.len() - 1);
    for stated in stated.as_array().unwrap() {
        let bytes = fs::read(out.join(stated["file"].as_str().unwrap())).unwrap();
        assert_eq!(
            (&stated["length_bytes"], &stated["crc32c"]),
            (&json!(bytes.len()), &json!(crc32c::crc32c(&bytes)))
        );
    }
    assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
    assert_eq!(fs::read_dir(&out).unwrap().count(), names.len() + 1, "nothing temporary is left");
}

#[test]
fn directory_that_cannot_be_created_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "mine").unwrap();
    let error = write_all(&file, &fixture("run"), None).unwrap_err().to_string();
    assert!(error.contains("making the directory") && error.contains("nothing was written"), "{error}");
}

#[test]
fn files_of_the_user_are_never_replaced() {
    let elsewhere = tempfile::tempdir().unwrap();
    let plot = write_all(elsewhere.path(), &fixture("run"), None).unwrap().swap_remove(1);
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join(plot.file_name().unwrap());
    fs::write(&theirs, "mine").unwrap();
    // Files of the first write must not make the user's file ours.
    for _ in 0..2 {
        let ours = write_all(dir.path(), &fixture("run"), None).unwrap().swap_remove(1);
        assert_ne!(ours, theirs);
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine");
    }
    let page = dir.path().join("report.html");
    fs::remove_file(dir.path().join("result.json")).unwrap();
    fs::write(&page, "mine").unwrap();
    let before = fs::read_dir(dir.path()).unwrap().count();
    let error = write_all(dir.path(), &fixture("run"), None).unwrap_err();
    assert!(matches!(&error, ReportError::Foreign { path } if *path == page), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before);
}

/// The first screen of a page whose answer is a picture shows it: no table stands before it. A wide table is not cut
/// off at the right, but scrolls within its own frame. Other pages have their figures beside the tables that they draw.
#[test]
fn page_shows_the_picture_before_tables_that_scroll() {
    let mut picture_first = Vec::new();
    for name in [
        "probe",
        "run",
        "runs",
        "replay",
        "study",
        "sweep",
        "trace",
        "transactions",
        "uflip",
        "sdf-bench",
        "score",
    ] {
        let html = page(&[fixture(name)]);
        let (_, body) = html.split_once("<main").expect("a page has a main part");
        let (body, _) = body.split_once("<script").expect("scripts follow it");
        let table = body.find("<table").unwrap_or(body.len());
        if body.find("<figure").is_some_and(|picture| picture < table) {
            picture_first.push(name);
        }
        for (at, _) in body.match_indices("<table") {
            let frame = body[..at].trim_end().rsplit('<').next().unwrap();
            assert!(frame.starts_with("div class=\"scroll\""), "{name}: a table is in '<{frame}'");
        }
    }
    for name in ["probe", "sweep"] {
        assert!(picture_first.contains(&name), "{name} is not among {picture_first:?}");
    }
    let html = page(&[fixture("sweep")]);
    let scroll = html.split("\n.scroll{").nth(1).and_then(|rule| rule.split('}').next()).unwrap();
    assert!(scroll.contains("overflow-x:auto") && scroll.contains("max-width:100%"), "{scroll}");
}
