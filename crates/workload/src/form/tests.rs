//! The written forms: what they say, what they refuse and how, and that nothing makes them panic.

use crate::{Job, Limits, Mix, Pattern, Stop, Workload};
use flashlane_base::{Duration, Seed};
use proptest::prelude::*;

fn parse(text: &str) -> Workload {
    Workload::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_issues_example_says_what_it_seems_to() {
    let job = Job::new("random-read", Pattern::Random, Mix::READ, 4096).depth(32).area(0, 1 << 30);
    assert_eq!(parse("random-read,size=4k,depth=32,requests=1M,area=1GiB"), Workload::single(job, 1_000_000));
}

#[test]
fn every_key_reaches_its_field() {
    let workload = parse(
        "permutation-trim, size=8k ,depth=2,jobs=3,area=1MiB,offset=64k,align=16k,think=5us,reads=12.5%,\
         time=2s,confidence=0.5%,warmup=1k,seed=18446744073709551615",
    );
    assert_eq!(
        workload.stop,
        Stop { requests: None, time: Some(Duration::from_s(2)), confidence: Some(0.005) }
    );
    assert_eq!((workload.warmup_requests, workload.seed), (1000, Seed(u64::MAX)));
    let third = &workload.jobs[2];
    assert_eq!(third.name, "permutation-trim-3");
    assert_eq!(third.area_offset_bytes, 64 * 1024 + 2 * (1 << 20), "the third job has the third area");
    assert_eq!((third.size_bytes, third.depth, third.align_bytes), (8192, 2, Some(16384)));
    assert_eq!((third.mix.reads, third.think), (0.125, Duration::from_us(5)));
    assert_eq!(parse("mixed").jobs[0].mix, Mix { reads: 0.7, ..Mix::WRITE });
    for (text, step_bytes) in [
        ("ordered-read,stride=1MiB", 1 << 20),
        ("ordered-read,stride=-512B", -512),
        ("ordered-read,incr=-1", -4096),
        ("ordered-write,size=32k,incr=256", 8 << 20),
        ("ordered-write,incr=0", 0),
    ] {
        assert_eq!(parse(text).jobs[0].pattern, Pattern::Ordered { step_bytes }, "{text}");
    }
    let job = &parse("partitioned-write,partitions=8,shift=512B,think=100ms,burst=10").jobs[0];
    assert_eq!(job.pattern, Pattern::Partitioned { partitions: 8 });
    assert_eq!((job.shift_bytes, job.think, job.burst), (512, Duration::from_ms(100), 10));
    assert!(parse("random-read,jobs=4,shared").jobs.iter().all(|job| job.area_offset_bytes == 0));
}

#[test]
fn a_run_without_an_end_gets_one() {
    assert_eq!(parse("random-read").stop, Stop::after(100_000));
    assert_eq!(parse("random-read,confidence=1%").stop.requests, Some(10_000_000));
    assert_eq!(parse("random-read,time=1s").stop.requests, None);
}

#[test]
fn inline_errors_say_where_what_and_what_instead() {
    for (text, character, parts) in [
        ("", 1, &["a pattern is expected"] as &[_]),
        ("random-raed", 1, &["'random-raed'", "did you mean 'random-read'", "sequential-write", "mixed"]),
        ("random-read,siez=4k", 13, &["'siez'", "did you mean 'size'", "depth, jobs"]),
        ("random-read,size=4096", 13, &["size:", "'4096'", "unit is missing", "'4k'"]),
        ("random-read, size", 14, &["'size' lacks its value", "size=4k"]),
        ("random-read,depth=2,depth=4", 21, &["twice", "character 13"]),
        ("random-read,depth=0", 13, &["at least 1"]),
        ("random-read,depth=1M", 13, &["at most 65536"]),
        ("random-read,jobs=4", 13, &["area=SIZE", "shared"]),
        ("random-read,shared", 13, &["jobs=N"]),
        ("random-read,stride=4k", 13, &["no meaning for pattern 'random'", "ordered"]),
        ("ordered-read", 1, &["incr=N", "stride=SIZE"]),
        ("ordered-read,incr=2,stride=8k", 21, &["'incr' and 'stride'", "give one"]),
        ("ordered-read,incr=--2", 14, &["incr:", "'-2'"]),
        ("ordered-read,incr=9000000000000000000", 14, &["2^63"]),
        ("ordered-read,partitions=2", 14, &["no meaning for pattern 'ordered'", "partitioned"]),
        ("partitioned-read", 1, &["partitions=N"]),
        ("random-read,burst=2", 13, &["needs think=TIME"]),
        ("random-read,turns=0", 13, &["at least 1"]),
        ("random-read,reads=50%", 13, &["random-write,reads=70%"]),
        ("random-read,confidence=0%", 13, &["above 0%"]),
        ("random-read,seed=-1", 13, &["seed", "2^64"]),
        ("random-read,jobs=9,area=8EiB", 20, &["area", "'EiB'"]),
        ("random-read,jobs=1024,area=8000000TiB", 23, &["beyond 2^64"]),
        ("µandom-read,ä=1", 1, &["unknown pattern"]),
        ("mixed,", 7, &["unknown key ''"]),
    ] {
        let error = Workload::parse(text).expect_err(text).to_string();
        assert!(error.contains(&format!("at character {character}:")), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

const FILE: &str = r#"
requests = 1_000
time = "30s"

[[job]]
name = "scan"
pattern = "sequential-read"
size = "128k"
area = "1GiB"

[[job]]
pattern = "random-write"
depth = 4
jobs = "2"
shared = true
offset = "1GiB"
"#;

#[test]
fn a_job_file_has_the_same_keys() {
    let workload = Workload::parse_toml(FILE, "jobs.toml").unwrap();
    let names: Vec<_> = workload.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["scan", "job-2-1", "job-2-2"]);
    assert_eq!(workload.stop.requests, Some(1000));
    assert_eq!(workload.jobs[0].area_length_bytes, Some(1 << 30));
    assert_eq!((workload.jobs[2].depth, workload.jobs[2].area_offset_bytes), (4, 1 << 30));
}

#[test]
fn file_errors_say_which_line() {
    for (from, to, line, part) in [
        ("size = \"128k\"", "size = 128", 8, "unit is missing"),
        ("size = \"128k\"", "size = 1.5", 8, "string with its unit"),
        ("name = \"scan\"", "nam = \"scan\"", 6, "did you mean 'name'"),
        ("time = \"30s\"", "depth = 4", 3, "inside a [[job]]"),
        ("depth = 4", "seed = 4", 13, "before the first [[job]]"),
        ("pattern = \"random-write\"", "", 11, "lacks its pattern"),
        ("\"sequential-read\"", "\"sequential\"", 7, "unknown pattern 'sequential'"),
        ("time = \"30s\"", "time = \"30s", 3, ""),
        ("shared = true", "", 14, "area=SIZE"),
        ("time = \"30s\"", "time = \"0s\"", 3, "more than zero"),
    ] {
        let text = FILE.replacen(from, to, 1);
        let error = Workload::parse_toml(&text, "jobs.toml").expect_err(to).to_string();
        assert!(error.starts_with(&format!("jobs.toml:{line}: ")), "{error}");
        assert!(error.contains(part), "{part}: {error}");
    }
    let error = Workload::parse_toml("requests = 5", "jobs.toml").unwrap_err();
    assert!(error.to_string().contains("[[job]]"), "{error}");
    assert!(Workload::parse_toml("job = 5", "jobs.toml").is_err());
}

#[test]
fn a_workload_that_does_not_fit_is_told_which_field_and_why() {
    let limits =
        Limits { capacity_bytes: 1 << 30, read_unit_bytes: 4096, write_unit_bytes: 4096, read_only: true };
    let fits = |text: &str| parse(text).check(&limits);
    assert_eq!(fits("random-read,area=1GiB"), Ok(()));
    assert_eq!(fits("random-read,depth=65536"), Ok(()), "the loop holds back what the device does not take");
    for (text, field) in [
        ("random-read,size=512B", "size"),
        ("random-read,offset=1k", "offset"),
        ("random-read,offset=4k,area=1GiB", "area"),
        ("random-read,offset=2GiB", "area"),
        ("random-read,size=8k,area=4k", "area"),
        ("random-read,align=1k", "align"),
        ("ordered-read,stride=1k", "stride"),
        ("ordered-read,stride=-2000001KiB", "stride"),
        ("ordered-read,incr=1M", "incr"),
        ("partitioned-read,partitions=262145", "partitions"),
        ("random-read,shift=1k", "shift"),
        ("random-read,shift=8k", "shift"),
        ("random-read,area=1GiB,shift=4k", "area"),
        ("random-read,turns=2", "turns"),
        ("random-write", "operation"),
        ("mixed", "operation"),
        ("random-read,depth=65536,jobs=32,shared", "depth"),
    ] {
        let unfit = fits(text).expect_err(text);
        assert_eq!(unfit.field, field, "{unfit}");
    }
    let job = |list: &[u64]| Job::new("list", Pattern::List(list.into()), Mix::READ, 4096);
    let check = |jobs| Workload::new(jobs, Stop::after(1)).check(&limits).map_err(|e| e.field);
    assert_eq!(check(vec![job(&[0, 4096])]), Ok(()));
    assert_eq!(check(vec![job(&[])]), Err("list"));
    assert_eq!(check(vec![job(&[1 << 30])]), Err("list"));
    assert_eq!(check(vec![job(&[512])]), Err("list"));
    assert_eq!(check(vec![job(&[0]), job(&[0])]), Err("name"));
    assert_eq!(check(vec![]), Err("job"));
    let endless = Workload::new(vec![job(&[0])], Stop::default());
    assert_eq!(endless.check(&limits).map_err(|e| e.field), Err("stop"));
}

/// Texts that are nearly workloads.
fn nearly() -> impl Strategy<Value = String> {
    let patterns = prop::sample::select(vec![
        "random-read",
        "random-write",
        "sequential-read",
        "permutation-trim",
        "ordered-write",
        "partitioned-read",
        "mixed",
        "list-read",
        "",
    ]);
    let keys = prop::sample::select(crate::KEYS.iter().map(|k| k.name).collect::<Vec<_>>());
    let values = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "-12k",
        "3",
        "4k",
        "1MiB",
        "64k",
        "33%",
        "7.25%",
        "100%",
        "0%",
        "30s",
        "1500us",
        "true",
        "9e9",
        "8388607TiB",
        "18446744073709551615",
        "",
        "é",
    ]);
    let settings = prop::collection::vec((keys, values), 0..6);
    (patterns, settings).prop_map(|(pattern, settings)| {
        settings.into_iter().fold(pattern.to_owned(), |text, (key, value)| format!("{text},{key}={value}"))
    })
}

proptest! {
    #[test]
    fn nothing_makes_the_readers_panic(text in "\\PC{0,60}", near in nearly(), file in "[a-z=\\[\\]\" \n0-9.]{0,80}") {
        for text in [&text, &near] {
            if let Ok(workload) = Workload::parse(text) {
                let limits = Limits {
                    capacity_bytes: 1 << 40, read_unit_bytes: 512, write_unit_bytes: 4096, read_only: false,
                };
                let _ = workload.check(&limits);
            }
        }
        let _ = Workload::parse_toml(&file, "f");
        let near = near.replacen(',', "\"\n", 1).replace(',', "\n").replace("=", "=\"").replace('\n', "\"\n");
        let _ = Workload::parse_toml(&format!("[[job]]\npattern=\"{near}\""), "f");
    }

    #[test]
    fn what_was_read_can_be_written_and_read_again(text in nearly()) {
        if let Ok(workload) = Workload::parse(&text) {
            prop_assert_eq!(Workload::parse(&workload.to_string()), Ok(workload));
        }
    }
}
