//! Mapping units larger than a page: what single requests read and program, by the energy of the array, which tells
//! pages apart.

use super::{Figure, Goal, number_after, percent_off};

const EXACT: Option<Goal> = Some(Goal::AtMost(2.0, Some(0.0)));

pub const WRITES: Figure = Figure {
    id: "large-units-writes",
    what: "units of 16 KiB on pages of 4 KiB, random writes of 4 KiB: page programs for each unit that is written or moved, against 4: % off",
    goal: EXACT,
    command: "cargo run -q --release -p flashlane -- run sim:nvme-tlc,flash.page=4KiB,mapping.unit=16KiB,capacity=200GB,initial.state=full,buffer.policy=none,power.program=30mW random-write,size=4KiB,depth=8,requests=200k --format json",
    read: |output| {
        let pages = number_after(output, "\"energy_of_programs_nj\":")? / (600.0 * 30.0);
        Some(percent_off(pages / number_after(output, "\"flash_pages_programmed\":")?, 4.0))
    },
};

pub const READS: Figure = Figure {
    id: "large-units-reads",
    what: "units of 64 KiB on pages of 16 KiB, random reads of 4 KiB: page reads for each, against 1: % off",
    goal: EXACT,
    command: "cargo run -q --release -p flashlane -- run sim:nvme-tlc,mapping.unit=64KiB,mapping.chunk=64KiB,initial.state=full,power.read=30mW random-read,size=4KiB,depth=1,requests=100k --format json",
    read: |output| {
        let pages = number_after(output, "\"energy_of_reads_nj\":")? / (60.0 * 30.0);
        Some(percent_off(pages / number_after(output, "\"host_reads\":")?, 1.0))
    },
};
