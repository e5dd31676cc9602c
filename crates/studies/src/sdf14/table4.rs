//! Table 4: throughput by request size.

use super::clients::Run;
use super::drives::{
    CHANNELS, Conventional, GEN3, INTEL, KIB, MIB, OnChannel, course, on_channels, passes, places, random,
};
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, row};
use flashlane_workload::Access;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "table4",
    "Section 3.2: random reads of 8, 16, 64 KB and 8 MB, and writes of 8 MB: the SDF reaches 99% of the PCIe link's bandwidth and 94% of the flash's raw one, the conventional drives with the same flash or another do not. 44 threads, one a channel, on the SDF; one with asynchronous requests on the others. The paper does not say what those held, nor how much was written: here they were overwritten at random before, and are written from beginning to end once, as in table 1; no amount is chosen for the answer. That gives 0.44 (Gen3) and 0.09 GB/s (Intel). A second pass, drawn but not counted, has little to clean and gives 0.91 and 0.16 GB/s: the published numbers lie between the two",
    measure,
)
.with_weight(962);

/// How long reads of each size take, about, relative to the other parts.
const READS: [u32; 4] = [1, 1, 1, 40];

/// GB/s of reads by size, and of writes.
type Published = ([f64; 4], f64);

const SIZES: [(&str, u64); 4] =
    [("8 KB", 8 * KIB), ("16 KB", 16 * KIB), ("64 KB", 64 * KIB), ("8 MB", 8 * MIB)];
const SDF: Published = ([1.23, 1.42, 1.51, 1.59], 0.96);
/// For each drive the blocks per plane in the study, and the weight of a pass.
const CONVENTIONAL: [(Conventional, u64, Published, u32); 2] =
    [(GEN3, 256, ([0.92, 1.02, 1.15, 1.20], 0.67), 330), (INTEL, 256, ([0.17, 0.20, 0.22, 0.22], 0.13), 100)];
/// The paper's limits in GB/s: of the link for reads, of the flash for writes.
const LIMITS: [f64; 2] = [1.61, 1.01];
const TOLERANCE: f64 = 0.15;

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    sdf(lab, &mut outcome)?;
    let mut written = Vec::new();
    for (drive, blocks, published, pass) in CONVENTIONAL {
        let writes = conventional(lab, drive, blocks, published, pass, &mut outcome)?;
        written.push((drive.name, writes));
    }
    outcome.figures.push(course("table4-writes", "Writes of 8 MB", &written));
    Ok(outcome)
}

fn push(outcome: &mut Outcome, name: &str, what: &str, published: f64, mb_per_s: f64) {
    let quantity = format!("{name}: {what}");
    outcome.rows.push(row::near(&quantity, published, mb_per_s / 1e3, "GB/s", TOLERANCE));
}

fn sdf(lab: &mut Lab<'_>, outcome: &mut Outcome) -> Result<(), FigureError> {
    let mut device = lab.device("sdf", &[("initial.state", "full")])?;
    let mut last = 0.0;
    for ((size, bytes), published) in SIZES.into_iter().zip(SDF.0) {
        // The same number on every channel, so that at the end no channel has the link alone.
        let accesses = accesses(lab, bytes).next_multiple_of(CHANNELS.into());
        let work = OnChannel::RandomReads(bytes);
        last = on_channels(lab.part(1), &mut *device, CHANNELS, work, accesses)?.mb_per_s();
        push(outcome, "SDF", &format!("{size} reads"), published, last);
    }
    let link = row::at_least("SDF: 8 MB reads, share of the link", 99.0, last / 10.0 / LIMITS[0], "%", 98.0);
    let rewrites = lab.either(2200, 880);
    let writes = on_channels(lab.part(1), &mut *device, CHANNELS, OnChannel::Rewrites, rewrites)?.mb_per_s();
    push(outcome, "SDF", "8 MB writes, with the erase before each", SDF.1, writes);
    let mut fresh = lab.device("sdf", &[])?;
    let fresh = on_channels(lab.part(1), &mut *fresh, CHANNELS, OnChannel::Writes, rewrites)?.mb_per_s();
    let flash = row::at_least(
        "SDF: 8 MB writes to erased units, share of raw",
        94.0,
        fresh / 10.0 / LIMITS[1],
        "%",
        94.0,
    );
    outcome.rows.extend([link, flash]);
    Ok(())
}

fn conventional(
    lab: &mut Lab<'_>,
    drive: Conventional,
    blocks: u64,
    published: Published,
    pass: u32,
    outcome: &mut Outcome,
) -> Result<[Run; 2], FigureError> {
    let mut device = drive.with(lab.part(5), blocks, drive.set_aside, "fragmented")?;
    let mut places = places();
    for (((size, bytes), published), weight) in SIZES.into_iter().zip(published.0).zip(READS) {
        let accesses = accesses(lab, bytes);
        let run =
            random(lab.part(weight), &mut *device, drive.depth, bytes, accesses, &mut places, Access::read)?;
        push(outcome, drive.name, &format!("{size} reads"), published, run.mb_per_s());
    }
    let writes = passes(lab, &mut *device, drive.depth, 8 * MIB, [pass; 2])?;
    push(outcome, drive.name, "8 MB writes", published.1, writes[0].mb_per_s());
    Ok(writes)
}

/// Returns a number of accesses at which the last ones, with fewer in flight, are negligible.
fn accesses(lab: &Lab<'_>, bytes: u64) -> u64 {
    lab.either(8 * 1024 * MIB, 2 * 1024 * MIB).div_euclid(bytes).clamp(1000, lab.either(300_000, 100_000))
}
