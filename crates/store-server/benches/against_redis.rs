//! GET and SET of 1 KB values by redis-benchmark, pipelines of 16, 50 clients: this server with durability `system` beside
//! redis-server with `appendfsync everysec`, on the same machine and file system, in turn.
//!
//! `cargo bench -p flashlane-store-server`. The server runs in a separate process, as redis-server does: this program, called
//! again. `FLASHLANE_BENCH_REQUESTS` sets the number of requests. Where redis-server or redis-benchmark is missing it says so;
//! as a test (`cargo test --benches`) it runs a few requests.

use flashlane_open::{NewStore, OpenOptions};
use flashlane_store::StoreOptions;
use flashlane_store_server::{Address, Server, ServerOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The one of the command line.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Where a child finds its store.
const SERVE: &str = "FLASHLANE_BENCH_SERVE";
const REQUESTS: &str = "FLASHLANE_BENCH_REQUESTS";
/// Number of keys, which are drawn at random.
const KEYS: &str = "100000";
/// Times that each server is measured.
const ROUNDS: usize = 3;

struct Running(Child, u16);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(dir: &Path) {
    let device = format!("lanes({},channels=8,unit=8MiB)", dir.join("data").display());
    let log = dir.join("data.log").display().to_string();
    // As the command line: the server has a cache of its own.
    let options = StoreOptions { cache_reads: false, ..StoreOptions::default() };
    let new = NewStore { log_bytes: Some(512 << 20), options, ..NewStore::default() };
    let store =
        OpenOptions::new().create(2 << 30).create_store(&*device, &*log, new).expect("the disk has room");
    let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let options =
        ServerOptions { durability: flashlane_store::Durability::System, ..ServerOptions::default() };
    let mut server = Server::bind(store, &[address], options).expect("a port is free");
    let Address::Tcp(address) = &server.addresses()[0] else { unreachable!("it listens on TCP") };
    println!("{}", address.port());
    server.run(|| true).expect("sockets can be waited for");
}

fn start_ours(dir: &Path) -> Running {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child =
        Command::new(program).env(SERVE, dir).stdout(Stdio::piped()).spawn().expect("it can be started");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    output.read_line(&mut line).expect("the server prints its port");
    Running(child, line.trim().parse().expect("a port"))
}

fn start_redis(dir: &Path) -> Running {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.expect("a port is free").port();
    let options = ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--bind", "127.0.0.1"];
    let mut child = Command::new("redis-server")
        .args(["--port", &port.to_string()])
        .args(options)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("redis-server can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("Ready to accept")), "redis-server does not listen");
    // It must not block on what it prints.
    let running = Running(child, port);
    std::mem::forget(lines);
    running
}

/// Returns requests a second of a test.
fn measure(port: u16, test: &str, requests: &str) -> f64 {
    let port = port.to_string();
    let arguments =
        ["-p", &port, "-t", test, "-n", requests, "-P", "16", "-c", "50", "-d", "1024", "-r", KEYS, "--csv"];
    let output = Command::new("redis-benchmark").args(arguments).output().expect("redis-benchmark runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.lines().last().and_then(|line| line.split(',').nth(1)?.trim_matches('"').parse().ok());
    rate.unwrap_or_else(|| panic!("no rate in {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn main() {
    if let Some(dir) = std::env::var_os(SERVE) {
        return serve(Path::new(&dir));
    }
    for program in ["redis-server", "redis-benchmark"] {
        if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err() {
            return println!("SKIPPED: {program} is not installed (Debian: redis-server, redis-tools)");
        }
    }
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let usual = if is_bench { "400000" } else { "2000" };
    let requests = std::env::var(REQUESTS).unwrap_or_else(|_| usual.into());
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target folder is writable");
    let (ours, redis) = (start_ours(dir.path()), start_redis(dir.path()));
    for test in ["set", "get"] {
        let mut ratios = Vec::new();
        for _ in 0..if is_bench { ROUNDS } else { 1 } {
            let (our, their) = (measure(ours.1, test, &requests), measure(redis.1, test, &requests));
            println!("{test}: {our:.0} requests/s, redis-server {their:.0}, ratio {:.2}", our / their);
            ratios.push(our / their);
        }
        ratios.sort_by(f64::total_cmp);
        println!("{test}: median ratio {:.2}", ratios[ratios.len() / 2]);
    }
}
