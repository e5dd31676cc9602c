//! Resources used by this process.

/// User CPU seconds of this process so far.
pub fn user_cpu_s() -> f64 {
    ticks(0) / 100.0
}

/// The same spent in the system on its behalf.
#[allow(dead_code, reason = "not every bench asks for it")]
pub fn system_cpu_s() -> f64 {
    ticks(1) / 100.0
}

/// User or system ticks.
fn ticks(which: usize) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    // The command's name may contain blanks; the fields after its ')' do not. User ticks are field 14, system ticks 15.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    fields[11 + which].parse::<f64>().expect("a number of ticks")
}

/// Resident memory of this process.
#[allow(dead_code, reason = "not every bench asks for memory")]
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc");
    status.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number of pages")
        * 4096
}
