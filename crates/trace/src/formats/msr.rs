//! Block traces of Microsoft Research Cambridge: comma-separated, time in Windows' file time.
//!
//! Fields and units are those of the README of the traces at SNIA's IOTTA repository; they are those of Narayanan et
//! al., "Write Off-Loading", FAST 2008. Disks of the first host in a file keep their numbers; those of the n-th host
//! after it are numbered from n x 65536 on.

use super::blank;
use crate::Record;
use crate::cursor::Cursor;
use crate::encode::{Encode, Loss, number};
use crate::format::{Format, Writing};
use crate::names::{Names, TOO_MANY};
use crate::sink::{Reason, Sink};
use crate::text::{Parse, Text, fits};
use flashlane_base::{Duration, Operation};

pub(crate) const FORMAT: Format = Format {
    name: "msr",
    summary: "MSR Cambridge CSV: time, host, disk, type, offset, size, response time",
    time_unit: "100 ns since 1601",
    codes: "type: 'Read' or 'Write'",
    other_endings: &["csv"],
    unit: "line",
    recognise: |head| fits(head, Msr::default()),
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), Msr::default())),
    writing: Some(Writing {
        encoder: || Box::new(Msr::default()),
        resolution_ns: TICK_NS,
        took_resolution_ns: Some(TICK_NS),
        durable: false,
        from_zero: false,
    }),
};

/// Unit of file time.
const TICK_NS: u64 = 100;
/// Disks per host.
const DISKS: u32 = 1 << 16;

#[derive(Default)]
struct Msr {
    hosts: Names,
}

impl Parse for Msr {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        const TICKS: &str = "a file time below 2^64 ns";
        let from = cursor.at;
        let at = cursor.number("the time", b',')?.checked_mul(TICK_NS);
        let at_ns = at.ok_or_else(|| cursor.refusal(from, "the time", TICKS))?;
        let from = cursor.at;
        let host = self.hosts.number(cursor.word("the host", b',')?);
        let host = host.ok_or_else(|| cursor.refusal(from, "the host", TOO_MANY))?;
        let from = cursor.at;
        let disk = cursor.small("the disk number", b',')?;
        if disk >= DISKS {
            return Err(cursor.refusal(from, "the disk number", "below 65536"));
        }
        // It fits 32 bits, since there are at most 65536 hosts.
        let device = host * DISKS + disk;
        let from = cursor.at;
        let operation = match cursor.word("the type", b',')? {
            b"Read" => Operation::Read,
            b"Write" => Operation::Write,
            other if other.eq_ignore_ascii_case(b"read") => Operation::Read,
            other if other.eq_ignore_ascii_case(b"write") => Operation::Write,
            _ => return Err(cursor.refusal(from, "the type", "'Read' or 'Write'")),
        };
        let offset_bytes = cursor.number("the offset", b',')?;
        let length_bytes = cursor.number("the size", b',')?;
        let from = cursor.at;
        let took = cursor.number("the response time", b'\n')?.checked_mul(TICK_NS);
        let took = took.ok_or_else(|| cursor.refusal(from, "the response time", TICKS))?;
        // A zero means that the time is unknown.
        let took = (took > 0).then_some(Duration::from_ns(took));
        sink.push(Record { took, offset_bytes, length_bytes, ..blank(at_ns, device, operation) })
    }

    fn device_name(&self, number: u32) -> Option<String> {
        let host = String::from_utf8_lossy(self.hosts.get(number / DISKS)?);
        Some(format!("{host} {}", number % DISKS))
    }
}

impl Encode for Msr {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss> {
        let kind: &[u8] = match record.operation {
            Operation::Read => b",Read,",
            Operation::Write => b",Write,",
            other => return Err(Loss::Operation(other)),
        };
        let (host, disk) = (record.device / DISKS, record.device % DISKS);
        number(out, record.at.as_ns() / TICK_NS);
        out.extend(b",host");
        number(out, u64::from(host));
        out.push(b',');
        number(out, u64::from(disk));
        out.extend(kind);
        number(out, record.offset_bytes);
        out.push(b',');
        number(out, record.length_bytes);
        out.push(b',');
        number(out, record.took.map_or(0, Duration::as_ns) / TICK_NS);
        out.push(b'\n');
        Ok(())
    }
}
