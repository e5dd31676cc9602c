//! Snapshots of what people see of each kind of result: the terminal's text, and the words of the page, in
//! `snapshots/`.
//!
//! `fixtures/` has a result of each kind, made by the program (`crates/flashlane/tests/cli/fixtures.rs`). After
//! intended changes, `INSTA_UPDATE=always cargo test -p flashlane-report --test snapshots` rewrites the snapshots.

use flashlane_report::{PageInput, Report};
use std::fs;
use std::path::PathBuf;

/// Width of the terminal.
const WIDTH: usize = 100;

/// The name and the result of each fixture, sorted by name.
fn fixtures() -> Vec<(String, Report)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), Report::read(json).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// Returns `html` without the elements of this name.
fn without(html: &str, element: &str) -> String {
    let (open, close) = (format!("<{element}"), format!("</{element}>"));
    let (mut kept, mut rest) = (String::new(), html);
    while let Some((before, inside)) = rest.split_once(&open) {
        kept.push_str(before);
        rest = inside.split_once(&close).unwrap_or_else(|| panic!("{element} ends")).1;
    }
    kept + rest
}

/// Returns the words of a page, a line for each heading, paragraph, list item and row of a table; cells are separated
/// by bars.
fn words(page: &str) -> String {
    let drawn = ["style", "script", "svg"];
    let page = drawn.iter().fold(page.to_owned(), |page, element| without(&page, element));
    let (mut lines, mut line) = (Vec::new(), String::new());
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        let name = tag.split(' ').next().unwrap_or_default();
        let inline = ["a", "b", "code", "em", "span", "strong", "sup", "small", "wbr"];
        if matches!(name, "/td" | "/th") {
            line.push_str(" | ");
        } else if !matches!(name, "td" | "th") && !inline.contains(&name.trim_start_matches('/')) {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(&text.replace('\n', " "));
    }
    lines.push(line);
    let lines = lines.iter().map(|line| line.trim().trim_end_matches('|').trim_end());
    lines.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn texts_of_each_kind() {
    for (name, report) in fixtures() {
        insta::assert_snapshot!(format!("{name}-text"), report.text(WIDTH));
    }
}

#[test]
fn words_of_the_page_of_each_kind() {
    for (name, report) in fixtures() {
        let page = flashlane_report::render_page(&[PageInput { report: &report, samples: None }]);
        // Each release has another one.
        let words = words(&page).replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(format!("{name}-page"), words);
    }
}

#[test]
fn several_results_are_compared_by_kind() {
    let run = fixtures().into_iter().find(|(name, _)| name == "run").expect("there is a run").1;
    let mut json = run.json().clone();
    json["workload"] = "random-read,depth=8".into();
    json["iops"] = (json["iops"].as_f64().unwrap() * 2.5).into();
    json["latency_ns"]["p99"] = (json["latency_ns"]["p99"].as_f64().unwrap() / 2.0).into();
    json["device"]["counters"]["write_amplification"] = 1.25.into();
    let other = Report::read(json).unwrap();
    let probe = fixtures().into_iter().find(|(name, _)| name == "probe").expect("there is a probe").1;
    let results = [&run, &probe, &other];
    let text = flashlane_report::text_of_several(&results, WIDTH);
    let (comparison, probe_text) = text.split_once("\nProbe: ").expect("the probe, alone, comes whole");
    assert!(probe.text(WIDTH).ends_with(probe_text));
    insta::assert_snapshot!("several-text", comparison);
    let csv = flashlane_report::csv_of_several(&results);
    let (comparison, probe_csv) = csv.split_once("\r\n\n").expect("an empty line");
    assert_eq!(probe.csv(), probe_csv);
    insta::assert_snapshot!("several-csv", comparison.replace('\r', ""));
    let shown = results.map(|report| PageInput { report, samples: None });
    let words = words(&flashlane_report::render_page(&shown));
    let compared = words.split_once("Plots side by side").expect("plots follow").0;
    insta::assert_snapshot!("several-page", compared);
}
