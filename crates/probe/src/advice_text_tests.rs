use super::*;

pub(crate) fn rate(p99_ns: f64) -> Rate {
    Rate {
        bandwidth_bytes_per_s: 1e8,
        iops: 1e4,
        p50_ns: 1e5,
        p99_ns,
        p50_range_ns: None,
        p99_range_ns: None,
        p99_limits_ns: None,
        requests: 10_000,
        steady: true,
        workload: "random-write".into(),
    }
}

pub(crate) fn recommendation(rate: Rate) -> Recommendation {
    Recommendation {
        request_bytes: 8192,
        queue_depth: 4,
        queue_depth_max: None,
        rate,
        range_bytes_per_s: None,
        p99_bound_ns: None,
        more_may_be_better: false,
        state: "written".into(),
        area_bytes: None,
        command: None,
        writes: None,
        reason: String::new(),
    }
}

#[test]
fn rate_that_differs_between_measurements_is_called_unstable() {
    let text = |range_bytes_per_s| {
        of_load("scan", "Scans", &Recommendation { range_bytes_per_s, ..recommendation(rate(3e5)) }).text
    };
    assert!(
        text(Some([0.8e8, 1e8])).contains(", not stable: 80.0 MB/s to 100.0 MB/s in repeated measurements")
    );
    assert!(!text(Some([0.95e8, 1e8])).contains("stable"));
    assert!(!text(None).contains("stable"));
}

#[test]
fn latencies_that_differ_bring_the_limits_of_a_further_measurement() {
    let evidence = |p99_range_ns, p99_limits_ns| {
        let rate = Rate { p99_range_ns: Some(p99_range_ns), p99_limits_ns, ..rate(3e5) };
        of_load("random_read", "Random reads", &recommendation(rate)).evidence
    };
    let differ = [1e5, 3e5];
    assert!(evidence(differ, Some([5e4, 9e5])).ends_with("a further one may give a p99 of 50 µs to 900 µs"));
    assert!(evidence(differ, None).ends_with("a further one may differ more"));
    assert_eq!(evidence([2.9e5, 3e5], Some([5e4, 9e5])), "");
}

#[test]
fn more_in_flight_are_advised_where_the_drive_takes_more() {
    let text = |queue_depth_max| {
        let point = Recommendation { queue_depth_max, ..recommendation(rate(3e5)) };
        of_load("random_read", "Random reads", &point).text
    };
    assert!([None, Some(5)].map(text).iter().all(|text| text.contains("4 or more in flight")));
    assert!(text(Some(4)).contains(", 4 in flight"), "{}", text(Some(4)));
}

#[test]
fn bound_is_not_claimed_of_too_few_requests() {
    let text = |requests| {
        let rate = Rate { requests, ..rate(3e5) };
        let point = Recommendation { p99_bound_ns: Some(1e6), ..recommendation(rate) };
        of_load("random_read", "Random reads", &point).text
    };
    assert!(
        text(236).contains("236 requests are too few to tell whether p99 is within the 1 ms"),
        "{}",
        text(236)
    );
    assert!(!text(1000).contains("too few"), "{}", text(1000));
}

#[test]
fn bound_within_the_limits_of_a_rate_is_left_open() {
    let text = |bound_ns| {
        let rate = Rate { p99_limits_ns: Some([2.8e5, 3.4e5]), ..rate(3e5) };
        let point = Recommendation { p99_bound_ns: Some(bound_ns), ..recommendation(rate) };
        (of_load("random_read", "Random reads", &point).text, point.keeps_bound(&point.rate))
    };
    let (open, keeps) = text(3.2e5);
    assert!(open.contains(
        "within the 320 µs asked for cannot be told: a further measurement may give 280 µs to 340 µs"
    ));
    assert_eq!(keeps, None);
    assert_eq!([3.4e5, 2.7e5].map(|bound_ns| text(bound_ns).1), [Some(true), Some(false)]);
    assert!(
        !text(3.4e5).0.contains("cannot be told") && text(2.7e5).0.contains("above the 270 µs asked for")
    );
}

#[test]
fn bound_is_kept_missed_or_open_of_each_rate_of_writes() {
    let text = |limits_ns: [[f64; 2]; 2]| {
        let [own, fragmented] =
            limits_ns.map(|limits| Rate { p99_limits_ns: Some(limits), ..rate(limits[0]) });
        let writes = Writes { fragmented: Some(fragmented), ..writes() };
        let point = Recommendation { p99_bound_ns: Some(1e6), writes: Some(writes), ..recommendation(own) };
        of_load("random_write", WRITES, &point).text
    };
    let [kept, missed, open] = [[3e5, 9e5], [2e6, 3e6], [9e5, 1.1e6]];
    let remarks = ["within the 1 ms asked for)", "above the 1 ms asked for)", "may give 900 µs to 1.1 ms"];
    let all = [kept, missed, open];
    for (own, own_remark) in all.into_iter().zip(remarks) {
        for (fragmented, fragmented_remark) in all.into_iter().zip(remarks) {
            let text = text([own, fragmented]);
            let at = text.find(own_remark).unwrap_or_else(|| panic!("{own_remark}: {text}"));
            assert!(text[at + own_remark.len()..].contains(fragmented_remark), "{fragmented_remark}: {text}");
        }
    }
}

#[test]
fn bound_is_left_open_while_the_buffer_fills() {
    let bounded = |bound_ns, writes| {
        let point = Recommendation {
            p99_bound_ns: Some(bound_ns),
            writes: Some(writes),
            ..recommendation(rate(3e5))
        };
        (of_load("random_write", WRITES, &point).text, point.keeps_bound(&point.rate))
    };
    let filling = || Writes { filling_share: Some(0.3), ..writes() };
    let (text, keeps) = bounded(3.2e5, filling());
    assert!(text.contains("within the 320 µs asked for once that buffer is full cannot be told"), "{text}");
    assert_eq!(keeps, None);
    // A full buffer delays writes even longer.
    assert_eq!(bounded(2.8e5, filling()).1, Some(false));
    assert_eq!(bounded(3.2e5, writes()).1, Some(true));
    // Of the fragmented drive its own measurement counts.
    let fragmented =
        Writes { fragmented: Some(rate(3.1e5)), fragmented_filling_share: Some(0.3), ..writes() };
    let point =
        Recommendation { p99_bound_ns: Some(3.2e5), writes: Some(fragmented), ..recommendation(rate(3e5)) };
    assert_eq!([rate(3e5), rate(3.1e5)].map(|rate| point.keeps_bound(&rate)), [Some(true), None]);
}

#[test]
fn writes_without_flushes_are_called_so_once() {
    let text = |p99_bound_ns, writes| {
        let point = Recommendation { p99_bound_ns, writes, ..recommendation(rate(3e5)) };
        of_load("random_write", WRITES, &point).text
    };
    let note = "no write waits for a flush, as commits do: fsync=1";
    let fragmented = Writes { fragmented: Some(rate(4e5)), ..writes() };
    for writes in [writes(), fragmented] {
        for p99_bound_ns in [None, Some(1e6)] {
            let text = text(p99_bound_ns, Some(writes.clone()));
            assert_eq!(text.matches(note).count(), 1, "{text}");
        }
    }
    assert!(!text(Some(1e6), None).contains("flush"), "reads wait for none");
}

#[test]
fn burst_of_unknown_end_is_called_so() {
    let text = |buffer_bytes| {
        let writes = Writes {
            cleaning: Some(true),
            buffer_bytes,
            burst: Some(Rate { requests: 128, ..rate(2e5) }),
            ..writes()
        };
        of_load("random_write", WRITES, &Recommendation { writes: Some(writes), ..recommendation(rate(3e5)) })
            .text
    };
    assert!(text(Some(1 << 20)).contains("for a burst of 1 MiB, then"), "{}", text(Some(1 << 20)));
    assert!(
        text(None).contains("for a burst of at least 1 MiB, whose end was not reached, then"),
        "{}",
        text(None)
    );
}

#[test]
fn latencies_that_differ_are_given_as_a_range() {
    let of = |p99_range_ns| {
        let rate = Rate { p50_range_ns: Some([1e5, 1.1e5]), p99_range_ns, ..rate(4.82e5) };
        of_load("random_write", WRITES, &recommendation(rate))
    };
    let unstable = of(Some([1.31e5, 4.82e5]));
    assert!(unstable.text.contains("p50 100 µs, p99 131 µs to 482 µs"), "{}", unstable.text);
    assert!(unstable.evidence.contains("depend on what the drive did before"), "{}", unstable.evidence);
    let stable = of(Some([4.1e5, 4.82e5]));
    assert!(
        stable.text.contains("p50 100 µs, p99 410 µs to 482 µs") && stable.evidence.is_empty(),
        "{}",
        stable.text
    );
    let equal = of(Some([4.82e5, 4.82e5]));
    assert!(equal.text.ends_with("p99 482 µs"), "{}", equal.text);
}

fn writes() -> Writes {
    Writes {
        steady: true,
        cleaning: Some(false),
        write_amplification: None,
        written_bytes: 1 << 30,
        stale_bytes: 0,
        buffer_bytes: None,
        filling_share: None,
        burst: None,
        fragmented: None,
        fragmented_filling_share: None,
    }
}

#[test]
fn sustained_rate_names_what_was_written_and_bursts_have_their_command() {
    let burst = Rate { workload: "random-write,requests=128".into(), requests: 128, ..rate(2e5) };
    let fragmented = Rate { workload: "random-write,requests=999".into(), ..rate(4e5) };
    let writes = Writes {
        cleaning: Some(true),
        burst: Some(burst),
        fragmented: Some(fragmented),
        written_bytes: 8 << 30,
        ..writes()
    };
    let point =
        Recommendation { writes: Some(writes), area_bytes: Some(1 << 30), ..recommendation(rate(3e5)) };
    let advice = of_load("random_write", WRITES, &point);
    assert!(advice.text.contains("sustained after 8 GiB of writes"), "{}", advice.text);
    let repeated: Vec<_> =
        advice.repeat.iter().map(|repeat| (repeat.workload.as_str(), repeat.state.as_deref())).collect();
    let expected = [
        ("random-write", Some("full")),
        ("random-write,requests=128", Some("full")),
        ("random-write,requests=999", Some("fragmented")),
    ];
    assert_eq!(repeated, expected);
    let mut few = point;
    let burst = few.writes.as_mut().and_then(|writes| writes.burst.as_mut()).expect("there is one");
    burst.requests = 4;
    let few = of_load("random_write", WRITES, &few);
    assert_eq!(few.repeat.len(), 2);
    assert!(few.evidence.contains("no command repeats the burst: what its 4 requests"), "{}", few.evidence);
}

#[test]
fn missing_sustained_rate_is_said_with_its_command() {
    let of = |fragmented| {
        let point =
            Recommendation { writes: Some(Writes { fragmented, ..writes() }), ..recommendation(rate(3e5)) };
        of_load("random_write", WRITES, &point).text
    };
    let missing = of(None);
    let said =
        "the sustained rate was not measured and may be much lower: flashlane run DEVICE random-write,size=";
    assert!(missing.contains(said) && missing.contains(",precondition=steady measures it"), "{missing}");
    let known = of(Some(rate(4e5)));
    assert!(known.contains("as long as spare space lasts") && !known.contains("not measured"), "{known}");
}

#[test]
fn bytes_written_are_set_against_the_buffer() {
    let of = |buffer_bytes| {
        of_writes(&Writes { written_bytes: 2_823_929_856, buffer_bytes, ..writes() }, 1e8, 1 << 30)
    };
    let known = of(Some(256 << 10));
    let expected =
        "; 2.63 GiB were written at random in several sizes by then, against a write buffer of 256 KiB; ";
    assert!(known.starts_with(expected), "{known}");
    let unknown = of(None);
    assert!(unknown.starts_with("; 2.63 GiB were written at random in several sizes by then; "), "{unknown}");
}

#[test]
fn bound_that_a_fragmented_drive_misses_is_named() {
    let text = |fragmented_p99_ns: f64, fragmented_filling_share| {
        let fragmented = Some(rate(fragmented_p99_ns));
        let writes = Writes { fragmented, fragmented_filling_share, ..writes() };
        let point =
            Recommendation { p99_bound_ns: Some(1e6), writes: Some(writes), ..recommendation(rate(3e5)) };
        of_load("random_write", WRITES, &point).text
    };
    let late = text(1.31e6, None);
    assert!(
        late.contains("p99 1.31 ms, above the 1 ms asked for) sustained over 78.12 MiB of writes once"),
        "{late}"
    );
    assert!(late.contains("says whether fewer in flight keep it"), "{late}");
    let kept = text(0.9e6, None);
    assert!(kept.contains("p99 900 µs, within the 1 ms asked for) sustained"), "{kept}");
    let filling = text(0.9e6, Some(3.0));
    assert!(
        filling.contains("flash may sustain only 25.0 MB/s") && !filling.contains("sustained"),
        "{filling}"
    );
}

#[test]
fn headline_names_the_load_that_a_bound_was_kept_for() {
    let headline = |p99_bound_ns| {
        let point = Recommendation { p99_bound_ns, ..recommendation(rate(3e5)) };
        headline(&Findings::new(), &BTreeMap::from([("random_read".to_owned(), point)]))
    };
    assert!(headline(None).starts_with("Use "), "{}", headline(None));
    assert!(headline(Some(1e6)).starts_with("For random reads, use "), "{}", headline(Some(1e6)));
}
