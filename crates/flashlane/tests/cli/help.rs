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
    let man = dir.path().join("man1");
    done(&["man", text(&man)]);
    let page = man.join("flashlane-run.1");
    let whole = fs::read_to_string(&page).unwrap();
    assert!(whole.contains("WORKLOAD"));
    // What has the name of a page may be the user's.
    fs::write(&page, "my notes").unwrap();
    let ended = flashlane(&["man", text(&man)]);
    assert_eq!(ended.status, 2);
    assert!(ended.stderr.contains("--force replaces it"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(&page).unwrap(), "my notes");
    done(&["man", text(&man), "--force"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), whole);
    let own = dir.path().join("own");
    for target in ["my notes", ""] {
        fs::remove_file(&page).unwrap();
        if !target.is_empty() {
            fs::write(&own, target).unwrap();
        }
        std::os::unix::fs::symlink(&own, &page).unwrap();
        assert_eq!(flashlane(&["man", text(&man), "--force"]).status, 2);
        assert_eq!(fs::read_to_string(&own).unwrap_or_default(), target);
        let _ = fs::remove_file(&own);
    }
}

#[test]
fn help_that_cannot_be_printed_fails() {
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_flashlane"))
            .args(arguments)
            .stdout(full)
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(1), "{arguments:?}");
    }
}
