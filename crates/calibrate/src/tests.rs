//! Reading of measurements, and fits to simulated drives of known constants.

use crate::contradictions::contradictions;
use crate::predict::Workloads;
use crate::{Fit, Measurement, Options, Quantity, Start, calibrate, read, result_of};
use flashlane_base::Seed;
use flashlane_sim::profile::PROFILES;

mod random_drives;

fn start() -> Start {
    let profile = PROFILES.iter().find(|profile| profile.name == "nvme-tlc").expect("it is built in");
    Start::new(profile.name, profile.text).expect("it is a drive")
}

#[test]
fn csv_is_read_with_quotes_units_and_comments() {
    let text = "# a drive\nsource,workload,quantity,value\n\"a \"\"b\"\"\",\"random-read,size=4k,depth=2\",p99.9,1.5ms\n\n,\
                random-write,rate,2000.5/s\n,sequential-read,bandwidth,1.2GB/s\n";
    let rows = read(text).expect("it is valid");
    let found: Vec<_> = rows.iter().map(|row| (row.quantity, row.value, &*row.place)).collect();
    assert_eq!(
        found,
        [
            (Quantity::Percentile(99.9), 1.5e6, "line 3"),
            (Quantity::Rate, 2_000.5, "line 5"),
            (Quantity::Bandwidth, 1.2e9, "line 6")
        ]
    );
    assert_eq!(rows[0].source, "a \"b\"");
    assert_eq!(rows[0].workload.jobs[0].depth, 2);
}

#[test]
fn invalid_measurements_are_refused_by_place_and_field() {
    for (line, expected) in [
        ("random-read,mean,72.6", "line 2, value: '72.6' is not a time: the unit is missing"),
        (
            "random-read,rate,inf/s",
            "line 2, value: 'inf/s' is not a rate of requests: it does not begin with a number",
        ),
        ("random-read,rate,274000", "line 2, value: '274000' is not a rate of requests: the unit is missing"),
        ("random-read,bandwidth,5", "line 2, value: '5' is not a rate: the unit is missing"),
        ("random-read,mean,0us", "line 2, value: '0us' is zero"),
        ("random-read,median,5us", "line 2, quantity: 'median' is unknown; allowed: mean, rate"),
        ("random-read,p100,5us", "line 2, quantity: 'p100' is unknown"),
        ("random-reed,mean,5us", "line 2, workload: "),
        ("random-read,size=4k,mean,5us", "line 2: it has 4 fields, the header 3"),
        ("\"random-read,mean,5us", "line 2: a quote is not closed"),
    ] {
        let error = read(&format!("workload,quantity,value\n{line}\n")).expect_err(line).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    for (text, expected) in [
        ("", "the file: it has no measurements"),
        ("workload,quantity,value\n", "the file: it has no measurements"),
        ("workload,value\n", "line 1: the column 'quantity' is missing"),
        ("workload,quantity,value,colour\n", "line 1: there is no column 'colour'"),
        ("{\"jobs\": 3}", "the file, jobs: it is missing"),
        (
            "{\"schema\": \"flashlane.run/1\"}",
            "the file, schema: it is a result 'flashlane.run/1'; allowed: a probe's",
        ),
        ("{\"schema\": \"flashlane.probe/1\"}", "the file: it is no probe's result: "),
        ("{", "line 1: it is no JSON"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn fio_jobs_are_measurements() {
    let json = r#"{
        "global options": { "bs": "8k", "iodepth": "4" },
        "jobs": [
            { "jobname": "a", "job options": { "rw": "randread" }, "read": { "iops": 1000.0, "lat_ns": { "mean": 4e6 },
              "clat_ns": { "percentile": { "50.000000": 3900000, "99.000000": 5000000 } } } },
            { "jobname": "b", "job options": { "rw": "write", "bs": "131072", "numjobs": "2" }, "write": { "iops": 9.5 } }
        ]
    }"#;
    let rows = read(json).expect("it is fio's");
    let found: Vec<_> =
        rows.iter().map(|row| (row.workload_name(), row.quantity.to_string(), row.value)).collect();
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found[0].0.contains("size=8KiB") && found[0].0.contains("depth=4"), "{found:?}");
    assert_eq!((found[2].1.as_str(), found[2].2), ("p50", 3.9e6));
    assert!(found[4].0.contains("sequential-write") && found[4].0.contains("depth=8"), "{found:?}");
    let mixed = json.replace("randread", "randrw");
    let error = read(&mixed).expect_err("a mix has no prediction").to_string();
    assert!(error.starts_with("job 1 (a), rw: 'randrw' cannot be predicted"), "{error}");
    let limited = json.replace("\"rw\": \"randread\"", "\"rw\": \"randread\", \"rate_iops\": \"500\"");
    let error = read(&limited).expect_err("a limit is no property of the drive").to_string();
    assert!(error.starts_with("job 1 (a), rate_iops: it cannot be predicted"), "{error}");
    let at_once = json.replace("\"jobname\"", "\"groupid\": 0, \"jobname\"");
    let error = read(&at_once).expect_err("they share the drive").to_string();
    assert!(error.starts_with("job 2, groupid: jobs 1 and 2 ran at the same time"), "{error}");
}

#[test]
fn contradictions_are_named() {
    let text = "workload,quantity,value\n\
                \"random-read,depth=4\",mean,100us\n\
                \"random-read,depth=4\",mean,120us\n\
                \"random-read,depth=4\",rate,10k/s\n\
                \"random-read,depth=4\",p50,210us\n\
                \"random-read,depth=4\",p99,200us\n\
                \"random-read,depth=8\",mean,5ms\n\
                \"random-read,depth=8\",p99,10s\n";
    let rows = read(text).expect("it is valid");
    let refused = calibrate(&start(), &rows, &Options::default()).expect_err("they contradict each other");
    assert!(refused.to_string().ends_with("; remove the wrong ones"), "{refused}");
    let found = contradictions(&rows);
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found[0].starts_with("line 2: mean of ") && found[0].ends_with(" differ by 20%"), "{}", found[0]);
    assert!(
        found[1].contains("need 1.0 requests") && found[1].ends_with("and the workload has 4"),
        "{}",
        found[1]
    );
    assert!(
        found[3].starts_with("line 5: p50 of ") && found[3].ends_with("are out of order"),
        "{}",
        found[3]
    );
    // One request of a hundred takes 10 s or more.
    assert!(found[4].contains("p99 of ") && found[4].ends_with("20 times as long"), "{}", found[4]);
}

#[test]
fn fit_from_which_nothing_follows_is_warned_of() {
    let warnings = |lines: &str| {
        let rows = read(&format!("workload,quantity,value\n{lines}")).expect("it is valid");
        let options = Options { requests: 300, jobs: 2, counts: false, keep_back: 0 };
        let fit = calibrate(&start(), &rows, &options).expect("it fits");
        result_of("drive.csv", &start(), &rows, &fit).warnings
    };
    let of = |lines: &str, code: &str| {
        let found = warnings(lines).into_iter().find(|warning| warning.code.name() == code);
        found.map(|warning| warning.message)
    };
    // A trim shows a command's time alone.
    let trims = "\"random-trim,size=4k,depth=1\",mean,72us\n";
    let message = of(trims, "nothing-follows").expect("no constant is fixed");
    assert!(message.contains("at depth 1") && message.contains("bandwidths"), "{message}");
    assert_eq!(of(trims, "fit-misses-measurements"), None);
    // Only what the file does not have is missing.
    let also = |lines: &str| of(&format!("{trims}{lines}"), "nothing-follows").unwrap_or_default();
    let trim = "\"random-trim,size=128KiB,depth=32\",bandwidth,2GB/s\n";
    assert!(also(trim).ends_with(
        "Missing are means of reads of a page at depth 1 and means of writes of a page at depth 1"
    ));
    // No drive does both.
    let reads = "\"random-read,size=4k,depth=1\",mean,70us\n\"random-read,size=4k,depth=4\",rate,1/s\n";
    let message = of(reads, "fit-misses-measurements").expect("the twin has other rates");
    assert!(message.contains("line 3, rate of random-read") && message.contains("units"), "{message}");
}

#[test]
fn missed_measurement_is_named_beside_hits() {
    let text: String =
        (0..9).map(|nth| format!("\"random-read,size=4k,depth={}\",mean,100us\n", nth + 1)).collect();
    let rows = read(&format!("workload,quantity,value\n{text}")).expect("it is valid");
    let of = |last: f64| {
        let fit = Fit {
            predicted: (0..9).map(|nth| if nth == 8 { last } else { 1e5 }).collect(),
            kept_back: vec![false; 9],
            constants: Vec::new(),
            counts: Vec::new(),
            tried: 0,
        };
        let warnings = result_of("drive.csv", &start(), &rows, &fit).warnings;
        warnings.into_iter().find(|warning| warning.code.name() == "fit-misses-measurements")
    };
    assert_eq!(of(1.19e5), None);
    let message = of(1.3e5).expect("one is missed by 30%").message;
    assert!(message.contains("1 of the 9 measurements") && message.contains("line 10, mean"), "{message}");
    let message = of(4e5).expect("the mean is missed").message;
    assert!(message.contains("by 33% in the mean"), "{message}");
}

#[test]
fn published_measurements_are_read_without_contradictions() {
    for text in [
        include_str!("../../../profiles/measured/zn540.csv"),
        include_str!("../../../profiles/measured/980-pro.csv"),
    ] {
        let rows = read(text).expect("they are valid");
        assert_eq!(contradictions(&rows), [""; 0]);
        assert!(rows.iter().all(|row| !row.source.is_empty()));
    }
}

/// Requests of a measurement. With several in flight at each die, their queues are others only after thousands.
const REQUESTS_MEASURED: u64 = 100_000;

/// Median, p99 and rate of workloads on a drive with these settings. The drive sees other offsets than its twin.
fn measured(settings: &[(&str, String)], workloads: &[&str]) -> Vec<Measurement> {
    let lines = workloads
        .iter()
        .flat_map(|workload| ["p50,1us", "p99,1us", "rate,1/s"].map(|end| format!("\"{workload}\",{end}\n")));
    let lines = lines.collect::<String>();
    let mut rows = read(&format!("workload,quantity,value\n{lines}")).expect("it is valid");
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let config = start().small(settings).expect("it is a drive");
    let values =
        Workloads::of(&rows, REQUESTS_MEASURED, &config).predict(&rows, &config, Seed(7)).expect("they fit");
    rows.iter_mut().zip(values).for_each(|(row, value)| row.value = value);
    rows
}

/// Whether a measurement is a percentile beyond the median.
fn is_tail(row: &Measurement) -> bool {
    matches!(row.quantity, Quantity::Percentile(percent) if percent > 50.0)
}

const READS: [&str; 5] = [
    "random-read,size=4k,depth=1",
    "random-read,size=16k,depth=1",
    "random-read,size=4k,depth=16",
    "random-read,size=4k,depth=64",
    "random-read,size=16k,depth=32",
];

#[test]
fn known_constants_are_found_and_measurements_kept_back_predicted() {
    let truth = [
        ("flash.read", "85us".into()),
        ("flash.bus", "600MB/s".into()),
        ("host.submission", "9us".into()),
        ("flash.channels", "4".into()),
    ];
    let rows = measured(&truth, &READS);
    let options = Options { requests: 800, jobs: 2, keep_back: 5, ..Options::default() };
    let fit = calibrate(&start(), &rows, &options).expect("it fits");
    assert!(fit.counts.contains(&("flash.channels".into(), "4".into())), "{:?}", fit.counts);
    assert_eq!(fit.kept_back.iter().filter(|&&kept| kept).count(), 3, "the fifth workload's");
    for (row, predicted) in rows.iter().zip(&fit.predicted) {
        let (error, bound) = ((predicted / row.value - 1.0).abs(), if is_tail(row) { 0.08 } else { 0.03 });
        assert!(error < bound, "{}: {predicted} instead of {}", row.name(), row.value);
    }
    let read = fit.constants.iter().find(|constant| constant.key == "flash.read").expect("it is fitted");
    assert!(!read.fixed_by.is_empty() && read.error.is_some());
    // Nothing is written.
    let program =
        fit.constants.iter().find(|constant| constant.key == "flash.program").expect("it is listed");
    assert_eq!((program.error, &program.value), (None, &program.start));
    let twin = start().twin("twin", &fit.settings(&start(), rows.len()));
    let read_back = Start::new("twin.toml", &twin).expect("the twin is a profile");
    assert_eq!(read_back.config().flash.channels, 4);
}

#[test]
fn number_of_cores_changes_no_fit() {
    let rows = measured(&[("flash.read", "70us".into())], &READS[..3]);
    let fit = |jobs| {
        let options = Options { requests: 500, jobs, counts: false, keep_back: 0 };
        calibrate(&start(), &rows, &options).expect("it fits")
    };
    assert_eq!(fit(1), fit(3));
}
