//! `trace record`: refusals before recording. Tests of `host` cover the recording itself.

use crate::program::{refused, text};
use std::fs;

#[test]
fn recording_other_files_is_refused_without_output() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trace.blktrace.xz");
    for (device, words) in [("/no/such/device", "does not exist"), ("/dev/null", "is a character device")] {
        refused(2, &["trace", "record", device, "--out", text(&out), "--time", "1ms"], &[words]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn output_is_checked_before_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trace");
    fs::write(&out, "precious").unwrap();
    for (arguments, words) in [
        (&["--to", "blkparse"][..], "are not written as 'blkparse'"),
        (&["--to", "nonsense"], "there is no trace format 'nonsense'"),
        (&["--time", "1ms"], "--force overwrites it"),
        (&["--time", "1ms", "--", "true"], "cannot be used with"),
    ] {
        let given = [&["trace", "record", "/dev/null", "--out", text(&out)], arguments].concat();
        refused(2, &given, &[words]);
    }
    // As for a conversion, the ending selects the format.
    for (name, words) in [
        ("trace.csv.gz", "--to NAME, one of msr, alibaba, tencent"),
        ("trace.blkparse", "are not written as 'blkparse'"),
        ("trace.bz2", "as .bz2"),
        ("new/", "it is a directory"),
        ("trace.msr", "is a character device"),
    ] {
        let out = format!("{}/{name}", text(folder.path()));
        refused(2, &["trace", "record", "/dev/null", "--out", &out, "--time", "1ms"], &[words]);
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), "precious");
}
