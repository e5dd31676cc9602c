//! How far a command has come, with a time to go, on standard error where that is a terminal; silence elsewhere.

use flashlane_trace::{Record, Trace};
use indicatif::{ProgressBar, ProgressStyle};
use std::ops::ControlFlow;

/// A line that is rewritten in place and removed at the end.
pub struct Meter {
    bar: ProgressBar,
}

/// Steps of a whole bar.
const STEPS: u64 = 1000;

impl Meter {
    /// A meter that says what is being done.
    pub fn new(what: impl Into<String>) -> Self {
        // Draws nothing where standard error is no terminal.
        let bar = ProgressBar::new(STEPS);
        bar.set_style(style("{msg} {wide_bar} {percent}%, {eta} to go"));
        bar.set_message(what.into());
        Self { bar }
    }

    /// How far it has come, 0 to 1; `None` where nobody knows.
    pub fn set(&self, share: Option<f64>) {
        match share {
            Some(share) => self.bar.set_position((share * STEPS as f64) as u64),
            None => {
                self.bar.set_style(style("{msg} {spinner} {elapsed}"));
                self.bar.tick();
            }
        }
    }

    /// The same, for what can be stopped: says whether to go on, which is no longer so once Ctrl-C was pressed.
    pub fn watch(&self, share: Option<f64>) -> ControlFlow<()> {
        self.set(share);
        if flashlane_host::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Says what is being done now.
    pub fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The requests of a trace, with a meter that says what is done with them and how much of it is read.
pub fn metered(trace: &mut Trace, what: impl Into<String>) -> impl Iterator<Item = Record> {
    /// Requests from one look at how much that is to the next.
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
