//! Reproduction of the papers' figures, and the difference to DiskSim: one line per figure.
//!
//! The traces that come with the SSD extension for DiskSim are used where available, in a folder `shared/data` beside
//! the repository; without them the studies skip what needs them, with a warning.
//!
//! `cargo bench --bench papers`; `cargo test --benches` measures one figure in its quick form.

use flashlane_studies::{Options, REGISTRY, Row, StudyResult, Value, Verdict, run};
use std::path::Path;

fn main() {
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    if quick {
        print("disksim", &study("disksim", Some("synthetic"), true));
        return;
    }
    for paper in REGISTRY {
        print(paper.paper, &study(paper.paper, None, false));
    }
}

fn study(paper: &str, figure: Option<&str>, quick: bool) -> StudyResult {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let traces = folder.exists().then_some(folder);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options { quick, traces, jobs, ..Options::default() };
    run(paper, figure, options).expect("a study of the registry").result
}

fn print(paper: &str, result: &StudyResult) {
    let missed = result.rows.iter().filter(|row| row.verdict == Verdict::Missed).count();
    println!("{paper}-missed: {missed} of {} quantities", result.rows.len());
    for warning in &result.warnings {
        println!("{paper}: {}", warning.message);
    }
    if paper == "disksim" {
        let (others, published): (Vec<_>, Vec<_>) =
            result.rows.iter().partition(|row| row.figure == "others");
        println!("disksim-farthest: {:.2} % from the published mean", farthest_percent(published));
        println!("disksim-others: {:.2} % from the model's mean", farthest_percent(others));
    }
}

/// Returns the largest deviation of these numbers from their published ones, in percent.
fn farthest_percent(rows: Vec<&Row>) -> f64 {
    let off = rows.into_iter().map(|row| match (&row.published, &row.measured) {
        (Value::Number(published), Value::Number(measured)) => (measured / published - 1.0).abs() * 100.0,
        _ => f64::INFINITY,
    });
    off.fold(0.0, f64::max)
}
