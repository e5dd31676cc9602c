//! Greedy cleaning under uniform random overwrites against its closed form.

use super::{Figure, Goal, number_after, percent_off};

pub const SMALL_BLOCKS: Figure = Figure {
    id: "greedy-64-pages",
    what: "greedy cleaning of blocks of 64 pages, 88.8% valid, under uniform random overwrites: write amplification against the closed \
           form, 4.373 (derived: `drive::tests::greedy`; about 1/(2a) for a spare share of a, 4.48): % off",
    goal: Some(Goal::AtMost(2.0, None)),
    command: "cargo run -q --release -p flashlane -- run sim:nvme-tlc,flash.channels=4,flash.dies=1,flash.planes=1,flash.blocks=1024,flash.pages=64,flash.page=4KiB,flash.factory_bad=0%,mapping.chunk=4KiB,buffer.policy=none,wear.policy=dynamic,cleaning.low=1%,cleaning.pacing=watermark,capacity=900MiB,initial.state=fragmented random-write,size=4KiB,depth=8,requests=4M --format json",
    read: |output| Some(percent_off(number_after(output, "\"write_amplification\":")?, 4.373)),
};

pub const LARGE_BLOCKS: Figure = Figure {
    id: "greedy-256-pages",
    what: "the same of blocks of 256 pages, 95.0% valid, against 9.740 (1/(2a): 9.94): % off",
    goal: Some(Goal::AtMost(2.0, None)),
    command: "cargo run -q --release -p flashlane -- run sim:nvme-tlc,flash.channels=4,flash.dies=1,flash.planes=1,flash.blocks=2048,flash.pages=256,flash.page=4KiB,flash.factory_bad=0%,mapping.chunk=4KiB,buffer.policy=none,wear.policy=dynamic,cleaning.low=1%,cleaning.pacing=watermark,capacity=7700MiB,initial.state=fragmented random-write,size=4KiB,depth=8,requests=4M --format json",
    read: |output| Some(percent_off(number_after(output, "\"write_amplification\":")?, 9.740)),
};
