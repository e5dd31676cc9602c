//! Size of the page of a full uFLIP result, time to its first plot, and time per zoom step.
//!
//! `cargo bench -p flashlane-report --bench page`, with `-- DIR` to keep the page; `cargo test --benches` runs it on a
//! small page. Browser figures need a Chromium, and are wall-clock times, as a reader waits.

#[path = "../tests/support/browser.rs"]
mod browser;
#[path = "../tests/support/uflip.rs"]
mod uflip;

use browser::Browser;
use flashlane_report::{PageInput, write_page};
use std::path::Path;

/// Samples of a full run.
const REQUESTS: usize = 3_000_000;
/// Zoom steps timed.
const ZOOMS: u32 = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = !arguments.iter().any(|argument| argument == "--bench");
    let kept = arguments.iter().find(|argument| !argument.starts_with('-')).filter(|_| !quick);
    let requests = if quick { 20_000 } else { REQUESTS };
    let (result, samples) = uflip::synthetic("sim:made-up", requests, 1);
    let scratch = tempfile::tempdir().expect("a directory");
    let dir = kept.map_or(scratch.path(), Path::new);
    let page =
        write_page(dir, false, &[PageInput { report: &result, samples: Some(&samples) }]).expect("a page");
    let bytes = page.metadata().expect("a file").len();
    println!("page-size: {:.2} MB ({} single requests in noise)", bytes as f64 / 1e6, samples.len());
    if !quick {
        watch(&page);
    }
}

fn watch(page: &Path) {
    let Some(program) = browser::find() else { return };
    let mut browser = Browser::start(&program);
    browser.resize(1280, 900, false);
    // The first page of a new browser also waits for its start.
    browser.open(page);
    browser.open(page);
    let paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime";
    println!("page-first-plot: {:.2} s until it is drawn", browser.value(paint).as_f64().unwrap() / 1e3);
    let ready = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd";
    println!("page-ready: {:.2} s until its plots answer", browser.value(ready).as_f64().unwrap() / 1e3);
    browser.place(".detail");
    browser.until("Boolean(document.querySelector('.samples').dataset.brushed)");
    let zoom = format!(
        "(() => {{ const {{ plot }} = document.querySelector('.samples').explorer, all = plot.full.x[1]; \
         const begin = performance.now(); for (let n = 1; n <= {ZOOMS}; n++) {{ \
         plot.view = {{ x: [n * all / 100, all - n * all / 100], y: null }}; plot.redraw(); }} \
         return (performance.now() - begin) / {ZOOMS}; }})()"
    );
    println!("page-zoom: {:.1} ms a step", browser.value(&zoom).as_f64().unwrap());
    // The worst case of a page: all requests in one run.
    let large = format!(
        "(() => {{ const s = document.querySelector('.samples').explorer, {{ plot }} = s; \
         const codes = new Uint16Array(1e6).map((_, n) => 12000 + (n * 7919) % 3000); \
         plot.model.run.codes = codes; plot.model.stops = codes; plot.full = {{ x: [0, 999999], y: null }}; \
         const begin = performance.now(); for (let n = 1; n <= {ZOOMS}; n++) {{ \
         plot.view = {{ x: [n * 1000, 999999 - n * 1000], y: null }}; plot.redraw(); }} \
         return (performance.now() - begin) / {ZOOMS}; }})()"
    );
    println!(
        "page-zoom-million: {:.1} ms a step, a million requests in view",
        browser.value(&large).as_f64().unwrap()
    );
}
