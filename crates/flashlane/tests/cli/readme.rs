//! The README shows the output and the plot of its first command, and `docs/probe.md` its other plots.
//!
//! After intended changes, `RENEW_README=1 cargo test -p flashlane --test cli readme` rewrites them.

use crate::program::{command as command_of, done, text};
use flashlane_report::svg_of_width;
use flashlane_result::Figure;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// First lines of the first command's output that the README shows, before the picture of the drive.
const LINES: usize = 12;
/// Width of the picture; its text is readable on a phone at 360 pixels.
const PICTURE_WIDTH: f64 = 480.0;
const RENEW: &str = "RENEW_README=1 cargo test -p flashlane --test cli readme";

fn at(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn renews() -> bool {
    std::env::var_os("RENEW_README").is_some()
}

/// The arguments of the README's first command.
fn first_command(readme: &str) -> Vec<&str> {
    let line = readme.lines().find_map(|line| line.strip_prefix("cargo run --release -- "));
    line.expect("the README runs the program").split_whitespace().collect()
}

/// Splits the README into three parts; the second is the sample of the output.
fn around_the_sample(readme: &str) -> [&str; 3] {
    let (before, rest) = readme.split_once("```text\n").expect("a sample of the output");
    let (sample, after) = rest.split_once("```\n").expect("the sample ends");
    [before, sample, after]
}

#[test]
fn readme_sample_matches_the_output() {
    let readme = read("README.md");
    let printed = done(&first_command(&readme));
    let mut picture = printed.split("\n\n").filter(|paragraph| paragraph.contains("controller"));
    let picture = picture.next().expect("the drive is drawn");
    let first: Vec<&str> = printed.lines().take(LINES).collect();
    let expected = format!("{}\n…\n\n{picture}\n…\n", first.join("\n"));
    let [before, sample, after] = around_the_sample(&readme);
    if renews() {
        fs::write(at("README.md"), format!("{before}```text\n{expected}```\n{after}")).unwrap();
    } else {
        assert_eq!(sample, expected, "the README shows another output: {RENEW}");
    }
}

/// Runs the README's sweep over buffer policies, with this size of the buffer in place of its own. Returns the result,
/// and what the mean of each policy is beyond the best, in percent.
fn policy_sweep(readme: &str, size: &str) -> (Value, impl Fn(&str) -> f64) {
    let (_, command) = readme.split_once("flashlane replay sim:msr-64g").expect("the README sweeps policies");
    let command = command.split('#').next().unwrap().replace("\\\n", " ").replace("128MiB", size);
    let words =
        ["replay".to_owned(), "sim:msr-64g".to_owned() + &command, "--format json".to_owned()].join(" ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = command_of(&words).current_dir(at(".")).output().expect("the program can be started");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = result["rows"].as_array().unwrap().clone();
    let beyond_best = move |policy: &str| {
        let row = rows.iter().find(|row| row["point"]["buffer.policy"] == policy).unwrap();
        100.0 * row["compared"]["difference"].as_f64().unwrap_or_default()
    };
    (result, beyond_best)
}

#[test]
fn readme_figures_of_the_policy_sweep_are_measured() {
    let readme = read("README.md");
    let text = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = |part: String| assert!(text.contains(&part), "the README does not say: {part}");
    let (result, beyond_best) = policy_sweep(&readme, "128MiB");
    let rows = result["rows"].as_array().unwrap();
    let best = rows.iter().find(|row| row["compared"]["standing"] == "best").unwrap();
    let (policy, ms) =
        (best["point"]["buffer.policy"].as_str().unwrap(), best["mean_ns"].as_f64().unwrap() / 1e6);
    says(format!("`{policy}` is best with a mean latency of {ms:.1} ms"));
    says(format!("Without a buffer the mean is {:.0}% longer", beyond_best("none")));
    says(format!("were read, {:.0}%, and with", beyond_best("cflru")));
    let others = ["fifo", "lru", "bplru"].map(&beyond_best);
    let [least, most] =
        [f64::min, f64::max].map(|of: fn(f64, f64) -> f64| others.into_iter().reduce(of).unwrap());
    says(format!("wait for one package after the other, {least:.0} to {most:.0}%"));
    let left = |result: &Value| -> Option<String> {
        let warnings = result["warnings"].as_array().unwrap().iter();
        let message =
            warnings.filter(|warning| warning["code"] == "left-in-buffer").map(|left| &left["message"]);
        message.map(|message| message.as_str().unwrap().to_owned()).next()
    };
    let message = left(&result).expect("a buffer of this size holds much at the end");
    assert!(message.starts_with("at 25 of 30 measurements"), "{message}");
    let pages = message.split_once("parallel: ").and_then(|(_, pages)| pages.split_once(" pages written"));
    let (in_buffer, written) =
        pages.and_then(|(pages, _)| pages.split_once(" of the ")).expect("it counts pages");
    let share: f64 = in_buffer.parse::<f64>().unwrap() / written.parse::<f64>().unwrap();
    assert!((share - 0.2).abs() < 0.02, "a fifth, {share}");
    let (result, beyond_best) = policy_sweep(&readme, "16MiB");
    assert_eq!(left(&result), None);
    let worse = ["fifo", "lru", "parallel", "bplru", "cflru"].map(beyond_best);
    assert!(worse.iter().all(|&percent| percent > 10.0), "no buffer is best: {worse:?}");
}

/// Figures of the first command's result, the files that show them, and the document that does.
const PICTURES: [(&str, &str, &str); 9] = [
    ("pair-distance", "docs/probe.svg", "README.md"),
    ("pair-distance", "docs/probe.svg", "docs/probe.md"),
    ("stride", "docs/probe-stride.svg", "docs/probe.md"),
    ("chunk-size", "docs/probe-chunk-size.svg", "docs/probe.md"),
    ("mapping", "docs/probe-mapping.svg", "docs/probe.md"),
    ("readahead", "docs/probe-readahead.svg", "docs/probe.md"),
    ("write-buffer", "docs/probe-write-buffer.svg", "docs/probe.md"),
    ("link", "docs/probe-link.svg", "docs/probe.md"),
    ("bandwidth-random-read", "docs/probe-recommendation.svg", "docs/probe.md"),
];

/// The same of a probe in full, on a drive that is small, so that it takes seconds; its chunks have several pages, and
/// it has an SLC cache and a mapping cache.
const FULL_PROBE: [&str; 3] = [
    "probe",
    "sim:ssd-s,capacity=64MiB,flash.blocks=26,flash.read=60us,flash.program=800us,flash.noise=0%,mapping.chunk=16KiB,\
     mapping.cache.size=8KiB,slc.size=12MiB,slc.free_blocks=0%,slc.read=25us,slc.program=100us,slc.when_full=direct,\
     slc.fold=idle,cleaning.idle=100ms,link.bandwidth=2GB/s,host.jitter=0%",
    "--full",
];
const FULL_PICTURES: [(&str, &str, &str); 4] = [
    ("reclaim", "docs/probe-reclaim.svg", "docs/probe.md"),
    ("chunk-size", "docs/probe-page-size.svg", "docs/probe.md"),
    ("slc-cache", "docs/probe-slc-cache.svg", "docs/probe.md"),
    ("mapping-cache", "docs/probe-mapping-cache.svg", "docs/probe.md"),
];

/// Compares or renews the files of figures of a command's result, which is written to `out`.
fn check_pictures(command: &[&str], out: &Path, pictures: &[(&str, &str, &str)]) {
    done(&[command, &["--out", text(out)]].concat());
    let result: Value = serde_json::from_slice(&fs::read(out.join("result.json")).unwrap()).unwrap();
    let figures = result["figures"].as_array().expect("a result has figures");
    for &(id, path, document) in pictures {
        let figure = figures.iter().find(|figure| figure["id"] == id).expect("it is drawn");
        let figure: Figure = serde_json::from_value(figure.clone()).unwrap();
        let drawn = svg_of_width(&figure, PICTURE_WIDTH);
        if renews() {
            fs::write(at(path), drawn).unwrap();
        } else {
            assert!(read(path) == drawn, "{path} is another picture: {RENEW}");
        }
        let folder = document.rfind('/').map_or(0, |slash| slash + 1);
        let link = format!("]({})", &path[folder..]);
        assert!(read(document).contains(&link), "{document} shows {path}");
    }
}

#[test]
fn pictures_of_a_probe_in_full_match_the_output() {
    let folder = tempfile::tempdir().unwrap();
    check_pictures(&FULL_PROBE, &folder.path().join("out"), &FULL_PICTURES);
}

#[test]
fn readme_pictures_match_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    check_pictures(&first_command(&read("README.md")), &out, &PICTURES);
    let portrait = fs::read_to_string(out.join("portrait.svg")).expect("the drive is drawn");
    if renews() {
        fs::write(at("docs/portrait.svg"), portrait).unwrap();
    } else {
        assert!(read("docs/portrait.svg") == portrait, "docs/probe.md shows another picture: {RENEW}");
    }
}

#[test]
fn readme_says_what_exit_status_1_of_a_study_means() {
    let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "A study also exits with 1 if a figure misses a published number";
    assert!(readme.contains(said), "the README lacks: {said}");
}
