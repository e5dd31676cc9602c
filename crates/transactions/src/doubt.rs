//! Doubts about a result.

use crate::{Partial, Run};
use flashlane_base::{BEYOND, Duration, requests_needed};
use flashlane_measure::{Doubt as Measured, Load, about_flash};
use flashlane_result::Warning;

/// A warning about a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// The run ended early.
    #[error("the result is partial: {0}")]
    Partial(Partial),
    /// One about any measurement.
    #[error(transparent)]
    Measured(#[from] Measured),
    /// Too few transactions for the tail percentiles.
    #[error(
        "only {transactions} transactions were measured: p99 needs at least {needed}, of which {BEYOND} lie \
         beyond it"
    )]
    TooFewTransactions {
        /// Transactions measured.
        transactions: u64,
        /// Transactions needed.
        needed: u64,
    },
    /// The recording was begun again at its end.
    #[error(
        "the recording was run {passes} times over: later passes access the same pages in the same order, so that a pool \
         knows more of them than a database's would"
    )]
    Repeated {
        /// How often it was begun.
        passes: u64,
    },
    /// The pool had free frames when measuring began.
    #[error(
        "the pool was not full when measuring began: {free} of its {pages} pages were free, so that the first misses \
         replaced none; run more transactions before (--warmup)"
    )]
    PoolNotFull {
        /// Free frames.
        free: u32,
        /// Frames.
        pages: u32,
    },
    /// Transactions came faster than they were run.
    #[error(
        "{late} of {transactions} transactions began after their recorded time, one of them by {longest_delay}: no client \
         was free, because the device is slower than the one that was recorded; response times include that wait, which \
         grows with the length of the run: use more --clients, a lower --speed, or --pace closed"
    )]
    BehindRecording {
        /// Transactions that began late.
        late: u64,
        /// Transactions measured.
        transactions: u64,
        /// The longest delay.
        longest_delay: Duration,
    },
    /// Most work was thrown away.
    #[error(
        "{restarts} restarts for {transactions} transactions: most of the work was done for transactions that began anew"
    )]
    MostlyRestarts {
        /// Restarts.
        restarts: u64,
        /// Transactions measured.
        transactions: u64,
    },
}

impl Doubt {
    /// Returns a short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Partial(_) => "partial",
            Self::Measured(doubt) => doubt.code(),
            Self::TooFewTransactions { .. } => "too-few-transactions",
            Self::Repeated { .. } => "recording-repeated",
            Self::PoolNotFull { .. } => "pool-not-full",
            Self::BehindRecording { .. } => "behind-recording",
            Self::MostlyRestarts { .. } => "mostly-restarts",
        }
    }
}

impl From<&Doubt> for Warning {
    fn from(doubt: &Doubt) -> Self {
        Self::new(doubt.code(), doubt.to_string())
    }
}

/// Relative half width from which an interval is reported as wide.
const WIDE: f64 = 0.05;

impl Run {
    /// Returns the doubts about the result, gravest first.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut doubts: Vec<Doubt> = self.partial.clone().map(Doubt::Partial).into_iter().collect();
        if self.failed > 0 {
            doubts.push(Measured::Failed { requests: self.failed }.into());
        }
        let (transactions, needed) = (self.transactions, requests_needed(0.99));
        let (late, longest_delay) = (self.late, self.longest_delay);
        if late > transactions / 2 {
            doubts.push(Doubt::BehindRecording { late, transactions, longest_delay });
        }
        if transactions < needed {
            doubts.push(Doubt::TooFewTransactions { transactions, needed });
        }
        let restarts = self.restarts.iter().sum();
        if restarts > transactions {
            doubts.push(Doubt::MostlyRestarts { restarts, transactions });
        }
        let pages = self.setup.pool_pages;
        if self.free_at_begin > 0 && pages < self.header.pages {
            doubts.push(Doubt::PoolNotFull { free: self.free_at_begin, pages });
        }
        if self.passes > 1 {
            doubts.push(Doubt::Repeated { passes: self.passes });
        }
        if let Some(relative) =
            self.confidence.map(|confidence| confidence.relative()).filter(|share| *share > WIDE)
        {
            doubts.push(Measured::WideInterval { relative }.into());
        }
        if self.waited > 0 {
            doubts.push(Measured::DeviceFull { waited: self.waited, depth: self.info.depth }.into());
        }
        doubts
            .extend(about_flash(&self.info, &self.counters, Load::Recorded).into_iter().map(Doubt::Measured));
        doubts
    }
}
