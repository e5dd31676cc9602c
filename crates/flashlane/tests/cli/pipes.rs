//! Commands that store what comes through a pipe, when Ctrl-C ends them before its end.

use crate::program::{command, done};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// Starts a command, writes more to its standard input than a pipe holds, and sends SIGINT before the end of input,
/// which does not come before the command ends.
fn interrupt(words: &[&str]) {
    let mut child = command(words);
    let mut child =
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Once this is written, the command has read most of it.
    child.stdin.as_mut().unwrap().write_all(&vec![b'x'; 700 << 10]).unwrap();
    // SAFETY: a signal to a process of our own that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let pipe = child.stdin.take();
    let ended = child.wait_with_output().unwrap();
    drop(pipe);
    // What a shell reports as 130.
    assert_eq!(ended.status.signal(), Some(libc::SIGINT), "{words:?}: {ended:?}");
    assert!(ended.stdout.is_empty(), "{words:?}: {ended:?}");
}

#[test]
fn ctrl_c_before_the_end_of_a_pipe_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let lanes = |name, unit| format!("lanes({},channels=4,unit={unit})", dir.path().join(name).display());
    let (flash, store) = (lanes("flash", "1MiB"), lanes("store", "64KiB"));
    done(&["sdf", "format", &flash, "--create", "16MiB"]);
    done(&["store", "create", &store, "--create", "16MiB"]);
    done(&["store", "put", &store, "before", "--value", "1"]);
    for words in [
        &["sdf", "put", &flash, "-"][..],
        &["store", "put", &store, "key", "-"],
        &["store", "put", &store, "before", "-"],
        &["store", "file", "put", &store, "/file", "-"],
    ] {
        interrupt(words);
    }
    assert!(done(&["sdf", "ls", &flash]).starts_with("Verdict: sound by the headers: 0 blocks"));
    assert_eq!(done(&["store", "scan", &store, "--values"]), "before\t1\n");
    assert_eq!(done(&["store", "file", "ls", &store]), "");
    let checked = done(&["store", "file", "fsck", &store]);
    assert!(checked.starts_with("Verdict: sound"), "{checked}");
}
