//! Energy: against power times time, and against the powers that a vendor publishes.

use super::{Figure, Goal, number_after, percent_off};

pub const READS: Figure = Figure {
    id: "energy-reads",
    what: "`nvme-tlc`, random reads of 16 KiB pages: energy of the flash array against 60 µs of 30 mW for each: % off",
    goal: Some(Goal::AtMost(2.0, Some(0.0))),
    command: "cargo run -q --release -p flashlane -- run sim:nvme-tlc,initial.state=full,buffer.policy=none,power.read=30mW random-read,size=16KiB,depth=1,requests=100k --format json",
    read: |output| {
        let energy_nj = number_after(output, "\"energy_of_reads_nj\":")?;
        let requests = number_after(output, "\"host_reads\":")?;
        Some(percent_off(energy_nj, requests * 60.0 * 30.0))
    },
};

pub const WRITES: Figure = Figure {
    id: "energy-writes-970-evo-plus",
    what: "`nvme-tlc` with an SLC cache and the powers of `docs/profiles.md` (controller fitted to reads, 5.5 W): writes into the cache against the 6.0 W of a 970 EVO Plus: % off",
    goal: Some(Goal::AtMost(10.0, Some(5.0))),
    command: "cargo run -q --release -p flashlane -- run sim:nvme-tlc,link.bandwidth=3.5GB/s,slc.read=30us,slc.program=240us,slc.size=6GB,slc.free_blocks=12%,power.read=30mW,power.program=30mW,power.erase=30mW,power.idle=30mW,power.active=5090mW sequential-write,size=1MiB,depth=16,requests=20k --format json",
    read: |output| Some(percent_off(number_after(output, "\"mean_w\":")?, 6.0)),
};
