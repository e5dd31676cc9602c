//! Tests with real sockets, and an engine that returns what it is sent.

use super::*;
use crate::sockets::{Address, Listeners};
use mio::{Events, Poll};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

const FIRST_TOKEN: usize = 16;

/// Returns the bytes of its one client, of which it has room for `ROOM`.
#[derive(Default)]
struct Echo {
    held: Vec<u8>,
    is_ending: bool,
    is_disconnected: bool,
}

const ROOM: usize = 1000;

impl ClientEngine for Echo {
    fn has_room(&self, _: u64) -> bool {
        self.held.len() < ROOM && !self.is_ending
    }

    fn feed(&mut self, _: u64, bytes: &[u8]) -> usize {
        let used = bytes.len().min(ROOM - self.held.len());
        self.held.extend_from_slice(&bytes[..used]);
        used
    }

    fn end_input(&mut self, _: u64) {
        self.is_ending = true;
    }

    fn output(&self, _: u64) -> Option<&[u8]> {
        (!self.is_ending || !self.held.is_empty()).then_some(&self.held)
    }

    fn take(&mut self, _: u64, bytes: usize) {
        self.held.drain(..bytes);
    }

    fn disconnect(&mut self, _: u64) {
        self.is_disconnected = true;
    }
}

/// Sends `sent` bytes in one write, ends its output, and returns what comes back until the connection ends.
fn client(path: &std::path::Path, sent: usize) -> Vec<u8> {
    let mut stream = UnixStream::connect(path).unwrap();
    let mut writer = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let bytes: Vec<u8> = (0..sent).map(|at| at as u8).collect();
            writer.write_all(&bytes).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        back
    })
}

#[test]
fn client_with_more_bytes_than_room_gets_all_replies() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let mut poll = Poll::new().unwrap();
    let mut listeners = Listeners::bind(&[Address::Unix(path.clone())], &poll, Token(0)).unwrap();
    // Reads that end within the room, at its end, and behind it.
    for (reads, read_bytes) in [(1, 64), (4, ROOM), (2, 4096)] {
        let (mut engine, mut events) = (Echo::default(), Events::with_capacity(8));
        let mut connections = Connections::new(FIRST_TOKEN, reads, read_bytes);
        let path = &path;
        std::thread::scope(|scope| {
            let back = scope.spawn(move || client(path, 300_001));
            while !engine.is_disconnected {
                connections.write(&mut engine, 0);
                let may_wait = !connections.is_readable(&engine) && !connections.has_output(&engine);
                let longest = std::time::Duration::from_millis(if may_wait { 10 } else { 0 });
                poll.poll(&mut events, Some(longest)).unwrap();
                for event in &events {
                    if !listeners.note(event.token()) {
                        connections.note(&mut engine, event);
                    }
                }
                while let Some((stream, _)) = listeners.accept() {
                    connections.open(&mut engine, 0, stream, poll.registry());
                }
                connections.read_all(&mut engine);
            }
            let back = back.join().unwrap();
            assert_eq!(back.len(), 300_001, "{reads} reads of {read_bytes} bytes");
            assert!(back.iter().enumerate().all(|(at, byte)| *byte == at as u8));
        });
        assert!(connections.connections.is_empty() && connections.full.is_empty());
    }
}
