//! Tests Ctrl-C on a child process: the test program itself, restarted for one helper.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

const LAST_WORDS: &str = "ended before it was done";

const CHILD: &str = "FLASHLANE_TEST_INTERRUPT_CHILD";

#[test]
fn child_that_waits_for_an_interrupt() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    flashlane_host::catch_interrupts(LAST_WORDS).unwrap();
    flashlane_host::catch_interrupts(LAST_WORDS).unwrap();
    assert!(!flashlane_host::interrupted());
    let say = |word: &str| {
        // Write past the test harness, which would capture the output.
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

/// The test program, restarted for one helper, which a variable turns on.
fn child(helper: &str, variable: &str, value: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("interrupts::{helper}"), "--nocapture"])
        .env(variable, value)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    // The tests may run under `nohup` themselves.
    // SAFETY: `signal` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            Ok(())
        })
    };
    command
}

#[test]
fn first_interrupt_is_reported_and_second_one_kills() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut command = child("child_that_waits_for_an_interrupt", CHILD, "1");
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
        // SAFETY: a signal to a child that has not been waited for.
        let send = |signal| unsafe { libc::kill(child.id() as i32, signal) };
        assert!(lines.any(|line| line == "ready"));
        send(signal);
        assert!(lines.any(|line| line == "interrupted"));
        send(signal);
        // A terminal that closes may send two hangups.
        let last = if signal == libc::SIGHUP { libc::SIGTERM } else { signal };
        send(last);
        drop(lines);
        assert_eq!(child.wait().unwrap().signal(), Some(last));
    }
}

#[test]
fn ignored_hangup_stays_ignored() {
    let test = std::env::current_exe().unwrap();
    // Ignore it as `nohup` does.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(test)
        .args(["--exact", "interrupts::child_that_waits_for_an_interrupt", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line == "ready"));
    // SAFETY: a signal to a child that has not been waited for.
    let send = |signal| unsafe { libc::kill(child.id() as i32, signal) };
    // Two would kill if they were not ignored.
    send(libc::SIGHUP);
    send(libc::SIGHUP);
    send(libc::SIGTERM);
    assert!(lines.any(|line| line == "interrupted"));
    send(libc::SIGTERM);
    drop(lines);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}

const CREATING_CHILD: &str = "FLASHLANE_TEST_CREATING_CHILD";

#[test]
fn child_that_creates_a_file() {
    let Some(path) = std::env::var_os(CREATING_CHILD) else { return };
    flashlane_host::catch_interrupts(LAST_WORDS).unwrap();
    let mut out = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/2").unwrap();
    out.write_all(b"ready\n").unwrap();
    let created = flashlane_host::create(path.as_ref(), 4 << 20, |_| {
        while !flashlane_host::interrupted() {
            std::thread::yield_now();
        }
        out.write_all(b"interrupted\n").unwrap();
        loop {
            std::thread::park();
        }
    });
    panic!("{created:?}");
}

#[test]
fn second_interrupt_names_the_file_that_it_leaves_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let mut child =
        child("child_that_creates_a_file", CREATING_CHILD, path.to_str().unwrap()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    // SAFETY: a signal to a child that has not been waited for.
    let send = |signal| unsafe { libc::kill(child.id() as i32, signal) };
    for word in ["ready", "interrupted"] {
        assert!(lines.any(|line| line == word));
        send(libc::SIGINT);
    }
    let named = format!("'{}' is left unfinished: remove it", path.display());
    assert!(lines.any(|line| line == named));
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    assert!(path.exists());
}

const UNREAD_CHILD: &str = "FLASHLANE_TEST_UNREAD_CHILD";

#[test]
fn child_whose_result_nobody_reads() {
    if std::env::var_os(UNREAD_CHILD).is_none() {
        return;
    }
    flashlane_host::catch_interrupts(LAST_WORDS).unwrap();
    let open = |path| std::fs::OpenOptions::new().write(true).open(path).unwrap();
    open("/proc/self/fd/2").write_all(b"ready\n").unwrap();
    while !flashlane_host::interrupted() {
        std::thread::yield_now();
    }
    // More than a pipe holds.
    open("/proc/self/fd/1").write_all(&vec![b'x'; 4 << 20]).unwrap();
}

#[test]
fn interrupt_ends_a_program_whose_result_nobody_reads() {
    for signals in [[libc::SIGINT].as_slice(), &[libc::SIGHUP, libc::SIGHUP]] {
        let mut command = child("child_whose_result_nobody_reads", UNREAD_CHILD, "1");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
        assert!(lines.any(|line| line == "ready"));
        for &signal in signals {
            // SAFETY: a signal to a child that has not been waited for.
            unsafe { libc::kill(child.id() as i32, signal) };
        }
        assert_eq!(child.wait().unwrap().signal(), Some(signals[0]));
    }
}

const DEAF_CHILD: &str = "FLASHLANE_TEST_DEAF_CHILD";

#[test]
fn child_that_asks_for_no_interrupt() {
    let Some(mode) = std::env::var_os(DEAF_CHILD) else { return };
    flashlane_host::catch_interrupts(LAST_WORDS).unwrap();
    let mut out = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/2").unwrap();
    if mode == "whole" {
        let whole = flashlane_host::Uninterruptible::begin();
        out.write_all(b"ready\n").unwrap();
        // Wait until the test has sent its signal.
        std::io::stdin().read_line(&mut String::new()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(500));
        out.write_all(b"finished\n").unwrap();
        drop(whole);
    } else if mode == "stopped" {
        out.write_all(b"ready\n").unwrap();
        std::io::stdin().read_line(&mut String::new()).unwrap();
        // Give the program time to notice the signal after it continues.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(flashlane_host::interrupted());
        return;
    } else {
        out.write_all(b"ready\n").unwrap();
    }
    loop {
        std::thread::park();
    }
}

#[test]
fn one_interrupt_ends_a_program_that_does_not_ask() {
    for mode in ["deaf", "whole"] {
        let mut command = child("child_that_asks_for_no_interrupt", DEAF_CHILD, mode);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
        assert!(lines.any(|line| line == "ready"));
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        child.stdin.take().unwrap().write_all(b"sent\n").unwrap();
        // The uninterruptible step finishes first.
        let said: Vec<String> = lines.collect();
        let expected = if mode == "whole" { &["finished", LAST_WORDS][..] } else { &[LAST_WORDS] };
        assert_eq!(said, expected, "{mode}");
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    }
}

#[test]
fn time_while_stopped_does_not_count() {
    let mut command = child("child_that_asks_for_no_interrupt", DEAF_CHILD, "stopped");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line == "ready"));
    // SAFETY: a signal to a child that has not been waited for.
    let send = |signal| unsafe { libc::kill(child.id() as i32, signal) };
    send(libc::SIGINT);
    send(libc::SIGSTOP);
    // Sleep longer than the waiting grace.
    std::thread::sleep(std::time::Duration::from_secs(1));
    send(libc::SIGCONT);
    child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert!(child.wait().unwrap().success());
}
