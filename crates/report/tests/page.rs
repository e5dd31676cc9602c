//! The page in a real browser: its drawings, its reactions, and the absence of network requests.

#[path = "support/browser.rs"]
mod browser;
#[path = "support/uflip.rs"]
mod uflip;

use browser::Browser;
use flashlane_report::{PageInput, Report, Samples, write_page};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A page in its own directory, with a unique name.
struct Page {
    _dir: TempDir,
    file: PathBuf,
}

fn page(shown: &[PageInput<'_>]) -> Page {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(format!("{}.html", dir.path().file_name().unwrap().to_str().unwrap()));
    fs::rename(write_page(dir.path(), false, shown).unwrap(), &file).unwrap();
    Page { _dir: dir, file }
}

fn fixture(name: &str) -> Report {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Report::read(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).unwrap()
}

/// Opens these results in a browser at desktop size; `None` without a browser.
fn opened(shown: &[PageInput<'_>]) -> Option<(Browser, Page)> {
    let mut browser = Browser::start(&browser::find()?);
    browser.resize(1280, 900, false);
    let page = page(shown);
    browser.open(&page.file);
    Some((browser, page))
}

fn only(report: &Report) -> [PageInput<'_>; 1] {
    [PageInput { report, samples: None }]
}

/// A thousand reads and writes at known times; the 700th takes a second.
fn requests() -> Samples {
    let latency = |at: u64| if at == 700 { 1_000_000_000 } else { 100_000 + 100 * at };
    Samples::new()
        .with_u64("submitted_ns", (0..1000).map(|at| 5_000_000 + at * 1_000_000).collect())
        .and_then(|s| s.with_u64("latency_ns", (0..1000).map(latency).collect()))
        .and_then(|s| s.with_u64("offset_bytes", vec![0; 1000]))
        .and_then(|s| s.with_u64("job", vec![0; 1000]))
        .and_then(|s| s.with_u64("operation", (0..1000).map(|at| at % 2).collect()))
        .unwrap()
}

#[test]
fn every_plot_renders_without_network_requests() {
    let Some(program) = browser::find() else { return };
    let mut browser = Browser::start(&program);
    let (made_up, made_up_samples) = uflip::synthetic("sim:made-up", 20_000, 1);
    let results = [fixture("probe"), fixture("run"), fixture("study"), fixture("sweep"), made_up];
    for (report, samples) in results.iter().zip([None, Some(&requests()), None, None, Some(&made_up_samples)])
    {
        for (width, mobile) in [(1280, false), (390, true)] {
            browser.resize(width, 800, mobile);
            let page = page(&[PageInput { report, samples }]);
            browser.open(&page.file);
            let kind = &report.json()["schema"];
            let figures = report.json()["figures"].as_array().unwrap().len();
            // Bars are drawn once and cannot be zoomed.
            let drawn = "[...document.querySelectorAll('figure:not(.portrait)')].filter((f) => \
                 (f.querySelector('.plot').plot || f.querySelector('.plot.still')) && \
                 [...f.querySelectorAll('.plot>svg')].filter((s) => s.getBoundingClientRect().width > 200).length === 1).length";
            assert_eq!(browser.value(drawn), json!(figures), "{kind} at {width}");
            let portrait = "[...document.querySelectorAll('.portrait svg')].filter((s) => s.getBoundingClientRect().width > 200).length";
            let is_probe = *kind == json!("flashlane.probe/1");
            assert_eq!(browser.value(portrait), json!(u8::from(is_probe)), "{kind} at {width}");
            assert_eq!(
                browser.value("document.documentElement.scrollWidth <= innerWidth"),
                json!(true),
                "{kind} is wider than {width}"
            );
            if samples.is_some() {
                browser.place("section.samples");
                browser.until("Boolean(document.querySelector('.samples').dataset.brushed)");
                let painted = "(() => { const c = document.querySelector('.scatter'); \
                     const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0; \
                     for (let at = 3; at < d.length; at += 4) n += d[at] > 0; return n; })()";
                assert!(
                    browser.value(painted).as_u64().unwrap() > 50,
                    "{kind} at {width} paints its requests"
                );
            }
            assert_eq!(browser.complaints(), Vec::<String>::new(), "{kind} at {width}");
        }
    }
}

/// Returns the range of the horizontal axis in view.
fn view(browser: &mut Browser, selector: &str) -> Option<(f64, f64)> {
    // Changes are drawn with the next frame.
    browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    serde_json::from_value(browser.value(&format!("document.querySelector({}).plot.view.x", json!(selector))))
        .unwrap()
}

#[test]
fn dragging_zooms_and_a_button_resets_the_view() {
    let result = fixture("probe");
    let Some((mut browser, _page)) = opened(&only(&result)) else { return };
    let plot = "#f1-1 .plot";
    let before = browser.value("document.querySelector('#f1-1 .plot>svg').innerHTML");
    let [x, y, width, _] = browser.place(plot);
    browser.drag((x, y), (x + width / 4.0, y + 3.0));
    let (from, to) = view(&mut browser, plot).expect("a part is in view");
    let whole: (f64, f64) =
        serde_json::from_value(browser.value("document.querySelector('#f1-1 .plot').plot.full.x")).unwrap();
    let share = (to - from) / (whole.1 - whole.0);
    assert!((0.2..0.35).contains(&share), "a quarter of the plot was brushed: {from} to {to} of {whole:?}");
    assert_ne!(browser.value("document.querySelector('#f1-1 .plot>svg').innerHTML"), before);
    let ticks = "document.querySelectorAll('#f1-1 .plot>svg.wide text').length > 5";
    assert_eq!(browser.value(ticks), json!(true), "the axes have their ticks");
    // Curves are clipped at the plot's edge in both drawings.
    let clips = "[...document.querySelectorAll('#f1-1 clipPath')].map((clip) => clip.id)";
    let clips: Vec<String> = serde_json::from_value(browser.value(clips)).unwrap();
    assert!(clips.len() == 2 && clips[0] != clips[1], "{clips:?}");
    browser.click("#f1-1 .reset");
    assert_eq!(view(&mut browser, plot), None);
    assert_eq!(browser.value("document.querySelector('#f1-1 .plot>svg').innerHTML"), before, "as it came");
    // A box zooms both axes.
    let [x, y, width, _] = browser.place(plot);
    browser.drag((x, y - 40.0), (x + width / 4.0, y + 40.0));
    assert!(view(&mut browser, plot).is_some());
    assert!(browser.value("Array.isArray(document.querySelector('#f1-1 .plot').plot.view.y)") == json!(true));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn keys_read_values_zoom_and_reset() {
    let result = fixture("probe");
    let Some((mut browser, _page)) = opened(&only(&result)) else { return };
    let plot = "#f1-1 .plot";
    browser.value("document.querySelector('#f1-1 .plot').focus()");
    browser.key("ArrowRight");
    browser.key("ArrowRight");
    let tip = "document.querySelector('#f1-1 .tip:not([hidden])')?.textContent ?? ''";
    let shown_value = browser.value(tip);
    assert!(shown_value.as_str().unwrap().contains("sector"), "{shown_value}");
    browser.key("+");
    let near = view(&mut browser, plot).expect("+ zooms");
    browser.key("+");
    let nearer = view(&mut browser, plot).expect("+ zooms");
    assert!(nearer.1 - nearer.0 < 0.6 * (near.1 - near.0), "{near:?} {nearer:?}");
    browser.key("-");
    browser.key("Escape");
    assert_eq!(view(&mut browser, plot), None);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn two_fingers_zoom_and_one_pans() {
    let result = fixture("probe");
    let Some((mut browser, _page)) = opened(&only(&result)) else { return };
    browser.resize(390, 800, true);
    let plot = "#f1-1 .plot";
    let [x, y, ..] = browser.place(plot);
    browser.fingers("touchStart", &[(x - 30.0, y), (x + 30.0, y)]);
    for apart in [40.0, 60.0, 80.0] {
        browser.fingers("touchMove", &[(x - apart, y), (x + apart, y)]);
    }
    browser.fingers("touchEnd", &[]);
    let zoomed = view(&mut browser, plot).expect("two fingers zoom");
    browser.fingers("touchStart", &[(x, y)]);
    browser.fingers("touchMove", &[(x - 20.0, y)]);
    browser.fingers("touchMove", &[(x - 50.0, y)]);
    browser.fingers("touchEnd", &[]);
    let moved = view(&mut browser, plot).expect("it stays zoomed");
    assert!(moved.0 > zoomed.0, "{zoomed:?} {moved:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn legend_hides_curves_and_button_changes_the_scale() {
    let result = fixture("probe");
    let Some((mut browser, _page)) = opened(&only(&result)) else { return };
    browser.click("#f1-1 .legend button");
    let off = "document.querySelector('#f1-1 svg.wide [data-series=\"0\"]').classList.contains('off')";
    assert_eq!(browser.value(off), json!(true));
    browser.click("#f1-1 .legend button");
    assert_eq!(browser.value(off), json!(false));
    let scale = "document.querySelector('#f1-1 .plot').plot.drawings[0].plan.Y.log";
    assert_eq!(browser.value(scale), json!(false));
    browser.click("#f1-1 .tools button:last-child");
    view(&mut browser, "#f1-1 .plot");
    assert_eq!(browser.value(scale), json!(true));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn distribution_follows_the_brushed_samples() {
    let (result, samples) = (fixture("run"), requests());
    let Some((mut browser, _page)) = opened(&[PageInput { report: &result, samples: Some(&samples) }]) else {
        return;
    };
    browser.place(".detail");
    browser.until("document.querySelector('.samples').dataset.brushed === '0-1000'");
    let numbers = "document.querySelector('.numbers').textContent";
    let all = browser.value(numbers);
    // Even requests are reads, so the slow one is a read.
    assert!(all.as_str().unwrap().contains("reads500") && all.as_str().unwrap().contains("1 s"), "{all}");
    let [x, y, width, _] = browser.place(".detail");
    browser.drag((x - width / 2.0 + 100.0, y), (x, y + 4.0));
    browser.until("document.querySelector('.samples').dataset.brushed !== '0-1000'");
    let part = browser.value(numbers);
    assert!(!part.as_str().unwrap().contains("1 s"), "the slow one is not in view: {part}");
    let slow = "(() => { const s = document.querySelector('.samples').explorer; \
                return s.samples.times[s.plot.model.run.codes[700]]; })()";
    let ns = browser.value(slow).as_f64().unwrap();
    assert!((ns - 1e9).abs() <= 0.0005 * 1e9, "{ns}");
    browser.click(".all");
    browser.until("document.querySelector('.samples').dataset.brushed === '0-1000'");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn chosen_run_is_drawn_completely() {
    let (result, samples) = uflip::synthetic("sim:made-up", 60_000, 2);
    let Some((mut browser, _page)) = opened(&[PageInput { report: &result, samples: Some(&samples) }]) else {
        return;
    };
    browser.place(".detail");
    browser.until("Boolean(document.querySelector('.samples').dataset.brushed)");
    let choose = "(() => { const [benchmark, , value] = document.querySelectorAll('.choice select'); \
                  benchmark.value = 'Order'; benchmark.dispatchEvent(new Event('change')); \
                  const baseline = document.querySelectorAll('.choice select')[1]; \
                  baseline.value = 'RW'; baseline.dispatchEvent(new Event('change')); return 0; })()";
    browser.value(choose);
    let name = "(() => { const s = document.querySelector('.samples'); return s.explorer.samples.runs[s.dataset.run].name; })()";
    browser.until(&format!("{name}[1] === 'RW'"));
    assert_eq!(browser.value(name), json!(["Order", "RW", "Incr 1", "1"]));
    let at = browser.value("Number(document.querySelector('.samples').dataset.run)").as_u64().unwrap();
    let row = &result.json()["runs"][at as usize];
    let (first, count) =
        (row["first_sample"].as_u64().unwrap() as usize, row["samples"].as_u64().unwrap() as usize);
    let wanted = &samples.u64("latency_ns").unwrap()[first..first + count];
    let script = "(() => { const s = document.querySelector('.samples').explorer; \
                  return [...s.plot.model.run.codes].map((code) => s.samples.times[code]); })()";
    let found: Vec<f64> = serde_json::from_value(browser.value(script)).unwrap();
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - *wanted as f64).abs() <= 0.0005 * *wanted as f64, "{found} {wanted}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn results_share_one_table_and_axes() {
    let (a, a_samples) = uflip::synthetic("sim:one", 9_000, 1);
    let (b, b_samples) = uflip::synthetic("sim:other", 9_000, 2);
    let run = fixture("run");
    let shown = [
        PageInput { report: &a, samples: Some(&a_samples) },
        PageInput { report: &b, samples: Some(&b_samples) },
        PageInput { report: &run, samples: None },
    ];
    let Some((mut browser, _page)) = opened(&shown) else { return };
    let rows = "[...document.querySelector('main>section table').tBodies[0].rows].map((row) => row.cells[0].textContent)";
    assert_eq!(browser.value(rows), json!(["sim:one", "sim:other"]));
    // With eight curves the plots are next to each other, on the same axes, and zoomed together.
    let axes = "[1, 2].map((n) => document.querySelector(`#c1-${n} svg`).dataset.x + document.querySelector(`#c1-${n} svg`).dataset.y)";
    let axes = browser.value(axes);
    assert_eq!(axes[0], axes[1]);
    let [x, y, width, _] = browser.place("#c1-1 .plot");
    browser.drag((x, y), (x + width / 4.0, y));
    let first = view(&mut browser, "#c1-1 .plot").expect("the first is zoomed");
    assert_eq!(view(&mut browser, "#c1-2 .plot"), Some(first));
    // Each result has its own choice of run.
    assert_eq!(browser.value("document.querySelectorAll('section.samples').length"), json!(2));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn page_without_scripts_has_its_plots() {
    let Some(program) = browser::find() else { return };
    let mut browser = Browser::start(&program);
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    let result = fixture("probe");
    let page = page(&only(&result));
    browser.open(&page.file);
    let curves = "[...document.querySelectorAll('figure:not(.portrait)')].every((f) => f.querySelector('svg.wide [data-series] path'))";
    assert_eq!(browser.value(curves), json!(true));
    let printed = browser.call("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().unwrap().len() > 50_000, "it prints");
}
