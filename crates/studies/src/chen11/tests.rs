//! The quick form of every figure.

use crate::{Options, REGISTRY, StudyError, StudyResult, Verdict, run};
use flashlane_base::Seed;
use flashlane_sweep::Store;
use std::ops::ControlFlow;

fn quick(figure: &str, seed: u64) -> StudyResult {
    run("chen11", Some(figure), Options { quick: true, seed: Seed(seed), ..Options::default() })
        .unwrap()
        .result
}

fn assert_reproduced(figure: &str) {
    let result = quick(figure, 0);
    let missed: Vec<_> = result.rows.iter().filter(|row| row.verdict == Verdict::Missed).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(result.rows.iter().all(|row| row.figure == figure) && result.is_reproduced());
    let ids: Vec<_> = result.figures.iter().map(|figure| &figure.id).collect();
    assert!(ids.iter().all(|id| id.starts_with(figure)), "{ids:?}");
}

#[test]
fn fig2_is_reproduced() {
    assert_reproduced("fig2");
}

#[test]
fn fig3_is_reproduced() {
    assert_reproduced("fig3");
}

#[test]
fn fig4_is_reproduced() {
    assert_reproduced("fig4");
}

#[test]
fn fig5_is_reproduced() {
    assert_reproduced("fig5");
}

#[test]
fn table2_is_reproduced() {
    assert_reproduced("table2");
}

#[test]
fn fig6_is_reproduced() {
    assert_reproduced("fig6");
}

#[test]
fn fig7_is_reproduced() {
    assert_reproduced("fig7");
}

#[test]
fn fig8_is_reproduced() {
    assert_reproduced("fig8");
}

#[test]
fn fig9_is_reproduced() {
    assert_reproduced("fig9");
}

#[test]
fn json_depends_on_the_seed_only() {
    let json = |seed| serde_json::to_string(&quick("fig7", seed)).unwrap();
    assert_eq!(json(1), json(1));
    assert_ne!(json(1), json(2));
}

#[test]
fn json_is_as_documented() {
    let value = serde_json::to_value(quick("fig3", 0)).unwrap();
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(keys(&value), ["figures", "paper", "partial", "rows", "schema", "warnings"]);
    assert_eq!((&value["schema"], &value["paper"]), (&"flashlane.study/1".into(), &"chen11".into()));
    assert!(value["partial"].is_null());
    let row = &value["rows"][0];
    assert_eq!(keys(row), ["figure", "measured", "published", "quantity", "tolerance", "unit", "verdict"],);
    assert_eq!(row["published"], 10.0);
    assert_eq!(row["verdict"], "reproduced");
    let again: StudyResult = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(again).unwrap(), value);
}

#[test]
fn unknown_paper_or_figure_is_refused_with_known_ones() {
    let error = |paper, figure| run(paper, figure, Options::default()).unwrap_err();
    let unknown = error("chen12", None);
    assert!(matches!(unknown, StudyError::UnknownPaper { .. }));
    assert!(unknown.to_string().contains("'chen12'") && unknown.to_string().contains("chen11"));
    let unknown = error("chen11", Some("fig99")).to_string();
    assert!(
        unknown.contains("'fig99'") && unknown.contains("fig2, fig3, fig4, fig5, table2, fig6, fig7"),
        "{unknown}"
    );
}

#[test]
fn stopped_study_keeps_finished_figures() {
    let seen = std::sync::Mutex::new(Vec::new());
    let watch = |progress: &crate::Progress| {
        seen.lock().unwrap().push(progress.figure);
        if progress.figure == "fig4" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = Options { quick: true, watch: Some(&watch), ..Options::default() };
    let result = run("chen11", None, options).unwrap().result;
    assert!(result.partial.as_deref().is_some_and(|reason| reason.contains("fig4")), "{:?}", result.partial);
    assert!(result.rows.iter().any(|row| row.figure == "fig3"));
    assert!(result.rows.iter().all(|row| row.figure != "fig4") && !result.is_reproduced());
    let seen = seen.into_inner().unwrap();
    assert_eq!((seen.first(), seen.last()), (Some(&"queries"), Some(&"fig4")));
}

#[test]
fn study_is_equal_for_any_number_of_jobs_and_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let quick = Options { quick: true, ..Options::default() };
    let whole = run("chen11", None, quick).unwrap();
    let kept = Options { store: Some(&store), ..quick };
    let stop = |progress: &crate::Progress| match progress.figure {
        "fig5" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = run("chen11", None, Options { watch: Some(&stop), ..kept }).unwrap();
    assert!(stopped.result.partial.is_some() && stopped.reused == 0, "{:?}", stopped.result.partial);
    // Reported shares only grow, with any number of cores.
    let last = std::sync::Mutex::new(0.0);
    let watch = |progress: &crate::Progress| {
        let mut last = last.lock().unwrap();
        *last = progress.share.max(*last);
        assert!(progress.share <= 1.0);
        ControlFlow::Continue(())
    };
    let resumed = run("chen11", None, Options { jobs: 3, watch: Some(&watch), ..kept }).unwrap();
    assert_eq!((resumed.reused, &resumed.result), (4, &whole.result));
    assert!((*last.lock().unwrap() - 1.0_f64).abs() < 1e-9);
    // Another seed or program is another measurement.
    for other in [Options { seed: Seed(1), ..kept }, Options { program: "another", ..kept }] {
        assert_eq!(run("chen11", Some("fig2"), other).unwrap().reused, 0);
    }
    // A damaged file is named, and its figure measured again.
    let file = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path());
    file.for_each(|file| std::fs::write(file, "{}").unwrap());
    let again = run("chen11", Some("fig2"), kept).unwrap();
    assert_eq!((again.reused, again.damaged.len()), (0, 1));
    assert!(again.result.rows.iter().all(|row| whole.result.rows.contains(row)));
}

#[test]
fn names_of_figures_and_papers_are_unique() {
    for study in REGISTRY {
        let mut ids: Vec<_> = study.figures.iter().map(|figure| figure.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), study.figures.len());
        assert!(study.figures.iter().all(|figure| figure.claim.contains("Section")));
    }
}
