//! Measurements on served drives: the rows that scripts print, and the tables of the Star Schema Benchmark's times.

use anyhow::{Context, Result, bail};
use std::fmt::Write;

/// One run of a query.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    device: String,
    query: String,
    /// The settings or the plan that are compared.
    which: String,
    /// Sub-queries at once.
    sub_queries: u32,
    seconds: f64,
    /// What identifies the plan that PostgreSQL chose.
    plan: String,
}

/// One run of a benchmark of transactions, in the drive's time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transactions {
    pub(super) device: String,
    pub(super) benchmark: String,
    /// What is compared: `plain` or `layer`.
    pub(super) form: String,
    pub(super) per_s: f64,
    pub(super) mean_ms: f64,
    /// Mean of the slowest hundredth.
    pub(super) slowest_ms: f64,
}

/// Rows that a script printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    runs: Vec<Run>,
    transactions: Vec<Transactions>,
    /// Devices with the settings that were proposed for them.
    advice: Vec<(String, String)>,
    /// Devices with the reason why their run is not valid; empty where it is.
    lateness: Vec<(String, String)>,
    /// Processor time of a query, in times of that of an unaltered PostgreSQL.
    processor: Option<f64>,
}

impl Measured {
    /// Reads the rows that a script printed: fields between tabs.
    ///
    /// # Errors
    /// Where a row is not known, or a time is not positive.
    pub fn read(text: &str) -> Result<Self> {
        let mut measured = Self::default();
        for line in text.lines() {
            measured.add(line).with_context(|| format!("in the row {line:?}"))?;
        }
        Ok(measured)
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let fields: Vec<_> = line.split('\t').collect();
        match fields[..] {
            ["time", device, query, which, sub_queries, ms, plan] => self.runs.push(Run {
                device: device.into(),
                query: query.into(),
                which: which.into(),
                sub_queries: sub_queries.parse()?,
                seconds: positive(ms)? / 1e3,
                plan: plan.into(),
            }),
            ["transactions", device, benchmark, form, rate, mean, slowest] => {
                self.transactions.push(Transactions {
                    device: device.into(),
                    benchmark: benchmark.into(),
                    form: form.into(),
                    per_s: positive(rate)?,
                    mean_ms: positive(mean)?,
                    slowest_ms: positive(slowest)?,
                });
            }
            ["advice", device, settings] => self.advice.push((device.into(), settings.into())),
            ["lateness", device, reason] => self.lateness.push((device.into(), reason.into())),
            ["processor", _, times] => self.processor = Some(positive(times)?),
            _ => bail!("fields of no known row"),
        }
        Ok(())
    }

    /// Returns the runs of transactions, in their order.
    pub(super) fn transactions(&self) -> &[Transactions] {
        &self.transactions
    }

    fn devices(&self) -> Vec<&str> {
        distinct(self.runs.iter().map(|run| run.device.as_str()))
    }

    /// Returns the queries that were run with `which` on a device, in their order.
    fn queries(&self, device: &str, which: &str) -> Vec<&str> {
        let of = |run: &&Run| run.device == device && run.which == which;
        distinct(self.runs.iter().filter(of).map(|run| run.query.as_str()))
    }

    fn runs(&self, device: &str, query: &str, which: &str, sub_queries: u32) -> Vec<&Run> {
        let of = |run: &&Run| {
            run.device == device && run.query == query && run.which == which && run.sub_queries == sub_queries
        };
        self.runs.iter().filter(of).collect()
    }

    /// Returns the numbers of sub-queries, in ascending order.
    fn sub_queries(&self) -> Vec<u32> {
        let mut numbers: Vec<_> = self.runs.iter().map(|run| run.sub_queries).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns a line for each device: whether its run is valid.
    pub(super) fn verdicts(&self) -> String {
        let line = |(device, reason): &(String, String)| match reason.as_str() {
            "" => format!("{device}: valid, the drive's replies were in time\n"),
            reason => format!("{device}: NOT VALID: {reason}\n"),
        };
        self.lateness.iter().map(line).collect()
    }
}

fn positive(text: &str) -> Result<f64> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.with_context(|| format!("'{text}' is no positive number"))
}

/// Returns each once, in the order of the first.
pub(super) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Returns the median. Requires: at least one value.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "a median is of something");
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

/// A query with the default and with other settings.
struct Compared {
    /// Median times in seconds, with the defaults and with the other settings.
    seconds: [f64; 2],
    /// The median of the gains of the rounds, each of which has both times.
    gain: f64,
    /// The least and the greatest of them.
    range: [f64; 2],
    is_same_plan: bool,
}

impl Compared {
    /// Compares the runs of a query with the settings `other`, `None` where one of the two is missing.
    fn of(measured: &Measured, device: &str, query: &str, other: &str) -> Option<Self> {
        let [before, after] = ["default", other].map(|which| measured.runs(device, query, which, 1));
        let mut gains: Vec<_> =
            before.iter().zip(&after).map(|(before, after)| before.seconds / after.seconds).collect();
        gains.sort_by(f64::total_cmp);
        let range = [*gains.first()?, *gains.last()?];
        let seconds = [&before, &after].map(|runs| median(runs.iter().map(|run| run.seconds).collect()));
        let is_same_plan = before[0].plan == after[0].plan;
        Some(Self { seconds, gain: median(gains), range, is_same_plan })
    }
}

/// Returns the table of queries with default and with advised settings, and with the defaults again: their gains show
/// how uncertain those of the advice are.
pub fn advice_table(measured: &Measured) -> String {
    let mut text = String::new();
    let (mut all_gains, mut all_again) = (Vec::new(), Vec::new());
    for device in measured.devices() {
        let settings = measured.advice.iter().find(|(of, settings)| of == device && !settings.is_empty());
        let settings = settings.map_or("nothing proposed", |(_, settings)| settings);
        let _ = writeln!(text, "{device}: {settings}");
        text += "query  default s  advised s  times as fast  of the rounds  plan   defaults again\n";
        let mut total = [0.0; 2];
        for query in measured.queries(device, "default") {
            let Some(Compared { seconds: [default, advised], gain, range: [low, high], is_same_plan }) =
                Compared::of(measured, device, query, "advised")
            else {
                continue;
            };
            let again = Compared::of(measured, device, query, "again").map(|again| again.gain);
            all_again.extend(again);
            let again = again.map_or("-".into(), |again| format!("{again:.2}"));
            let plan = if is_same_plan { "same" } else { "other" };
            let _ = writeln!(
                text,
                "{query:<5}  {default:>9.3}  {advised:>9.3}  {gain:>13.2}  {low:.2} to {high:.2}   {plan:<5}  {again:>14}"
            );
            total = [total[0] + default, total[1] + advised];
            all_gains.push(gain);
        }
        let [default, advised] = total;
        let _ = writeln!(text, "all    {default:>9.3}  {advised:>9.3}  {:>13.2}\n", default / advised);
    }
    text += &measured.verdicts();
    let (least, most) = range(&all_gains);
    let _ = writeln!(text, "advised against default: slowest {least:.2}, fastest {most:.2} times as fast");
    if !all_again.is_empty() {
        let (least, most) = range(&all_again);
        let _ = writeln!(text, "the defaults again: slowest {least:.2}, fastest {most:.2} times as fast");
    }
    text
}

/// Returns the least and the greatest, infinity and 0 of none.
fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)))
}

/// Returns the tables of queries in sub-queries, of both plans, the largest gains and the plans that are faster.
pub fn sub_queries_table(measured: &Measured) -> String {
    let mut text = String::new();
    for device in measured.devices() {
        add_device(measured, device, &mut text);
    }
    if let Some(times) = measured.processor {
        let _ = writeln!(text, "processor time: {times:.1} times that of an unaltered PostgreSQL");
    }
    text + &measured.verdicts()
}

/// The query that is a scan without a join.
const SCAN: &str = "Q0";

fn add_device(measured: &Measured, device: &str, text: &mut String) {
    let numbers = measured.sub_queries();
    let seconds = |query, join, number| {
        let runs = measured.runs(device, query, join, number);
        (!runs.is_empty()).then(|| median(runs.iter().map(|run| run.seconds).collect()))
    };
    let mut gains = Vec::new();
    for join in ["index", "hash"] {
        let _ = write!(text, "{device}, {join} joins: seconds by sub-queries\nquery ");
        for number in &numbers {
            let _ = write!(text, "{number:>9}");
        }
        text.push_str("  times as fast\n");
        for query in measured.queries(device, join) {
            let _ = write!(text, "{query:<6}");
            let times: Vec<_> = numbers.iter().filter_map(|number| seconds(query, join, *number)).collect();
            for time in &times {
                let _ = write!(text, "{time:>9.3}");
            }
            let gain = times[0] / times.iter().copied().fold(f64::INFINITY, f64::min);
            let _ = writeln!(text, "  {gain:>13.2}");
            gains.push((join, query, gain));
        }
        text.push('\n');
    }
    let most = |is: &dyn Fn(&str, &str) -> bool| {
        gains.iter().filter(|(join, query, _)| is(join, query)).map(|gain| gain.2).fold(0.0, f64::max)
    };
    let mut largest = [
        ("index joins", most(&|join, _| join == "index")),
        ("hash joins", most(&|join, query| join == "hash" && query != SCAN)),
        (SCAN, most(&|_, query| query == SCAN)),
    ];
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    let largest = largest.map(|(name, gain)| format!("{name} {gain:.2}")).join(", ");
    let _ = writeln!(text, "largest gains: {largest}");
    let (Some(least), Some(most)) = (numbers.first(), numbers.last()) else { return };
    for query in measured.queries(device, "index") {
        let over = |number| Some(seconds(query, "index", number)? / seconds(query, "hash", number)?);
        if let (Some(alone), Some(divided)) = (over(*least), over(*most)) {
            let _ = writeln!(
                text,
                "{query}: index joins take {alone:.2} times as long as hash joins in {least}, {divided:.2} times in {most}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVICE: &str = "advice\tsim:a\teffective_io_concurrency=8\n\
        time\tsim:a\tQ1\tdefault\t1\t3000\tp\ntime\tsim:a\tQ2\tdefault\t1\t1000\tp\n\
        time\tsim:a\tQ1\tadvised\t1\t1000\tq\ntime\tsim:a\tQ2\tadvised\t1\t1000\tp\n\
        time\tsim:a\tQ1\tadvised\t1\t2000\tq\ntime\tsim:a\tQ2\tadvised\t1\t1250\tp\n\
        time\tsim:a\tQ1\tdefault\t1\t4000\tp\ntime\tsim:a\tQ2\tdefault\t1\t1000\tp\n\
        time\tsim:a\tQ2\tagain\t1\t1250\tp\ntime\tsim:a\tQ2\tagain\t1\t1000\tp\n\
        lateness\tsim:a\t\nlateness\tsim:b\tp99 is 30%\n";

    #[test]
    fn gains_are_medians_of_the_rounds() {
        let table = advice_table(&Measured::read(ADVICE).unwrap());
        let words = |start: &str| {
            let line =
                table.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{table}"));
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words("Q1"), ["Q1", "3.500", "1.500", "2.50", "2.00", "to", "3.00", "other", "-"]);
        assert_eq!(words("Q2"), ["Q2", "1.000", "1.125", "0.90", "0.80", "to", "1.00", "same", "0.90"]);
        assert_eq!(words("all"), ["all", "4.500", "2.625", "1.71"]);
        for part in [
            "sim:a: effective_io_concurrency=8\n",
            "sim:a: valid",
            "sim:b: NOT VALID: p99 is 30%",
            "advised against default: slowest 0.90, fastest 2.50 times as fast",
            "the defaults again: slowest 0.90, fastest 0.90 times as fast",
        ] {
            assert!(table.contains(part), "{part}\n{table}");
        }
    }

    #[test]
    fn sub_queries_show_gains_and_the_change_of_plans() {
        let row = |query, join, number, ms| format!("time\tsim:a\t{query}\t{join}\t{number}\t{ms}\t-\n");
        let rows = [
            row("Q2.2", "index", 1, 4000),
            row("Q0", "hash", 1, 1400),
            row("Q2.2", "hash", 1, 2000),
            row("Q2.2", "index", 16, 800),
            row("Q0", "hash", 16, 1000),
            row("Q2.2", "hash", 16, 1000),
            "processor\tsim:a\t5.02\n".into(),
        ];
        let table = sub_queries_table(&Measured::read(&rows.concat()).unwrap());
        for part in [
            "largest gains: index joins 5.00, hash joins 2.00, Q0 1.40\n",
            "Q2.2: index joins take 2.00 times as long as hash joins in 1, 0.80 times in 16\n",
            "processor time: 5.0 times that of an unaltered PostgreSQL\n",
        ] {
            assert!(table.contains(part), "{part}\n{table}");
        }
        assert!(!table.contains("Q0:"), "{table}");
    }

    #[test]
    fn rows_that_are_no_measurement_are_refused() {
        for row in ["time\ta\tq\tdefault\t1\t\tp", "time\ta\tq\tdefault\tx\t1\tp", "what"] {
            let error = format!("{:#}", Measured::read(row).unwrap_err());
            assert!(error.contains(&format!("{row:?}")), "{error}");
        }
    }
}
