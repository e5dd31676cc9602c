//! Predictions beside the simulated drives that they are about.

use flashlane_advise::{
    AdviseError, Calibration, CostModel, Estimate, LEAST_GAIN, Plan, PostgreSql, PostgreSqlError, Reads,
    Trial, calibrate, check, compare, fio, postgresql, result_of, rocksdb,
};
use flashlane_base::{Random, Seed};
use flashlane_device::Device;
use flashlane_sim::{Drive, profile};
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// An SLC drive of 2009, an NVMe drive, and a slow flash card; the first two with an eighth and a 32nd of their blocks,
/// which are prepared sooner.
const DRIVES: [(&str, &[(&str, &str)]); 3] = [
    ("ssd-s", &[("flash.blocks", "1024"), ("capacity", "4GB")]),
    ("nvme-tlc", &[("flash.blocks", "43"), ("capacity", "31GB")]),
    ("transcend-module-like", &[]),
];

/// A drive of which each page was written.
fn drive(name: &str, settings: &[(&str, &str)]) -> Drive {
    let settings = [("initial.state", "full")].iter().chain(settings);
    let settings: Vec<_> = settings.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Drive::new(&profile::load(name, &settings).expect("a built-in profile"), Seed(1))
}

fn ssd_s() -> Drive {
    drive(DRIVES[0].0, DRIVES[0].1)
}

fn go_on(_: &f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn model_of(device: &mut dyn Device) -> CostModel {
    calibrate(device, &Calibration::default(), &mut go_on).expect("reads succeed")
}

/// The model of one of the drives as it was made, which the tests share.
fn model_of_drive(number: usize) -> &'static CostModel {
    static MODELS: [OnceLock<CostModel>; DRIVES.len()] = [const { OnceLock::new() }; DRIVES.len()];
    let (name, settings) = DRIVES[number];
    MODELS[number].get_or_init(|| model_of(&mut drive(name, settings)))
}

fn fio_model_of(device: &mut dyn Device) -> CostModel {
    let calibration = Calibration::of_fio();
    calibrate(device, &calibration, &mut go_on).expect("reads succeed")
}

fn pages(device: &dyn Device) -> f64 {
    (device.info().capacity_bytes / 8192) as f64
}

/// Draws an index plan and a scan of the same table whose times lie within a factor of ten or so.
fn pair(random: &mut Random, area_pages: f64) -> [Plan; 2] {
    let band_pages = area_pages * 0.01 * 60f64.powf(random.unit());
    let depth = 1 << random.below(6);
    // A scanned page is 1 to 100 times as fast as a random one.
    let fetched = band_pages / (1.0 + 99.0 * random.unit().powi(2));
    let index = Reads::Random { pages: fetched.max(256.0), band_pages, depth };
    let dimension = Reads::Scan { pages: band_pages / 50.0, request_bytes: 128 << 10, depth: 1 };
    let table = Reads::Scan { pages: band_pages, request_bytes: 128 << 10, depth: depth.min(8) };
    [
        Plan { name: "index join".into(), reads: vec![index] },
        Plan { name: "hash join".into(), reads: vec![dimension, table] },
    ]
}

/// Measures the times of both plans.
fn measured(device: &mut dyn Device, [first, second]: &[Plan; 2], seed: u64) -> (Estimate, Estimate) {
    let calibration = Calibration { seed: Seed(seed), ..Calibration::default() };
    let trial = Trial::reads(first.reads.clone(), second.reads.clone());
    check(device, &[trial], &calibration, &mut go_on).expect("reads succeed")[0]
}

#[test]
fn faster_plan_is_chosen() {
    let (mut right, mut pairs) = (0, 0);
    for (number, (name, settings)) in DRIVES.into_iter().enumerate() {
        let (mut drive, model) = (drive(name, settings), model_of_drive(number));
        let mut random = Seed(7).derive(name).source();
        for n in 0..30 {
            let plans = pair(&mut random, model.area_pages() as f64);
            let (first, second) = measured(&mut drive, &plans, 100 + n);
            let (chosen, _) = compare(model, &plans)[0];
            let (taken, best) = match chosen.name == plans[0].name {
                true => (first.mean, first.mean.min(second.mean)),
                false => (second.mean, first.mean.min(second.mean)),
            };
            pairs += 1;
            right += u32::from(taken == best);
            assert!(taken <= best * 1.2, "{name} {n}: {plans:?} {first:?} {second:?}");
        }
    }
    println!("advise-plans: {:.1} % of {pairs} pairs", f64::from(right) / f64::from(pairs) * 100.0);
    assert!(right * 10 >= pairs * 9, "{right} of {pairs} pairs");
}

#[test]
fn times_between_measured_points_are_predicted() {
    let (mut near, mut all) = (0, 0);
    for (number, (name, settings)) in DRIVES.into_iter().enumerate() {
        let (mut drive, model) = (drive(name, settings), model_of_drive(number));
        let mut random = Seed(9).derive(name).source();
        let most = f64::from(drive.info().depth.min(64));
        for n in 0..30 {
            let depth = most.powf(random.unit()).round() as u32;
            let reads = if random.chance(0.5) {
                let band_pages = 256.0 * (pages(&drive) / 256.0).powf(random.unit());
                Reads::Random { pages: 4096.0, band_pages, depth }
            } else {
                let request_bytes = 16384 * (1 + random.below(64));
                Reads::Scan { pages: 16384.0, request_bytes, depth }
            };
            let only = Plan { name: String::new(), reads: vec![reads] };
            let (time, _) = measured(&mut drive, &[only.clone(), only.clone()], 200 + n);
            let predicted = only.time(model);
            let error = (predicted.mean / time.mean - 1.0).abs();
            println!("{name} {reads:?}: {:.1}%", error * 100.0);
            all += 1;
            near += u32::from(error <= 0.1);
            assert!(error <= 0.3, "{name}: {reads:?} is {:.1}% off", error * 100.0);
        }
    }
    println!("advise-times: {:.1} % of {all} times", f64::from(near) / f64::from(all) * 100.0);
    assert!(near * 10 >= all * 9, "{near} of {all} within 10%");
}

#[test]
fn parallel_reads_flip_the_plan() {
    // Figure 9 of chen11: an index join that is slower alone is faster with sub-queries.
    let mut drive = ssd_s();
    let model = model_of(&mut drive);
    let table = 100_000.0;
    let plans = |depth| {
        let index = Reads::Random { pages: table / 4.0, band_pages: table, depth };
        let scan = Reads::Scan { pages: table, request_bytes: 128 << 10, depth };
        [
            Plan { name: "index join".into(), reads: vec![index] },
            Plan { name: "hash join".into(), reads: vec![scan] },
        ]
    };
    for (depth, best) in [(1, "hash join"), (16, "index join")] {
        let plans = plans(depth);
        assert_eq!(compare(&model, &plans)[0].0.name, best, "{depth}");
        let (index, hash) = measured(&mut drive, &plans, 1);
        assert_eq!(index.mean < hash.mean, best == "index join", "{depth}");
    }
}

#[test]
fn predicted_gains_are_measured() {
    let (mut held, mut all) = (0, 0);
    for (number, (name, settings)) in DRIVES.into_iter().enumerate() {
        let (mut drive, model) = (drive(name, settings), model_of_drive(number));
        for version in 15..=18 {
            let database = PostgreSql::new(version, 512 << 20, 0.9).expect("possible values");
            let mut advices = vec![(model.clone(), postgresql(model, &database))];
            if version == 15 {
                let blocks = fio_model_of(&mut drive);
                advices.extend([(model.clone(), rocksdb(model)), (blocks.clone(), fio(&blocks))]);
            }
            for (model, advice) in advices {
                let trials: Vec<Trial> =
                    advice.proposals.iter().map(|proposal| proposal.trial.clone()).collect();
                let page_bytes = model.page_bytes();
                let calibration = Calibration { seed: Seed(5), page_bytes, ..Calibration::default() };
                let times = check(&mut drive, &trials, &calibration, &mut go_on).expect("reads succeed");
                let result = result_of(&model, "program", advice, Some(&times));
                let settings = result.settings.iter().map(|row| (&row.name, &row.effect, true));
                let withdrawn = result.withdrawn.iter().map(|row| (&row.name, &row.effect, false));
                for (setting, effect, stays) in settings.chain(withdrawn) {
                    println!("{name} {version} {setting} (stays: {stays}): {effect:?}");
                    all += 1;
                    held += u32::from(effect.holds == Some(true));
                    let gain = effect.measured.expect("measured");
                    assert!(!stays || gain.low >= LEAST_GAIN, "{name}: {setting} is no gain: {effect:?}");
                }
            }
        }
    }
    println!("advise-gains: {:.1} % of {all} gains", f64::from(held) / f64::from(all) * 100.0);
    assert!(held * 10 >= all * 9, "{held} of {all} predictions held");
}

#[test]
fn sequential_reads_of_fio_are_compared_with_its_default() {
    let model = fio_model_of(&mut ssd_s());
    let advice = fio(&model);
    let size = advice.proposals.iter().find(|proposal| proposal.name == "bs (read)").expect("it gains");
    assert_eq!((size.now.as_str(), size.undo.as_str()), ("4096", "bs=4096"));
    assert!(size.measured.contains("in requests of 4 KiB"), "{}", size.measured);
}

#[test]
fn same_seed_gives_the_same_model() {
    let model = || model_of(&mut ssd_s());
    assert_eq!(model(), model());
}

#[test]
fn devices_that_cannot_be_measured_are_refused() {
    let small = [("capacity".to_owned(), "32MiB".to_owned())];
    let mut small = Drive::new(&profile::load("ssd-s", &small).expect("a capacity"), Seed(1));
    let error = calibrate(&mut small, &Calibration::default(), &mut go_on).expect_err("too small");
    assert!(matches!(error, AdviseError::TooSmall { least_bytes: 67_108_864, .. }), "{error}");
    let odd = Calibration { page_bytes: 1000, ..Calibration::default() };
    let error = calibrate(&mut ssd_s(), &odd, &mut go_on).expect_err("no multiple");
    assert!(matches!(error, AdviseError::PageUnfit { page_bytes: 1000, .. }), "{error}");
    let stopped = calibrate(&mut ssd_s(), &Calibration::default(), &mut |_| ControlFlow::Break(()));
    assert_eq!(stopped.expect_err("stopped"), AdviseError::Stopped);
}

#[test]
fn impossible_databases_are_refused() {
    assert_eq!(PostgreSql::new(14, 1 << 30, 0.9), Err(PostgreSqlError::Version(14)));
    assert_eq!(PostgreSql::new(18, 100, 0.9), Err(PostgreSqlError::Table { given: 100, least: 8192 }));
    assert_eq!(PostgreSql::new(18, 1 << 30, 1.0), Err(PostgreSqlError::Cached(1.0)));
}
