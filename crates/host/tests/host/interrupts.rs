//! Ctrl-C, tried on a child process: this test's own program, started again for one helper.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

const CHILD: &str = "FLASHLANE_TEST_INTERRUPT_CHILD";

#[test]
fn child_that_waits_for_an_interrupt() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    flashlane_host::catch_interrupts().unwrap();
    flashlane_host::catch_interrupts().unwrap();
    assert!(!flashlane_host::interrupted());
    let say = |word: &str| {
        // Past the test harness, which would keep it.
        let mut out = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/2").unwrap();
        out.write_all(format!("{word}\n").as_bytes()).unwrap();
    };
    say("ready");
    while !flashlane_host::interrupted() {
        std::thread::yield_now();
    }
    say("interrupted");
    loop {
        std::thread::park();
    }
}

#[test]
fn the_first_interrupt_is_told_and_the_second_kills() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "interrupts::child_that_waits_for_an_interrupt", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
        // SAFETY: a signal to a process of our own that has not been waited for.
        let send = || unsafe { libc::kill(child.id() as i32, signal) };
        assert!(lines.any(|line| line == "ready"));
        send();
        assert!(lines.any(|line| line == "interrupted"));
        send();
        drop(lines);
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
    }
}
