//! A drive's profile: what a simulated drive is made of, as plain data read from TOML.
//!
//! Every quantity carries its unit as text (`"25us"`); every number's origin stands in `[provenance]`. Reading is
//! parse, then validate, then build: what a drive cannot do is refused here, naming file, line and field.

mod error;
pub(crate) mod lanes;
mod load;
mod quantity;
mod randomness;
mod reserve;
mod superblocks;
#[cfg(test)]
mod tests;
mod validate;
mod words;

pub use error::ConfigError;
pub use lanes::LanesConfig;
pub use load::{PROFILES, ProfileSource, field_names, load, load_with, names, parse, parse_with};
pub use quantity::{Bytes, Rate, Share, Time};

use flashlane_policy::{Options, Policies};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// The whole drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveConfig {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence.
    #[serde(default)]
    pub description: String,
    /// Bytes the host sees; a whole number of sectors. Reading sees to it that it is given, or follows from
    /// `over_provisioning`.
    #[serde(default)]
    pub capacity: Bytes,
    /// Flash beyond the capacity, as a share of the capacity, where it was given in place of the capacity;
    /// [`DriveConfig::over_provisioning`] has the share in any case.
    pub over_provisioning: Option<Share>,
    /// Over-provisioning of the profile's file, where settings changed it without a word about it or the capacity.
    #[serde(skip)]
    pub file_over_provisioning: Option<f64>,
    /// Smallest unit of a request.
    #[serde(default = "Bytes::sector")]
    pub sector: Bytes,
    /// What a request costs before it reaches the drive.
    #[serde(default)]
    pub host: HostConfig,
    /// The cable and its protocol.
    pub link: LinkConfig,
    /// Readahead; none where absent.
    pub readahead: Option<ReadaheadConfig>,
    /// Write-back buffer; none where absent, or where its policy is [`NO_BUFFER`].
    #[serde(default, deserialize_with = "unless_none")]
    pub buffer: Option<BufferConfig>,
    /// Which page goes where. Reading sees to it that it is given, but for software-defined flash.
    #[serde(default)]
    pub mapping: MappingConfig,
    /// Garbage collection.
    #[serde(default)]
    pub cleaning: CleaningConfig,
    /// Wear leveling.
    #[serde(default)]
    pub wear: WearConfig,
    /// Order of service at a die.
    #[serde(default)]
    pub scheduling: SchedulingConfig,
    /// Software-defined flash: every channel a lane of its own, and no translation layer; a conventional drive where
    /// absent.
    pub lanes: Option<LanesConfig>,
    /// The flash array.
    pub flash: FlashConfig,
    /// The state in which the drive starts.
    #[serde(default)]
    pub initial: InitialConfig,
    /// Where the numbers come from: field (or `section.*`) to source.
    #[serde(default)]
    pub provenance: BTreeMap<String, String>,
    /// The policies among which the names above choose.
    #[serde(skip)]
    pub policies: Policies,
}

/// The host's share of a request's time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// From the caller's submission to the drive's interface: system call, scheduler, interrupt.
    pub submission: Time,
    /// Uniform spread of the submission cost around its value, as a share of it.
    pub jitter: Share,
    /// From the drive's interface back to the caller: interrupt and completion path, of which the host does one after
    /// the other.
    pub completion: Time,
}

/// The link between host and drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Payload bytes a second in one direction; `0` for no limit.
    pub bandwidth: Rate,
    /// The same to the drive, where it is another than from it; as `bandwidth` where absent.
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
    /// Time that each page of a request holds the link beside its data: the controller makes pages of what is written
    /// and puts together what is read.
    #[serde(default)]
    pub page_command: Time,
    /// Commands in flight (NCQ depth).
    pub depth: u32,
    /// Whether a read of flash and the reception of a write's data exclude each other in the controller.
    #[serde(default)]
    pub read_write_exclusion: bool,
    /// Whether a command waits at the host while the link carries data, and in what order those that wait are sent.
    #[serde(default)]
    pub commands_wait: CommandsWait,
    /// Whether a write's completion crosses the link, and so waits for the data that it carries.
    #[serde(default)]
    pub completions_wait: bool,
    /// Whether a read's data cross the link only when all of them have come from flash, instead of page by page.
    #[serde(default)]
    pub whole_reads: bool,
}

/// What a command does while the link carries data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandsWait {
    /// It goes between the data.
    #[default]
    No,
    /// It waits; those that wait go in the order in which they were issued.
    ByArrival,
    /// It waits; those that wait go in the order of their slots (AHCI).
    BySlot,
}

/// Readahead into the drive's cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadaheadConfig {
    /// The policy's name.
    #[serde(default = "streams")]
    pub policy: String,
    /// How far ahead of a reader is fetched.
    pub window: Bytes,
    /// What the cache holds, over all streams.
    pub cache: Bytes,
    /// The policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
}

/// The name that stands for no write buffer among its policies, so that both can be compared by one setting.
pub const NO_BUFFER: &str = "none";

/// The write-back buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// The replacement policy's name; with `none` there is no buffer, whatever the rest says.
    #[serde(default = "fifo")]
    pub policy: String,
    /// What it holds; to be given, unless there is no buffer.
    #[serde(default)]
    pub size: Bytes,
    /// On which side of the translation layer it stands.
    #[serde(default)]
    pub placement: Placement,
    /// Which writes it takes in.
    #[serde(default)]
    pub takes: Takes,
    /// Whether a page that is here as a whole and is written again takes the place of its copy; otherwise both are
    /// programmed, one after the other.
    #[serde(default = "yes")]
    pub overwrites: bool,
    /// What the firmware takes to acknowledge a write that is wholly here; of any number of them at once.
    #[serde(default)]
    pub latency: Time,
    /// Pages leave in batches of so many for each package, when the buffer is full; one by one where absent.
    pub parallel_pages: Option<u32>,
    /// Pages leave one by one as long as more than this share of it is filled; `0%` for at once. Has no effect on
    /// batches.
    #[serde(default)]
    pub high: Share,
    /// Of pages that leave one by one, those on their way to flash at once, for each die.
    #[serde(default = "two")]
    pub drain_per_die: u32,
    /// Pages leave ahead of need once the host has had nothing in flight for so long; never where absent.
    pub idle_drain: Option<Time>,
    /// Pages on their way to flash over a channel at once are so few that they take no longer than this: what a read
    /// may have to wait for them. Without bound where absent.
    pub read_wait: Option<Time>,
    /// The policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
}

/// On which side of the translation layer the buffer stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Above: a page is logical while it is buffered, and its place is found when it leaves.
    #[default]
    Above,
    /// Below: a page's package is settled when it comes in; a rewrite of a page that is still there keeps it.
    Below,
}

/// Which writes a buffer takes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takes {
    /// All.
    #[default]
    All,
    /// Those that cover no page as a whole, for the rest of it to come: the others go past it.
    Parts,
}

/// Mapping and allocation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingConfig {
    /// The mapping policy's name.
    pub policy: String,
    /// What the translation layer maps, and how.
    #[serde(default)]
    pub translation: Translation,
    /// Where whole blocks are mapped, planes over which an erase unit is striped; all where absent.
    pub stripe: Option<u32>,
    /// Where whole blocks are mapped, whether neighbouring erase units lie on different stripes; otherwise one stripe
    /// follows the other in the drive's addresses.
    #[serde(default)]
    pub interleave: bool,
    /// Where whole blocks are mapped, the most replacement or log blocks of a plane.
    pub log_blocks: Option<u32>,
    /// With FAST, log blocks of a plane for sequences; one where absent.
    pub sequence_blocks: Option<u32>,
    /// With FAST, units that are merged at once while the log still has room; as many as it takes when it is full where
    /// absent.
    pub merge_batch: Option<u32>,
    /// What is mapped as one: a whole fraction of the flash page, which is the default.
    pub unit: Option<Bytes>,
    /// Data that stays together on one plane before the stripe moves on; whole mapping units.
    pub chunk: Bytes,
    /// The allocation policy's name.
    #[serde(default = "striped")]
    pub allocation: String,
    /// Which level of the array changes first from chunk to chunk.
    #[serde(default = "channels_first")]
    pub order: [LevelName; 4],
    /// What the stripe's choice binds a page to: its plane, or a die, package or channel, of whose planes the one with
    /// the most free pages then takes it.
    #[serde(default = "plane")]
    pub pool: LevelName,
    /// Channels that one more protects: pages on so many of them, and a parity page beside those, make a row, and their
    /// erase blocks are cleaned together. No parity where absent.
    pub parity: Option<u32>,
    /// The mapping policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
    /// The allocation policy's own settings.
    #[serde(default)]
    pub allocation_options: PolicyOptions,
}

/// What a translation layer maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Translation {
    /// Pages, each anywhere.
    #[default]
    Page,
    /// Erase units, and while one is written anew its replacement.
    Block,
    /// Erase units, and a log block for each of a few of them.
    Bast,
    /// Erase units, and log blocks for pages of all of them.
    Fast,
}

/// Garbage collection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CleaningConfig {
    /// The policy's name.
    pub policy: String,
    /// A plane with no more than this share of its blocks free is cleaned before it is written.
    pub low: Share,
    /// An idle die's planes are cleaned until this share of their blocks is free; only above `low` has it effect.
    pub high: Share,
    /// How long a die must have been idle before it is cleaned in the background.
    pub idle: Time,
    /// Whether a waiting operation of better rank goes between two moves of a cleaning.
    pub preemptible: bool,
    /// Whether cleaning that is due waits until the die is wanted for something else, and then goes first; otherwise
    /// it begins as soon as the die is free.
    pub lazy: bool,
    /// Whether cleaning that no write waits for yet lets the host's operations past it, between any two moves, until
    /// the next block is opened; what is left of it then goes first.
    pub yields: bool,
    /// Whether moved pages go to blocks of their own instead of sharing the host's open block.
    pub separate: bool,
    /// Whether the planes of a die are filled and cleaned block beside block, so that moves and erases on them share
    /// array times; only with `flash.multi_plane`.
    pub multi_plane: bool,
    /// How cleaning is spread over the host's writes: the pacing policy's name.
    pub pacing: String,
    /// The pacing policy's own settings.
    pub pacing_options: PolicyOptions,
    /// The policy's own settings.
    pub options: PolicyOptions,
}

/// Wear leveling.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WearConfig {
    /// The policy's name.
    pub policy: String,
    /// The policy's own settings.
    pub options: PolicyOptions,
}

/// Order of service at a die.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulingConfig {
    /// The policy's name.
    pub policy: String,
    /// The policy's own settings.
    pub options: PolicyOptions,
}

/// The flash array and its timing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashConfig {
    /// Channels, each with its own bus.
    pub channels: u32,
    /// Packages on a channel.
    pub packages: u32,
    /// Dies in a package.
    #[serde(default = "one")]
    pub dies: u32,
    /// Planes of a die.
    #[serde(default = "one")]
    pub planes: u32,
    /// Erase blocks on a plane.
    pub blocks: u32,
    /// Pages of an erase block.
    pub pages: u32,
    /// Of these, pages that hold the drive's own records rather than data.
    #[serde(default)]
    pub summary_pages: u32,
    /// What of each of these pages crosses the bus when a block is full and they are written, in program times of
    /// their own; absent where the records go out with the block's last data page.
    pub summary: Option<Bytes>,
    /// Size of a page.
    pub page: Bytes,
    /// Bytes that a page stores beside its data (checksums, the drive's own): they cross the bus with it.
    #[serde(default)]
    pub spare: Bytes,
    /// Array to register.
    pub read: Time,
    /// Register to array.
    pub program: Time,
    /// Erase of a block.
    pub erase: Time,
    /// Payload rate of a channel's bus.
    pub bus: Rate,
    /// Time that each transfer holds the bus beside its data: command and address cycles, status.
    #[serde(default)]
    pub bus_command: Time,
    /// Whether like operations on several planes of a die share one array time.
    #[serde(default)]
    pub multi_plane: bool,
    /// Whether cleaning moves a page within its plane without the bus.
    #[serde(default)]
    pub copyback: bool,
    /// Whether a second register lets the bus and the array work on neighbouring operations at once.
    #[serde(default)]
    pub cache_mode: bool,
    /// Cost of suspending and resuming a program or erase for a read; off where absent.
    pub suspend: Option<Time>,
    /// Erases a block survives; unlimited where absent.
    pub endurance: Option<u32>,
    /// Spread of the endurance between blocks, as a share of it.
    #[serde(default)]
    pub endurance_spread: Share,
    /// Share of the host's page reads whose errors take another array read to correct, on a block at the end of its
    /// endurance; in proportion to its wear before. Where endurance is unlimited, the share on every block.
    #[serde(default)]
    pub read_retry: Share,
    /// Share of the host's page reads that cannot be corrected, on a worn block as above.
    #[serde(default)]
    pub uncorrectable: Share,
    /// Share of blocks that are bad from the start.
    #[serde(default)]
    pub factory_bad: Share,
    /// Uniform spread of every array time around its value, as a share of it.
    #[serde(default)]
    pub noise: Share,
}

/// The state in which a drive starts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InitialConfig {
    /// Which state.
    pub state: InitialState,
}

/// States in which a drive can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Nothing written.
    Fresh,
    /// Written once, in order, from the first to the last page.
    Full,
    /// Full, then overwritten at random until valid pages are spread over the blocks as they will stay; where whole
    /// blocks are mapped, until the log holds nothing else.
    Fragmented,
}

/// A level's name in a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum LevelName {
    Channel,
    Package,
    Die,
    #[default]
    Plane,
}

/// A policy's settings as they stand in a profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct PolicyOptions(BTreeMap<String, toml::Value>);

impl PolicyOptions {
    /// As policies read them.
    pub fn options(&self) -> Options {
        Options::new(self.0.iter().map(|(name, value)| {
            let text = match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.clone(), text)
        }))
    }
}

impl Default for CleaningConfig {
    fn default() -> Self {
        Self {
            policy: "greedy".into(),
            low: Share(0.05),
            high: Share(0.0),
            idle: Time::default(),
            preemptible: false,
            lazy: false,
            yields: false,
            separate: false,
            multi_plane: false,
            pacing: "watermark".into(),
            pacing_options: PolicyOptions::default(),
            options: PolicyOptions::default(),
        }
    }
}

impl Default for WearConfig {
    fn default() -> Self {
        Self { policy: "dynamic".into(), options: PolicyOptions::default() }
    }
}

impl Default for SchedulingConfig {
    fn default() -> Self {
        Self { policy: "fifo".into(), options: PolicyOptions::default() }
    }
}

impl Default for InitialConfig {
    fn default() -> Self {
        Self { state: InitialState::Fresh }
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn two() -> u32 {
    2
}

fn unless_none<'de, D: Deserializer<'de>>(section: D) -> Result<Option<BufferConfig>, D::Error> {
    let buffer = BufferConfig::deserialize(section)?;
    Ok((buffer.policy != NO_BUFFER).then_some(buffer))
}

fn fifo() -> String {
    "fifo".into()
}

fn streams() -> String {
    "streams".into()
}

fn striped() -> String {
    "striped".into()
}

fn plane() -> LevelName {
    LevelName::Plane
}

fn channels_first() -> [LevelName; 4] {
    [LevelName::Channel, LevelName::Package, LevelName::Die, LevelName::Plane]
}
