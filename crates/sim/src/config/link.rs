//! `[link]`: the cable between host and drive, and its protocol.

use super::refusal::{Refusal, range, refusals};
use super::section::{Facts, Section};
use super::{Rate, Time, limits};
use serde::Deserialize;

/// The link between host and drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Payload bytes a second in one direction; `0` for no limit.
    pub bandwidth: Rate,
    /// The same to the drive, where it differs; as `bandwidth` where absent.
    pub write_bandwidth: Option<Rate>,
    /// Whether both directions carry data at once.
    #[serde(default)]
    pub duplex: bool,
    /// Time that a read command holds the link beside its data.
    #[serde(default)]
    pub read_command: Time,
    /// Time that a write, trim or flush command holds the link beside its data.
    #[serde(default)]
    pub write_command: Time,
    /// Time that each page of a request holds the link beside its data: the controller splits writes into pages and
    /// merges reads from them.
    #[serde(default)]
    pub page_command: Time,
    /// Commands in flight (NCQ depth).
    pub depth: u32,
    /// Whether a read of flash and the reception of a write's data exclude each other in the controller.
    #[serde(default)]
    pub read_write_exclusion: bool,
    /// Whether a command waits at the host while the link carries data, and in what order waiting commands are sent.
    #[serde(default)]
    pub commands_wait: CommandsWait,
}

/// What a command does while the link carries data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandsWait {
    /// It goes between the data.
    #[default]
    No,
    /// It waits; waiting commands go in the order in which they were issued.
    ByArrival,
    /// It waits; waiting commands go in the order of their slots (AHCI).
    BySlot,
}

impl Section for LinkConfig {
    fn facts() -> Facts {
        Facts::of("link")
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            limits::time("link.read_command", self.read_command),
            limits::time("link.write_command", self.write_command),
            limits::time("link.page_command", self.page_command),
            limits::rate("link.bandwidth", self.bandwidth),
            limits::rate("link.write_bandwidth", self.write_bandwidth.unwrap_or_default()),
            range("link.depth", self.depth, 1, 65536),
        ])
    }
}
