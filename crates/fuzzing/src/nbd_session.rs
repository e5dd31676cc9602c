//! Bytes of NBD clients, whole and in parts: the first byte chooses the parts. `O` stands for the magic number of an
//! option, and `R` for that of a request, so that mutations reach behind them.

use crate::Target;
use flashlane_serve::nbd::{Event, ProtocolError, Session};
use flashlane_serve::{Action, Export};

pub(crate) const TARGET: Target = Target {
    name: "nbd_session",
    body,
    seeds: &[
        // Flags, structured replies, base:allocation, GO with block sizes; then a read, a write, a status, the end.
        "a\0\0\0\x03O\0\0\0\x08\0\0\0\0O\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
         O\0\0\0\x07\0\0\0\x08\0\0\0\0\0\x01\0\x03\
         R\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x02\x01\0\0\0\x10\
         R\0\x01\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x05\0\0\0\x03abc\
         R\0\0\0\x07\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\x10\0R\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        // EXPORT_NAME; then a flush, a trim, zeros, and a write behind the end.
        "b\0\0\0\x01O\0\0\0\x01\0\0\0\x05drive\
         R\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0R\0\0\0\x04\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\x20\0\
         R\0\x02\0\x06\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\x20R\0\0\0\x01\0\0\0\0\0\0\0\x04\0\0\0\0\0\x7f\0\x01\0\0\0\x02zz\
         R\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\x01",
        // LIST, INFO of another name, an unknown option with data, ABORT.
        "c\0\0\0\x03O\0\0\0\x03\0\0\0\0O\0\0\0\x06\0\0\0\x07\0\0\0\x01x\0\0O\0\0\0\x4d\0\0\0\x02zzO\0\0\0\x02\0\0\0\0",
    ],
};

/// Small, so that the buffers of writes are.
const SIZE_BYTES: u64 = 64 << 10;

/// Reads all bytes in parts of `part`. Returns the commands with their data, the replies and the error.
fn read(data: &[u8], part: usize, unit_bytes: u64) -> (Vec<String>, Vec<u8>, Option<ProtocolError>) {
    let export =
        Export { size_bytes: SIZE_BYTES, unit_bytes, is_read_only: false, description: "a drive".into() };
    let (mut events, mut out) = (Vec::new(), Vec::new());
    let mut session = Session::new(export, &mut out);
    for mut rest in data.chunks(part) {
        while !rest.is_empty() {
            let (used, event) = match session.feed(rest, &mut out) {
                Ok(read) => read,
                Err(error) => return (events, out, Some(error)),
            };
            assert!(used > 0 && (event.is_some() || used == rest.len()), "{used} bytes were used");
            rest = &rest[used..];
            if let Some(event) = event {
                events.push(described(&event, unit_bytes));
            }
        }
        assert!(session.memory_bytes() <= (SIZE_BYTES + (128 << 10)) as usize);
    }
    (events, out, None)
}

/// Describes an event, and checks that its command can be carried out.
fn described(event: &Event, unit_bytes: u64) -> String {
    let Event::Command(command) = event else { return format!("{event:?}") };
    let (first, length) = (command.offset_bytes, command.length_bytes);
    match &command.action {
        Action::Flush => assert_eq!(length, 0),
        Action::Write(data) => {
            let (start, end) = (first / unit_bytes, (first + length).div_ceil(unit_bytes));
            assert_eq!(data.len() as u64, (end - start) * unit_bytes);
            return format!("{command:?} {:?}", data.as_slice());
        }
        _ => {}
    }
    assert!(first + length <= SIZE_BYTES && (length > 0 || matches!(command.action, Action::Flush)));
    format!("{command:?}")
}

fn body(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let mut stream = Vec::new();
    for &byte in data {
        match byte {
            b'O' => stream.extend_from_slice(b"IHAVEOPT"),
            b'R' => stream.extend([0x25, 0x60, 0x95, 0x13]),
            byte => stream.push(byte),
        }
    }
    let unit_bytes = [1, 512, 4096, 16384][usize::from(first & 3)];
    let whole = read(&stream, stream.len().max(1), unit_bytes);
    let parts = read(&stream, 1 + usize::from(first >> 3), unit_bytes);
    assert_eq!(whole, parts, "commands depend on how they are split");
}
