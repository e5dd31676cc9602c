//! The server in a process of its own, as redis-server is: this program, called again.

use flashlane_open::{NewStore, OpenOptions};
use flashlane_store::StoreOptions;
use flashlane_store_server::{Address, Limits, Server, ServerOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where a child finds its store, and the number of clients that it takes.
pub const SERVE: &str = "FLASHLANE_BENCH_SERVE";
const CLIENTS: &str = "FLASHLANE_BENCH_CLIENTS";

/// A server, which ends when it is dropped.
pub struct Running {
    pub child: Child,
    pub port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves a new store until it is killed.
pub fn serve(dir: &Path) {
    let device = format!("lanes({},channels=8,unit=8MiB)", dir.join("data").display());
    let log = dir.join("data.log").display().to_string();
    // As the command line: the server has a cache of its own.
    let options = StoreOptions { cache_reads: false, ..StoreOptions::default() };
    let new = NewStore { log_bytes: Some(512 << 20), options, ..NewStore::default() };
    let store =
        OpenOptions::new().create(2 << 30).create_store(&*device, &*log, new).expect("the disk has room");
    let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let clients_max = std::env::var(CLIENTS).expect("it is set").parse().expect("a number");
    let limits = Limits { clients_max, ..Limits::default() };
    let durability = flashlane_store::Durability::System;
    let options = ServerOptions { durability, limits, ..ServerOptions::default() };
    let mut server = Server::bind(store, &[address], options).expect("a port is free");
    let Address::Tcp(address) = &server.addresses()[0] else { unreachable!("it listens on TCP") };
    println!("{}", address.port());
    server.run(|| true).expect("sockets can be waited for");
}

/// Starts a server that takes `clients` clients.
pub fn start(dir: &Path, clients: usize) -> Running {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .env(SERVE, dir)
        .env(CLIENTS, clients.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    output.read_line(&mut line).expect("the server prints its port");
    Running { child, port: line.trim().parse().expect("a port") }
}
