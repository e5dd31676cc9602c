//! Progress of a command and its remaining time on standard error: a bar on a terminal, otherwise a line every ten
//! seconds.

mod pace;

use crate::failure::notify;
use crate::terminal::printable;
use flashlane_base::Duration;
use flashlane_host::Ticker;
use flashlane_trace::{Record, Trace};
use indicatif::{ProgressBar, ProgressStyle};
use pace::{Pace, ToGo, rounded_time};
use std::io::{IsTerminal, stderr};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Receives the share of a measurement that is done, if known; breaking ends the measurement.
pub type ShareWatch<'a> = &'a mut dyn FnMut(Option<f64>) -> ControlFlow<()>;

/// Shows the current activity and its progress until dropped.
pub struct Meter {
    state: Arc<Mutex<State>>,
    bar: Option<ProgressBar>,
    /// Redraws the state, even while the command reports nothing.
    ticker: Option<Ticker>,
}

/// The last report.
#[derive(Clone, Debug, Default)]
struct State {
    what: String,
    /// The share done, 0 to 1, where it is known.
    share: Option<f64>,
}

/// Steps of a whole bar.
const STEPS: u64 = 1000;
/// Interval between redraws of the bar and checks for a due line.
const TICK: Duration = Duration::from_ms(200);
/// Time of the first line; a shorter command prints none.
const FIRST_LINE: Duration = Duration::from_s(3);
const BETWEEN_LINES: Duration = Duration::from_s(10);
/// Environment variable and value that turn progress off.
const VARIABLE: (&str, &str) = ("FLASHLANE_PROGRESS", "never");

impl Meter {
    /// Starts a meter for the activity `what`.
    pub fn new(what: impl Into<String>) -> Self {
        let state = Arc::new(Mutex::new(State { what: printable(&what.into()).into_owned(), share: None }));
        if std::env::var_os(VARIABLE.0).is_some_and(|value| value == VARIABLE.1) {
            return Self { state, bar: None, ticker: None };
        }
        let shared = Arc::clone(&state);
        let (bar, ticker) = if stderr().is_terminal() {
            let bar = ProgressBar::new(STEPS);
            let (drawn, mut pace) = (bar.clone(), Pace::default());
            let redraw = move |elapsed| {
                let state = locked(&shared).clone();
                pace.look(state.share, elapsed);
                draw(&drawn, &state, pace.to_go(elapsed));
            };
            (Some(bar), Ticker::every(TICK, redraw))
        } else {
            let (mut lines, mut pace) = (Lines::default(), Pace::default());
            let print = move |elapsed| {
                let state = locked(&shared).clone();
                pace.look(state.share, elapsed);
                if lines.is_due(elapsed) {
                    notify(&state.line(pace.to_go(elapsed), elapsed));
                }
            };
            (None, Ticker::every(TICK, print))
        };
        Self { state, bar, ticker: Some(ticker) }
    }

    /// Sets the share done, 0 to 1; `None` if unknown.
    pub fn set(&self, share: Option<f64>) {
        locked(&self.state).share = share;
    }

    /// Sets the share done, and breaks after Ctrl-C.
    pub fn watch(&self, share: Option<f64>) -> ControlFlow<()> {
        self.set(share);
        if flashlane_host::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Sets the current activity.
    pub fn say(&self, what: impl Into<String>) {
        locked(&self.state).what = printable(&what.into()).into_owned();
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // First, so that no redraw overwrites later output.
        self.ticker = None;
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// `reading a.trace: 34%, about 50 s to go`.
    fn line(&self, to_go: ToGo, elapsed: Duration) -> String {
        let Self { what, share } = self;
        match share {
            Some(share) => {
                format!("{what}: {:.0}%, {to_go}", (100.0 * share).floor())
            }
            None => format!("{what}: {} so far", rounded_time(elapsed.as_s_f64())),
        }
    }
}

/// Schedule of progress lines.
#[derive(Debug)]
struct Lines {
    next: Duration,
}

impl Default for Lines {
    fn default() -> Self {
        Self { next: FIRST_LINE }
    }
}

impl Lines {
    /// Returns whether a line is due after this time, and if so schedules the next one an interval later.
    fn is_due(&mut self, elapsed: Duration) -> bool {
        let is_due = elapsed >= self.next;
        if is_due {
            self.next = elapsed + BETWEEN_LINES;
        }
        is_due
    }
}

fn draw(bar: &ProgressBar, state: &State, to_go: ToGo) {
    bar.set_message(state.what.clone());
    match state.share {
        Some(share) => {
            bar.set_style(style("{msg} {wide_bar} {percent}%, {prefix}"));
            bar.set_prefix(to_go.to_string());
            bar.set_position((share * STEPS as f64) as u64);
        }
        None => {
            bar.set_style(style("{msg} {spinner} {elapsed}"));
            bar.tick();
        }
    }
}

/// Iterates over the requests of a trace, with a meter for `what` that shows the share read.
pub fn metered(trace: &mut Trace, what: impl Into<String>) -> impl Iterator<Item = Record> {
    /// Requests between two updates of the meter.
    const STEP: u64 = 1024;
    let (meter, progress) = (Meter::new(what), trace.progress());
    trace.zip(1_u64..).map(move |(record, count)| {
        if count.is_multiple_of(STEP) {
            meter.set(progress.share());
        }
        record
    })
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well-formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_due_after_3_s_and_then_every_10_s() {
        let mut lines = Lines::default();
        let due: Vec<u64> = (0..60).filter(|&s| lines.is_due(Duration::from_s(s))).collect();
        assert_eq!(due, [3, 13, 23, 33, 43, 53]);
        // After a long gap, as when the computer slept, one line is due.
        assert!(lines.is_due(Duration::from_s(1000)) && !lines.is_due(Duration::from_s(1009)));
    }

    #[test]
    fn line_shows_activity_share_and_remaining_time() {
        let state = |share| State { what: "reading a.trace".into(), share };
        let line = |share, to_go| state(share).line(to_go, Duration::from_s(42));
        assert_eq!(line(Some(0.25), ToGo::About { s: 90.0 }), "reading a.trace: 25%, about 90 s to go");
        assert_eq!(line(Some(0.999), ToGo::Unknown), "reading a.trace: 99%, the time to go is not known yet");
        assert_eq!(line(None, ToGo::Unknown), "reading a.trace: 40 s so far");
    }
}
