//! Progress of a command and its remaining time on standard error: a bar on a terminal, otherwise a line every ten
//! seconds.

use crate::failure::notify;
use crate::terminal::printable;
use flashlane_base::Duration;
use flashlane_host::Ticker;
use flashlane_trace::{Record, Trace};
use indicatif::{ProgressBar, ProgressStyle};
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

/// When the share done last changed. Many measurements report it at the beginning of each of their parts only.
#[derive(Clone, Copy, Debug, Default)]
struct LastChange {
    share: Option<f64>,
    at: Duration,
}

impl LastChange {
    /// Compares the share with that of the last look.
    fn look(&mut self, share: Option<f64>, elapsed: Duration) -> Duration {
        if share != self.share {
            *self = Self { share, at: elapsed };
        }
        self.at
    }
}

/// Steps of a whole bar.
const STEPS: u64 = 1000;
/// Interval between redraws of the bar and checks for a due line.
const TICK: Duration = Duration::from_ms(200);
/// Time of the first line; a shorter command prints none.
const FIRST_LINE: Duration = Duration::from_s(3);
const BETWEEN_LINES: Duration = Duration::from_s(10);
/// Smallest share and time from which the remaining time is estimated: before, what was timed may be no more than the
/// making of a drive and its first requests, which are slower than later ones.
const LEAST_SHARE: f64 = 0.02;
const LEAST_TIME: Duration = Duration::from_s(1);
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
            let (drawn, mut last) = (bar.clone(), LastChange::default());
            let redraw = move |elapsed| {
                let state = locked(&shared).clone();
                draw(&drawn, &state, last.look(state.share, elapsed), elapsed);
            };
            (Some(bar), Ticker::every(TICK, redraw))
        } else {
            let (mut lines, mut last) = (Lines::default(), LastChange::default());
            let print = move |elapsed| {
                let state = locked(&shared).clone();
                let changed = last.look(state.share, elapsed);
                if lines.is_due(elapsed) {
                    notify(&state.line(changed, elapsed));
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
    fn line(&self, changed: Duration, elapsed: Duration) -> String {
        let Self { what, share } = self;
        match share {
            Some(share) => {
                format!("{what}: {:.0}%, {}", (100.0 * share).floor(), to_go(*share, changed, elapsed))
            }
            None => format!("{what}: {} so far", rounded(elapsed.as_s_f64())),
        }
    }
}

/// Formats the remaining time at the average rate until the share last `changed`. A part that takes longer than all
/// that should have been left says that the parts differ, and nothing of what remains.
fn to_go(share: f64, changed: Duration, elapsed: Duration) -> String {
    let left_s = changed.as_s_f64() * (1.0 - share.min(1.0)) / share;
    let since_s = elapsed.saturating_sub(changed).as_s_f64();
    let is_known = share >= LEAST_SHARE && elapsed >= LEAST_TIME && since_s <= left_s.max(1.0);
    match is_known {
        true => format!("about {} to go", rounded((left_s - since_s).max(0.0))),
        false => "the time to go is not known yet".into(),
    }
}

/// Formats a time coarsely: `7 s`, `50 s`, `12 min`, `3.5 h`.
fn rounded(s: f64) -> String {
    if s < 20.0 {
        format!("{s:.0} s")
    } else if s < 100.0 {
        format!("{:.0} s", (s / 5.0).round() * 5.0)
    } else if s < 100.0 * 60.0 {
        format!("{:.0} min", s / 60.0)
    } else {
        format!("{:.1} h", s / 3600.0)
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

fn draw(bar: &ProgressBar, state: &State, changed: Duration, elapsed: Duration) {
    bar.set_message(state.what.clone());
    match state.share {
        Some(share) => {
            bar.set_style(style("{msg} {wide_bar} {percent}%, {prefix}"));
            bar.set_prefix(to_go(share, changed, elapsed));
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
        let line = |share, s| state(share).line(Duration::from_s(s), Duration::from_s(s));
        assert_eq!(line(Some(0.25), 30), "reading a.trace: 25%, about 90 s to go");
        assert_eq!(line(Some(0.999), 30), "reading a.trace: 99%, about 0 s to go");
        assert_eq!(line(Some(0.02), 60), "reading a.trace: 2%, about 49 min to go");
        assert_eq!(line(Some(0.019), 60), "reading a.trace: 1%, the time to go is not known yet");
        assert_eq!(line(Some(0.0), 60), "reading a.trace: 0%, the time to go is not known yet");
        assert_eq!(line(None, 42), "reading a.trace: 40 s so far");
    }

    #[test]
    fn part_that_outlasts_the_estimate_ends_it() {
        // Half was done after 20 s, and nothing is known of the part since.
        let at = |s| to_go(0.5, Duration::from_s(20), Duration::from_s(s));
        assert_eq!([20, 30, 39].map(at), ["about 20 s to go", "about 10 s to go", "about 1 s to go"]);
        for s in [41, 300] {
            assert_eq!(at(s), "the time to go is not known yet");
        }
        let mut last = LastChange::default();
        let seconds = [(0.0, 1), (0.5, 20), (0.5, 25), (0.6, 30), (0.6, 31)];
        let changes = seconds.map(|(share, s)| last.look(Some(share), Duration::from_s(s)).as_s_f64());
        assert_eq!(changes, [1.0, 20.0, 20.0, 30.0, 30.0]);
    }

    #[test]
    fn rounded_picks_a_coarse_unit() {
        let times = [0.4, 7.2, 52.0, 119.0, 3000.0, 12_600.0].map(rounded);
        assert_eq!(times, ["0 s", "7 s", "50 s", "2 min", "50 min", "3.5 h"]);
    }
}
