//! DiskSim's ASCII traces: five columns separated by blanks, one request per line.
//!
//! Columns, units and the flags are those of the DiskSim 4.0 reference manual (CMU-PDL-08-101), section 4.1; that the
//! flags are hexadecimal is in its `disksim_iotrace.c`. Columns after the fifth are ignored, as by DiskSim.

use super::blank;
use crate::Record;
use crate::cursor::Cursor;
use crate::encode::{Encode, Loss, decimal, number, sectors};
use crate::format::{Format, Writing};
use crate::sink::{Reason, Sink};
use crate::text::{Parse, Text, fits, in_sectors};
use flashlane_base::Operation;

pub(crate) const FORMAT: Format = Format {
    name: "disksim",
    summary: "DiskSim ASCII: time, device, block, size, flags",
    time_unit: "ms, decimal",
    codes: "flags, hexadecimal: bit 0 set is a read, not set a write",
    other_endings: &["ascii"],
    unit: "line",
    // Where all times are whole numbers, MQSim fits too: then the file's ending decides, or the user.
    recognise: |head| fits(head, DiskSim),
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), DiskSim)),
    writing: Some(Writing {
        encoder: || Box::new(DiskSim),
        resolution_ns: 1,
        took_resolution_ns: None,
        durable: false,
        from_zero: true,
    }),
};

struct DiskSim;

impl Parse for DiskSim {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        let at_ns = cursor.decimal_ns("the arrival time", 6, b' ')?;
        let device = cursor.small("the device number", b' ')?;
        let sector = cursor.number("the block number", b' ')?;
        let length = cursor.number("the size", b' ')?;
        let operation = if flags(cursor)? & 1 == 1 { Operation::Read } else { Operation::Write };
        sink.push(in_sectors(blank(at_ns, device, operation), sector, length)?)
    }
}

/// The flags, hexadecimal with or without `0x`.
#[inline]
fn flags(cursor: &mut Cursor<'_>) -> Result<u32, Reason> {
    let from = cursor.at;
    if cursor.peek() == b'0' && matches!(cursor.block[from + 1], b'x' | b'X') {
        cursor.at += 2;
    }
    let (mut flags, first) = (0_u64, cursor.at);
    while let Some(digit) = (cursor.peek() as char).to_digit(16) {
        flags = (flags << 4 | u64::from(digit)) & 0xf_ffff_ffff;
        cursor.at += 1;
    }
    let is_sound = cursor.at > first && matches!(cursor.peek(), b'\n' | b'\r' | b' ' | b'\t');
    match u32::try_from(flags) {
        Ok(flags) if is_sound => Ok(flags),
        _ => Err(cursor.refusal(from, "the flags field", "a hexadecimal number of 32 bits")),
    }
}

impl Encode for DiskSim {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss> {
        let (sector, length) = sectors(record)?;
        let flags = match record.operation {
            Operation::Read => b'1',
            Operation::Write => b'0',
            other => return Err(Loss::Operation(other)),
        };
        decimal(out, record.at.as_ns(), 6);
        out.push(b' ');
        number(out, u64::from(record.device));
        out.push(b' ');
        number(out, sector);
        out.push(b' ');
        number(out, length);
        out.extend([b' ', flags, b'\n']);
        Ok(())
    }
}
