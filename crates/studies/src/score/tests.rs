//! The summary of a score over wide drives.

use super::*;

fn answer(confidence: f64, is_right: bool) -> Answer {
    let mistake = || Mistake {
        drive: 0,
        feature: Feature::ChunkSize,
        truth: String::new(),
        answer: String::new(),
        profile: String::new(),
    };
    let mark = if is_right { Mark::Right } else { Mark::Wrong(Box::new(mistake())) };
    Answer { feature: Feature::ChunkSize, confidence, mark }
}

#[test]
fn findings_are_counted_by_stated_confidence() {
    let open = Answer {
        feature: Feature::ChunkSize,
        confidence: 0.0,
        mark: Mark::NotDetermined { is_hidden: false },
    };
    let answers = vec![answer(0.5, false), answer(0.9, true), answer(0.95, true), answer(0.99, false), open];
    let failed = Failed { drive: 7, error: "stalled".into(), profile: String::new() };
    let mut probed: Vec<Probed> = (1..=100)
        .map(|ms| Probed { answers: Vec::new(), failed: None, cpu: Duration::from_ms(ms) })
        .collect();
    probed[0].answers = answers;
    probed[1].failed = Some(failed.clone());
    let wide = summary(&probed);
    let counted: Vec<(f64, u64, u64)> =
        wide.calibration.iter().map(|band| (band.from, band.right, band.wrong)).collect();
    assert_eq!(counted, [(0.0, 0, 1), (0.7, 0, 0), (0.8, 0, 0), (0.9, 2, 0), (0.97, 0, 1)]);
    assert_eq!((wide.cpu.median_s, wide.cpu.p99_s), (0.05, 0.099));
    assert_eq!(wide.failed, [failed]);
}

#[test]
fn stop_ends_the_drive_under_way() {
    let calls = AtomicU64::new(0);
    let score =
        score(1, Seed(0), Range::Usual, Effort::Normal, &|_| calls.fetch_add(1, Ordering::Relaxed) < 2);
    assert_eq!((score.drives, score.partial.as_deref()), (0, Some("stopped after 0 of 1 drives")));
}
