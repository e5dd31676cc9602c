//! Traces in the format of the Storage Performance Council, such as those of UMass (Financial, WebSearch).
//!
//! Fields and units are those of the "SPC Trace File Format Specification", revision 1.0.1 (2002), section 2, where the
//! description of a trace gives the size of a block; it is 512 bytes in all known traces.

use super::blank;
use crate::Record;
use crate::cursor::{Cursor, END_OR_COMMA};
use crate::encode::{Encode, Loss, decimal, number};
use crate::format::{Format, Writing};
use crate::sink::{Reason, Sink};
use crate::text::{Parse, Text, fits, in_sectors};
use flashlane_base::Operation;

pub(crate) const FORMAT: Format = Format {
    name: "spc",
    summary: "SPC: unit (ASU), block, bytes, opcode, time, more fields that are left alone",
    time_unit: "s, decimal",
    codes: "opcode: 'R' or 'r' is a read, 'W' or 'w' a write",
    other_endings: &[],
    unit: "line",
    recognise: |head| fits(head, Spc),
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), Spc)),
    writing: Some(Writing {
        encoder: || Box::new(Spc),
        resolution_ns: 1,
        took_resolution_ns: None,
        durable: false,
        from_zero: true,
    }),
};

struct Spc;

impl Parse for Spc {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        let device = cursor.small("the unit (ASU)", b',')?;
        let block = cursor.number("the block", b',')?;
        let length_bytes = cursor.number("the size", b',')?;
        let from = cursor.at;
        let operation = match cursor.word("the opcode", b',')? {
            b"R" | b"r" => Operation::Read,
            b"W" | b"w" => Operation::Write,
            _ => return Err(cursor.refusal(from, "the opcode", "'R' for a read or 'W' for a write")),
        };
        let at_ns = cursor.decimal_ns("the time", 9, END_OR_COMMA)?;
        let record = in_sectors(blank(at_ns, device, operation), block, 0)?;
        sink.push(Record { length_bytes, ..record })
    }
}

impl Encode for Spc {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss> {
        if !record.offset_bytes.is_multiple_of(512) {
            return Err(Loss::Unaligned);
        }
        let opcode: &[u8] = match record.operation {
            Operation::Read => b"R,",
            Operation::Write => b"W,",
            other => return Err(Loss::Operation(other)),
        };
        for value in [u64::from(record.device), record.offset_bytes / 512, record.length_bytes] {
            number(out, value);
            out.push(b',');
        }
        out.extend(opcode);
        decimal(out, record.at.as_ns(), 9);
        out.push(b'\n');
        Ok(())
    }
}
