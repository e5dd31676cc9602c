//! The readers of compressed traces: any bytes after the magic number of gz, xz or Zstandard. Reading must end, with
//! requests or with an error that contains the number of requests read.

use crate::Target;
use flashlane_trace::{OpenOptions, ReadError, Trace};
use std::io::Cursor;

pub(crate) const TARGET: Target = Target {
    name: "trace_container",
    body,
    seeds: &[
        // Frames of Zstandard with uncompressed blocks, and an empty one of gz, without the magic numbers.
        "z\x20\x0d\x69\0\x000.5 0 1 8 0\n",
        "z\x20\x0d\x68\0\x000.5 0 1 8 0\n",
        "g\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0",
        "g\x08\x08\0\0\0\0\0\x03name\0\x01\x0c\0",
        "x\0\x04\0\0\0\0",
        "x\0\0\0\0",
        "p0.5 0 1 8 0\n",
    ],
};

fn body(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let magic: &[u8] = match choice {
        b'z' => b"\x28\xb5\x2f\xfd",
        b'g' => b"\x1f\x8b",
        b'x' => b"\xfd7zXZ\0",
        _ => b"",
    };
    let options = OpenOptions { format: Some("disksim"), every_device: true, ..OpenOptions::default() };
    let bytes = [magic, data].concat();
    match Trace::from_reader(Cursor::new(bytes), "fuzzed", &options) {
        Ok(mut trace) => {
            let records = trace.by_ref().count() as u64;
            match trace.finish() {
                Ok(summary) => assert_eq!(summary.records, records),
                Err(ReadError::Damaged { compression, records: reported, .. }) => {
                    assert!(compression.is_some() && reported == records);
                }
                Err(error) => panic!("{error} of a trace that was opened"),
            }
        }
        Err(error) => assert!(error.to_string().contains("fuzzed"), "{error} does not name the trace"),
    }
}
