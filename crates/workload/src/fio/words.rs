//! fio's words in our own forms: each is answered with ours, and a line of them with the whole line.
//!
//! None is taken for ours: there is one way to write a workload, and the words that look alike differ (`size` is the
//! access here and the area there, `numjobs` share an area, `runtime` has no unit).

use super::options::distribution;
use crate::{Distribution, Workload};

/// The patterns, as `rw` names them; fio visits each block once before any again, unless it has `norandommap`.
const PATTERNS: &[(&str, &str)] = &[
    ("read", "sequential-read"),
    ("write", "sequential-write"),
    ("trim", "sequential-trim"),
    ("randread", "random-read"),
    ("randwrite", "random-write"),
    ("randtrim", "random-trim"),
    ("randrw", "mixed,reads=50%"),
];

/// Words that need nothing in their place, and why.
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

/// A word of fio's in our words: a setting, or nothing where none is needed. `None` where it is not one of fio's, or has no
/// equivalent.
fn translated(name: &str, value: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let united = |unit: &str| if digits(value) { format!("{value}{unit}") } else { value.to_owned() };
    let setting = match name {
        "rw" | "readwrite" => PATTERNS.iter().find(|(fio, _)| *fio == value)?.1.to_owned(),
        "bs" | "blocksize" => format!("size={}", united("B")),
        "ba" | "blockalign" => format!("align={}", united("B")),
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

/// What to say of a word that is not ours; `None` where it is none of fio's either. A pattern is a word without a value.
pub fn answer(name: &str, value: &str) -> Option<String> {
    if let Some((_, reason)) = NEEDLESS.iter().find(|(fio, _)| *fio == name) {
        return Some(format!("fio's '{name}' is not needed here: {reason}"));
    }
    if name == "ramp_time" {
        return Some("fio's 'ramp_time' is a number of completions here, as in warmup=10k".into());
    }
    let given = if value.is_empty() { name.to_owned() } else { format!("{name}={value}") };
    if let Some((_, pattern)) = PATTERNS.iter().find(|(fio, _)| *fio == name && value.is_empty()) {
        return Some(format!("fio's rw={name} is '{pattern}' here"));
    }
    // Without a value, or with one that cannot be translated, what would be.
    let sample = [value, "4k", "8", "randread", "zipf:1.2", "70"];
    let ours = sample.iter().filter(|value| !value.is_empty()).find_map(|value| translated(name, value))?;
    Some(match translated(name, value).filter(|_| !value.is_empty()) {
        Some(ours) if !ours.is_empty() => format!("fio's {given} is '{ours}' here"),
        Some(_) => format!("fio's {given} needs nothing here"),
        None => format!("fio's '{name}' is '{}' here", ours.split('=').next().unwrap_or_default()),
    })
}

/// The same within `line`, which may say elsewhere how many of a mix are reads.
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

/// A line of fio's words in ours, where all of it can be said.
pub(crate) fn rewritten(line: &str) -> Option<String> {
    let words: Vec<(&str, &str)> = line
        .split(',')
        .filter(|word| !word.trim().is_empty())
        .map(|word| {
            word.split_once('=').map_or((word.trim(), ""), |(name, value)| (name.trim(), value.trim()))
        })
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
