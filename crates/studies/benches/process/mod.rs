//! What this process has used so far.

/// User CPU seconds of this process so far.
pub fn user_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    // The command's name may hold blanks; the fields behind its ')' do not. User ticks are field 14.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    fields[11].parse::<f64>().expect("a number of ticks") / 100.0
}

/// Memory of this process that is in use.
#[allow(dead_code, reason = "not every bench asks for memory")]
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc");
    status.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number of pages")
        * 4096
}
