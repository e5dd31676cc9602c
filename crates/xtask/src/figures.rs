//! The figures that the project claims, each with its command.
//!
//! `docs/figures.md` contains a table between two markers; text outside them is kept. Each row is measured by running
//! its command and parsing its output. A new figure is one [`Figure`] and one line in [`FIGURES`].

mod advise;
mod blocks;
mod database;
mod energy;
mod greedy;
mod guards;
mod harness;
mod host;
mod interrupt;
mod large_units;
mod map_cache;
mod pacing;
mod page;
mod papers;
mod phases;
mod probe;
mod queues;
mod replay;
mod replication;
mod serve;
mod simulator;
mod slc;
mod store;
mod sweep;
mod table;
mod trace;
mod transactions;
mod uflip;
mod zones;

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use table::Row;

/// All figures, in the order of the table.
const FIGURES: &[&Figure] = &[
    &simulator::RANDOM_READS,
    &simulator::RANDOM_WRITES,
    &simulator::MEMORY,
    &simulator::PRECONDITION,
    &simulator::LARGE_FULL,
    &simulator::LARGE_FULL_MEMORY,
    &simulator::LARGE_FRAGMENTED,
    &simulator::TOUCHED_MEMORY,
    &simulator::TOUCHED_TIME,
    &simulator::SDF_WRITES,
    &simulator::SDF_READS,
    &pacing::P999,
    &pacing::LONGEST,
    &pacing::AMPLIFICATION,
    &pacing::WATERMARK_AMPLIFICATION,
    &greedy::SMALL_BLOCKS,
    &greedy::LARGE_BLOCKS,
    &map_cache::HITS,
    &map_cache::MISS,
    &map_cache::WRITES_SINGLE,
    &map_cache::WRITES_BATCHED,
    &queues::UNAWARE,
    &queues::LIGHT,
    &slc::SN580_SIZE,
    &slc::SN580_IN,
    &slc::SN580_AFTER,
    &slc::SN580_MEAN,
    &slc::ATOM_SIZE,
    &slc::ATOM_IN,
    &slc::ATOM_DIRECT,
    &slc::ATOM_AFTER,
    &slc::ATOM_MEAN,
    &energy::READS,
    &energy::WRITES,
    &large_units::WRITES,
    &large_units::READS,
    &zones::READ_MEAN,
    &zones::READ_P99,
    &zones::READ_32_RATE,
    &zones::READ_32_MEAN,
    &zones::READ_32_P99,
    &zones::READ_256_RATE,
    &zones::READ_8K_MEAN,
    &zones::READ_8K_256_RATE,
    &zones::WRITE_MEAN,
    &zones::WRITE_P99,
    &zones::WRITE_8_ZONES,
    &zones::WRITE_LIMIT,
    &zones::WRITE_LIMIT_ONE,
    &zones::APPEND_MEAN,
    &zones::APPEND_RATE,
    &zones::OPEN,
    &zones::CLOSE,
    &zones::FINISH_EMPTY,
    &zones::FINISH_ONE,
    &zones::FINISH_FULL,
    &zones::RESET_EMPTY,
    &zones::RESET_FULL,
    &zones::BESIDE_MEAN,
    &zones::BESIDE_P99,
    &zones::BESIDE_32_RATE,
    &zones::BESIDE_32_P99,
    &zones::BESIDE_FINISHES,
    &zones::BESIDE_RESETS,
    &replay::IOZONE,
    &transactions::ONE_PERCENT,
    &transactions::EVERYTHING,
    &sweep::TWO_CORES,
    &sweep::TWO_CORES_SHORT,
    &sweep::TWO_PROCESSES,
    &harness::RUN,
    &harness::ONE,
    &host::AGAINST_FIO,
    &host::LANES_AGAINST_PLAIN,
    &blocks::PUTS,
    &blocks::GETS,
    &blocks::IN_FLIGHT,
    &blocks::CAPACITY,
    &blocks::RECOVERY,
    &blocks::AGAINST_FIO,
    &blocks::CUTS,
    &store::GETS,
    &store::GETS_CONTINUOUS,
    &store::GETS_LIMIT,
    &store::GETS_STRIPED,
    &store::WRITES,
    &store::LONGEST_WRITE,
    &store::OPENING,
    &store::OPENING_AFTER_CUT,
    &store::MEMORY,
    &store::CUTS,
    &store::STREAM_PUT,
    &store::STREAM_GET,
    &store::YCSB_A,
    &store::YCSB_B,
    &store::YCSB_C,
    &store::YCSB_D,
    &store::YCSB_E,
    &store::YCSB_F,
    &replication::DRIVE_CUTS,
    &replication::LAYER_CUTS,
    &store::AGAINST_OTHERS_SMALL,
    &store::AGAINST_OTHERS_LARGE,
    &store::SERVER_GET,
    &store::SERVER_SET,
    &store::SERVER_IDLE,
    &serve::NULL,
    &serve::FUSE,
    &serve::P50,
    &serve::P99,
    &serve::IOPS,
    &probe::TIME,
    &probe::STRUCTURE_TIME,
    &probe::CHUNK,
    &probe::CHUNK_WRONG,
    &probe::DEGREE,
    &probe::DEGREE_WRONG,
    &probe::MAPPING,
    &probe::MAPPING_WRONG,
    &probe::WIDE_CHUNK,
    &probe::WIDE_CHUNK_WRONG,
    &probe::WIDE_PAGE,
    &probe::WIDE_PAGE_WRONG,
    &probe::WIDE_DEGREE,
    &probe::WIDE_DEGREE_WRONG,
    &probe::WIDE_SUB,
    &probe::WIDE_SUB_WRONG,
    &probe::WIDE_MAPPING,
    &probe::WIDE_MAPPING_WRONG,
    &probe::WIDE_READAHEAD,
    &probe::WIDE_READAHEAD_WRONG,
    &probe::WIDE_BUFFER,
    &probe::WIDE_BUFFER_WRONG,
    &probe::WIDE_RECLAIM,
    &probe::WIDE_RECLAIM_WRONG,
    &probe::TODAY_SLC,
    &probe::TODAY_SLC_WRONG,
    &probe::TODAY_REACH,
    &probe::TODAY_REACH_WRONG,
    &probe::WIDE_CERTAIN,
    &probe::WIDE_FAILED,
    &probe::WIDE_TIME,
    &probe::WIDE_TIME_P99,
    &probe::ADVICE,
    &probe::ADVICE_P99,
    &probe::BOUNDS,
    &probe::BOUNDS_WRONG,
    &probe::FILE_TIME,
    &probe::FILE_READ_TIME,
    &probe::FILE_INVENTED,
    &advise::PLANS,
    &advise::TIMES,
    &advise::GAINS,
    &database::ADVICE_SLOWEST,
    &database::ADVICE_FASTEST,
    &database::INDEX_GAIN,
    &database::HASH_GAIN,
    &database::ALONE,
    &database::DIVIDED,
    &database::LAYER_MEAN,
    &database::LAYER_SLOWEST,
    &database::LOST_ROWS,
    &phases::TIME,
    &phases::STARTUP,
    &phases::STARTUP_INVENTED,
    &phases::PERIOD,
    &phases::PERIOD_INVENTED,
    &uflip::FULL,
    &uflip::STUDY,
    &uflip::FILE,
    &uflip::FILE_SPREAD,
    &papers::CHEN11,
    &papers::UFLIP09,
    &papers::DISKSIM,
    &papers::DISKSIM_OTHERS,
    &papers::RUAN12,
    &papers::SDF14,
    &papers::HE14,
    &trace::DISKSIM,
    &trace::MSR,
    &trace::SLOWEST,
    &trace::MEMORY,
    &page::SIZE,
    &page::FIRST_PLOT,
    &page::ZOOM,
    &guards::WAYS,
    &interrupt::CTRL_C,
];

/// A figure: description, goal and measurement.
pub struct Figure {
    /// Name on the command line and in the table.
    pub id: &'static str,
    /// The quantity measured, with its unit.
    pub what: &'static str,
    /// The goal, if there is one.
    pub goal: Option<Goal>,
    /// The command, run in the directory of the workspace; no quoting.
    pub command: &'static str,
    /// Extracts the value from the command's standard output.
    pub read: fn(&str) -> Option<f64>,
}

/// Goal of a figure: the required value, and the aim if there is one.
pub enum Goal {
    /// Larger values are better.
    AtLeast(f64, Option<f64>),
    /// Smaller values are better.
    AtMost(f64, Option<f64>),
}

impl Goal {
    /// Returns whether `value` meets the requirement.
    fn is_met(&self, value: f64) -> bool {
        match *self {
            Self::AtLeast(least, _) => value >= least,
            Self::AtMost(most, _) => value <= most,
        }
    }
}

/// Measures the figures `ids` (all if empty) and rewrites the table.
pub fn run(root: &Path, ids: &[String], list: bool) -> Result<()> {
    if let Some(unknown) = ids.iter().find(|id| !FIGURES.iter().any(|figure| figure.id == **id)) {
        let known: Vec<_> = FIGURES.iter().map(|figure| figure.id).collect();
        bail!("there is no figure '{unknown}'; there are: {}", known.join(", "));
    }
    if list {
        FIGURES.iter().for_each(|figure| println!("{}: {}\n    {}", figure.id, figure.what, figure.command));
        return Ok(());
    }
    let path = root.join("docs/figures.md");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let earlier = table::read(&text)?;
    let before = |figure: &Figure| {
        earlier.iter().find(|(id, _)| id == figure.id).map(|(_, measured)| measured.clone())
    };
    let mut rows: Vec<Row> = FIGURES.iter().map(|&figure| Row { figure, measured: before(figure) }).collect();
    let machine = machine();
    let mut session = Session { root, printed: BTreeMap::new(), missed: Vec::new(), failed: Vec::new() };
    for i in 0..rows.len() {
        if !ids.is_empty() && !ids.iter().any(|id| id == rows[i].figure.id) {
            continue;
        }
        if let Some(value) = session.attempt(rows[i].figure) {
            rows[i].measured = Some(table::number(value));
            // Written after each figure: some take minutes, and an interruption keeps those before it.
            std::fs::write(&path, table::replace(&text, &rows, &machine)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    println!("written to {}", path.display());
    if !session.failed.is_empty() {
        bail!("not measured, with their earlier values kept: {}", session.failed.join(", "));
    }
    if !session.missed.is_empty() {
        bail!("goals missed: {}", session.missed.join(", "));
    }
    Ok(())
}

/// A measurement of several figures.
struct Session<'a> {
    root: &'a Path,
    /// Output of each command: some show several figures.
    printed: BTreeMap<&'static str, String>,
    missed: Vec<&'static str>,
    failed: Vec<&'static str>,
}

impl Session<'_> {
    /// Measures one figure and prints the value. A failure keeps the values measured before it.
    fn attempt(&mut self, figure: &Figure) -> Option<f64> {
        println!("{}: {}", figure.id, figure.command);
        match self.measure(figure) {
            Ok(value) => {
                println!("    {}", table::number(value));
                if figure.goal.as_ref().is_some_and(|goal| !goal.is_met(value)) {
                    self.missed.push(figure.id);
                }
                Some(value)
            }
            Err(error) => {
                eprintln!("{error:#}");
                self.failed.push(figure.id);
                None
            }
        }
    }

    fn measure(&mut self, figure: &Figure) -> Result<f64> {
        if !self.printed.contains_key(figure.command) {
            self.printed.insert(figure.command, output(self.root, figure.command)?);
        }
        let text = &self.printed[figure.command];
        (figure.read)(text)
            .with_context(|| format!("'{}' printed no value for {}:\n{text}", figure.command, figure.id))
    }
}

/// Returns the output of `command`.
fn output(root: &Path, command: &str) -> Result<String> {
    let mut words = command.split_whitespace();
    let program = words.next().context("a figure has a command")?;
    let output = Command::new(program)
        .args(words)
        .current_dir(root)
        // Cargo's progress stays visible: some commands take minutes.
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run '{command}'"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("'{command}' failed ({}):\n{text}", output.status);
    }
    Ok(text)
}

/// Returns the number that follows `mark` in `text`, without digit separators.
fn number_after(text: &str, mark: &str) -> Option<f64> {
    let rest = text[text.find(mark)? + mark.len()..].trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ".,_".contains(c))).unwrap_or(rest.len());
    rest[..end].replace(['_', ','], "").trim_end_matches('.').parse().ok()
}

/// Returns by how many percent a number is off another.
fn percent_off(measured: f64, expected: f64) -> f64 {
    (measured / expected - 1.0).abs() * 100.0
}

/// Returns the processor and the compiler, as far as known.
fn machine() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("an unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let rustc = Command::new("rustc").arg("--version").output().ok();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!("{model}, {cores} cores, {}", rustc.as_deref().unwrap_or("an unknown compiler"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_found_after_its_mark() {
        assert_eq!(number_after("fio 90000 IOPS, ratio 1.013 (median)", "ratio"), Some(1.013));
        assert_eq!(number_after("simulated 3,200_000 requests.", "simulated"), Some(3_200_000.0));
        assert_eq!(number_after("took 12.", "took"), Some(12.0));
        assert_eq!(number_after("ratio unknown", "ratio"), None);
        assert_eq!(number_after("", "ratio"), None);
    }

    #[test]
    fn goal_is_a_lower_or_upper_bound() {
        let (more, less) = (Goal::AtLeast(3.0, Some(8.0)), Goal::AtMost(10.0, Some(6.0)));
        assert!(more.is_met(3.0) && !more.is_met(2.9));
        assert!(less.is_met(10.0) && !less.is_met(10.1));
    }

    #[test]
    fn every_figure_has_a_unique_name() {
        for (i, figure) in FIGURES.iter().enumerate() {
            assert!(!FIGURES[..i].iter().any(|other| other.id == figure.id), "{} is listed twice", figure.id);
            assert!(!figure.id.contains(['|', '`', ' ']), "{} does not fit into a table", figure.id);
        }
    }
}
