//! `store serve`: clients of Redis, hostile clients, and what a kill leaves. Tests that need Debian's `redis-server`
//! and `redis-tools` say on standard error that they were skipped where these are missing.

mod against_redis;
mod client;

use crate::program::{command, done, flashlane, refused, text, wait_until};
use client::Client;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A store on a file, and its server.
struct Serving {
    dir: tempfile::TempDir,
    device: String,
    child: Child,
    port: u16,
}

impl Serving {
    fn new(arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let spec = format!("lanes({},channels=4,unit=256KiB)", path.display());
        done(&["store", "create", &spec, "--create", "64MiB", "--log-size", "16MiB"]);
        let device = format!("lanes({})", path.display());
        let (child, port) = serve(&device, arguments);
        Self { dir, device, child, port }
    }

    fn client(&self) -> Client {
        Client::connect(self.port)
    }

    /// Ends the server with a signal, and starts it again.
    fn restart(&mut self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap();
        (self.child, self.port) = serve(&self.device, &[]);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server. Returns it with its port, once it listens.
fn serve(device: &str, arguments: &[&str]) -> (Child, u16) {
    let (child, ports) = serve_on(device, arguments);
    (child, ports[0])
}

/// Starts a server. Returns it with its ports on 127.0.0.1, once it listens.
fn serve_on(device: &str, arguments: &[&str]) -> (Child, Vec<u16>) {
    let listen = ["store", "serve", device, "--listen", "127.0.0.1:0"];
    let mut child = command(&[&listen, arguments].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = |rest: &str| rest.split([',', '/']).next()?.parse().ok();
    let ports: Vec<u16> = line.split("127.0.0.1:").skip(1).filter_map(port).collect();
    if ports.is_empty() {
        let output = child.wait_with_output().unwrap();
        panic!("no port in '{line}': {}", String::from_utf8_lossy(&output.stderr));
    }
    (child, ports)
}

/// Returns whether a program is installed; where it is not, says that the test is skipped.
fn has(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("skipped: {program} is not installed (Debian: redis-server, redis-tools)");
    }
    is_there
}

#[test]
fn redis_cli_and_benchmark_run_on_it() {
    if !has("redis-cli") || !has("redis-benchmark") {
        return;
    }
    let serving = Serving::new(&["--durability", "system"]);
    let port = serving.port.to_string();
    let cli = |arguments: &[&str]| {
        let output = Command::new("redis-cli").args(["-p", &port]).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(cli(&["set", "a", "1"]), "OK");
    assert_eq!(cli(&["-3", "hset", "h", "f", "v"]), "1");
    assert_eq!(cli(&["-3", "--json", "hgetall", "h"]), r#"{"f":"v"}"#);
    assert!(cli(&["--bigkeys"]).contains("Sampled 2 keys in the keyspace!"));
    assert!(cli(&["info"]).contains("write_amplification:"));
    let output = Command::new("redis-benchmark")
        .args([
            "-p",
            &port,
            "-t",
            "get,set,incr,mset,hset",
            "-n",
            "400",
            "-P",
            "16",
            "-r",
            "500",
            "-d",
            "1000",
            "--csv",
        ])
        .output()
        .unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !errors.contains("WARNING"), "{text}{errors}");
    assert_eq!(text.lines().count(), 6, "a line for each test: {text}");
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let mut serving = Serving::new(&[]);
    for round in 0..3 {
        let mut client = serving.client();
        let mut acknowledged = 0;
        let pipeline: Vec<String> = (0..200).map(|nth| format!("SET key{round}-{nth} {nth}")).collect();
        for chunk in pipeline.chunks(20) {
            chunk.iter().for_each(|line| client.send_line(line));
            (0..10).for_each(|_| assert_eq!(client.read(), "+OK"));
            acknowledged += 20;
            // Ten are in flight.
            if acknowledged >= 100 + 40 * round {
                break;
            }
            (0..10).for_each(|_| assert_eq!(client.read(), "+OK"));
        }
        serving.restart("-KILL");
        let mut client = serving.client();
        for nth in 0..acknowledged - 10 {
            assert_eq!(client.call(&format!("GET key{round}-{nth}")), format!("${nth}"));
        }
    }
}

#[test]
fn backup_of_a_served_store_is_restored() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup");
    let serving = Serving::new(&["--backup", text(&file)]);
    let mut client = serving.client();
    (0..500).for_each(|nth| client.send_line(&format!("SET key{nth} {nth}")));
    (0..500).for_each(|_| assert_eq!(client.read(), "+OK"));
    for round in 0..2 {
        assert_eq!(client.call(&format!("SET round {round}")), "+OK");
        assert_eq!(client.call("BGSAVE"), "+Background saving started");
        assert_eq!(client.call("SET round later"), "+OK");
        while client.call("INFO persistence").contains("bgsave_in_progress:1") {}
        assert!(client.call("INFO persistence").contains("last_bgsave_status:ok"));
    }
    let device = format!("lanes({},channels=4,unit=256KiB)", dir.path().join("other").display());
    done(&["store", "create", &device, "--create", "64MiB", "--log-size", "16MiB"]);
    assert!(done(&["store", "import", &device, text(&file)]).starts_with("501 entries stored"));
    assert_eq!(done(&["store", "get", &device, "round"]), "1");
    // A file that is no backup is not replaced.
    std::fs::write(&file, "notes").unwrap();
    assert_eq!(client.call("BGSAVE"), "+Background saving started");
    while client.call("INFO persistence").contains("bgsave_in_progress:1") {}
    assert!(client.call("INFO persistence").contains("last_bgsave_status:err"));
    assert_eq!(std::fs::read(&file).unwrap(), b"notes");
    refused(
        2,
        &["store", "serve", &device, "--backup", text(&file)],
        &["is not a whole backup", "is not replaced"],
    );
}

#[test]
fn server_replaces_only_whole_backups_of_its_store() {
    let dir = tempfile::tempdir().unwrap();
    let device = |name: &str| format!("lanes({},channels=4,unit=256KiB)", dir.path().join(name).display());
    let backups = ["one", "other"].map(|name| {
        done(&["store", "create", &device(name), "--create", "64MiB", "--log-size", "16MiB"]);
        let file = dir.path().join(format!("{name}.backup"));
        let pairs = dir.path().join("pairs");
        std::fs::write(&pairs, format!("key\t{name}\n")).unwrap();
        done(&["store", "import", &device(name), text(&pairs)]);
        done(&["store", "backup", &device(name), text(&file)]);
        std::fs::read(&file).unwrap()
    });
    let file = dir.path().join("backup");
    let appended = [&backups[0][..], b"notes"].concat();
    for (content, part) in
        [(&backups[1], "is the backup of another store"), (&appended, "other data follows")]
    {
        std::fs::write(&file, content).unwrap();
        refused(2, &["store", "serve", &device("one"), "--backup", text(&file)], &[part, "is not replaced"]);
        assert_eq!(std::fs::read(&file).unwrap(), *content);
    }
    // A simulated store is a new one.
    refused(2, &["store", "serve", "backed(sim:sdf)", "--backup", text(&file)], &["is not replaced"]);
    std::fs::remove_file(&file).unwrap();
    let serving = Serving::new(&["--backup", text(&file)]);
    let mut client = serving.client();
    let mut saved = |status: &str| {
        assert_eq!(client.call("BGSAVE"), "+Background saving started");
        while client.call("INFO persistence").contains("bgsave_in_progress:1") {}
        assert!(client.call("INFO persistence").contains(&format!("last_bgsave_status:{status}")));
    };
    saved("ok");
    let own = std::fs::read(&file).unwrap();
    for content in [&backups[1], &[&own[..], b"notes"].concat()] {
        std::fs::write(&file, content).unwrap();
        saved("err");
        assert_eq!(std::fs::read(&file).unwrap(), *content);
    }
    std::fs::write(&file, &own).unwrap();
    saved("ok");
}

#[test]
fn signal_ends_the_server_within_a_second() {
    let mut serving = Serving::new(&["--durability", "memory"]);
    let mut client = serving.client();
    (0..500).for_each(|nth| client.send_line(&format!("SET key{nth} {nth}")));
    (0..500).for_each(|_| assert_eq!(client.read(), "+OK"));
    // A client that is idle, and one that has sent half a command, hold nothing up.
    let mut half = TcpStream::connect(("127.0.0.1", serving.port)).unwrap();
    half.write_all(b"*2\r\n$3\r\nGE").unwrap();
    serving.restart("-TERM");
    assert_eq!(serving.client().call("DBSIZE"), ":500");
    let mut client = serving.client();
    client.send_line("SHUTDOWN");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
fn hostile_clients_hurt_no_other() {
    let serving = Serving::new(&["--client-memory", "32MiB", "--request-size", "1MiB"]);
    let connect = || {
        let stream = TcpStream::connect(("127.0.0.1", serving.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    };
    let mut good = serving.client();
    let idle: Vec<TcpStream> = (0..1000).map(|_| connect()).collect();
    for bomb in [
        &b"*1048576\r\n$1048576\r\n"[..],
        b"*2\r\n$3\r\nGET\r\n$999999999999\r\n",
        b"*-5\r\n*99999999999999999999\r\n",
        b"\xff\xfe\x00\r\n\"\r\n",
        b"*1\r\n$4\r\nPI",
    ] {
        let mut client = connect();
        client.write_all(bomb).unwrap();
        assert_eq!(good.call("PING"), "+PONG");
    }
    // It asks for much and reads nothing: its requests end where the limits are.
    good.send(&[b"SET".to_vec(), b"big".to_vec(), vec![b'x'; 100_000]]);
    assert_eq!(good.read(), "+OK");
    let mut greedy = connect();
    greedy.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let requests = b"GET big\r\n".repeat(2000);
    let _ = (0..200).try_for_each(|_| greedy.write_all(&requests));
    assert_eq!(good.call("STRLEN big"), ":100000");
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.child.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let resident_kib: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(resident_kib < 300 << 10, "{resident_kib} KiB are resident");
    drop(idle);
}

#[test]
fn too_many_clients_are_refused() {
    let serving = Serving::new(&["--clients", "2"]);
    let (mut first, mut second) = (serving.client(), serving.client());
    assert_eq!((first.call("PING"), second.call("PING")), ("+PONG".into(), "+PONG".into()));
    assert_eq!(serving.client().read(), "-ERR max number of clients reached");
}

#[test]
fn unix_socket_is_private_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let mut serving = Serving::new(&["--socket", text(&socket)]);
    let mut client = Client::connect_unix(&socket);
    assert_eq!(client.call("PING"), "+PONG");
    client.send_line("SHUTDOWN");
    assert!(serving.child.wait().unwrap().success());
    assert!(!socket.exists());
}

#[test]
fn open_address_requires_a_password() {
    let dir = tempfile::tempdir().unwrap();
    let device = format!("lanes({},channels=4,unit=256KiB)", dir.path().join("data").display());
    done(&["store", "create", &device, "--create", "64MiB", "--log-size", "16MiB"]);
    let serve = ["store", "serve", &device, "--listen", "0.0.0.0:0"];
    refused(2, &serve, &["0.0.0.0:0", "--password-file"]);
    let metrics = ["store", "serve", &device, "--listen", "127.0.0.1:0", "--metrics", "0.0.0.0:0"];
    refused(2, &metrics, &["0.0.0.0:0", "--password-file"]);
    let file = dir.path().join("password");
    std::fs::write(&file, "\n").unwrap();
    let given = [&serve[..], &["--password-file", text(&file)]].concat();
    refused(2, &given, &["is empty"]);
    std::fs::write(&file, "secret\n").unwrap();
    let (mut child, port) = super::serve::serve(&device, &["--password-file", text(&file)]);
    let mut client = Client::connect(port);
    assert_eq!(client.call("GET a"), "-NOAUTH Authentication required.");
    assert_eq!(client.call("AUTH secret"), "+OK");
    assert_eq!(client.call("GET a"), "_");
    // A missing key would be status 1.
    for words in [
        &["get", &device, "a"][..],
        &["scan", &device],
        &["stat", &device],
        &["put", &device, "a", "--value", "b"],
    ] {
        let process = format!("flashlane (process {})", child.id());
        refused(2, &[&["store"], words].concat(), &["stop that use first", &process]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn metrics_are_served_on_their_address() {
    let mut serving = Serving::new(&[]);
    serving.client().send_line("SHUTDOWN");
    serving.child.wait().unwrap();
    let (child, ports) = serve_on(&serving.device, &["--metrics", "127.0.0.1:0"]);
    (serving.child, serving.port) = (child, ports[0]);
    assert_eq!(serving.client().call("SET greeting hello"), "+OK");
    let mut stream = TcpStream::connect(("127.0.0.1", ports[1])).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let page = std::io::read_to_string(stream).unwrap();
    let count = "flashlane_command_duration_seconds_count{command=\"set\"} 1";
    assert!(page.lines().any(|line| line == count), "{page}");
}

/// Strings are plain values of the store.
#[test]
fn commands_and_clients_share_values() {
    let mut serving = Serving::new(&[]);
    assert_eq!(serving.client().call("SET greeting hello"), "+OK");
    serving.client().send_line("SHUTDOWN");
    serving.child.wait().unwrap();
    assert_eq!(done(&["store", "get", &serving.device, "greeting"]), "hello");
    done(&["store", "put", &serving.device, "other", "--value", "there"]);
    (serving.child, serving.port) = serve(&serving.device, &[]);
    assert_eq!(serving.client().call("GET other"), "$there");
}

/// A key that expired for clients is gone for commands.
#[test]
fn expired_keys_are_gone_for_commands() {
    let mut serving = Serving::new(&[]);
    assert_eq!(serving.client().call("SET short secret PX 1"), "+OK");
    assert_eq!(serving.client().call("SET long kept EX 10000"), "+OK");
    serving.client().send_line("SHUTDOWN");
    serving.child.wait().unwrap();
    let get = ["store", "get", &serving.device, "short"];
    wait_until(|| flashlane(&get).status == 1);
    refused(1, &get, &["no key 'short'"]);
    refused(1, &["store", "rm", &serving.device, "short"], &["no such key"]);
    assert_eq!(done(&["store", "scan", &serving.device, "--values"]), "long\tkept\n");
    (serving.child, serving.port) = serve(&serving.device, &[]);
    assert_eq!(serving.client().call("GET long"), "$kept");
}

/// Clients of other languages: the program that runs their script, and arguments with which it finds the library.
const CLIENTS: [(&str, &[&str], &str); 5] = [
    ("python3", &["-c", "import redis"], "redis_py.py"),
    ("ruby", &["-e", "require 'redis'"], "redis_rb.rb"),
    ("perl", &["-MRedis", "-e", "1"], "redis_pl.pl"),
    ("php", &["-r", "exit(class_exists('Redis') ? 0 : 1);"], "phpredis.php"),
    ("node", &["-e", "require('redis')"], "node_redis.js"),
];

#[test]
fn clients_of_many_languages_run_on_it() {
    let serving = Serving::new(&[]);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/serve/clients");
    let run = |mut command: Command| {
        let output = command.arg(serving.port.to_string()).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for (program, has_library, script) in CLIENTS {
        // Where Debian's packages have Node's libraries.
        let command = || {
            let mut command = Command::new(program);
            command.env("NODE_PATH", "/usr/share/nodejs");
            command
        };
        let found = command().args(has_library).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            eprintln!("skipped: {program} with its client for Redis is not installed");
            continue;
        }
        let mut command = command();
        command.arg(scripts.join(script));
        run(command);
    }
    let built = serving.dir.path().join("hiredis");
    let source = scripts.join("hiredis.c");
    let compiled = Command::new("cc").arg(source).arg("-lhiredis").arg("-o").arg(&built).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: cc with hiredis is not installed");
        return;
    }
    run(Command::new(built));
}

/// Clients that overwrite their own keys with growing numbers.
const WRITERS: usize = 6;
const KEYS_OF_A_WRITER: u64 = 400;

/// Numbers that a writer has sent, and those that were acknowledged, before the server was killed.
struct Written {
    sent: u64,
    acknowledged: u64,
}

/// Overwrites keys in pipelines of 16, as redis-benchmark does, until the server ends.
fn overwrite(port: u16, writer: usize, first: u64) -> Written {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut written = Written { sent: first, acknowledged: first };
    let (padding, mut replies) = ("x".repeat(1000), Vec::new());
    let mut buffer = [0; 4096];
    loop {
        let mut pipeline = String::new();
        for _ in 0..16 {
            let key = written.sent % KEYS_OF_A_WRITER;
            pipeline += &format!("SET {writer}:{key} {:010}{padding}\r\n", written.sent);
            written.sent += 1;
        }
        if stream.write_all(pipeline.as_bytes()).is_err() {
            return written;
        }
        while written.acknowledged < written.sent {
            match std::io::Read::read(&mut stream, &mut buffer) {
                Ok(0) | Err(_) => return written,
                Ok(length) => replies.extend_from_slice(&buffer[..length]),
            }
            let whole = replies.len() / 5 * 5;
            for reply in replies.drain(..whole).collect::<Vec<u8>>().chunks(5) {
                assert_eq!(reply, b"+OK\r\n");
                written.acknowledged += 1;
            }
        }
    }
}

/// Kills the server under load and checks every write that it acknowledged; `rounds` times.
fn kill_under_load(rounds: u64) -> u64 {
    let mut serving = Serving::new(&[]);
    let mut firsts = [0; WRITERS];
    for round in 0..rounds {
        let port = serving.port;
        let writers: Vec<_> = firsts
            .into_iter()
            .enumerate()
            .map(|(writer, first)| {
                std::thread::Builder::new().spawn(move || overwrite(port, writer, first)).unwrap()
            })
            .collect();
        // Long enough for merges, and another moment each time.
        let mut watch = serving.client();
        let began: u64 = firsts.iter().sum();
        (0..1500 + round * 977 % 1500).for_each(|_| assert_eq!(watch.call("PING"), "+PONG"));
        serving.restart("-KILL");
        let written: Vec<Written> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        let acknowledged: u64 = written.iter().map(|written| written.acknowledged).sum();
        assert!(acknowledged > began, "round {round}: nothing was acknowledged");
        let mut client = serving.client();
        for (writer, Written { sent, acknowledged }) in written.iter().enumerate() {
            for key in 0..KEYS_OF_A_WRITER {
                // The last number below `end` that goes to this key.
                let last = |end: u64| {
                    (0..end).rev().take(KEYS_OF_A_WRITER as usize).find(|n| n % KEYS_OF_A_WRITER == key)
                };
                let value = client.call(&format!("GET {writer}:{key}"));
                let found = value.strip_prefix('$').map(|text| text[..10].parse::<u64>().unwrap());
                assert!(
                    found >= last(*acknowledged) && found <= last(*sent),
                    "round {round}, key {writer}:{key}: {found:?}, acknowledged up to {acknowledged} of {sent}"
                );
            }
            firsts[writer] = *sent;
        }
    }
    firsts.iter().sum()
}

#[test]
fn kill_9_under_load_loses_no_acknowledged_write() {
    let writes = kill_under_load(3);
    assert!(writes > 1000, "{writes} writes");
}

/// `cargo test -p flashlane --test cli kill_9_many_times -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn kill_9_many_times_under_load_loses_no_acknowledged_write() {
    println!("{} writes, none that was acknowledged lost", kill_under_load(100));
}
