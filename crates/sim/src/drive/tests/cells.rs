//! Page types, and program groups whose pages are programmed at once.

use super::*;

const PAGE: u64 = 16 << 10;

/// A drive of eight planes on eight dies, whose bus and link take no time.
fn small(settings: &[(&str, &str)]) -> Result<DriveConfig, String> {
    let mut all = vec![
        ("flash.dies", "1"),
        ("flash.planes", "1"),
        ("flash.blocks", "64"),
        ("flash.pages", "18"),
        ("flash.bus", "0"),
        ("flash.factory_bad", "0%"),
        ("flash.suspend", "0us"),
        ("link.bandwidth", "0"),
        ("link.write_command", "0us"),
        ("link.read_command", "0us"),
        ("host.submission", "0us"),
        ("mapping.unit", "16KiB"),
        ("buffer.size", "2MiB"),
        ("buffer.high_watermark", "0%"),
        ("readahead.window", "16KiB"),
        ("capacity", "100MiB"),
    ];
    all.extend(settings);
    let all: Vec<_> = all.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    load("nvme-tlc", &all).map_err(|error| error.field.clone().unwrap_or_else(|| error.to_string()))
}

const ONE_SHOT: [(&str, &str); 4] = [
    ("flash.cell", "tlc"),
    ("flash.programming", "one-shot"),
    ("flash.read_by_type", "40us+60us+80us"),
    ("flash.program", "1500us"),
];

fn drive(settings: &[&[(&str, &str)]]) -> Drive {
    Drive::new(&small(&settings.concat()).unwrap(), Seed(1))
}

/// The latency of a request that is alone, in microseconds.
fn latency(drive: &mut Drive, request: Request) -> u64 {
    latency_ns(drive, request) / 1000
}

#[test]
fn read_takes_the_time_of_its_page_type() {
    let mut drive = drive(&[&ONE_SHOT]);
    // Three pages of each plane.
    assert_eq!(latency(&mut drive, Request::write(0, 0, 24 * PAGE)), 0);
    assert_eq!(latency(&mut drive, Request::flush(1)), 1500);
    for page in [0, 16, 8, 23, 7, 15] {
        let read = Request::read(2, page * PAGE, PAGE);
        assert_eq!(latency(&mut drive, read), [40, 60, 80][page as usize / 8], "page {page}");
    }
}

#[test]
fn program_takes_the_time_of_its_page_type_in_the_shadow_sequence() {
    let mut drive = drive(&[&[
        ("flash.cell", "mlc"),
        ("flash.pages", "8"),
        ("flash.program_by_type", "300us+900us"),
        ("flash.channels", "1"),
        ("capacity", "6MiB"),
        ("buffer.policy", "none"),
    ]]);
    let took = (0..16).map(|page| latency(&mut drive, Request::write(page, page * PAGE, PAGE)));
    let block = [300, 300, 900, 300, 900, 300, 900, 900];
    assert_eq!(took.collect::<Vec<_>>(), [block, block].concat());
}

#[test]
fn program_groups_are_programmed_whole_under_load() {
    let mut drive = drive(&[&ONE_SHOT]);
    let (mut out, chunk) = (Vec::new(), 1 << 20);
    for id in 0..80 {
        while drive.in_flight() >= 4 {
            drive.reap(Instant::FAR, &mut out);
        }
        drive.submit(Request::write(id, id * chunk, chunk)).unwrap();
    }
    while drive.in_flight() > 0 {
        drive.reap(Instant::FAR, &mut out);
    }
    // Each plane programs three pages at once. What the buffer holds at the end is not waited for.
    let rate = (80 * chunk) as f64 / (drive.now().since(Instant::ZERO).as_ns() as f64 / 1e9);
    let expected = 8.0 * 3.0 * PAGE as f64 / 1500e-6;
    assert!((rate / expected - 1.0).abs() < 0.05, "{rate:.0} B/s, expected {expected:.0}");
    assert_eq!(counter(&drive, "pages_left_empty"), 0);
}

#[test]
fn page_of_an_incomplete_program_group_is_durable_only_after_a_flush() {
    let mut drive = drive(&[&ONE_SHOT]);
    assert_eq!(latency(&mut drive, Request::write(0, 0, PAGE)), 0);
    let mut out = Vec::new();
    drive.reap(drive.now() + Duration::from_s(1), &mut out);
    assert_eq!(drive.at_risk().unwrap().len(), 1, "it waits for the rest of its program group");
    assert_eq!(latency(&mut drive, Request::flush(1)), 1500);
    assert_eq!(drive.at_risk().unwrap(), []);
    assert_eq!(counter(&drive, "pages_left_empty"), 2, "the rest of the program group");
    // A durable write does not wait, either: the other plane's page goes along with it.
    assert_eq!(latency(&mut drive, Request::write(2, PAGE, PAGE)), 0);
    assert_eq!(latency(&mut drive, Request::write(3, 2 * PAGE, 2 * PAGE).durable()), 1500);
    assert_eq!(drive.at_risk().unwrap(), []);
    assert_eq!(counter(&drive, "pages_left_empty"), 2 + 3 * 2);
    // What a power cut leaves of a program group is never completed.
    assert_eq!(latency(&mut drive, Request::write(4, 0, PAGE)), 0);
    assert_eq!(drive.cut_power().expect("a simulated drive can lose its power").len(), 1);
    assert_eq!(latency(&mut drive, Request::write(5, 0, 24 * PAGE)), 0);
    assert_eq!(latency(&mut drive, Request::flush(6)), 1500);
    assert_eq!(counter(&drive, "pages_left_empty"), 2 + 3 * 2 + 2);
}

#[test]
fn flush_does_not_wait_for_a_program_group_that_nobody_completes() {
    let mut drive = drive(&[&ONE_SHOT, &[("mapping.policy", "lba"), ("buffer.drain_per_die", "3")]]);
    let mut out = Vec::new();
    // A page on the second plane, then more than enough for the first one.
    drive.submit(Request::write(0, PAGE, PAGE)).unwrap();
    for id in 1..2000 {
        let page = id % 500 * 8;
        let request = if id == 300 { Request::flush(id) } else { Request::write(id, page * PAGE, PAGE) };
        drive.submit(request).unwrap();
        while drive.in_flight() >= 200 {
            drive.reap(Instant::FAR, &mut out);
        }
    }
    let place = out.iter().position(|done| done.id.0 == 300).expect("the flush completed");
    assert!(place < 700, "it was the {place}th to complete");
    assert_eq!(drive.at_risk().unwrap().iter().filter(|risk| risk.offset_bytes == PAGE).count(), 0);
}

#[test]
fn drive_with_program_groups_conforms() {
    for settings in [&[][..], &[("slc.read", "20us"), ("slc.program", "100us"), ("slc.size", "1MiB")]] {
        let config = small(&[&ONE_SHOT, settings].concat()).unwrap();
        conformance::check(&mut || Box::new(Drive::new(&config, Seed(1))));
    }
}

#[test]
fn settings_that_contradict_cells_are_refused_by_name() {
    let refused = |settings: &[(&str, &str)]| small(settings).map(drop).expect_err("it is refused");
    assert_eq!(refused(&[("flash.read_by_type", "40us+60us")]), "flash.read_by_type");
    assert_eq!(refused(&[("flash.programming", "one-shot")]), "flash.programming");
    assert_eq!(refused(&[("flash.cell", "tlc"), ("flash.read_by_type", "40us+60us")]), "flash.read_by_type");
    assert_eq!(
        refused(&[
            ("flash.cell", "tlc"),
            ("slc.bits", "4"),
            ("slc.size", "1MiB"),
            ("slc.read", "9us"),
            ("slc.program", "9us")
        ]),
        "slc.bits"
    );
    for (field, value) in [
        ("flash.program_by_type", "1us+2us+3us"),
        ("flash.cell", "slc"),
        ("flash.pages", "16"),
        ("buffer.size", "256KiB"),
        ("buffer.drain_per_die", "2"),
        ("buffer.read_wait", "10ms"),
        ("buffer.batch_pages_per_package", "8"),
        ("buffer.policy", "none"),
        ("cleaning.separate", "false"),
    ] {
        let expected = if field == "flash.cell" { "flash.read_by_type" } else { field };
        assert_eq!(refused(&[&ONE_SHOT[..], &[(field, value)]].concat()), expected, "{value}");
    }
    let one_shot_of_one = [("flash.cell", "slc"), ("flash.programming", "one-shot")];
    assert_eq!(refused(&one_shot_of_one), "flash.programming");
    let with_lanes = load("sdf", &[("flash.cell".into(), "mlc".into())]).expect_err("it is refused");
    assert_eq!(with_lanes.field.as_deref(), Some("flash.cell"));
}
