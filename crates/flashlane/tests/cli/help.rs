//! Help, completions and man pages.

use crate::program::{done, flashlane, text};
use std::fs;

const COMMANDS: [&str; 12] = [
    "advise",
    "calibrate",
    "probe",
    "run",
    "replay",
    "transactions",
    "store",
    "serve",
    "study",
    "profile",
    "report",
    "trace",
];

#[test]
fn every_command_has_help_with_examples() {
    for command in COMMANDS {
        for help in ["-h", "--help"] {
            let shown = done(&[command, help]);
            assert!(
                shown.contains("Examples:") && shown.contains(&format!("flashlane {command} ")),
                "{shown}"
            );
        }
    }
    let shown = done(&["--help"]);
    assert!(COMMANDS.iter().all(|command| shown.contains(command)), "{shown}");
    assert!(shown.contains("Exit status"));
    assert!(!shown.contains("completions"), "what few need is hidden");
}

#[test]
fn missing_arguments_show_help() {
    for arguments in
        [&[][..], &["profile"], &["probe"], &["run"], &["replay"], &["report"], &["trace"], &["calibrate"]]
    {
        let ended = flashlane(arguments);
        assert_eq!(ended.status, 2, "{arguments:?}");
        assert!(ended.stderr.contains("Usage: flashlane"), "{arguments:?}\n{}", ended.stderr);
    }
}

#[test]
fn completions_and_man_pages_are_written() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(done(&["completions", shell]).contains("destroy-data"), "{shell}");
    }
    let dir = tempfile::tempdir().unwrap();
    done(&["man", text(&dir.path().join("man1"))]);
    let page = fs::read_to_string(dir.path().join("man1/flashlane-run.1")).unwrap();
    assert!(page.contains("WORKLOAD"));
}
