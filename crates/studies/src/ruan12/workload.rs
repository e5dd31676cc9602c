//! The workloads: DiskSim's synthetic writes, the repository's recordings, and the traces that come with the simulator,
//! where available.

use crate::FigureError;
use crate::disksim::synthetic::{Size, Synthetic};
use crate::lab::Lab;
use flashlane_base::Operation;
use flashlane_trace::{OpenOptions, Record, Trace};

/// A page of the drive.
pub(super) const PAGE_KIB: u64 = 8;
/// Sectors of a page: DiskSim takes requests of whole pages.
const STEP_SECTORS: u64 = 2 * PAGE_KIB;
/// Capacity of the drive, `msr-64g`.
pub(super) const DRIVE_BYTES: u64 = 57_505_480_704;
/// The seed of DiskSim's parameter files.
const SEED: u32 = 42;

/// The sizes of table II: name, KiB, and the number of requests in the quick form instead of [`SYNTHETIC_REQUESTS`].
pub(super) const SYNTHETIC_SIZES: [(&str, u64, u64); 2] = [("250k", 250, 60_000), ("5m", 5 * 1024, 5_000)];
/// Number of requests of a synthetic workload (table II).
pub(super) const SYNTHETIC_REQUESTS: u64 = 250_000;

/// Synthetic writes of one size over the whole drive (table II).
///
/// They arrive 0.5 ms apart in the mean, as in the workloads of DiskSim's SSD extension; the paper gives no rate. Both
/// sizes of table II exceed the drive's bandwidth at that rate, so that requests queue up from the first to the last.
/// At any such rate their mean response time depends on the speed of the drive.
pub(super) fn synthetic(sequential: bool, size_kib: u64, requests: u64) -> Synthetic {
    Synthetic {
        operation: Operation::Write,
        sequential,
        requests,
        region_sectors: DRIVE_BYTES / 512,
        size: Size::Fixed(2 * size_kib),
        step_sectors: STEP_SECTORS,
        seed: SEED,
    }
}

/// A program that was recorded.
#[derive(Clone, Copy)]
pub(super) struct Program {
    /// Its name in the study.
    pub(super) name: &'static str,
    source: Source,
    /// Whether its reads become writes ("AW" in the paper, section IV.A).
    all_writes: bool,
}

#[derive(Clone, Copy)]
enum Source {
    /// A recording of the repository: name and content.
    Own(&'static str, &'static [u8]),
    /// A trace of the simulator, by file name.
    Given(&'static str),
}

macro_rules! own {
    ($name:literal, $file:literal) => {
        Program {
            name: $name,
            source: Source::Own($file, include_bytes!(concat!("../../../../traces/", $file))),
            all_writes: false,
        }
    };
}

pub(super) static KERNEL_BUILD: Program = own!("kernel build", "kernel-build.blktrace.xz");
pub(super) static WORD_COUNT: Program = own!("word count", "word-count.blktrace.xz");
pub(super) static SMALL_FILES: Program = own!("10,000 files of 100 KB", "small-files.blktrace.xz");
pub(super) static MP3_FILES: Program = own!("MP3 files", "mp3-files.blktrace.xz");
pub(super) static LARGE_FILES: Program = own!("3 files of 1.9 GB", "large-files.blktrace.xz");
pub(super) const IOZONE: Program = given("IOzone", "ssd-iozone-aligned2-100K.trace");
pub(super) const POSTMARK: Program = given("PostMark", "ssd-postmark-aligned2.trace");

const fn given(name: &'static str, file: &'static str) -> Program {
    Program { name, source: Source::Given(file), all_writes: false }
}

impl Program {
    /// The same program with its reads as writes.
    pub(super) const fn all_writes(self, name: &'static str) -> Self {
        Self { name, all_writes: true, ..self }
    }

    /// Returns its requests; where its trace is missing, the trace's name.
    ///
    /// Flushes are left out, as the paper leaves out operations that its simulator does not support (section III.C).
    pub(super) fn records(&self, lab: &Lab<'_>) -> Result<Result<Vec<Record>, &'static str>, FigureError> {
        let mut records: Vec<Record> = match self.source {
            Source::Own(name, content) => {
                let mut trace = Trace::from_reader(content, name, &OpenOptions::default())?;
                let records = trace.by_ref().collect();
                trace.finish()?;
                records
            }
            Source::Given(file) => match lab.trace(file)? {
                Some(records) => records,
                None => return Ok(Err(file)),
            },
        };
        records.retain(|record| matches!(record.operation, Operation::Read | Operation::Write));
        if self.all_writes {
            records.iter_mut().for_each(|record| record.operation = Operation::Write);
        }
        Ok(Ok(records))
    }
}
