//! What the drive is asked: DiskSim's synthetic writes, the repository's recordings, and the traces that came with the
//! simulator, where they are given.

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

/// The sizes of table II: its name for them, KiB, and how many requests a first look takes instead of
/// [`SYNTHETIC_REQUESTS`].
pub(super) const SYNTHETIC_SIZES: [(&str, u64, u64); 2] = [("250k", 250, 60_000), ("5m", 5 * 1024, 5_000)];
/// How many requests a synthetic workload has (table II).
pub(super) const SYNTHETIC_REQUESTS: u64 = 250_000;

/// Synthetic writes of one size over the whole drive (table II).
///
/// They come 0.5 ms apart in the mean, as those that DiskSim's SSD extension is delivered with; the paper does not say.
/// Either size of table II is more than the drive can take at that rate, so that requests queue up from the first to the last. At
/// any rate that it cannot take their mean response time goes with how fast the drive is.
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
    /// What it is called here.
    pub(super) name: &'static str,
    source: Source,
    /// Whether its reads are made writes ("AW" in the paper, section IV.A).
    all_writes: bool,
}

#[derive(Clone, Copy)]
enum Source {
    /// A recording of the repository: its name, its content.
    Own(&'static str, &'static [u8]),
    /// A trace of the simulator's, by the name of its file.
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

pub(super) const KERNEL_BUILD: Program = own!("kernel build", "kernel-build.blktrace.xz");
pub(super) const WORD_COUNT: Program = own!("word count", "word-count.blktrace.xz");
pub(super) const SMALL_FILES: Program = own!("10,000 files of 100 KB", "small-files.blktrace.xz");
pub(super) const MP3_FILES: Program = own!("MP3 files", "mp3-files.blktrace.xz");
pub(super) const LARGE_FILES: Program = own!("3 files of 1.9 GB", "large-files.blktrace.xz");
pub(super) const IOZONE: Program = given("IOzone", "ssd-iozone-aligned2-100K.trace");
pub(super) const POSTMARK: Program = given("PostMark", "ssd-postmark-aligned2.trace");

const fn given(name: &'static str, file: &'static str) -> Program {
    Program { name, source: Source::Given(file), all_writes: false }
}

impl Program {
    /// The same with its reads made writes.
    pub(super) const fn all_writes(self, name: &'static str) -> Self {
        Self { name, all_writes: true, ..self }
    }

    /// Its requests; where its trace is not there, the trace's name.
    ///
    /// Flushes are left out, as the paper leaves out what its simulator has no use for (section III.C).
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
