//! Infers the internal structure of a drive from timing; each finding has evidence and confidence.
//!
//! The method is that of chen11 (sections 4.2 to 4.4): treat the drive as a black box, issue patterned requests, and
//! derive the structure from the pattern of their latencies. Beyond the paper: pairs of simultaneous reads, whose
//! collisions distinguish same die, same channel and neither at any speed of the bus; a test of statistical power
//! before a feature is reported absent; and more features. A wrong answer is far worse than "not determined": an
//! incomplete pattern is not reported.
//!
//! A *chunk* is the run of consecutive bytes that lie on one plane before the stripe goes on to the next. A *domain* is
//! a part of the drive that works independently of the others, mostly a channel; its *sub-domains* are its packages or
//! dies. The *interleaving degree*, `degree` in code, is the number of domains.
//!
//! # Which file finds what
//! `survey` runs the stages on a `session`, which owns the bench and collects findings: its own of readahead,
//! those of `structure`, and those of `destructive`, for what only writing shows; and the recommendations of
//! `recommend`. `consistency` joins the findings, and takes back those that contradict each other.
//!
//! | finding | experiments, in this order, until it is found |
//! | --- | --- |
//! | chunk, page | `chunk`: pairs of reads, then single reads; `verify` looks whether boundaries recur. By writes: `written_page`, `write_rows`, `busy_rows`, with `rewritten`, `chunk_ends`, `page_ends` |
//! | interleaving degree, sub-domains | `layout` has the order: `stripe`, `busy_dies`, `residues`, `channels` (`sector_channels` where a page is a sector), `transfers`, `busy_buses`; then `larger_area`, `spans`, `write_spans` |
//! | the same with one request at a time | `one_at_a_time`: `written_pairs`, `spans`, `write_spans` |
//! | the same without a chunk | `single_die` |
//! | mapping | `mapping`; or found on the way by `busy_dies`, `write_rows` |
//! | readahead | `readahead` |
//! | link, round trip | `link` |
//! | write buffer | `write_buffer`, from a `bend` in the times of writes (`filled`) |
//! | interference | `interference` |
//! | reclaim unit | `reclaim`: the `pauses` of `rewrites` |
//! | SLC cache | `slc_cache`, from an `slc_fall` of the rate |
//! | reach of the mapping cache | `mapping_reach` |
//! | recommendations | `recommend`: `grid`, `choice`, `confirm` (of a `load`, as a `point_measurement` with its `tail`); `writes` and `fragmented` for what is sustained; `advice_text` |
//!
//! They share `bus_time`, `array_time`, `flash_read`, `beside` (what happens beside a program), `dies` and `pair`
//! (which chunks share a die), and `pattern`, `numbers`, `repetitions` (what counts as seen).

mod advice_text;
pub mod area;
mod array_time;
pub mod bench;
mod bend;
mod beside;
mod boundary_test;
mod bus_findings;
mod bus_time;
mod busy_buses;
mod busy_dies;
mod busy_rows;
mod changed;
mod channels;
mod choice;
pub mod chunk;
mod chunk_ends;
mod confirm;
mod consistency;
mod destructive;
mod dies;
mod drive_state;
mod error;
mod figures;
mod filled;
mod flash_read;
mod fragmented;
mod grid;
mod interference;
mod larger_area;
mod layout;
mod link;
mod load;
pub mod mapping;
mod mapping_reach;
mod numbers;
mod one_at_a_time;
mod options;
mod page_ends;
mod pair;
pub mod pattern;
mod pauses;
mod point_measurement;
mod readahead;
mod reclaim;
mod recommend;
mod repetitions;
mod residues;
mod rewrites;
mod rewritten;
mod row_writer;
mod sector_channels;
mod session;
mod single_die;
mod slc_cache;
mod slc_fall;
mod spans;
mod stage;
pub mod stride;
pub mod stripe;
mod structure;
mod survey;
mod tail;
mod transfers;
mod verify;
mod write_buffer;
mod write_rows;
mod write_spans;
mod writes;
mod written_page;
mod written_pairs;

pub use error::{EarlyEnd, ProbeError};
pub use flashlane_result::feature::Feature;
pub use flashlane_result::probe::{Finding, ProbeResult, Rate, Recommendation, Status};
pub use fragmented::add_fragmented;
pub use options::{Effort, Medium, Options, Progress};
pub use survey::probe;
