//! Tests of the server with real sockets.

use super::*;
use flashlane_base::Seed;
use flashlane_device_testing::{MemoryDisk, MemoryLanes};
use flashlane_store::{Slices, StoreOptions};
use std::io::Read;
use std::os::unix::net::UnixStream;

/// Waits of the server before a client counts as unanswered.
const WAITS: usize = 200;

fn server(address: &Address) -> Server<MemoryLanes, MemoryDisk> {
    let device = MemoryLanes::new(4, 64, 64 << 10, 512, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let store = Store::create(device, log, 1, Slices::even(1), StoreOptions::default()).unwrap();
    Server::bind(store, std::slice::from_ref(address), ServerOptions::default()).unwrap()
}

#[test]
fn client_that_connects_while_the_server_starts_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    for round in 0..30 {
        let path = &path;
        std::thread::scope(|scope| {
            // Connects at the first moment at which the socket listens.
            let client = scope.spawn(move || {
                let mut stream = loop {
                    match UnixStream::connect(path) {
                        Ok(stream) => break stream,
                        Err(_) => std::thread::yield_now(),
                    }
                };
                stream.write_all(b"PING\r\n").unwrap();
                let mut reply = [0; 7];
                // It fails at the end of the server.
                stream.read_exact(&mut reply).is_ok().then_some(reply)
            });
            let mut server = server(&Address::Unix(path.clone()));
            let mut waits = 0;
            server
                .run(|| {
                    waits += 1;
                    waits < WAITS && !client.is_finished()
                })
                .unwrap();
            drop(server);
            assert_eq!(client.join().unwrap(), Some(*b"+PONG\r\n"), "round {round}");
        });
    }
}

#[test]
fn page_of_metrics_is_served_beside_clients_that_say_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let mut server = server(&Address::Unix(path));
    let address = server.serve_metrics("127.0.0.1:0".parse().unwrap()).unwrap();
    assert!(server.serve_metrics("0.0.0.0:0".parse().unwrap()).is_err(), "without a password");
    let page = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            // More than there is room for: the first make way.
            let _idle: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            for part in ["GET /met", "rics HTTP/1.1\r\nHost: a\r\n", "\r\n"] {
                stream.write_all(part.as_bytes()).unwrap();
                std::thread::yield_now();
            }
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            page
        });
        let mut waits = 0;
        server
            .run(|| {
                waits += 1;
                waits < WAITS && !reader.is_finished()
            })
            .unwrap();
        drop(server);
        reader.join().unwrap()
    });
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("\nflashlane_clients_total{outcome=\"connected\"} 0\n"), "{page}");
}
