//! Block traces of Alibaba Cloud, January 2020.
//!
//! Fields and units are those of the README of github.com/alibaba/block-traces (`io_traces.csv`).

use super::blank;
use crate::Record;
use crate::cursor::Cursor;
use crate::encode::{Encode, Loss, number};
use crate::format::{Format, Writing};
use crate::sink::{Reason, Sink};
use crate::text::{Parse, Text, fits};
use flashlane_base::Operation;

pub(crate) const FORMAT: Format = Format {
    name: "alibaba",
    summary: "Alibaba block traces CSV: device, opcode, offset, length, time",
    time_unit: "us since 1970",
    codes: "opcode: 'R' is a read, 'W' a write",
    other_endings: &["csv"],
    unit: "line",
    recognise: |head| fits(head, Alibaba),
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), Alibaba)),
    writing: Some(Writing {
        encoder: || Box::new(Alibaba),
        resolution_ns: TICK_NS,
        took_resolution_ns: None,
        durable: false,
        from_zero: false,
    }),
};

const TICK_NS: u64 = 1000;

struct Alibaba;

impl Parse for Alibaba {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        let device = cursor.small("the device", b',')?;
        let from = cursor.at;
        let operation = match cursor.word("the opcode", b',')? {
            b"R" => Operation::Read,
            b"W" => Operation::Write,
            _ => return Err(cursor.refusal(from, "the opcode", "'R' for a read or 'W' for a write")),
        };
        let offset_bytes = cursor.number("the offset", b',')?;
        let length_bytes = cursor.number("the length", b',')?;
        let from = cursor.at;
        let at = cursor.number("the time", b'\n')?.checked_mul(TICK_NS);
        let at_ns = at.ok_or_else(|| cursor.refusal(from, "the time", "below 2^64 ns"))?;
        sink.push(Record { offset_bytes, length_bytes, ..blank(at_ns, device, operation) })
    }
}

impl Encode for Alibaba {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss> {
        let opcode: &[u8] = match record.operation {
            Operation::Read => b",R,",
            Operation::Write => b",W,",
            other => return Err(Loss::Operation(other)),
        };
        number(out, u64::from(record.device));
        out.extend(opcode);
        number(out, record.offset_bytes);
        out.push(b',');
        number(out, record.length_bytes);
        out.push(b',');
        number(out, record.at.as_ns() / TICK_NS);
        out.push(b'\n');
        Ok(())
    }
}
