//! The reader of recordings of transactions: parts with valid checksums and any content. An accepted recording must be
//! the same after writing and reading it, and a refusal must name its place or its field.
//!
//! An input is a list of parts: a tag, a length (one byte), and that number of bytes.

use crate::Target;
use flashlane_transactions::Transaction;
use flashlane_transactions::recording::{MAGIC, Reader, VERSION, Writer, seal};

pub(crate) const TARGET: Target = Target {
    name: "page_recording",
    body,
    seeds: &[
        // 4096 pages of 1 KiB, a kind, two relations; transactions; the end.
        "H\x15\x00\x08\x00\x20\x01\x01s\x01\x01k\x02\x01a\x00\x08\x01b\x10\x20T\x09\x00\x00\x00\x05\x03\x09\x06\x0bT\x00E\x04\x01\x03\x07\x00",
        "H\x0a\x00\x08\x0a\x01\x00\x01\x01k\x00\x00E\x04\x00\x00\x00\x00",
        "H\x0aT\x06\x00\x00\x00\x00\x01\x28E\x04\x01\x01\x00\x00",
    ],
};

fn body(mut data: &[u8]) {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    while let [tag, length, rest @ ..] = data {
        let (content, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        seal(*tag, content, &mut bytes);
        data = rest;
    }
    let Some((bytes, transactions)) = read(&bytes) else { return };
    let (again, same) = read(&bytes).expect("a written recording is read");
    assert!(again == bytes && same == transactions, "a recording changes when it is written and read");
}

/// Reads a recording, and returns it written again with its transactions; `None` where it is refused.
fn read(bytes: &[u8]) -> Option<(Vec<u8>, Vec<Transaction>)> {
    let mut transactions = Vec::new();
    let mut read = || {
        let mut reader = Reader::new(bytes)?;
        let mut into = Transaction::default();
        while reader.read(&mut into)? {
            transactions.push(into.clone());
        }
        Ok(reader)
    };
    let reader = match read() {
        Ok(reader) => reader,
        Err::<_, flashlane_transactions::recording::ReadError>(error) => {
            let text = error.to_string();
            assert!(text.contains("byte ") || text.contains("must "), "{text} names no place");
            return None;
        }
    };
    let mut writer =
        Writer::new(Vec::new(), reader.header().clone()).expect("a header that was read is valid");
    transactions.iter().for_each(|one| writer.push(one).expect("a transaction that was read is valid"));
    let left_out = reader.totals().expect("the end was read").left_out;
    Some((writer.finish(left_out).expect("memory takes all bytes").0, transactions))
}
