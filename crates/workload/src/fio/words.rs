//! Hints for fio's options in Flashlane's own forms: the equivalent of each option, and of a whole line.
//!
//! No fio option is accepted: there is one way to write a workload, and similar names have different meanings (`size`
//! is the access here and the area in fio, `numjobs` share an area, `runtime` has no unit).

use super::options::distribution;
use super::values::{Base, bytes};
use crate::{Distribution, Workload};
use flashlane_base::units::{format_bytes, parse_bytes};

/// Values of `rw`; fio visits each block once before any again, unless it has `norandommap`.
const PATTERNS: &[(&str, &str)] = &[
    ("read", "sequential-read"),
    ("write", "sequential-write"),
    ("trim", "sequential-trim"),
    ("randread", "random-read"),
    ("randwrite", "random-write"),
    ("randtrim", "random-trim"),
    ("randrw", "mixed,reads=50%"),
];

/// The warm-up, as a time.
const RAMP_TIME: &str = "ramp_time";

/// Options that need no equivalent, and the reason.
const NEEDLESS: &[(&str, &str)] = &[
    ("direct", "real devices are always opened for direct I/O"),
    ("buffered", "real devices are always opened for direct I/O"),
    ("ioengine", "io_uring is used where the kernel has it"),
    ("filename", "the device stands before the workload"),
    ("time_based", "a run with time=… lasts that long"),
    ("group_reporting", "a result has all jobs together and each by itself"),
    ("norandommap", "'random' visits with repetition, 'permutation' without"),
    ("randrepeat", "runs repeat under the same seed"),
    ("thread", "one thread drives all jobs"),
    ("name", "jobs are named in a job file"),
    ("stonewall", "jobs of a workload run side by side"),
    ("invalidate", "there is no page cache in what is measured"),
];

/// Translates a fio option to a setting, empty where none is needed. `None` where it is not a fio option, or has no
/// equivalent.
fn translated(name: &str, value: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let united = |unit: &str| if digits(value) { format!("{value}{unit}") } else { value.to_owned() };
    let setting = match name {
        "rw" | "readwrite" => PATTERNS.iter().find(|(fio, _)| *fio == value)?.1.to_owned(),
        "bs" | "blocksize" => format!("size={}", size(value)),
        "ba" | "blockalign" => format!("align={}", size(value)),
        "iodepth" => format!("depth={value}"),
        "numjobs" if value == "1" => String::new(),
        "numjobs" => format!("jobs={value},shared"),
        "runtime" | "timeout" => format!("time={}", united("s")),
        "rwmixread" if digits(value) => format!("reads={value}%"),
        "rwmixwrite" => format!("reads={}%", 100_u32.checked_sub(value.parse().ok()?)?),
        "fdatasync" => format!("fsync={value}"),
        "randseed" => format!("seed={value}"),
        "thinktime" => format!("think={}", united("us")),
        "thinktime_blocks" => format!("burst={value}"),
        "rate_iops" => format!("rate={value}/s"),
        "rate_process" if value == "poisson" => "arrivals=poisson".into(),
        "rate_process" => "arrivals=constant".into(),
        "number_ios" => format!("accesses={value}"),
        "random_distribution" => match distribution(value).ok()? {
            None => String::new(),
            Some(Distribution::Zipf { exponent }) => format!("zipf={exponent}"),
            Some(Distribution::Pareto { space }) => format!("pareto={}%", space * 100.0),
            Some(Distribution::Hotspot { space, accesses }) => {
                format!("hotspot={}%:{}%", space * 100.0, accesses * 100.0)
            }
        },
        _ if NEEDLESS.iter().any(|(fio, _)| *fio == name) => String::new(),
        _ => return None,
    };
    Some(setting)
}

/// Translates a size: fio's `kb` is 1024 bytes, ours 1000. Its `kib`, which is 1000, is taken for the usual 1024.
fn size(value: &str) -> String {
    let is_usual = value.contains(['i', 'I']);
    match bytes(value, Base::Binary) {
        Ok(given) if !is_usual && parse_bytes(value) != Ok(given) => {
            let short = format_bytes(given).replace(' ', "");
            if parse_bytes(&short) == Ok(given) { short } else { format!("{given}B") }
        }
        _ => value.to_owned(),
    }
}

/// Returns a hint for an unknown setting; `None` where it is not a fio option. A pattern is a name without a value.
pub fn answer(name: &str, value: &str) -> Option<String> {
    if let Some((_, reason)) = NEEDLESS.iter().find(|(fio, _)| *fio == name) {
        return Some(format!("fio's '{name}' is not needed here: {reason}"));
    }
    if name == RAMP_TIME {
        return Some("fio's 'ramp_time' is a number of completions here, as in warmup=10k".into());
    }
    let given = if value.is_empty() { name.to_owned() } else { format!("{name}={value}") };
    if let Some((_, pattern)) = PATTERNS.iter().find(|(fio, _)| *fio == name && value.is_empty()) {
        return Some(format!("fio's rw={name} is '{pattern}' here"));
    }
    // Without a translatable value, show the key for a sample value.
    let sample = [value, "4k", "8", "randread", "zipf:1.2", "70"];
    let ours = sample.iter().filter(|value| !value.is_empty()).find_map(|value| translated(name, value))?;
    Some(match translated(name, value).filter(|_| !value.is_empty()) {
        Some(ours) if !ours.is_empty() => format!("fio's {given} is '{ours}' here"),
        Some(_) => format!("fio's {given} needs nothing here"),
        None => format!("fio's '{name}' is '{}' here", ours.split('=').next().unwrap_or_default()),
    })
}

/// Like [`answer`], within `line`, which may give the share of reads of a mix elsewhere.
pub(crate) fn answer_within(line: &str, name: &str, value: &str) -> Option<String> {
    let answer = answer(name, value)?;
    let reads = line.split([',', '+']).find_map(|word| {
        let (name, value) = word.split_once('=')?;
        match name.trim() {
            "reads" => Some(word.trim().to_owned()),
            name @ ("rwmixread" | "rwmixwrite") => translated(name, value.trim()),
            _ => None,
        }
    });
    Some(match reads {
        Some(reads) if answer.contains("mixed,") => answer.replace("reads=50%", &reads),
        _ => answer,
    })
}

/// Returns the equivalent of a whole line of fio's options in words, where possible, with what is missing from it.
pub(crate) fn whole_line(line: &str) -> Option<String> {
    let ours = rewritten(line)?;
    let has_ramp =
        line.split(',').any(|word| word.split('=').next().is_some_and(|name| name.trim() == RAMP_TIME));
    let missing =
        if has_ramp { ", without 'ramp_time': add a number of completions, as in warmup=10k" } else { "" };
    Some(format!("the whole line is '{ours}'{missing}"))
}

/// Translates a whole line of fio's options, where possible; a warm-up in time is left out.
fn rewritten(line: &str) -> Option<String> {
    let words: Vec<(&str, &str)> = line
        .split(',')
        .filter(|word| !word.trim().is_empty())
        .map(|word| {
            word.split_once('=').map_or((word.trim(), ""), |(name, value)| (name.trim(), value.trim()))
        })
        .filter(|(name, _)| *name != RAMP_TIME)
        .collect();
    let sized = words.iter().any(|(name, _)| matches!(*name, "bs" | "blocksize"));
    let (mut pattern, mut settings) = (None, Vec::new());
    for (nth, &(name, value)) in words.iter().enumerate() {
        let bare = PATTERNS.iter().find(|(fio, _)| nth == 0 && value.is_empty() && *fio == name);
        if let Some((_, named)) = bare {
            pattern = Some((*named).to_owned());
        } else if nth == 0 && value.is_empty() {
            pattern = Some(name.to_owned());
        } else if matches!(name, "rw" | "readwrite") {
            pattern = Some(translated(name, value)?);
        } else if sized && name == "size" {
            settings.push(format!("area={value}"));
        } else if let Some(setting) = translated(name, value) {
            settings.push(setting);
        } else {
            settings.push(if value.is_empty() { name.to_owned() } else { format!("{name}={value}") });
        }
    }
    let mut pattern = pattern?;
    if settings.iter().any(|setting| setting.starts_with("reads=")) {
        pattern.truncate(pattern.find(',').unwrap_or(pattern.len()));
    }
    let settings = settings.into_iter().filter(|setting| !setting.is_empty());
    let ours = std::iter::once(pattern).chain(settings).collect::<Vec<_>>().join(",");
    (ours != line && Workload::parse(&ours).is_ok()).then_some(ours)
}
