//! Converts a run to its result, `flashlane.transactions/1`.

use crate::{Restart, Run, Survey};
use flashlane_base::Histogram;
use flashlane_measure::figures::bins;
use flashlane_measure::rate::per_second;
use flashlane_measure::schema::{device_row, operations};
use flashlane_measure::statistics::Slice;
use flashlane_result::run::ConfidenceRow;
use flashlane_result::transactions::{
    RecordingRow, RestartRow, TRANSACTIONS_SCHEMA, TransactionKindRow, TransactionsOverTimeRow,
    TransactionsResult, TransactionsSliceRow,
};
use flashlane_result::{Axis, Figure, Series, Warning};

/// The share of the slowest transactions whose mean is given.
const WORST: f64 = 0.01;

impl Run {
    /// Converts the result. `name` and `survey` are those of the recording.
    pub fn result(&self, name: &str, survey: &Survey) -> TransactionsResult {
        let over_time =
            TransactionsOverTimeRow { slice_s: self.over_time.width().as_s_f64(), slices: slices(self) };
        let requests: Vec<_> =
            self.requests.iter().map(|(operation, latencies)| (operation.to_string(), latencies)).collect();
        let by_name = requests.iter().map(|(name, latencies)| (name.as_str(), *latencies));
        let restarts = |reason: Restart| self.restarts[reason as usize];
        TransactionsResult {
            schema: TRANSACTIONS_SCHEMA.into(),
            device: device_row(&self.info, &self.counters),
            recording: Some(self.recording_row(name, survey)),
            clients: self.setup.clients,
            pace: self.setup.pace.name().into(),
            speed: self.setup.pace.speed(),
            pool_pages: self.setup.pool_pages,
            page_bytes: self.header.page_bytes,
            buffer: self.setup.buffer_text(),
            readahead_bytes: self.setup.readahead_bytes,
            processors: self.setup.processors,
            cpu_factor: self.setup.cpu_factor,
            lock_wait_ns: self.setup.lock_wait.as_ns(),
            warmup: self.setup.warmup,
            seed: self.setup.seed.0,
            transactions: self.transactions,
            elapsed_s: self.elapsed.as_s_f64(),
            transactions_per_s: self.transactions_per_s(),
            response_ns: self.responses.latency(),
            worst_percent_ns: (!self.responses.is_empty()).then(|| self.responses.mean_of_longest_ns(WORST)),
            confidence: self.confidence.map(ConfidenceRow::from),
            kinds: self.kinds.iter().map(|(kind, responses)| self.kind_row(kind, responses)).collect(),
            restarts: RestartRow {
                all: self.restarts.iter().sum(),
                deadlock: restarts(Restart::Deadlock),
                lock_wait: restarts(Restart::LockWait),
            },
            late: self.late,
            longest_delay_ns: self.longest_delay.as_ns(),
            lock_waits: self.lock_waits,
            accesses: self.accesses,
            hit_share: self.hit_share(),
            operations: operations(by_name, self.elapsed),
            waited: self.waited,
            harness_ns_per_request: None,
            warnings: self.doubts().iter().map(Warning::from).collect(),
            partial: self.partial.as_ref().map(ToString::to_string),
            figures: figures(self, &over_time),
            over_time,
            machine: None,
        }
    }

    fn recording_row(&self, name: &str, survey: &Survey) -> RecordingRow {
        let (header, totals) = (&self.header, survey.totals);
        RecordingRow {
            name: name.into(),
            source: header.source.clone(),
            database_bytes: header.bytes(),
            relations: header.relations.len() as u64,
            clients: header.clients.into(),
            transactions: totals.transactions,
            accesses: totals.accesses,
            write_share: (totals.accesses > 0).then(|| survey.writes as f64 / totals.accesses as f64),
            cpu_s: survey.cpu_s,
            aborted: totals.left_out.aborted,
            cut: totals.left_out.cut,
            passes: self.passes,
        }
    }

    fn kind_row(&self, kind: &str, responses: &Histogram) -> TransactionKindRow {
        TransactionKindRow {
            kind: kind.into(),
            transactions: responses.len(),
            transactions_per_s: per_second(responses.len(), self.elapsed),
            response_ns: responses.latency(),
        }
    }
}

fn slices(run: &Run) -> Vec<TransactionsSliceRow> {
    let (width, all) = (run.over_time.width(), run.over_time.slices());
    // The last of several slices is only partly filled; a rate over that part would be a spike.
    let lasts = if all.len() == 1 { run.elapsed } else { width };
    let row = |(slice, at): (&Slice, u64)| {
        let latency = slice.latencies.as_ref().map(|latencies| latencies.latency());
        let transactions = slice.latencies.as_ref().map_or(0, |latencies| latencies.len());
        TransactionsSliceRow {
            from_s: (width * at).as_s_f64(),
            transactions,
            transactions_per_s: per_second(transactions, lasts),
            mean_ns: latency.map(|latency| latency.mean),
            p99_ns: latency.map(|latency| latency.p99),
            max_ns: latency.map(|latency| latency.max),
        }
    };
    all.iter().zip(0..).map(row).collect()
}

/// Returns the figures of a result; empty without measured transactions.
fn figures(run: &Run, over_time: &TransactionsOverTimeRow) -> Vec<Figure> {
    if run.transactions == 0 {
        return Vec::new();
    }
    let middle = over_time.slice_s / 2.0;
    let curve = |name: &str, value: &dyn Fn(&TransactionsSliceRow) -> Option<f64>| {
        let point = |slice: &TransactionsSliceRow| Some((slice.from_s + middle, value(slice)?));
        Series {
            name: name.into(),
            points: over_time.slices.iter().filter_map(point).collect(),
            ..Series::default()
        }
    };
    let in_us = |ns: Option<f64>| ns.map(|ns| ns.max(1.0) / 1e3);
    let by_kind = run.kinds.iter().map(|(kind, responses)| Series {
        name: kind.clone(),
        points: bins(responses, run.transactions),
        ..Series::default()
    });
    vec![
        Figure {
            id: "throughput-over-time".into(),
            title: "Throughput over time".into(),
            x: Axis::linear("time", "s"),
            y: Axis::linear("transactions a second", ""),
            series: vec![curve("throughput", &|slice| Some(slice.transactions_per_s))],
            marks: Vec::new(),
            caption: format!("Transactions that committed within each {}.", run.over_time.width()),
        },
        Figure {
            id: "response-over-time".into(),
            title: "Response time over time".into(),
            x: Axis::linear("time", "s"),
            y: Axis::log("response time", "us"),
            series: vec![
                curve("longest", &|slice| in_us(slice.max_ns)),
                curve("p99", &|slice| in_us(slice.p99_ns)),
                curve("mean", &|slice| in_us(slice.mean_ns)),
            ],
            marks: Vec::new(),
            caption: format!("Of the transactions that committed within each {}.", run.over_time.width()),
        },
        Figure {
            id: "response-distribution".into(),
            title: "Distribution of response times".into(),
            x: Axis::log("response time", "us"),
            y: Axis::linear("transactions", "%"),
            series: by_kind.collect(),
            marks: Vec::new(),
            caption: format!("{} transactions.", run.transactions),
        },
    ]
}
