//! Traces of several devices, one of which is selected.

use super::*;

#[test]
fn backward_times_are_counted_for_the_selected_device() {
    // Device 5 is behind device 3 from the first; among its own requests only the last is late.
    let text = b"5.0 3 1 8 0\n1.0 5 1 8 0\n2.0 3 1 8 0\n1.5 5 1 8 0\n1.2 5 1 8 0\n";
    for (device, expected) in [(Some(3), (1, 3, 3_000)), (Some(5), (1, 5, 300)), (None, (4, 2, 4_000))] {
        let options = OpenOptions { device, every_device: device.is_none(), ..named("disksim") };
        let mut trace = opened(text, &options).unwrap();
        trace.by_ref().for_each(drop);
        let backward = trace.finish().unwrap().backward.unwrap();
        let longest_us = backward.longest.as_ns() / 1000;
        assert_eq!((backward.count, backward.first_line, longest_us), expected, "{device:?}");
    }
    // Events become requests once they are complete; the line is that of the arrival.
    let text = "8,0 1 1 5.0 0 D R 8 + 8 [p]\n8,0 1 2 4.0 0 D R 64 + 8 [p]\n8,0 1 3 6.0 0 C R 8 + 8 [0]\n\
                8,0 1 4 6.5 0 C R 64 + 8 [0]\n";
    let (records, summary) = read("blkparse", text.as_bytes());
    assert_eq!((records.len(), summary.backward.unwrap().first_line), (2, 2));
}

#[test]
fn device_is_selected_by_number() {
    let text = b"0.5 3 1 8 0\n0.6 5 1 8 0\n0.7 3 1 8 1\n";
    let error = opened(text, &named("disksim")).err().unwrap().to_string();
    assert!(error.contains("several devices, 3, 5"), "{error}");
    let only = |device| OpenOptions { device: Some(device), ..named("disksim") };
    let mut trace = opened(text, &only(3)).unwrap();
    assert_eq!(trace.by_ref().count(), 2);
    assert_eq!(trace.finish().unwrap().devices.len(), 2);
    let error = opened(text, &only(4)).err().unwrap().to_string();
    assert!(error.contains("no request of device 4") && error.contains("it has 3, 5"), "{error}");
    let every = OpenOptions { every_device: true, ..named("disksim") };
    assert_eq!(opened(text, &every).unwrap().count(), 3);
}

#[test]
fn second_device_far_into_the_trace_ends_it() {
    let mut text = "0.5 3 1 8 0\n".repeat(100_000);
    text += "0.6 5 1 8 0\n";
    let mut trace = opened(text.as_bytes(), &named("disksim")).unwrap();
    assert!(trace.by_ref().count() < 100_001);
    assert!(matches!(trace.finish(), Err(ReadError::SeveralDevices { devices, .. }) if devices.len() == 2));
}

#[test]
fn number_of_devices_is_bounded() {
    let text: String = (0..70_000_u32).map(|n| format!("0.5 {} 1 8 0\n", u32::MAX - n)).collect();
    let every = OpenOptions { every_device: true, ..named("disksim") };
    let mut trace = opened(text.as_bytes(), &every).unwrap();
    assert_eq!(trace.by_ref().count(), 65_536);
    let summary = trace.finish().unwrap();
    assert_eq!(summary.refused, 70_000 - 65_536);
    let said = summary.refusals[0].to_string();
    assert!(said.contains("of higher numbers there are 65536 already"), "{said}");
    // Low numbers are counted in the table.
    let text: String = (0..140_000_u32).map(|n| format!("0.5 {n} 1 8 0\n")).collect();
    let mut trace = opened(text.as_bytes(), &every).unwrap();
    assert_eq!(trace.by_ref().count(), 131_072);
    let said = trace.finish().unwrap().refusals[0].to_string();
    assert!(
        said.contains("the device is '131072', must be below 65536, or one of those before it"),
        "{said}"
    );
}

#[test]
fn names_beyond_the_limit_are_refused() {
    let every = |format| OpenOptions { every_device: true, ..named(format) };
    let hosts: String = (0..65_537).map(|n| format!("1,h{n},0,Read,0,512,1\n")).collect();
    let files: String = (0..65_537).map(|n| format!("/f{n} read 0 512\n")).collect();
    for (format, text, given) in [
        ("msr", hosts, "line 65537: the host is 'h65536', must be one of those before it: there are 65536"),
        (
            "iolog2",
            files,
            "line 65537: the file is '/f65536', must be one of those before it: there are 65536",
        ),
    ] {
        let mut trace = opened(text.as_bytes(), &every(format)).unwrap();
        assert_eq!(trace.by_ref().count(), 65_536, "{format}");
        let summary = trace.finish().unwrap();
        assert_eq!(summary.refused, 1);
        assert!(summary.refusals[0].to_string().starts_with(given), "{}", summary.refusals[0]);
    }
}
