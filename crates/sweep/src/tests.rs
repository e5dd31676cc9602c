//! Ranges compared with a naive model, grids with nested loops, sweeps with themselves: on more cores, and resumed.

use super::*;
use flashlane_base::units::Quantity;
use flashlane_result::Warning;
use flashlane_result::run::RunResult;
use flashlane_result::sweep::{Measures, PointStatus, Standing, SweepResult, Verdict};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn values(text: &str) -> Vec<String> {
    text.parse::<Key>().unwrap_or_else(|error| panic!("{error}")).values
}

fn refusal(text: &str) -> String {
    text.parse::<Key>().expect_err(text).to_string()
}

#[test]
fn values_and_ranges_are_read() {
    for (text, expected) in [
        ("buffer.policy=lru,parallel", "lru parallel"),
        ("buffer.size=1MiB..64MiB*2", "1MiB 2MiB 4MiB 8MiB 16MiB 32MiB 64MiB"),
        ("buffer.size=1MiB..60MiB*4", "1MiB 4MiB 16MiB"),
        ("buffer.size=512B..4KiB*2", "512B 1KiB 2KiB 4KiB"),
        ("cleaning.low=1%..3%+0.5%", "1% 1.5% 2% 2.5% 3%"),
        ("flash.read=50us..1ms*10", "50us 500us"),
        ("flash.read=500us..2ms+500us", "500us 1ms 1500us 2ms"),
        ("seed=1..8+1", "1 2 3 4 5 6 7 8"),
        ("workload.depth=1, 2 ,8..32*2", "1 2 8 16 32"),
        ("workload.size=4k..16k+4k", "4k 8k 12k 16k"),
        ("buffer.size=0..64KiB+32KiB", "0KiB 32KiB 64KiB"),
        ("link.bandwidth=0.5GB/s..2GB/s*2", "0.5GB/s 1GB/s 2GB/s"),
        ("flash.channels=4..4*2", "4"),
        ("mapping.order=plane+die+package+channel", "plane+die+package+channel"),
    ] {
        assert_eq!(values(text).join(" "), expected, "{text}");
    }
}

#[test]
fn invalid_values_are_refused_with_reason() {
    for (text, part) in [
        ("buffer.size", "write KEY=VALUES"),
        ("=1..2+1", "the key before '=' is missing"),
        ("k=", "a value is missing"),
        ("k=1,,2", "a value is missing"),
        ("k=1,2,1", "the value '1' is given twice"),
        ("k=1..4*2,4", "the value '4' is given twice"),
        ("k=1,1.0", "the value '1.0' is given twice, as '1' too"),
        ("k=1MiB..4MiB*2,2048k", "the value '2048k' is given twice, as '2MiB' too"),
        ("k=1MiB,none,1024KiB", "the value '1024KiB' is given twice, as '1MiB' too"),
        ("k=lru,1,1.0", "the value '1.0' is given twice, as '1' too"),
        ("k=1MiB,none,2MiB,none", "the value 'none' is given twice"),
        ("k=0,1MiB,0KiB", "the value '0KiB' is given twice, as '0' too"),
        ("k=1..4*1.0000000001", "at most nine places"),
        ("k=1..4", "does not say how it goes on"),
        ("k=1..4*1", "no number above 1"),
        ("k=1..4*x", "no number above 1"),
        ("k=1..4*-2", "no number above 1"),
        ("k=0..4*2", "begins at zero"),
        ("k=1..4+0", "it would never end"),
        ("k=4..1+1", "ends before it begins"),
        ("k=1..4MiB*2", "the units '', 'MiB' do not belong to one quantity"),
        ("k=1MiB..4ms*2", "do not belong to one quantity"),
        ("k=1MiB..4MiB+1", "do not belong to one quantity"),
        ("k=1bananas..4bananas*2", "do not belong to one quantity"),
        ("k=1k..4m*2", "mean one thing for a size and another for a count"),
        ("k=..4*2", "'' is no end of a range"),
        ("k=a..b*2", "'a' is no end of a range"),
        ("k=1..100000000+1", "more than 100000 values"),
        ("k=999999999999999999TiB..999999999999999999TiB*2,1KiB", ""),
    ] {
        if part.is_empty() {
            let _ = text.parse::<Key>();
        } else {
            assert!(refusal(text).contains(part), "{}", refusal(text));
        }
    }
    // As counts these differ, and so do numbers that are equal as floats.
    for text in ["k=1m,1024k", "k=9007199254740992,9007199254740993", "k=1s,1ms", "k=none,1m,1024k", "k=1,1k"]
    {
        assert_eq!(values(text).len(), text.split(',').count());
    }
    let known = |text: &str| Key::parse(text, |_| Some(Quantity::Count));
    assert_eq!(known("workload.requests=1k..1m*1000").unwrap().values, ["1k", "1m"]);
    assert_eq!(known("workload.requests=1k..1m*10").unwrap().numbers.unwrap().1[1], 10_000.0);
    assert!(known("workload.requests=1KiB..1MiB*2").unwrap_err().to_string().contains("a count is expected"));
}

#[test]
fn duplicate_keys_and_too_large_grids_are_refused() {
    let grid = |texts: &[&str]| Grid::new(texts.iter().map(|text| text.parse().unwrap()).collect());
    assert_eq!(grid(&[]), Err(GridError::Empty));
    assert_eq!(grid(&["k=1", "k=2"]), Err(GridError::Twice { key: "k".into() }));
    let large = "k=1..1000+1";
    let error = grid(&[large, "l=1..1000+1"]).unwrap_err();
    assert_eq!(error, GridError::TooLarge { points: Some(1_000_000) });
    assert!(error.to_string().contains("1000000 points; allowed: at most 100000"), "{error}");
}

proptest! {
    #[test]
    fn arithmetic_range_matches_counting(from in 0u64..1000, count in 0u64..50, step in 1u64..100, over in 0u64..100) {
        let to = from + count * step + over % step;
        let expected: Vec<String> = (from..=to).step_by(step as usize).map(|n| format!("{n}us")).collect();
        prop_assert_eq!(values(&format!("k={from}us..{to}us+{step}us")), expected);
    }

    #[test]
    fn geometric_range_matches_multiplication(from in 1u64..1000, factor in 2u64..9, limit in 1u64..1_000_000_000) {
        let to = from.max(limit);
        let mut expected = Vec::new();
        let mut next = from;
        while next <= to {
            expected.push(format!("{next}"));
            next *= factor;
        }
        prop_assert_eq!(values(&format!("k={from}..{to}*{factor}")), expected);
    }

    #[test]
    fn range_with_ends_in_two_units_is_exact(kib in 1u64..512, mib in 1u64..64, factor in 2u64..5) {
        let (from, to) = (kib << 10, mib << 20);
        let key: Result<Key, _> = format!("k={kib}KiB..{mib}MiB*{factor}").parse();
        if to < from {
            prop_assert!(key.is_err());
        } else {
            let read = |text: &String| flashlane_base::units::parse_bytes(text).unwrap();
            let read: Vec<u64> = key.unwrap().values.iter().map(read).collect();
            let expected: Vec<u64> = std::iter::successors(Some(from), |n| Some(n * factor)).take_while(|n| *n <= to).collect();
            prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn parser_does_not_panic(text in "[a-z.=,*+0-9%µ ]{0,30}") {
        let _ = text.parse::<Key>();
        let _ = format!("k={text}").parse::<Key>();
    }

    #[test]
    fn grid_matches_nested_loops(lengths in prop::collection::vec(1usize..5, 1..4)) {
        let key = |(at, length): (usize, &usize)| format!("k{at}=1..{length}+1").parse().unwrap();
        let grid = Grid::new(lengths.iter().enumerate().map(key).collect()).unwrap();
        // Count with the last key changing first.
        let mut wheels = vec![0; lengths.len()];
        for at in 0..grid.len() {
            prop_assert_eq!(&grid.places(at), &wheels);
            let shown = grid.point(at);
            prop_assert!(shown.iter().zip(&wheels).all(|((_, value), wheel)| *value == (wheel + 1).to_string()));
            for (wheel, length) in wheels.iter_mut().zip(&lengths).rev() {
                *wheel = (*wheel + 1) % length;
                if *wheel > 0 {
                    break;
                }
            }
        }
        prop_assert!(wheels.iter().all(|wheel| *wheel == 0), "every combination came once");
    }
}

/// The subject of these sweeps.
fn about(seed: u64) -> About {
    let (device, workload) = ("sim:ssd-s".to_owned(), "mixed".to_owned());
    About { command: "run", device, workload, seed, is_exact: false }
}

/// A small sweep of simulated drives.
struct Small {
    grid: Grid,
    tasks: Vec<Planned<Vec<(String, String)>>>,
    /// Points measured so far.
    measured: AtomicUsize,
    /// Stop after this number of measurements.
    stop_after: usize,
}

impl Small {
    fn new(keys: &[&str]) -> Self {
        let grid = Grid::new(keys.iter().map(|key| key.parse().unwrap()).collect()).unwrap();
        let task = |at: usize| {
            let settings: Vec<(String, String)> =
                grid.point(at).into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            let config =
                flashlane_sim::profile::load("ssd-s", &settings).map_err(|error| error.to_string())?;
            Ok(Task { name: format!("{at}"), definition: format!("{config:?}"), plan: settings })
        };
        let tasks = (0..grid.len()).map(task).collect();
        Self { grid, tasks, measured: AtomicUsize::new(0), stop_after: usize::MAX }
    }

    fn measure(&self, settings: &[(String, String)]) -> Result<PointResult, PointError> {
        if self.measured.fetch_add(1, Ordering::Relaxed) >= self.stop_after {
            return Err(PointError::Stopped);
        }
        let config = flashlane_sim::profile::load("ssd-s", settings).unwrap();
        let mut drive = flashlane_sim::Drive::new(&config, flashlane_base::Seed(7));
        let workload = flashlane_workload::Workload::parse("mixed,depth=8,requests=300,area=4MiB").unwrap();
        let run =
            flashlane_measure::run(&mut drive, &workload, flashlane_measure::RunOptions::default()).unwrap();
        Ok(RunResult::from(&run).into())
    }

    fn sweep(&self, jobs: usize, store: Option<&Store>) -> (String, SweepOutcome) {
        let options = Options { jobs, store, watch: &|_| ControlFlow::Continue(()) };
        let swept = run(&self.tasks, &options, |settings, watch| {
            assert!(watch(Some(0.5)).is_continue());
            self.measure(settings)
        });
        let result = result_of(about(7), &self.grid, &swept.outcomes, &METRICS[0]);
        (serde_json::to_string(&result).unwrap(), swept)
    }
}

const GRID: [&str; 2] = ["buffer.size=32KiB..256KiB*2", "flash.channels=8,16,7000"];

#[test]
fn result_does_not_depend_on_the_number_of_cores() {
    let small = Small::new(&GRID);
    let (one, swept) = small.sweep(1, None);
    assert_eq!(small.sweep(2, None).0, one);
    assert_eq!(small.sweep(7, None).0, one);
    let count = |status| swept.outcomes.iter().filter(|outcome| outcome.status == status).count();
    assert_eq!((count(PointStatus::Measured), count(PointStatus::Failed)), (8, 4));
    let result: SweepResult = serde_json::from_str(&one).unwrap();
    assert!(result.rows[2].reason.as_ref().unwrap().contains("flash.channels"), "{:?}", result.rows[2]);
    assert!(result.rows[0].measures.mean_ns.unwrap() > 0.0);
    assert_ne!(result.rows[0].measures, result.rows[1].measures, "channels matter");
    let figure = &result.figures[0];
    assert!(figure.x.log && figure.x.unit == "B" && figure.series.len() == 2, "{figure:?}");
    assert_eq!(figure.series[1].points.len(), 4);
}

#[test]
fn stopped_sweep_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (whole, _) = Small::new(&GRID).sweep(2, None);
    let stopped = Small { stop_after: 3, ..Small::new(&GRID) };
    let (text, _) = stopped.sweep(1, Some(&store));
    let result: SweepResult = serde_json::from_str(&text).unwrap();
    assert_eq!((result.count(PointStatus::Measured), result.count(PointStatus::NotRun)), (3, 5));
    assert_eq!(result.partial.as_deref(), Some("stopped on request after 7 of 12 points"));
    let again = Small::new(&GRID);
    let (text, swept) = again.sweep(2, Some(&store));
    assert_eq!((text, swept.reused), (whole.clone(), 3));
    assert_eq!(again.measured.into_inner(), 5);
    let nothing = Small::new(&GRID);
    assert_eq!(nothing.sweep(2, Some(&store)).0, whole);
    assert_eq!(nothing.measured.into_inner(), 0);
}

#[test]
fn stored_result_of_another_kind_is_measured_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let small = Small::new(&["buffer.size=32KiB,64KiB"]);
    for (task, json) in small.tasks.iter().flatten().zip([
        serde_json::json!({ "schema": "flashlane.probe/1" }),
        serde_json::json!({ "schema": "flashlane.run/1", "device": {} }),
    ]) {
        store.save(&task.name, &task.definition, &json).unwrap();
    }
    let (_, swept) = small.sweep(1, Some(&store));
    let reasons: Vec<&str> = swept.damaged.iter().map(|(_, reason)| reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "its schema is \"flashlane.probe/1\", which is not of a command that is swept",
            "its field device.name is missing",
        ]
    );
    assert_eq!((swept.reused, small.measured.into_inner()), (0, 2));
}

#[test]
fn watch_stops_a_sweep() {
    let small = Small::new(&GRID);
    let options = Options { jobs: 2, store: None, watch: &|_| ControlFlow::Break(()) };
    let swept = run(&small.tasks, &options, |settings, _| small.measure(settings));
    assert_eq!(small.measured.into_inner(), 0);
    assert!(swept.outcomes.iter().all(|outcome| outcome.status != PointStatus::Measured));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn missing_or_damaged_files_are_measured_again(fates in prop::collection::vec(0u8..4, 8), jobs in 1usize..4) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let (whole, _) = Small::new(&GRID).sweep(2, Some(&store));
        let mut files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        prop_assert_eq!(files.len(), 8);
        let (mut damaged, mut kept) = (0, Vec::new());
        for (file, fate) in files.iter().zip(&fates) {
            let text = std::fs::read_to_string(file).unwrap();
            match fate {
                0 => continue,
                1 => std::fs::remove_file(file).unwrap(),
                2 => std::fs::write(file, &text[..text.len() / 2]).unwrap(),
                _ => std::fs::write(file, text.replacen("\"iops\": ", "\"iops\": 1", 1)).unwrap(),
            }
            if *fate > 1 {
                damaged += 1;
                kept.push((file.clone(), std::fs::read_to_string(file).unwrap()));
            }
        }
        let again = Small::new(&GRID);
        let (text, swept) = again.sweep(jobs, Some(&store));
        prop_assert_eq!(text, whole);
        prop_assert_eq!(swept.damaged.len(), damaged);
        prop_assert_eq!(swept.reused, fates.iter().filter(|fate| **fate == 0).count());
        prop_assert_eq!(again.measured.into_inner(), 8 - swept.reused);
        // Whatever has the name of a point may be the user's.
        for (file, text) in &kept {
            prop_assert_eq!(&std::fs::read_to_string(file).unwrap(), text);
        }
        prop_assert_eq!(swept.store_error.is_some(), damaged > 0);
    }
}

#[test]
fn definition_distinguishes_points() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let result = serde_json::json!({ "schema": "x", "value": 0.1 });
    store.save("a point", "one", &result).unwrap();
    assert_eq!(store.load("a point", "one"), Loaded::Result(result));
    assert_eq!(store.load("a point", "two"), Loaded::Nothing);
    // A device is neither read nor replaced.
    let file = store.file("a point", "device");
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let Loaded::Damaged { file: told, reason } = store.load("a point", "device") else {
        panic!("it has an end")
    };
    assert_eq!((told, reason.as_str()), (file, "it is not a regular file"));
    assert!(store.save("a point", "device", &serde_json::json!({})).is_err());
    let file = store.file("a/b=../1%", "one");
    assert_eq!(file.parent(), Some(dir.path()), "no name leaves the directory");
}

#[test]
fn fingerprint_of_file_matches_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    // More than one read.
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(fingerprint_of(&file).unwrap(), fingerprint(&bytes));
    // The published value of FNV-1a for one letter.
    assert_eq!(fingerprint(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert!(fingerprint_of(dir.path()).is_err());
}

#[test]
fn figure_shows_the_mean_over_seeds() {
    let grid = Grid::new(vec!["seed=1,2".parse().unwrap(), "k=10,20,30".parse().unwrap()]).unwrap();
    let outcome = |at: usize| {
        let measures = Measures { mean_ns: Some(1000.0 * (at as f64 + 1.0)), ..Measures::default() };
        Outcome { status: PointStatus::Measured, measures, ..Outcome::not_run() }
    };
    let outcomes: Vec<Outcome> = (0..6).map(outcome).collect();
    let result = result_of(about(0), &grid, &outcomes, Metric::named("mean").unwrap());
    let figure = &result.figures[0];
    assert_eq!(figure.series.len(), 1);
    assert_eq!(figure.series[0].points, [(10.0, 2.5), (20.0, 3.5), (30.0, 4.5)]);
    assert!(!figure.x.log && figure.caption.contains("mean of 2 repetitions"), "{figure:?}");
}

/// The outcome of a point with this mean latency, in us.
fn measured(mean_us: f64) -> Outcome {
    let measures = Measures {
        mean_ns: Some(1000.0 * mean_us),
        iops: Some(1e6 / mean_us),
        max_ns: Some(5000.0 * mean_us),
        ..Measures::default()
    };
    Outcome { status: PointStatus::Measured, measures, ..Outcome::not_run() }
}

#[test]
fn repetitions_give_one_row_with_an_interval() {
    let grid = Grid::new(vec!["policy=a,b,c".parse().unwrap()]).unwrap();
    let outcomes = [100.0, 101.0, 50.0, 120.0, 119.0, 60.0, 110.0, 111.0, 55.0].map(measured);
    let result = result_of(about(7), &grid, &outcomes, &METRICS[0]);
    assert_eq!((result.rows.len(), result.repeat), (3, 3));
    let row = &result.rows[0];
    assert_eq!(row.measures.mean_ns, Some(110e3));
    assert_eq!(row.measures.max_ns, Some(600e3), "the longest of all");
    // Student's t with two degrees of freedom, a standard deviation of 10 us, three repetitions.
    assert!((row.half_widths["mean_ns"] - 4.3027 * 10e3 / 3_f64.sqrt()).abs() < 1.0, "{:?}", row.half_widths);
    assert_eq!(row.repetitions.iter().map(|r| r.seed).collect::<Vec<_>>(), [7, 8, 9]);
    let standings: Vec<Standing> = result.rows.iter().map(|row| row.compared.unwrap().standing).collect();
    assert_eq!(standings, [Standing::Worse, Standing::Worse, Standing::Best]);
    assert_eq!(result.comparison.as_ref().unwrap().verdict, Verdict::OneBest);
    // Words are drawn as bars with intervals.
    let bars = &result.figures[0];
    assert_eq!(bars.x.names, ["a", "b", "c"]);
    assert_eq!(bars.series[0].points, [(0.0, 110.0), (1.0, 110.0 + 1.0 / 3.0), (2.0, 55.0)]);
    assert_eq!(bars.series[0].intervals.len(), 3);
    // The same points without repetitions.
    let seeds = Grid::new(vec!["seed=7,8,9".parse().unwrap(), "policy=a,b,c".parse().unwrap()]).unwrap();
    let by_seed = result_of(about(7), &seeds, &outcomes, &METRICS[0]);
    let of_policies = by_seed.rows[3..6].iter().map(|row| row.compared.unwrap().standing);
    assert_eq!(of_policies.collect::<Vec<_>>(), standings);
}

#[test]
fn point_whose_gc_was_out_of_balance_is_not_compared() {
    let grid = Grid::new(vec!["most=4,8,16".parse().unwrap()]).unwrap();
    let mut outcomes = [50.0, 100.0, 120.0, 51.0, 101.0, 121.0].map(measured);
    let mut concerned = |at: usize| {
        outcomes[at].warnings.push(Warning::new("gc-out-of-balance", "the reserve shrank"));
        result_of(about(0), &grid, &outcomes, &METRICS[0])
    };
    let result = concerned(3);
    let standings = |result: &SweepResult| -> Vec<Option<Standing>> {
        result.rows.iter().map(|row| row.compared.map(|compared| compared.standing)).collect()
    };
    assert_eq!(standings(&result), [None, Some(Standing::Best), Some(Standing::Worse)]);
    // GC did not begin at the third point, which would be the best for that.
    let mut spared = [90.0, 100.0, 50.0, 91.0, 101.0, 51.0].map(measured);
    spared[2].warnings.push(Warning::new("nothing-cleaned", "GC did not run"));
    let result = |outcomes: &[Outcome]| standings(&result_of(about(0), &grid, outcomes, &METRICS[0]));
    assert_eq!(result(&spared)[2], Some(Standing::Best), "no other point is left out");
    spared[0].warnings.push(Warning::new("gc-out-of-balance", "the reserve shrank"));
    assert_eq!(result(&spared), [None; 3], "one point is left");
    concerned(1);
    let result = concerned(2);
    assert_eq!((standings(&result), result.comparison), (vec![None; 3], None));
}

#[test]
fn identical_points_have_no_winner() {
    let grid = Grid::new(vec!["policy=none,fifo,lru,parallel,bplru,cflru".parse().unwrap()]).unwrap();
    for repeat in [1, 5] {
        let outcomes = vec![measured(125.3); 6 * repeat];
        let result = result_of(About { is_exact: repeat == 1, ..about(0) }, &grid, &outcomes, &METRICS[0]);
        assert_eq!(result.comparison.unwrap().verdict, Verdict::NoDifference);
    }
}

#[test]
fn range_with_a_dash_gets_a_hint() {
    for (text, part) in
        [("k=1-32", "'1..32*2'"), ("k=4KiB-64KiB", "'4KiB..64KiB*2'"), ("k=4,10%-30%", "'10%..30%*2'")]
    {
        let error = text.parse::<Key>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    for text in ["k=-1,2", "k=random-read,write-order", "k=2026-x"] {
        assert!(text.parse::<Key>().is_ok(), "{text}");
    }
}

#[test]
fn depth_sweep_has_a_knee() {
    let knees = |depths: &str, mean_us: &[f64], in_flight: &[f64]| {
        let grid = Grid::new(vec![format!("workload.depth={depths}").parse().unwrap()]).unwrap();
        let outcome = |(mean_us, in_flight): (&f64, &f64)| {
            let mut outcome = measured(*mean_us);
            outcome.measures.iops = Some(in_flight * 1e6 / mean_us);
            outcome
        };
        let outcomes: Vec<Outcome> = mean_us.iter().zip(in_flight).map(outcome).collect();
        result_of(about(0), &grid, &outcomes, Metric::named("iops").unwrap()).knees
    };
    let depths = [1.0, 2.0, 4.0, 8.0, 16.0];
    // A device with four channels: latency grows once all are in use.
    let four = knees("1..16*2", &[100.0, 100.0, 102.0, 200.0, 400.0], &depths);
    assert_eq!(four.iter().map(|knee| (knee.depth, knee.is_at_edge)).collect::<Vec<_>>(), [(4.0, false)]);
    let rising = knees("1..16*2", &[100.0; 5], &depths);
    assert_eq!((rising[0].depth, rising[0].is_at_edge), (16.0, true));
    assert_eq!(knees("1,2", &[100.0; 2], &depths[..2]), []);
    // Three repetitions, whose noise is in the seed (all depths alike) or in each measurement.
    let repeated = |noise: f64, factors: [[f64; 5]; 3]| {
        let mean_us = [100.0, 100.0, 102.0, 200.0, 400.0];
        let all: Vec<f64> = factors
            .iter()
            .flat_map(|factors| mean_us.iter().zip(factors).map(|(us, factor)| us * (1.0 + noise * factor)))
            .collect();
        let knees = knees("1..16*2", &all, &depths.repeat(3));
        (knees[0].depth, knees[0].range)
    };
    let of_seed = [[-1.0; 5], [0.0; 5], [1.0; 5]];
    assert_eq!(repeated(0.001, of_seed), (4.0, None));
    assert_eq!(repeated(0.05, of_seed), (4.0, None), "depths are compared in pairs of one seed");
    let of_each = [[-1.0, 1.0, 0.0, 0.5, 0.0], [0.0, -1.0, 0.5, -0.5, 1.0], [1.0, 0.0, -0.5, 0.0, -1.0]];
    assert_eq!(repeated(0.001, of_each), (4.0, None));
    let (depth, range) = repeated(0.2, of_each);
    assert!(depth == 4.0 && range.is_some_and(|[first, last]| first < 4.0 && last > 4.0), "{range:?}");
}

#[test]
fn knee_of_depths_without_difference_is_the_smallest() {
    let grid = Grid::new(vec!["workload.depth=1,4,16".parse().unwrap()]).unwrap();
    // Seeds differ by a fifth, depths with the same seed by 0.3% at most.
    let iops = [[1000.0, 1003.0, 1001.0], [1250.0, 1249.0, 1252.0], [800.0, 802.0, 801.0]];
    let outcome = |iops: f64| {
        let mut outcome = measured(1e6 / iops);
        outcome.measures.iops = Some(iops);
        outcome
    };
    let outcomes: Vec<Outcome> = iops.into_iter().flatten().map(outcome).collect();
    let result = result_of(about(0), &grid, &outcomes, Metric::named("iops").unwrap());
    let verdict = result.comparison.as_ref().map(|comparison| comparison.verdict);
    assert_eq!(verdict, Some(Verdict::NoDifference));
    let knees: Vec<_> = result.knees.iter().map(|knee| (knee.depth, knee.range)).collect();
    assert_eq!(knees, [(1.0, None)]);
}

#[test]
fn missing_repetition_makes_its_point_partial() {
    let grid = Grid::new(vec!["k=1,2,3".parse().unwrap()]).unwrap();
    let mut outcomes = vec![measured(100.0); 6];
    outcomes[5] = Outcome::not_run();
    let result = result_of(about(0), &grid, &outcomes, &METRICS[0]);
    assert_eq!(result.rows[2].status, PointStatus::Partial);
    assert!(result.rows[2].reason.as_ref().unwrap().starts_with("1 of 2 repetitions"));
    assert_eq!(result.partial.as_deref(), Some("stopped on request after 5 of 6 measurements"));
    outcomes[2] = Outcome::not_run();
    let result = result_of(about(0), &grid, &outcomes, &METRICS[0]);
    assert_eq!((result.rows[2].status, result.rows[2].measures.mean_ns), (PointStatus::NotRun, None));
}
