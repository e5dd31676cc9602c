//! The written forms: meanings, refusals, and freedom from panics.

use crate::{Arrivals, Distribution, Job, Limits, Mix, Pattern, Precondition, Rate, Skew, Stop, Workload};
use flashlane_base::units::parse_share;
use flashlane_base::{Duration, Operation, Seed};
use proptest::prelude::*;

fn parse(text: &str) -> Workload {
    Workload::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn example_is_read_as_intended() {
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
    let job = &parse("random-write,fsync=8,fua,rate=2.5k/s,arrivals=poisson,accesses=10").jobs[0];
    assert_eq!((job.flush_every, job.durable, job.accesses, job.depth), (Some(8), true, Some(10), 256));
    assert_eq!(job.rate, Some(Rate { per_second: 2500.0, arrivals: Arrivals::Poisson }));
    assert_eq!(parse("random-write,rate=1/s,depth=4").jobs[0].depth, 4);
    let workload = parse("random-write,precondition=steady,verify,accesses=5");
    assert_eq!((workload.precondition, workload.verify), (Some(Precondition::Steady), true));
    assert_eq!(workload.stop, Stop::default(), "its job ends by itself");
    for (text, distribution, scattered) in [
        ("random-read,zipf=1", Distribution::Zipf { exponent: 1.0 }, true),
        ("random-write,zipf=0.99,scatter=false", Distribution::Zipf { exponent: 0.99 }, false),
        ("mixed,pareto=20%", Distribution::Pareto { space: 0.2 }, true),
        ("random-trim,hotspot=10%:90%", Distribution::Hotspot { space: 0.1, accesses: 0.9 }, false),
        ("random-trim,hotspot=1%:50%,scatter", Distribution::Hotspot { space: 0.01, accesses: 0.5 }, true),
    ] {
        assert_eq!(parse(text).jobs[0].pattern, Pattern::Skewed(Skew { distribution, scattered }), "{text}");
    }
    assert!(parse("random-read,jobs=4,shared").jobs.iter().all(|job| job.area_offset_bytes == 0));
}

#[test]
fn one_line_holds_several_jobs() {
    let workload = parse(
        "sequential-read,size=32k,turns=4,seed=7 + random-write,turns=1,requests=9+random-write,depth=2",
    );
    let job = |name: &str, pattern, mix, size| Job::new(name, pattern, mix, size);
    let jobs = vec![
        job("sequential-read", Pattern::Sequential, Mix::READ, 32 << 10).turns(4),
        job("random-write", Pattern::Random, Mix::WRITE, 4096).turns(1),
        job("random-write+3", Pattern::Random, Mix::WRITE, 4096).depth(2),
    ];
    assert_eq!(workload, Workload::new(jobs, Stop::after(9)).seed(Seed(7)));
    let names = parse("random-read,jobs=2,shared + random-read").jobs.into_iter().map(|job| job.name);
    assert_eq!(names.collect::<Vec<_>>(), ["random-read-1", "random-read-2", "random-read"]);
    let text = "random-read,size=4KiB,depth=1,area=1MiB,jobs=2 + random-read,size=4KiB,depth=1,offset=3MiB,\
                area=1MiB,requests=5,seed=0";
    assert_eq!(parse(text).to_string(), text);
}

#[test]
fn run_without_stop_gets_a_default() {
    assert_eq!(parse("random-read").stop, Stop::after(100_000));
    assert_eq!(parse("random-read,confidence=1%").stop.requests, Some(10_000_000));
    assert_eq!(parse("random-read,time=1s").stop.requests, None);
}

#[test]
fn inline_error_names_position_fault_and_alternative() {
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
        ("random-read,zipf=0", 13, &["zipf:", "above 0"]),
        ("random-read,zipf=-1", 13, &["'-1'", "above 0"]),
        ("random-read,zipf=NaN", 13, &["'NaN' is not an exponent", "0.99"]),
        ("random-read,zipf=99", 13, &["'99'", "at most 10"]),
        ("random-read depth=4", 12, &["joined by commas", "'random-read,depth=4'"]),
        (
            "random-read,size=4k depth=4 + random-write fsync=1",
            20,
            &["'random-read,size=4k,depth=4 + random-write,fsync=1'"],
        ),
        ("rw=randread bs=4k iodepth=32", 12, &["commas", "'random-read,size=4k,depth=32'"]),
        ("random-read,zipf=1,pareto=20%", 20, &["'zipf' and 'pareto'", "a job has one"]),
        ("random-read,scatter", 13, &["needs zipf"]),
        ("permutation-read,zipf=1", 18, &["no meaning for pattern 'permutation'", "random"]),
        ("random-read,hotspot=20%", 13, &["SPACE:ACCESSES"]),
        ("random-read,hotspot=0%:5%", 13, &["above 0%"]),
        ("random-read,pareto=100%", 13, &["below 100%"]),
        ("random-read,rate=1000", 13, &["1000/s"]),
        ("random-read,rate=0/s", 13, &["'0/s' is not a rate"]),
        ("random-read,rate=5/s,think=1ms", 22, &["'rate' and 'think'"]),
        ("random-read,arrivals=poisson", 13, &["needs rate=N/s"]),
        ("random-read,rate=5/s,turns=2", 13, &["'rate'", "'turns'"]),
        ("random-read,fsync=1", 13, &["for jobs that write"]),
        ("random-trim,fua", 13, &["for jobs that write"]),
        ("random-read,precondition=full", 13, &["neither 'steady' nor 'mixed:SIZE' nor 'none'"]),
        ("random-read,precondition=mixed:0", 13, &["above 0"]),
        ("random-read,precondition=mixed:9", 13, &["mixed", "unit"]),
        ("random-read,reads=50%", 13, &["random-write,reads=70%"]),
        ("random-read,confidence=0%", 13, &["above 0%"]),
        ("random-read,seed=-1", 13, &["seed", "2^64"]),
        ("random-read,jobs=9,area=8ZiB", 20, &["area", "'ZiB'"]),
        ("random-read,jobs=1024,area=8000000TiB", 23, &["beyond 2^64"]),
        ("µandom-read,ä=1", 1, &["unknown pattern"]),
        ("mixed + ", 9, &["a pattern is expected"]),
        ("mixed+random-raed", 7, &["did you mean 'random-read'"]),
        ("mixed,depth=2+mixed,depth=3,depth=4", 29, &["twice", "character 21"]),
        ("mixed,seed=2 + mixed,seed=3", 22, &["twice", "character 7"]),
        ("mixed + mixed,shared", 15, &["jobs=N"]),
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
fn job_file_has_the_same_keys() {
    let workload = Workload::parse_toml(FILE, "jobs.toml").unwrap();
    let names: Vec<_> = workload.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["scan", "job-2-1", "job-2-2"]);
    assert_eq!(workload.stop.requests, Some(1000));
    assert_eq!(workload.jobs[0].area_length_bytes, Some(1 << 30));
    assert_eq!((workload.jobs[2].depth, workload.jobs[2].area_offset_bytes), (4, 1 << 30));
}

#[test]
fn mix_is_equal_in_line_and_file() {
    let line =
        "ordered-read,incr=-1,turns=4,think=1ms,burst=2,requests=50 + random-write,turns=1,think=1ms,burst=2";
    let file = r#"
        requests = 50
        [[job]]
        name = "ordered-read"
        pattern = "ordered-read"
        incr = -1
        turns = 4
        think = "1ms"
        burst = 2
        [[job]]
        name = "random-write"
        pattern = "random-write"
        turns = 1
        think = "1ms"
        burst = 2
    "#;
    assert_eq!(Workload::parse_toml(file, "mix.toml"), Ok(parse(line)));
}

#[test]
fn file_error_names_the_line() {
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
fn unfit_workload_is_refused_with_its_field() {
    let limits =
        Limits { read_unit_bytes: 4096, write_unit_bytes: 4096, read_only: true, ..Limits::of(1 << 30) };
    let fits = |text: &str| parse(text).check(&limits);
    assert_eq!(fits("random-read,area=1GiB"), Ok(()));
    assert_eq!(fits("random-read,depth=65536"), Ok(()), "the loop delays requests beyond the device's depth");
    for (text, field) in [
        ("random-read,size=512B", "size"),
        ("random-read,offset=1k", "offset"),
        ("random-read,offset=4k,area=1GiB", "area"),
        ("random-read,offset=2GiB", "offset"),
        ("random-read,size=2GiB", "size"),
        ("random-read,offset=1023MiB,size=2MiB", "size"),
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
        ("random-read,precondition=steady", "precondition"),
        ("random-read,verify", "verify"),
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
    let pair = |second: Job| check(vec![job(&[0]).turns(3), Job { name: "second".into(), ..second }]);
    assert_eq!(pair(job(&[0]).turns(1)), Ok(()));
    assert_eq!(pair(job(&[0])), Err("turns"), "with whom?");
    assert_eq!(pair(job(&[0]).turns(0)), Err("turns"));
    assert_eq!(pair(job(&[0]).turns(1).depth(2)), Err("depth"));
    assert_eq!(pair(job(&[0]).turns(1).think(Duration::from_us(1))), Err("think"));
    assert_eq!(pair(job(&[0]).turns(1).burst(2)), Err("burst"));
    assert_eq!(check(vec![job(&[0]).burst(0)]), Err("burst"));
    let endless = Workload::new(vec![job(&[0])], Stop::default());
    assert_eq!(endless.check(&limits).map_err(|e| e.field), Err("stop"));
    // Jobs that all end within the warm-up leave nothing to measure.
    for (text, field) in [
        ("random-read,accesses=5,warmup=10k,requests=10", Err("warmup")),
        ("random-read,accesses=5 + random-read,accesses=6,warmup=11,requests=10", Err("warmup")),
        ("random-read,accesses=5 + random-read,accesses=6,warmup=10,requests=10", Ok(())),
        ("random-read,accesses=5 + random-read,warmup=10k,requests=10", Ok(())),
    ] {
        assert_eq!(parse(text).check(&limits).map_err(|e| e.field), field, "{text}");
    }
}

/// Texts similar to workloads.
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
        "1000/s",
        "20%:80%",
        "poisson",
        "steady",
        "18446744073709551615",
        "",
        "é",
    ]);
    let settings = prop::collection::vec((keys, values), 0..6);
    let part = (patterns, settings).prop_map(|(pattern, settings)| {
        settings.into_iter().fold(pattern.to_owned(), |text, (key, value)| format!("{text},{key}={value}"))
    });
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(" + "))
}

fn skews() -> impl Strategy<Value = Distribution> {
    let share = || (1..100_u32).prop_map(|percent| parse_share(&format!("{percent}%")).unwrap());
    prop_oneof![
        (1..10_000_u32).prop_map(|exponent| Distribution::Zipf { exponent: f64::from(exponent) / 1000.0 }),
        share().prop_map(|space| Distribution::Pareto { space }),
        (share(), share()).prop_map(|(space, accesses)| Distribution::Hotspot { space, accesses }),
    ]
}

/// A rate, or pauses; an own end; flushes and durable writes.
fn terms() -> impl Strategy<Value = (Option<Rate>, Option<u64>, Option<u32>, bool)> {
    let arrivals = prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)];
    let rate = (1..1_000_000_u32, arrivals)
        .prop_map(|(rate, arrivals)| Rate { per_second: f64::from(rate) / 100.0, arrivals });
    let (own, flush) = (prop::option::of(1..1000_u64), prop::option::of(1..100_u32));
    (prop::option::of(rate), own, flush, any::<bool>())
}

/// Jobs with any fields that can be written.
fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let size = || 1..1_000_000_u64;
    let patterns = prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Random),
        Just(Pattern::Permutation),
        (-1_000_000..1_000_000_i64).prop_map(|step_bytes| Pattern::Ordered { step_bytes }),
        (-300..300_i64).prop_map(|incr| Pattern::Ordered { step_bytes: incr * 4096 }),
        (1..300_u64).prop_map(|partitions| Pattern::Partitioned { partitions }),
        (skews(), any::<bool>())
            .prop_map(|(distribution, scattered)| { Pattern::Skewed(Skew { distribution, scattered }) }),
    ];
    let mixes = prop_oneof![
        Just(Mix::READ),
        Just(Mix::WRITE),
        Just(Mix::TRIM),
        (1..1000_u32).prop_map(|reads| Mix {
            reads: parse_share(&format!("{}%", f64::from(reads) / 10.0)).unwrap(),
            ..Mix::TRIM
        }),
    ];
    let what = (patterns, mixes, prop_oneof![Just(4096), size()], 0..5_u64);
    let place = (prop_oneof![Just(0), size()], prop::option::of(size()), prop::option::of(size()));
    let pace = (1..100_u32, 0..2000_u64, 1..4_u32, prop::option::of(1..9_u32), 1..3_usize, any::<bool>());
    let alike = (what, place, pace, terms()).prop_map(
        |(
            (pattern, mix, size, shift),
            (offset, area, align),
            (depth, think, burst, turns, n, shared),
            (rate, accesses, flush_every, durable),
        )| {
            let (own, writes) = (turns.is_none(), mix.changes() == Some(Operation::Write));
            let rate = rate.filter(|_| own);
            let (think, burst) = if rate.is_some() { (0, 1) } else { (think, burst) };
            let step = if shared { 0 } else { area.unwrap_or(1) };
            let align_bytes = align
                .filter(|_| matches!(pattern, Pattern::Random | Pattern::Permutation | Pattern::Skewed(_)));
            let job = Job {
                area_offset_bytes: offset,
                area_length_bytes: area,
                align_bytes,
                turns,
                rate,
                accesses: accesses.filter(|_| own),
                flush_every: flush_every.filter(|_| own && writes),
                durable: durable && writes,
                ..Job::new("", pattern, mix, size).depth(depth).shift(shift)
            };
            let job = job.think(Duration::from_us(think)).burst(burst);
            (0..n as u64)
                .map(|i| Job { area_offset_bytes: offset + i * step, ..job.clone() })
                .collect::<Vec<_>>()
        },
    );
    prop::collection::vec(alike, 1..4).prop_map(|jobs| jobs.concat())
}

fn precondition() -> impl Strategy<Value = Option<Precondition>> {
    let mixed = (1..1_u64 << 50).prop_map(|bytes| Precondition::Mixed { bytes });
    prop::option::of(prop_oneof![Just(Precondition::Steady), mixed])
}

/// Removes names, which depend on the written form.
fn nameless(mut workload: Workload) -> Workload {
    workload.jobs.iter_mut().for_each(|job| job.name.clear());
    workload
}

proptest! {
    #[test]
    fn parsers_do_not_panic(text in "\\PC{0,60}", near in nearly(), file in "[a-z=\\[\\]\" \n0-9.]{0,80}") {
        for text in [&text, &near] {
            if let Ok(workload) = Workload::parse(text) {
                let limits = Limits { write_unit_bytes: 4096, ..Limits::of(1 << 40) };
                let _ = workload.check(&limits);
            }
        }
        let _ = Workload::parse_toml(&file, "f");
        let near = near.replacen(',', "\"\n", 1).replace(',', "\n").replace("=", "=\"").replace('\n', "\"\n");
        let _ = Workload::parse_toml(&format!("[[job]]\npattern=\"{near}\""), "f");
    }

    #[test]
    fn workload_round_trips_through_its_text(
        jobs in jobs(), seed in any::<u64>(), precondition in precondition(), verify in any::<bool>(),
    ) {
        let workload = Workload { precondition, verify, ..Workload::new(jobs, Stop::after(7)).seed(Seed(seed)) };
        let text = workload.to_string();
        prop_assert_eq!(Workload::parse(&text).map(nameless), Ok(workload), "{}", text);
    }

    #[test]
    fn parsed_workload_round_trips(text in nearly()) {
        if let Ok(workload) = Workload::parse(&text) {
            let again = Workload::parse(&workload.to_string());
            if text.contains('+') {
                prop_assert_eq!(again.map(nameless), Ok(nameless(workload)));
            } else {
                prop_assert_eq!(again, Ok(workload));
            }
        }
    }
}

#[test]
fn decimal_size_gets_a_binary_hint() {
    let refused = |text: &str| {
        let workload = Workload::parse(text).unwrap_or_else(|error| panic!("{error}"));
        workload.check(&Limits::of(1 << 30)).expect_err(text).to_string()
    };
    for (text, near) in [
        ("random-read,size=4kb", "did you mean 4 KiB?"),
        ("random-read,size=1000B", "did you mean 1 KiB?"),
        ("random-read,size=1MB", "did you mean 1 MiB?"),
        ("random-read,align=100KB", "did you mean 100 KiB?"),
    ] {
        assert!(refused(text).contains(near), "{}", refused(text));
    }
    assert!(!refused("random-read,size=700B").contains("did you mean"));
    assert!(!refused("random-read,size=3001B").contains("did you mean"));
}

#[test]
fn exponent_has_no_unit() {
    let workload = Workload::parse("random-read,zipf=1e-3").unwrap();
    assert_eq!(Workload::parse(&workload.to_string()).unwrap(), workload);
}

#[test]
fn poisson_arrivals_make_a_workload_random() {
    let is_random = |text: &str| Workload::parse(text).unwrap().is_random();
    assert!(is_random("sequential-read,rate=100/s,arrivals=poisson"));
    assert!(!is_random("sequential-read,rate=100/s"));
    assert!(is_random("random-read") && !is_random("sequential-write,fsync=2"));
}
