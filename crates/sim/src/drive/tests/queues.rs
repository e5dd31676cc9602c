//! Several submission queues: who waits for whom, to the nanosecond.

use super::*;
use flashlane_device::QueueId;

/// A drive that does one thing at a time: a read of an empty place takes its command and 10 us on the link.
fn drive(settings: &[(&str, &str)]) -> Drive {
    let all = [
        ("host.submission", "1us"),
        ("host.jitter", "0%"),
        ("host.completion", "0us"),
        ("link.bandwidth", "409.6MB/s"),
        ("link.read_command", "0us"),
        ("link.commands_wait", "no"),
        ("link.page_command", "0us"),
        ("link.depth", "32"),
        ("queues.count", "3"),
        ("queues.slots", "1"),
    ];
    Drive::new(&config("ssd-s", &[&all[..], settings].concat()), Seed(1))
}

/// Submits reads of 4 KiB at once, in these queues, and returns the order in which they complete.
fn order(drive: &mut Drive, queues: &[u16]) -> Vec<u64> {
    for (id, &queue) in (0..).zip(queues) {
        drive.submit(Request::read(id, 0, 4096).in_queue(QueueId(queue))).unwrap();
    }
    let mut out = Vec::new();
    while out.len() < queues.len() {
        drive.reap(Instant::FAR, &mut out);
    }
    let took: Vec<u64> = out.iter().map(|one| one.latency().as_ns()).collect();
    let expected: Vec<u64> = (1..=queues.len() as u64).map(|nth| 1000 + nth * 10_000).collect();
    assert_eq!(took, expected, "one after the other, without a gap");
    out.iter().map(|completion| completion.id.0).collect()
}

#[test]
fn commands_are_fetched_in_the_order_of_the_policy() {
    let queues = [0, 0, 0, 0, 1, 2, 1];
    for (settings, expected) in [
        (&[("queues.policy", "arrival")][..], [0, 1, 2, 3, 4, 5, 6]),
        (&[("queues.policy", "round-robin")], [0, 4, 5, 1, 6, 2, 3]),
        (&[("queues.policy", "round-robin"), ("queues.options.burst", "2")], [0, 1, 4, 6, 5, 2, 3]),
        (&[("queues.policy", "weighted"), ("queues.options.weights", "1:1:urgent")], [0, 5, 4, 1, 6, 2, 3]),
        (&[("queues.policy", "deficit"), ("queues.options.quantum", "4KiB")], [0, 4, 5, 1, 6, 2, 3]),
    ] {
        let mut drive = drive(settings);
        assert_eq!(order(&mut drive, &queues), expected, "{settings:?}");
        assert_eq!(counter(&drive, "commands_queued"), 6);
    }
}

#[test]
fn the_wait_in_a_queue_is_time_of_the_queue() {
    let mut drive = drive(&[]);
    assert!(drive.record_time_splits());
    for (id, queue) in [(0, 0), (1, 0), (2, 1)] {
        drive.submit(Request::read(id, 0, 4096).in_queue(QueueId(queue))).unwrap();
    }
    let (mut waits, mut out) = (Vec::new(), Vec::new());
    while waits.len() < 3 {
        out.clear();
        drive.reap(Instant::FAR, &mut out);
        for completion in &out {
            let split = drive.time_split(completion.id).unwrap();
            assert_eq!(split.total(), completion.latency());
            waits.push((completion.id.0, split.of(Part::Queue).as_ns()));
        }
    }
    assert_eq!(waits, [(0, 0), (2, 10_000), (1, 20_000)]);
}

#[test]
fn as_many_slots_as_requests_change_nothing() {
    let plain = config("nvme-tlc", &[("capacity", "256MiB"), ("initial.state", "full")]);
    let queued = config(
        "nvme-tlc",
        &[
            ("capacity", "256MiB"),
            ("initial.state", "full"),
            ("queues.count", "1"),
            ("queues.policy", "weighted"),
        ],
    );
    let run = |config: &DriveConfig| run(&mut Drive::new(config, Seed(2)), 400, 3);
    assert_eq!(run(&plain), run(&queued));
}

#[test]
fn a_power_cut_empties_the_queues() {
    let mut drive = drive(&[]);
    for id in 0..5 {
        drive.submit(Request::read(id, 0, 4096).in_queue(QueueId((id % 3) as u16))).unwrap();
    }
    let mut out = Vec::new();
    let now = drive.now() + Duration::from_us(15);
    while drive.now() < now {
        drive.reap(now, &mut out);
    }
    assert!(drive.cut_power().is_some());
    while out.len() < 5 {
        drive.reap(Instant::FAR, &mut out);
    }
    assert_eq!(out.iter().filter(|one| one.outcome.is_err()).count(), 4);
    assert_eq!(order(&mut drive, &[0, 0, 1]), [0, 2, 1], "the next power-on begins with empty queues");
}

#[test]
fn a_drive_with_several_queues_conforms() {
    for policy in ["round-robin", "deficit"] {
        let mut config = everything("proportional");
        let settings = [("queues.count", "4"), ("queues.slots", "3"), ("queues.policy", policy)];
        let queues = load("nvme-tlc", &settings.map(|(k, v)| (k.to_owned(), v.to_owned())));
        config.queues = queues.unwrap().queues;
        conformance::check(&mut || Box::new(Drive::new(&config, Seed(11))));
    }
}

/// The mean latency of one read at a time in queue 0, beside 200 in flight in queue 1, after 20 ms.
fn latency_beside_a_heavy_queue(policy: &str) -> Duration {
    let settings = [
        ("capacity", "256MiB"),
        ("initial.state", "full"),
        ("queues.count", "2"),
        ("scheduling.policy", policy),
    ];
    let mut drive = Drive::new(&config("nvme-tlc", &settings), Seed(5));
    let (mut places, mut out) = (Seed(6).source(), Vec::new());
    let mut read = |drive: &mut Drive, id: u64, queue: u16| {
        let request = Request::read(id, places.below(65_536) * 4096, 4096);
        drive.submit(request.in_queue(QueueId(queue))).unwrap();
    };
    (1..=200).for_each(|id| read(&mut drive, id, 1));
    read(&mut drive, 0, 0);
    let (mut light, mut sum) = (0, Duration::ZERO);
    while light < 500 {
        out.clear();
        drive.reap(Instant::FAR, &mut out);
        for completion in &out {
            let is_light = completion.id.0 == 0;
            if is_light && drive.now() > Instant::ZERO + Duration::from_ms(20) {
                (light, sum) = (light + 1, sum + completion.latency());
            }
            read(&mut drive, completion.id.0, u16::from(!is_light));
        }
    }
    sum / 500
}

#[test]
fn reads_of_a_light_queue_pass_those_of_a_heavy_one() {
    let [plain, first] = ["read-first", "light-first"].map(latency_beside_a_heavy_queue);
    // A die's reads take turns of 60 us for its 4 planes. Who goes first waits for one of them, half of it in the mean,
    // and for transfers; the others wait for several.
    assert!(plain.as_us_f64() > 150.0, "the heavy queue is felt: {plain}");
    assert!(first.as_us_f64() < 120.0, "the light queue goes first: {first}, not {plain}");
}

#[test]
fn one_queue_has_no_light_ones() {
    let settings = [("scheduling.policy".to_owned(), "light-first".to_owned())];
    let error = load("nvme-tlc", &settings).unwrap_err().to_string();
    assert!(error.contains("allowed: queues.count of 2 or more"), "{error}");
}
