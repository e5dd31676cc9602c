//! MQSim's traces: DiskSim's five columns, with time in whole nanoseconds.
//!
//! Columns and codes are those of MQSim's `src/host/ASCII_Trace_Definition.h` and its README. The unit of time is a
//! setting of MQSim's workload (`Time_Unit`); its examples and all known traces use nanoseconds.

use super::blank;
use crate::Record;
use crate::cursor::Cursor;
use crate::encode::{Encode, Loss, number, sectors};
use crate::format::{Format, Writing};
use crate::sink::{Reason, Sink};
use crate::text::{Parse, Text, fits, in_sectors};
use flashlane_base::Operation;

pub(crate) const FORMAT: Format = Format {
    name: "mqsim",
    summary: "MQSim: time, device, sector, sectors, type",
    time_unit: "ns, whole",
    codes: "type: 0 is a write, 1 a read",
    other_endings: &[],
    unit: "line",
    recognise: |head| fits(head, MqSim),
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), MqSim)),
    writing: Some(Writing {
        encoder: || Box::new(MqSim),
        resolution_ns: 1,
        took_resolution_ns: None,
        durable: false,
        from_zero: true,
    }),
};

struct MqSim;

impl Parse for MqSim {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        let at_ns = cursor.number("the arrival time", b' ')?;
        let device = cursor.small("the device number", b' ')?;
        let sector = cursor.number("the sector", b' ')?;
        let length = cursor.number("the number of sectors", b' ')?;
        let from = cursor.at;
        let operation = match cursor.number("the type", b'\n')? {
            0 => Operation::Write,
            1 => Operation::Read,
            _ => return Err(cursor.refusal(from, "the type", "0 for a write or 1 for a read")),
        };
        sink.push(in_sectors(blank(at_ns, device, operation), sector, length)?)
    }
}

impl Encode for MqSim {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss> {
        let (sector, length) = sectors(record)?;
        let kind = match record.operation {
            Operation::Read => 1,
            Operation::Write => 0,
            other => return Err(Loss::Operation(other)),
        };
        for value in [record.at.as_ns(), u64::from(record.device), sector, length] {
            number(out, value);
            out.push(b' ');
        }
        number(out, kind);
        out.push(b'\n');
        Ok(())
    }
}
