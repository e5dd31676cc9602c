//! Typed warnings about the content of a trace, with one text for all commands that read traces.

use crate::fault::{Backward, Refusal, counted};
use crate::summary::Summary;

/// A warning about the content of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// Lines that are not valid requests.
    #[error(
        "{refused} of {} of the trace {} left out; the first is {first}",
        counted(*lines, first.unit, &format!("{}s", first.unit)),
        if *refused == 1 { "is no request and was" } else { "are no requests and were" }
    )]
    LinesRefused {
        /// Number of refused lines.
        refused: u64,
        /// Number of all lines.
        lines: u64,
        /// The first refused line.
        first: Refusal,
    },
    /// Requests after later ones.
    #[error(
        "{}, by {} at most; the first is {unit} {}",
        counted(
            backward.count,
            "request is earlier than one that stands before it",
            "requests are earlier than one that stands before them"
        ),
        backward.longest,
        backward.first_line
    )]
    TimeBackwards {
        /// `line` or `event`.
        unit: &'static str,
        /// Their number and the largest step.
        backward: Backward,
    },
    /// The last line has no end.
    #[error("the last {unit} of the trace has no end: it may have been cut")]
    EndsInsideLine {
        /// `line` or `event`.
        unit: &'static str,
    },
}

impl Doubt {
    /// Returns a short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::LinesRefused { .. } => "lines-refused",
            Self::TimeBackwards { .. } => "time-runs-backwards",
            Self::EndsInsideLine { .. } => "ends-inside-line",
        }
    }
}

impl Summary {
    /// Returns the warnings, the most serious first.
    pub fn doubts(&self) -> impl Iterator<Item = Doubt> {
        let (unit, refused, lines) = (self.format.unit, self.refused, self.lines);
        let first = self.refusals.first().cloned();
        let doubts = [
            first.map(|first| Doubt::LinesRefused { refused, lines, first }),
            self.backward.map(|backward| Doubt::TimeBackwards { unit, backward }),
            self.ends_inside_line.then_some(Doubt::EndsInsideLine { unit }),
        ];
        doubts.into_iter().flatten()
    }
}
