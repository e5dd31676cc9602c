//! The readers of traces: the first byte chooses a format, or detection; the rest is the trace. Accepted records must
//! be valid requests, counted as in the summary, and the same whether the bytes come at once or one by one. The output
//! of a format's writer must be readable.

use crate::Target;
use flashlane_base::Operation;
use flashlane_trace::{FORMATS, Format, OpenError, OpenOptions, Record, Summary, Trace, Writer};
use std::io::{Cursor, Read};

pub(crate) const TARGET: Target = Target {
    name: "trace_reader",
    body,
    seeds: &[
        "a0.5 0 100 8 1\n12.345678 3 7018904 496 0\r\n\r# a comment\n",
        "b  8,0 1 2 0.000000100 697 Q W 8 + 8 [a]\n  8,0 1 7 0.000004000 697 D W 8 + 16 [a]\n 8,0 0 1 0.0001 0 C W 8 + 16 [0]\n",
        "b8,0 1 2 0.1 697 Q FWFS 8 + 8 [a]\n8,0 1 2 0.2 697 Q FWS [a]\n8,0 1 2 0.3 697 D FN [a]\n8,0 1 2 0.4 0 C FN 0 [0]\nCPU0\n",
        "c\x07tae\x01\0\0\0\x64\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x07\0\x02\0\x01\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\0",
        "dTimestamp,Hostname\n128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,src,1,Write,1,8192,0\n",
        "efio version 2 iolog\n/dev/sda add\n/dev/sda read 0 4096\n/dev/sda wait 5 0\n/dev/sdb trim 4096 8192\n/dev/sda sync 0 0\n",
        "ffio version 3 iolog\n2 /dev/sda add\n878 /dev/sda write 0 16384\n891 /dev/sdb datasync 0 0\n",
        "g4851300 1 524288 16 0\n4864300 1 524304 16 1\n",
        "h0,20941264,8192,W,0.551706,Alpha/NT\n1, 3436288, 512, r, 1.6\n",
        "i419,W,8792731648,16384,1577808144360767\n",
        "j1538323200,12910952,128,0,1283\n1538323200.5,6265368,8,1,1\n",
        "z0.500000 0 100 8 1\n0.600000 0 108 8 0\n",
    ],
};

fn body(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let named = FORMATS.get(usize::from(choice.wrapping_sub(b'a')));
    let options =
        OpenOptions { format: named.map(|format| format.name), every_device: true, ..OpenOptions::default() };
    let (records, summary) = match read(Cursor::new(data.to_vec()), &options) {
        Ok(read) => read,
        Err(error) => return assert!(error.to_string().len() > 10, "{error} says nothing"),
    };
    for record in &records {
        assert!((record.length_bytes > 0) != (record.operation == Operation::Flush), "{record:?}");
        assert!(record.offset_bytes + record.length_bytes <= 1 << 63, "{record:?}");
        assert!(!record.durable || record.operation == Operation::Write, "{record:?}");
    }
    check_summary(&records, &summary);
    let format = OpenOptions { format: Some(summary.format.name), ..options };
    let again =
        read(OneByOne(Cursor::new(data.to_vec())), &format).expect("the same bytes in the same format");
    assert_eq!(again.0, records);
    assert_eq!((again.1.lines, again.1.refusals), (summary.lines, summary.refusals));
    rewrite(&records, summary.format);
}

fn read(
    bytes: impl Read + Send + 'static,
    options: &OpenOptions<'_>,
) -> Result<(Vec<Record>, Summary), OpenError> {
    let mut trace = Trace::from_reader(bytes, "fuzzed", options)?;
    let records = trace.by_ref().collect();
    let summary = trace.finish().expect("memory does not fail, and the data is not compressed");
    Ok((records, summary))
}

struct OneByOne(Cursor<Vec<u8>>);

impl Read for OneByOne {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

/// Checks that the summary matches the records.
fn check_summary(records: &[Record], summary: &Summary) {
    assert!(summary.complete && summary.records == records.len() as u64 && !records.is_empty());
    assert_eq!(summary.devices.iter().map(|device| device.records).sum::<u64>(), summary.records);
    assert!(summary.refused + summary.skipped <= summary.lines, "{summary:?}");
    assert_eq!(summary.refusals.len() as u64, summary.refused.min(10));
    let mut latest = records[0].at;
    let is_backward = |record: &&Record| {
        latest = latest.max(record.at);
        record.at < latest
    };
    let backward = records.iter().filter(is_backward).count() as u64;
    assert_eq!(summary.backward.map_or(0, |backward| backward.count), backward);
    for refusal in &summary.refusals {
        assert!((1..=summary.lines).contains(&refusal.number), "{refusal}");
    }
}

/// Checks that records written in the format are read back.
fn rewrite(records: &[Record], format: &'static Format) {
    let Ok(mut writer) = Writer::new(format, Vec::new()) else { return };
    records.iter().for_each(|record| writer.push(record).expect("memory takes all"));
    let (bytes, written) = writer.finish().expect("memory takes all");
    if written.records == 0 {
        return;
    }
    let options = OpenOptions { format: Some(format.name), every_device: true, ..OpenOptions::default() };
    let (again, summary) = read(Cursor::new(bytes), &options).expect("what was written can be read");
    assert_eq!((again.len() as u64, summary.refused), (written.records, 0));
}
