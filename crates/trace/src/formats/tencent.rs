//! Block traces of Tencent's cloud block storage (CBS), October 2018.
//!
//! Fields and units are those of the README of the traces at SNIA's IOTTA repository, published with
//! Zhang et al., "OSCA", USENIX ATC 2020. Time is in whole seconds: all requests of a second are at its start.

use super::blank;
use crate::Record;
use crate::cursor::Cursor;
use crate::encode::{Encode, Loss, number, sectors};
use crate::format::{Format, Writing};
use crate::sink::{Reason, Sink};
use crate::text::{Parse, Text, fits, in_sectors};
use flashlane_base::Operation;

pub(crate) const FORMAT: Format = Format {
    name: "tencent",
    summary: "Tencent CBS CSV: time, sector, sectors, type, volume",
    time_unit: "s since 1970, whole",
    codes: "type: 0 is a read, 1 a write",
    other_endings: &["csv"],
    unit: "line",
    recognise: |head| fits(head, Tencent),
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), Tencent)),
    writing: Some(Writing {
        encoder: || Box::new(Tencent),
        resolution_ns: SECOND_NS,
        took_resolution_ns: None,
        durable: false,
        from_zero: false,
    }),
};

const SECOND_NS: u64 = 1_000_000_000;

struct Tencent;

impl Parse for Tencent {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        let from = cursor.at;
        let at = cursor.number("the time", b',')?.checked_mul(SECOND_NS);
        let at_ns = at.ok_or_else(|| cursor.refusal(from, "the time", "below 2^64 ns"))?;
        let sector = cursor.number("the offset", b',')?;
        let length = cursor.number("the size", b',')?;
        let from = cursor.at;
        let operation = match cursor.number("the type", b',')? {
            0 => Operation::Read,
            1 => Operation::Write,
            _ => return Err(cursor.refusal(from, "the type", "0 for a read or 1 for a write")),
        };
        let device = cursor.small("the volume", b'\n')?;
        sink.push(in_sectors(blank(at_ns, device, operation), sector, length)?)
    }
}

impl Encode for Tencent {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss> {
        let (sector, length) = sectors(record)?;
        let kind = match record.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            other => return Err(Loss::Operation(other)),
        };
        for value in [record.at.as_ns() / SECOND_NS, sector, length, kind] {
            number(out, value);
            out.push(b',');
        }
        number(out, u64::from(record.device));
        out.push(b'\n');
        Ok(())
    }
}
