//! The key-value store on software-defined flash, in virtual time, and its server beside Redis.

use super::{Figure, Goal, number_after};

const COMMAND: &str = "cargo bench -q -p flashlane-studies --bench store";
const COMPARISON: &str = "cargo run -q --release --manifest-path comparison/Cargo.toml";
const SERVER: &str = "cargo bench -q -p flashlane-store-server";

const STREAM: &str = "cargo test -q -p flashlane --test cli file_of_10_gb -- --ignored --nocapture";

pub const STREAM_PUT: Figure = Figure {
    id: "store-stream-put",
    what: "`store file put` of 10 GB from a pipe into a store of units of 8 MiB: peak of resident memory, MiB",
    goal: Some(Goal::AtMost(1200.0, None)),
    command: STREAM,
    read: |output| number_after(output, "store-stream-put:"),
};

pub const STREAM_GET: Figure = Figure {
    id: "store-stream-get",
    what: "`store file get` of that file, with a log of 256 MiB, which opening reads at once: MiB",
    goal: Some(Goal::AtMost(400.0, None)),
    command: STREAM,
    read: |output| number_after(output, "store-stream-get:"),
};

pub const GETS: Figure = Figure {
    id: "store-gets",
    what: "random gets of 512 KiB on `sim:sdf`, 8 slices, each a client that waits for batches of 44: percent of the link",
    goal: Some(Goal::AtLeast(95.0, Some(99.0))),
    command: COMMAND,
    read: |output| number_after(output, "store-gets: 8 slices in batches of 44:"),
};

pub const GETS_CONTINUOUS: Figure = Figure {
    id: "store-gets-continuous",
    what: "the same where each client has 44 gets in flight always",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "store-gets: 8 slices continuously 44:"),
};

pub const GETS_LIMIT: Figure = Figure {
    id: "store-gets-limit",
    what: "what queueing leaves such batches, where each value lies on one of 44 lanes at random: percent of the lanes' time",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "store-gets-limit: 8 slices in batches of 44:"),
};

pub const GETS_STRIPED: Figure = Figure {
    id: "store-gets-striped",
    what: "the same batches where blocks are striped over eleven lanes each, `striped(backed(sim:sdf),lanes=11,stripe=32KiB)`: percent of the link",
    goal: Some(Goal::AtLeast(95.0, Some(99.0))),
    command: COMMAND,
    read: |output| number_after(output, "store-gets-striped: 8 slices in batches of 44:"),
};

pub const WRITES: Figure = Figure {
    id: "store-writes",
    what: "random writes of 100 KB to 1 MB by 16 slices, one in flight each: MB/s that the device writes and reads, merges included",
    goal: Some(Goal::AtLeast(900.0, Some(950.0))),
    command: COMMAND,
    read: |output| number_after(output, "store-writes: 16 slices: device"),
};

pub const LONGEST_WRITE: Figure = Figure {
    id: "store-longest-write",
    what: "the longest write of these, with 1 to 32 slices: ms",
    goal: Some(Goal::AtMost(100.0, Some(20.0))),
    command: COMMAND,
    read: |output| number_after(output, "store-longest-write:"),
};

pub const AGAINST_OTHERS_SMALL: Figure = Figure {
    id: "store-against-others-small",
    what: "values of 100 B and 1 KB on a file, 16 clients, durability `system`: rate over that of the better of RocksDB and fjall; the least of loads in order and at random, overwrites and random reads",
    goal: Some(Goal::AtLeast(0.7, Some(1.0))),
    command: COMPARISON,
    read: |output| number_after(output, "least ratio, values of 100 B and 1 KB:"),
};

pub const AGAINST_OTHERS_LARGE: Figure = Figure {
    id: "store-against-others-large",
    what: "the same for values of 16 and 256 KB",
    goal: Some(Goal::AtLeast(1.0, Some(1.5))),
    command: COMPARISON,
    read: |output| number_after(output, "least ratio, values of 16 KB and more:"),
};

pub const OPENING: Figure = Figure {
    id: "store-opening",
    what: "opening 704 patches of 8 MiB (5.9 GB), with a log on a device that takes no time: ms",
    goal: None,
    command: COMMAND,
    read: |output| number_after(output, "store-opening: 704 patches in"),
};

pub const OPENING_AFTER_CUT: Figure = Figure {
    id: "store-opening-after-cut",
    what: "opening 100 GB of patches of 8 MiB on `sim:sdf` after a power cut, with half a container of each of 8 slices in a log on `sim:ssd-s`: ms",
    goal: Some(Goal::AtMost(3000.0, Some(1000.0))),
    command: COMMAND,
    read: |output| number_after(output.split("store-opening-after-cut:").nth(1)?, "of the log in"),
};

const YCSB: &str = "cargo run -q --release -p flashlane -- store bench backed(sim:sdf) --ycsb a,b,c,f,d";

pub const YCSB_A: Figure = Figure {
    id: "store-ycsb-a",
    what: "YCSB's workload a, 100,000 records of 1000 bytes, 16 clients, durability `device`, on `backed(sim:sdf)`: operations a second",
    goal: None,
    command: YCSB,
    read: |output| number_after(output, "Workload a (update heavy):"),
};

pub const YCSB_B: Figure = Figure {
    id: "store-ycsb-b",
    what: "the same of workload b, read mostly",
    goal: None,
    command: YCSB,
    read: |output| number_after(output, "Workload b (read mostly):"),
};

pub const YCSB_C: Figure = Figure {
    id: "store-ycsb-c",
    what: "the same of workload c, read only",
    goal: None,
    command: YCSB,
    read: |output| number_after(output, "Workload c (read only):"),
};

pub const YCSB_D: Figure = Figure {
    id: "store-ycsb-d",
    what: "the same of workload d, read latest",
    goal: None,
    command: YCSB,
    read: |output| number_after(output, "Workload d (read latest):"),
};

pub const YCSB_E: Figure = Figure {
    id: "store-ycsb-e",
    what: "the same of workload e, short ranges, with 20,000 records",
    goal: None,
    command: "cargo run -q --release -p flashlane -- store bench backed(sim:sdf) --ycsb e --records 20000",
    read: |output| number_after(output, "Workload e (short ranges):"),
};

pub const YCSB_F: Figure = Figure {
    id: "store-ycsb-f",
    what: "the same of workload f, read-modify-write",
    goal: None,
    command: YCSB,
    read: |output| number_after(output, "Workload f (read-modify-write):"),
};

pub const MEMORY: Figure = Figure {
    id: "store-memory",
    what: "memory of indexes and filters a key, keys of 16 bytes and values of 1 KiB: bytes",
    goal: Some(Goal::AtMost(24.0, Some(8.0))),
    command: COMMAND,
    read: |output| number_after(output, "store-memory:"),
};

pub const CUTS: Figure = Figure {
    id: "store-cuts",
    what: "power cuts of both devices after every completion of random runs, without an acknowledged write lost or a wrong answer",
    goal: Some(Goal::AtLeast(1_000_000.0, Some(10_000_000.0))),
    command: "cargo xtask sim store --first 1 --cuts 1000000",
    read: |output| number_after(output, "trials,"),
};

pub const SERVER_GET: Figure = Figure {
    id: "server-get",
    what: "`store serve`, redis-benchmark GET of 1 KB, pipelines of 16: requests a second over those of redis-server, in turn",
    goal: Some(Goal::AtLeast(0.5, Some(1.0))),
    command: SERVER,
    read: |output| number_after(output, "get: median ratio"),
};

pub const SERVER_IDLE: Figure = Figure {
    id: "server-idle-clients",
    what: "memory of the server for each of 10,000 idle clients, all of them and one more answered: bytes",
    goal: None,
    command: SERVER,
    read: |output| number_after(output, "server-idle-clients: 10000 clients,"),
};

pub const SERVER_SET: Figure = Figure {
    id: "server-set",
    what: "the same for SET, durability `system` beside appendfsync everysec",
    goal: Some(Goal::AtLeast(0.5, Some(1.0))),
    command: SERVER,
    read: |output| number_after(output, "set: median ratio"),
};
