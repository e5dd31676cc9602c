//! Helpers that call the program.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Status and output of a call.
pub struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The program with these arguments, not yet started.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlane"));
    command.args(arguments).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    // Progress lines of slow tests must not appear on standard error.
    command.env("FLASHLANE_PROGRESS", "never");
    command
}

/// Runs the program to its end.
pub fn flashlane(arguments: &[&str]) -> Ended {
    command(arguments).output().expect("the program can be started").into()
}

/// Runs the program, expects status 0 and an empty standard error, and returns standard output.
pub fn done(arguments: &[&str]) -> String {
    let ended = flashlane(arguments);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{arguments:?}\n{}", ended.stdout);
    ended.stdout
}

/// As [`done`], with `--format json`.
pub fn json(arguments: &[&str]) -> Value {
    let text = done(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text).expect("standard output is one JSON value")
}

/// Runs the program, expects this status and an error of one paragraph that contains all `parts`.
pub fn refused(status: i32, arguments: &[&str], parts: &[&str]) -> Ended {
    let ended = flashlane(arguments);
    let Ended { stderr, .. } = &ended;
    assert_eq!(ended.status, status, "{arguments:?}\n{stderr}");
    assert!(stderr.starts_with("flashlane: "), "{arguments:?}\n{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?} lacks '{part}':\n{stderr}");
    }
    for ugly in ["panicked", "RUST_BACKTRACE", "Error {", "Os {"] {
        assert!(!stderr.contains(ugly), "{arguments:?} shows '{ugly}':\n{stderr}");
    }
    ended
}

/// Gives the processor to the program until something has happened that it brings about.
pub fn wait_until(mut happened: impl FnMut() -> bool) {
    while !happened() {
        #[expect(
            clippy::disallowed_methods,
            reason = "no device has a clock here, and a loop would slow the program down"
        )]
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are plain")
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("the program ends by itself"),
            stdout: String::from_utf8(output.stdout).expect("standard output is text"),
            stderr: String::from_utf8(output.stderr).expect("standard error is text"),
        }
    }
}
