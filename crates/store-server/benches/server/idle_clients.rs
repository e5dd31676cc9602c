//! Clients that connect, say little, and stay: what each takes of the server's memory, and whether one that works
//! beside them, and each of them in the end, is still answered. The one client too many is refused.

use crate::running::start;
use flashlane_host::{allow_open_files, timed};
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Pings of the client that works.
const PINGS: usize = 2000;
/// Longest wait for a reply.
const WAIT: Duration = Duration::from_secs(10);

/// Connects `clients` idle clients to a server that takes one more.
pub fn run(is_bench: bool) {
    let clients = if is_bench { 10_000 } else { 100 };
    let allowed = allow_open_files(clients as u64 + 100);
    if allowed < clients as u64 + 100 {
        return println!("skipped: {allowed} open files are allowed, too few for {clients} clients");
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target folder is writable");
    let server = start(dir.path(), clients + 1);
    let memory = || resident_bytes(server.child.id());
    let mut worker = connect(server.port);
    let alone = pings(&mut worker);
    let before = memory();
    let mut idle: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let mut client = connect(server.port);
            ping(&mut client);
            client
        })
        .collect();
    let each = memory().saturating_sub(before) as f64 / clients as f64;
    let beside = pings(&mut worker);
    let mut refusal = String::new();
    connect(server.port).read_to_string(&mut refusal).expect("a refused client is told why");
    assert!(refusal.starts_with("-ERR max number of clients"), "{refusal}");
    idle.iter_mut().for_each(ping);
    println!(
        "server-idle-clients: {clients} clients, {each:.0} bytes of memory each; PING of another takes {beside:.1} us (median), \
         {alone:.1} us without them"
    );
}

fn connect(port: u16) -> TcpStream {
    let connect = || {
        let client = TcpStream::connect(("127.0.0.1", port))?;
        client.set_nodelay(true)?;
        client.set_read_timeout(Some(WAIT))?;
        io::Result::Ok(client)
    };
    connect().expect("the server listens")
}

fn ping(client: &mut TcpStream) {
    client.write_all(b"PING\r\n").expect("the server reads");
    let mut reply = [0; 7];
    client.read_exact(&mut reply).expect("the server answers");
    assert_eq!(&reply, b"+PONG\r\n");
}

/// Returns the median time of a ping in microseconds.
fn pings(client: &mut TcpStream) -> f64 {
    let mut times: Vec<u64> = (0..PINGS).map(|_| timed(|| ping(client)).1.as_ns()).collect();
    times.sort_unstable();
    times[PINGS / 2] as f64 / 1e3
}

/// Returns the bytes of memory of a process, without that of the kernel for it.
fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
