//! Counts of what trials did.

use flashlane_store::Counters;

/// Counts of what a trial did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power cuts of both devices, each followed by an opening and a comparison.
    pub cuts: u64,
    /// Entries compared.
    pub entries_compared: u64,
    /// Writes that succeeded.
    pub writes: u64,
    /// Gets that succeeded.
    pub gets: u64,
    /// Scans that succeeded.
    pub scans: u64,
    /// Merges that completed.
    pub merges: u64,
    /// Those that were parts.
    pub merge_parts: u64,
    /// Writes that were refused since the device was full, for good or until merges made room.
    pub full: u64,
    /// Operations that failed on devices with faults.
    pub failures: u64,
    /// Times that the store was opened again and the trial continued.
    pub restarts: u64,
    /// Closes, after each of which the loss of the log's last page was noticed, if anything was written.
    pub closes: u64,
    /// Copies of which blocks were damaged.
    pub damaged: u64,
    /// Salvages of these that gave something up.
    pub salvages: u64,
    /// Runs of other data that were written over a store, and kept by it.
    pub foreign_runs: u64,
}

impl Tally {
    /// Adds what a store counted.
    pub(crate) fn add(&mut self, counters: &Counters) {
        self.merges += counters.merges;
        self.merge_parts += counters.merge_parts;
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.entries_compared += other.entries_compared;
        self.writes += other.writes;
        self.gets += other.gets;
        self.scans += other.scans;
        self.merges += other.merges;
        self.merge_parts += other.merge_parts;
        self.full += other.full;
        self.failures += other.failures;
        self.restarts += other.restarts;
        self.closes += other.closes;
        self.damaged += other.damaged;
        self.salvages += other.salvages;
        self.foreign_runs += other.foreign_runs;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            cuts,
            entries_compared,
            writes,
            gets,
            scans,
            merges,
            merge_parts,
            full,
            failures,
            restarts,
            closes,
            damaged,
            salvages,
            foreign_runs,
        } = self;
        write!(
            f,
            "{cuts} power cuts, {restarts} restarts, {closes} closes: no acknowledged write lost, no batch halved\n{writes} writes, {gets} gets, \
             {scans} scans, {merges} merges ({merge_parts} of them parts), {full} refusals of a full device, {failures} lawful failures, \
             {entries_compared} entries compared\n{damaged} copies with damaged blocks, {salvages} salvages: no key lost but \
             those stated\n{foreign_runs} runs of other data: none overwritten"
        )
    }
}
