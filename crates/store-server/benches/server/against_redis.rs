//! GET and SET of 1 KB values by redis-benchmark, pipelines of 16, 50 clients: this server with durability `system`
//! beside redis-server with `appendfsync everysec`, on the same machine and file system, in turn. Where redis-server or
//! redis-benchmark is missing it says so.

use crate::running::{Running, start};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const REQUESTS: &str = "FLASHLANE_BENCH_REQUESTS";
/// Number of keys, which are drawn at random.
const KEYS: &str = "100000";
/// Times that each server is measured.
const ROUNDS: usize = 3;

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
    std::mem::forget(lines);
    Running { child, port }
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

/// Runs all of it, or a few requests.
pub fn run(is_bench: bool) {
    for program in ["redis-server", "redis-benchmark"] {
        if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err() {
            return println!("skipped: {program} is not installed (Debian: redis-server, redis-tools)");
        }
    }
    let usual = if is_bench { "400000" } else { "2000" };
    let requests = std::env::var(REQUESTS).unwrap_or_else(|_| usual.into());
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target folder is writable");
    let (ours, redis) = (start(dir.path(), 10_000), start_redis(dir.path()));
    for test in ["set", "get"] {
        let mut ratios = Vec::new();
        for _ in 0..if is_bench { ROUNDS } else { 1 } {
            let (our, their) = (measure(ours.port, test, &requests), measure(redis.port, test, &requests));
            println!("{test}: {our:.0} requests/s, redis-server {their:.0}, ratio {:.2}", our / their);
            ratios.push(our / their);
        }
        ratios.sort_by(f64::total_cmp);
        println!("{test}: median ratio {:.2}", ratios[ratios.len() / 2]);
    }
}
