//! Random drives, each with a run whose phases follow from the drive's settings.
//!
//! - `batches`: a write buffer that drains only when it is full, and then one page for each package at once. Sequential
//!   writes are cheap until it is full (start-up: its pages), and then wait for each batch (period: the number of
//!   packages, each with its own channel).
//! - `erases`: no buffer; sequential writes over a drive with spare erased blocks. They are cheap until these are used
//!   up (start-up: their pages on all dies), and then each die erases a block for each that it fills (period: the pages
//!   of a block on all dies).
//! - `random-cleaning`: random writes, each to a random die, so that GC runs at irregular distances: no period. Half of
//!   the drives have spare erased blocks, and the start-up lasts until half as many blocks are erased as there are
//!   dies: from then on a write more likely than not meets a die in GC. The others are written first until their dies
//!   are out of step.
//! - `nothing`: reads, or writes into a drive with room for all of them: neither.
//!
//! Half of the drives with a period are written first, for longer than their start-up and up to a random place of the
//! period, so that they have no start-up.

use super::{KnownPhases, REQUESTS};
use flashlane_base::{Random, Seed};
use flashlane_workload::Access;

/// Upper bound of start-ups: the run must be long enough to show the running phase.
const MOST_STARTUP: u64 = REQUESTS * 3 / 10;

/// A drive and the run on it.
pub(super) struct Drawn {
    /// The true phases of the run.
    pub(super) truth: KnownPhases,
    /// Number of erases that ends the start-up, where `truth` does not have it.
    pub(super) until_erases: Option<u64>,
    /// The drive's profile.
    pub(super) profile: String,
    /// I/Os before the run.
    pub(super) before: u64,
    reads: bool,
    random: bool,
    length_bytes: u64,
    capacity_bytes: u64,
}

impl Drawn {
    /// Returns the I/Os before the run and those of the run.
    pub(super) fn accesses(&self, seed: Seed) -> impl Iterator<Item = Access> + use<> {
        let (length, places, reads) =
            (self.length_bytes, self.capacity_bytes / self.length_bytes, self.reads);
        let mut source = self.random.then(|| seed.source());
        (0..).map(move |i| {
            let place = source.as_mut().map_or(i % places, |random| random.below(places));
            if reads { Access::read(place * length, length) } else { Access::write(place * length, length) }
        })
    }
}

/// Draws a drive: 40% have batches, 30% erases, 15% random cleaning, 15% nothing.
pub(super) fn draw(random: &mut Random) -> Drawn {
    match random.below(20) {
        0..8 => batches(random),
        8..14 => erases(random),
        14..17 => random_cleaning(random),
        _ => nothing(random),
    }
}

/// Common properties: timings from slow SLC to present TLC, up to 5% of noise in array and host.
struct Flash {
    channels: u64,
    packages: u64,
    page_bytes: u64,
    program_us: f64,
    text: String,
}

impl Flash {
    fn draw(random: &mut Random, most_channels: u64) -> Self {
        let read_us = log_uniform(random, 20.0, 90.0);
        let program_us = read_us * log_uniform(random, 5.0, 20.0);
        let noise = 5.0 * random.unit();
        let text = format!(
            "read = \"{:.0}ns\"\nprogram = \"{:.0}ns\"\nbus = \"{:.0}B/s\"\nnoise = \"{noise:.2}%\"\n\
             [host]\nsubmission = \"{:.0}ns\"\njitter = \"{noise:.2}%\"\n\
             [link]\nbandwidth = \"{:.0}B/s\"\nwrite_command = \"{:.0}ns\"\ndepth = 32\n",
            read_us * 1e3,
            program_us * 1e3,
            log_uniform(random, 25e6, 400e6),
            log_uniform(random, 4e3, 50e3),
            log_uniform(random, 250e6, 4000e6),
            log_uniform(random, 300.0, 8000.0),
        );
        let (channels, packages) = (1 + random.below(most_channels), 1 + random.below(4));
        Self { channels, packages, page_bytes: 4096 << random.below(3), program_us, text }
    }

    fn dies(&self) -> u64 {
        self.channels * self.packages
    }

    /// Returns a profile with this flash, `blocks` of `pages` on each die, and the sections `rest`.
    fn profile(&self, capacity_bytes: u64, blocks: u64, pages: u64, erase_us: f64, rest: &str) -> String {
        let Self { channels, packages, page_bytes, text, .. } = self;
        format!(
            "name = \"random\"\ncapacity = \"{capacity_bytes}B\"\n{rest}\
             [flash]\nchannels = {channels}\npackages = {packages}\nblocks = {blocks}\npages = {pages}\n\
             page = \"{page_bytes}B\"\nerase = \"{:.0}ns\"\n{text}",
            erase_us * 1e3
        )
    }
}

fn log_uniform(random: &mut Random, low: f64, high: f64) -> f64 {
    (low.ln() + random.unit() * (high / low).ln()).exp()
}

/// Half of the runs begin directly, the others after enough I/Os to end the start-up.
fn written_before(random: &mut Random, truth: KnownPhases) -> (u64, KnownPhases) {
    if random.chance(0.5) {
        return (0, truth);
    }
    (truth.startup + random.below(4 * truth.period), KnownPhases { startup: 0, ..truth })
}

/// Returns the blocks of a die that `pages` do not fill, with a reserve of a quarter.
fn blocks_for(flash: &Flash, pages: u64, pages_per_block: u64) -> u64 {
    (pages * 5 / 4).div_ceil(flash.dies() * pages_per_block) + 8
}

fn batches(random: &mut Random) -> Drawn {
    let mut flash = Flash::draw(random, 8);
    // Packages on one bus would free their pages at different times: channels would add a period.
    flash.channels = 4 + random.below(61);
    flash.packages = 1;
    // A whole number of I/Os, and more than one.
    let pages_per_io = 1 << random.below(u64::from(flash.dies().trailing_zeros().min(1)) + 1);
    let period = flash.dies() / pages_per_io;
    let startup = log_uniform(random, (2 * period) as f64, MOST_STARTUP as f64) as u64;
    let policy = ["fifo", "lru", "parallel"][random.below(3) as usize];
    let truth = KnownPhases { mechanism: "batches", startup, period };
    let (before, truth) = written_before(random, truth);
    let pages = (before + REQUESTS) * pages_per_io;
    let rest = format!(
        "[mapping]\npolicy = \"lba\"\nchunk = \"{page}B\"\n[buffer]\npolicy = \"{policy}\"\nsize = \"{}B\"\n\
         batch_pages_per_package = 1\n[cleaning]\nlow = \"1%\"\n",
        startup * pages_per_io * flash.page_bytes,
        page = flash.page_bytes,
    );
    let capacity_bytes = pages * flash.page_bytes;
    Drawn {
        truth,
        until_erases: None,
        profile: flash.profile(capacity_bytes, blocks_for(&flash, pages, 64), 64, 2000.0, &rest),
        before,
        reads: false,
        random: false,
        length_bytes: pages_per_io * flash.page_bytes,
        capacity_bytes,
    }
}

fn erases(random: &mut Random) -> Drawn {
    let flash = Flash::draw(random, 8);
    // The pages of an I/O are on different dies.
    let pages_per_io =
        1 << random.below(u64::from(flash.dies().ilog2()) + 1).min(flash.dies().trailing_zeros().into());
    let stripe = flash.dies() / pages_per_io;
    let pages = 8 << random.below(5);
    let period = pages * stripe;
    // Blocks of each die that the start-up fills: the spare ones, and on a fresh drive also those of its content.
    let filled = log_uniform(random, 1.0, (MOST_STARTUP / period).max(1) as f64 + 0.99) as u64;
    let full = filled < 8 || random.chance(0.5);
    let content = if full { 16 + random.below(48) } else { 4 + random.below(filled - 6) };
    let stored = if full { filled } else { filled - content };
    // The first write to a die's second last spare block triggers the first erase, and the next write to that die
    // waits.
    let startup = filled * period + stripe;
    let truth = KnownPhases { mechanism: "erases", startup, period };
    let (before, truth) = written_before(random, truth);
    let rest = format!(
        "initial.state = \"{}\"\n[mapping]\npolicy = \"{}\"\nchunk = \"{}B\"\n[cleaning]\nlow = \"0%\"\n",
        if full { "full" } else { "fresh" },
        if random.chance(0.5) { "lba" } else { "write-order" },
        flash.page_bytes,
    );
    // An erase must take longer than the writes to the other dies to be visible.
    let erase_us = flash.program_us * stripe as f64 * log_uniform(random, 2.0, 8.0);
    let capacity_bytes = content * pages * flash.dies() * flash.page_bytes;
    Drawn {
        truth,
        until_erases: None,
        // One block is the minimum that is left, one is being opened.
        profile: flash.profile(capacity_bytes, content + stored + 2, pages, erase_us, &rest),
        before,
        reads: false,
        random: false,
        length_bytes: pages_per_io * flash.page_bytes,
        capacity_bytes,
    }
}

fn random_cleaning(random: &mut Random) -> Drawn {
    let mut flash = Flash::draw(random, 4);
    // With few dies the distances would be nearly constant.
    flash.channels = flash.channels.max(3);
    flash.packages = flash.packages.max(3);
    let pages = 32;
    // The more spare blocks, the closer together the dies use them up, and the sharper the end of the start-up.
    let most = MOST_STARTUP / (pages * flash.dies());
    let stored = 2 + most * 2 / 3 + random.below(most / 3 + 1);
    let content = stored * (4 + random.below(5));
    let from_store = random.chance(0.5);
    let before = if from_store { 0 } else { 6 * pages * flash.dies() };
    let rest = format!(
        "initial.state = \"{}\"\n[mapping]\npolicy = \"write-order\"\nallocation = \"random\"\nchunk = \"{}B\"\n\
         [cleaning]\nlow = \"0%\"\n",
        if from_store { "full" } else { "fragmented" },
        flash.page_bytes,
    );
    let capacity_bytes = content * pages * flash.dies() * flash.page_bytes;
    Drawn {
        truth: KnownPhases { mechanism: "random-cleaning", startup: 0, period: 0 },
        until_erases: from_store.then_some(flash.dies() / 2),
        profile: flash.profile(capacity_bytes, content + stored, pages, 2000.0, &rest),
        before,
        reads: false,
        random: true,
        length_bytes: flash.page_bytes,
        capacity_bytes,
    }
}

fn nothing(random: &mut Random) -> Drawn {
    let flash = Flash::draw(random, 8);
    let reads = random.chance(0.6);
    let pages = REQUESTS * 2;
    let capacity_bytes = pages * flash.page_bytes;
    let rest = format!(
        "initial.state = \"{}\"\n[mapping]\npolicy = \"write-order\"\nchunk = \"{}B\"\n[cleaning]\nlow = \"1%\"\n",
        if reads { "full" } else { "fresh" },
        flash.page_bytes,
    );
    Drawn {
        truth: KnownPhases { mechanism: "nothing", startup: 0, period: 0 },
        until_erases: None,
        profile: flash.profile(capacity_bytes, blocks_for(&flash, pages, 64), 64, 2000.0, &rest),
        before: 0,
        reads,
        random: random.chance(0.5),
        length_bytes: flash.page_bytes,
        capacity_bytes,
    }
}
