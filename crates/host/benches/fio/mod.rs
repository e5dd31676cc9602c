//! Shared by the benches against fio: running it, and the median of several runs.

use std::path::Path;
use std::process::Command;

/// Runs fio's io_uring engine with direct I/O on a file and returns a field of its terse output (version 3), counted
/// from 0; `None` where fio is not installed.
pub fn fio(path: &Path, depth: u64, arguments: &[&str], field: usize) -> Option<f64> {
    let output = Command::new("fio")
        .args(["--name=pair", "--ioengine=io_uring", "--direct=1"])
        .args(["--output-format=terse", "--terse-version=3"])
        .args(arguments)
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--filename={}", path.display()))
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let value = text.lines().last()?.split(';').nth(field)?.parse().ok();
    assert!(value.is_some(), "fio said: {text}{}", String::from_utf8_lossy(&output.stderr));
    value
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
