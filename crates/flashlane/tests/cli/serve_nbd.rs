//! `serve nbd`: clients of NBD as they are installed, signals, and refusals. Tests that need a client say on standard
//! error that they were skipped where it is missing.

use crate::program::{command, json, refused, text};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A simulated drive that is quick to make, with room for what the tests write.
const DRIVE: &str = "sim:ssd-s,capacity=64MiB";

struct Serving {
    dir: tempfile::TempDir,
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Serving {
    /// Serves a device on a Unix socket, and waits until it can be reached.
    fn new(device: &str, arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let own = ["serve", "nbd", device, "--socket", text(&socket)];
        let mut child = command(&[&own, arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        if !line.starts_with("serving ") {
            let output = child.wait_with_output().unwrap();
            panic!("'{line}': {}", String::from_utf8_lossy(&output.stderr));
        }
        Self { dir, child, output }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", text(&self.socket()))
    }

    /// Ends the server with a signal, and returns the rest of its output.
    fn end(mut self, signal: &str) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{rest}");
        assert!(!self.socket().exists(), "the socket is removed");
        rest
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether a program is installed; where it is not, says that the test is skipped.
fn has(program: &str, package: &str) -> bool {
    let is_there =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("skipped: {program} is not installed (Debian: {package})");
    }
    is_there
}

/// Runs a client that has to succeed, and returns its standard output.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {out}{err}");
    out.into_owned()
}

/// 4 MiB of which every sector differs, with a hole in the middle.
fn image(dir: &Path) -> PathBuf {
    let path = dir.join("image");
    let mut bytes: Vec<u8> = (0..4 << 20).map(|nth: u32| (nth / 512 + nth) as u8).collect();
    bytes[1 << 20..2 << 20].fill(0);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn nbdinfo_and_nbdcopy_see_the_drive() {
    if !has("nbdinfo", "libnbd-bin") || !has("nbdcopy", "libnbd-bin") {
        return;
    }
    let serving = Serving::new(DRIVE, &[]);
    let uri = serving.uri();
    let info = run("nbdinfo", &[&uri]);
    for part in ["export-size: 67108864", "can_multi_conn: true", "can_fua: true", "base:allocation", DRIVE] {
        assert!(info.contains(part), "{part}: {info}");
    }
    assert!(run("nbdinfo", &["--list", &uri]).contains("export=\"drive\""));
    assert!(run("nbdinfo", &["--map", &uri]).contains("hole,zero"));
    let image = image(serving.dir.path());
    // Four connections, which the flush of one has to cover.
    run("nbdcopy", &["--connections=4", "--flush", text(&image), &uri]);
    let back = serving.dir.path().join("back");
    run("nbdcopy", &["--connections=4", &uri, text(&back)]);
    let (written, read) = (std::fs::read(&image).unwrap(), std::fs::read(&back).unwrap());
    assert_eq!(read.len(), 64 << 20);
    assert!(read.starts_with(&written) && read[written.len()..].iter().all(|&byte| byte == 0));
    let summary = serving.end("-INT");
    assert!(summary.contains("served ") && summary.contains("  writes: "), "{summary}");
}

#[test]
fn qemu_converts_compares_and_writes_unaligned() {
    if !has("qemu-img", "qemu-utils") || !has("qemu-io", "qemu-utils") {
        return;
    }
    let serving = Serving::new("sim:ssd-s,capacity=4MiB,sector=4KiB", &[]);
    let (uri, image) = (serving.uri(), image(serving.dir.path()));
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", text(&image), &uri]);
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", text(&image), &uri]);
    let steps =
        ["write -P 9 100 1000", "read -P 9 100 1000", "discard 4096 65536", "write -z 1M 64k", "flush"];
    let steps: Vec<&str> = steps.iter().flat_map(|step| ["-c", step]).collect();
    let said = run("qemu-io", &[&["-f", "raw"], &steps[..], &[&uri]].concat());
    assert!(!said.contains("failed") && !said.contains("error"), "{said}");
    let map = run("qemu-img", &["map", "-f", "raw", "--output=json", &uri]);
    assert!(map.contains("\"zero\": true"), "{map}");
}

#[test]
fn recorded_trace_has_each_request() {
    if !has("qemu-io", "qemu-utils") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("asked.alibaba");
    let serving = Serving::new(DRIVE, &["--slowdown", "50", "--record", text(&trace)]);
    let steps = ["write -P 1 0 8k", "read 4k 512", "write -z -u 64k 64k", "flush"];
    let steps: Vec<&str> = steps.iter().flat_map(|step| ["-c", step]).collect();
    run("qemu-io", &[&["-f", "raw"], &steps[..], &[&serving.uri()]].concat());
    let summary = serving.end("-INT");
    assert!(summary.contains("asked.alibaba: "), "{summary}");
    let info = json(&["trace", "info", text(&trace)]);
    let operations = &info["operations"];
    assert_eq!(operations["write"]["transferred_bytes"], 8192, "{info}");
    assert_eq!(operations["read"]["longest_bytes"], 512, "{info}");
    assert_eq!(info["backward"].as_u64().unwrap_or(0), 0, "{info}");
    let socket = dir.path().join("socket");
    let serve = ["serve", "nbd", DRIVE, "--socket", text(&socket)];
    let out = dir.path().join("new/result");
    let recorded = ["--record", text(&trace), "--out", text(&out)];
    refused(2, &[&serve[..], &recorded].concat(), &["asked.alibaba", "--force"]);
    assert!(!dir.path().join("new").exists(), "a refused command leaves no directory");
    let image = image(dir.path());
    let held = std::fs::read(&image).unwrap();
    let forced = [&serve[..], &["--record", text(&image), "--to", "spc", "--force"]].concat();
    refused(2, &forced, &["image' is not overwritten", "does not hold a trace"]);
    assert_eq!(std::fs::read(&image).unwrap(), held);
    refused(2, &[&serve[..], &["--record", "-"]].concat(), &["--record -", "give it a file"]);
}

/// A file that comes to the name of a recording is kept, and so is the recording.
#[test]
fn recording_whose_name_was_taken_is_kept_beside() {
    if !has("qemu-io", "qemu-utils") {
        return;
    }
    for force in [&[][..], &["--force"]] {
        let dir = tempfile::tempdir().unwrap();
        let trace = dir.path().join("asked.alibaba.gz");
        let serving = Serving::new(DRIVE, &[&["--slowdown", "50", "--record", text(&trace)], force].concat());
        run("qemu-io", &["-f", "raw", "-c", "write -P 1 0 8k", &serving.uri()]);
        std::fs::write(&trace, "notes").unwrap();
        let summary = serving.end("-INT");
        assert!(summary.contains("asked-1.alibaba.gz"), "{summary}");
        assert_eq!(std::fs::read(&trace).unwrap(), b"notes");
        let info = json(&["trace", "info", text(&dir.path().join("asked-1.alibaba.gz"))]);
        assert_eq!(info["operations"]["write"]["transferred_bytes"], 8192, "{info}");
    }
}

#[test]
fn fio_verifies_over_several_connections() {
    let engines = Command::new("fio").arg("--enghelp").output();
    if !engines.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("nbd")) {
        eprintln!("skipped: fio with the engine nbd is not installed (Debian: fio)");
        return;
    }
    let serving = Serving::new(DRIVE, &["--slowdown", "2"]);
    let uri = format!("--uri={}", serving.uri());
    let folder = format!("--directory={}", text(serving.dir.path()));
    run(
        "fio",
        &[
            "--name=verified",
            "--ioengine=nbd",
            &uri,
            "--rw=randwrite",
            "--bs=512-16k",
            "--size=2m",
            "--iodepth=16",
            "--verify=crc32c",
            "--do_verify=1",
            "--numjobs=2",
            "--offset_increment=32m",
            "--fsync=50",
            "--verify_state_save=0",
            &folder,
        ],
    );
    let summary = serving.end("-TERM");
    assert!(summary.contains("times are 2 times those of the drive"), "{summary}");
    assert!(summary.contains(" on average, nothing for "), "{summary}");
    assert!(summary.contains("  lateness: mean ") && !summary.contains("failed"), "{summary}");
}

#[test]
fn file_keeps_what_was_flushed_after_kill_9() {
    if !has("qemu-io", "qemu-utils") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, vec![0; 1 << 20]).unwrap();
    let serving = Serving::new(text(&file), &["--destroy-data", "--allow-page-cache"]);
    run("qemu-io", &["-f", "raw", "-c", "write -P 7 700 5000", "-c", "flush", &serving.uri()]);
    drop(serving);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes[700..5700].iter().all(|&byte| byte == 7) && bytes[..700].iter().all(|&byte| byte == 0));
    let serving = Serving::new(text(&file), &["--read-only", "--allow-page-cache"]);
    run("qemu-io", &["-f", "raw", "-r", "-c", "read -P 7 700 5000", &serving.uri()]);
    let denied = Command::new("qemu-io").args(["-f", "raw", "-c", "write 0 512", &serving.uri()]).output();
    assert!(!denied.unwrap().status.success(), "the export is read-only");
}

#[test]
fn hostile_clients_leave_the_server_to_others() {
    let serving = Serving::new(DRIVE, &["--clients", "3", "--listen", "127.0.0.1:0"]);
    let connect = || {
        let mut stream = UnixStream::connect(serving.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).map(|()| stream)
    };
    // One sends nothing that is NBD, one vanishes within a write, one does not take its replies.
    let mut wrong = connect().unwrap();
    wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(wrong.read(&mut [0; 1]).unwrap(), 0, "it is disconnected");
    let hello = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 1, 0, 0, 0, 0]].concat();
    let request = |command: u8, length: u32| {
        let mut bytes = vec![0x25, 0x60, 0x95, 0x13, 0, 0, 0, command];
        bytes.extend([0; 16]);
        bytes.extend(length.to_be_bytes());
        bytes
    };
    let mut vanishing = connect().unwrap();
    vanishing.write_all(&[&hello[..], &request(1, 1 << 20), &[1; 1000]].concat()).unwrap();
    let mut deaf = connect().unwrap();
    deaf.write_all(&[hello.clone(), request(0, 1 << 20).repeat(100)].concat()).unwrap();
    let mut third = connect().unwrap();
    assert!(connect().is_err(), "three clients are connected");
    drop(vanishing);
    third.write_all(&[&hello[..], &request(0, 512)].concat()).unwrap();
    let mut reply = [0; 10 + 16 + 512];
    third.read_exact(&mut reply).unwrap();
    assert_eq!(reply[10..18], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
    drop(deaf);
    let summary = serving.end("-INT");
    assert!(summary.contains("served 4 clients"), "{summary}");
}

#[test]
fn tcp_clients_reach_the_port_that_was_chosen() {
    let mut child =
        command(&["serve", "nbd", DRIVE, "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split(" over NBD on ").nth(1).and_then(|rest| rest.split(';').next()).expect(&line);
    let mut greeting = [0; 18];
    TcpStream::connect(address).unwrap().read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn end_of_a_file_that_is_no_whole_unit_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, vec![0; (1 << 20) + 100]).unwrap();
    let mut serving = Serving::new(text(&file), &["--read-only", "--allow-page-cache"]);
    let mut warned = BufReader::new(serving.child.stderr.take().unwrap());
    let summary = serving.end("-INT");
    assert!(summary.contains("served 0 clients"), "{summary}");
    let mut warnings = String::new();
    warned.read_to_string(&mut warnings).unwrap();
    let warnings: Vec<&str> = warnings.lines().filter(|line| line.contains("not served")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("the last 100 B of"), "{warnings:?}");
}

#[test]
fn drive_larger_than_memory_is_served_up_to_the_limit() {
    if !has("qemu-io", "qemu-utils") {
        return;
    }
    let mut serving = Serving::new("sim:ssd-s", &["--memory", "1MiB"]);
    run("qemu-io", &["-f", "raw", "-c", "write 20G 512k", "-c", "read 25G 1M", &serving.uri()]);
    let beyond = ["-f", "raw", "-c", "write 10G 1M", &serving.uri()];
    let output = Command::new("qemu-io").args(beyond).output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(said.contains("No space left"), "{said}");
    let mut warned = BufReader::new(serving.child.stderr.take().unwrap());
    assert!(serving.end("-INT").contains("failed"));
    let mut warning = String::new();
    warned.read_to_string(&mut warning).unwrap();
    assert!(warning.contains("at most 1 MiB of 29.8 GiB") && warning.contains("--memory"), "{warning}");
}

#[test]
fn trace_socket_and_device_are_different_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let file = path("file.spc");
    // A trace, so that --force alone would allow to replace it.
    let content = "0,8,512,r,0.5\n".repeat(8192);
    std::fs::write(&file, &content).unwrap();
    std::os::unix::fs::symlink(&file, path("link.spc")).unwrap();
    std::fs::hard_link(&file, path("hard.spc")).unwrap();
    let (socket, new) = (path("socket"), path("new.spc"));
    let serve = |device: &Path, arguments: &[&str], parts: &[&str]| {
        refused(2, &[&["serve", "nbd", text(device)], arguments].concat(), parts);
    };
    for name in ["file.spc", "link.spc", "hard.spc"] {
        let same = path(name);
        let record = ["--read-only", "--record", text(&same), "--force", "--socket", text(&socket)];
        serve(&file, &record, &["--record", name, "DEVICE"]);
        serve(&file, &["--read-only", "--socket", text(&same)], &["--socket", name, "DEVICE"]);
        serve(
            Path::new(DRIVE),
            &["--record", text(&file), "--socket", text(&same)],
            &["--socket", name, "--record"],
        );
    }
    let create = ["--create", "1MiB", "--allow-page-cache"];
    let same = path("../").join(dir.path().file_name().unwrap()).join("new.spc");
    for (option, parts) in [("--record", ["--record", "DEVICE"]), ("--socket", ["--socket", "DEVICE"])] {
        let mut arguments = [&create[..], &[option, text(&same)]].concat();
        if option == "--record" {
            arguments.extend(["--socket", text(&socket)]);
        }
        serve(&new, &arguments, &parts);
    }
    assert!(!new.exists() && !socket.exists());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
}

#[test]
fn what_cannot_be_served_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let socket = path("socket");
    let serve = |device: &str, arguments: &[&str], parts: &[&str]| {
        let own = ["serve", "nbd", device, "--socket", text(&socket)];
        refused(2, &[&own, arguments].concat(), parts);
    };
    std::fs::write(path("file"), vec![1; 1 << 20]).unwrap();
    serve(text(&path("file")), &[], &["--destroy-data is required", "--read-only"]);
    serve(text(&path("file")), &["--read-only", "--slowdown", "2"], &["--slowdown", "real device"]);
    serve("sim:sdf", &[], &["random access", "erase units"]);
    serve(DRIVE, &["--memory", "1PiB"], &["--memory 1 PiB exceeds"]);
    for memory in ["0", "4095B"] {
        serve(DRIVE, &["--memory", memory], &["--memory ", "at least 4 KiB"]);
    }
    for memory in ["0", "63MiB"] {
        serve(
            DRIVE,
            &["--client-memory", memory],
            &["--client-memory ", "at least 64 MiB", "longest request"],
        );
    }
    for remote in ["0.0.0.0:0", "[::ffff:0.0.0.0]:0"] {
        let given = ["serve", "nbd", "sim:ssd-s", "--memory", "1MiB", "--listen", remote];
        let ended = refused(2, &given, &["other machines", "--allow-remote"]);
        assert!(!ended.stderr.contains("warning"), "a refusal comes alone: {}", ended.stderr);
    }
    refused(2, &["serve", "nbd", DRIVE], &["--socket", "--listen"]);
    std::fs::write(&socket, "kept").unwrap();
    serve(DRIVE, &[], &["cannot listen on", "in use"]);
    assert_eq!(std::fs::read(&socket).unwrap(), b"kept");
    let serving = Serving::new(DRIVE, &[]);
    refused(
        2,
        &["serve", "nbd", DRIVE, "--socket", text(&serving.socket())],
        &["cannot listen on", "in use"],
    );
}
