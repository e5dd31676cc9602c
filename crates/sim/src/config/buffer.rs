//! `[buffer]`: the write-back buffer.

use super::refusal::{Refusal, refusals, unused};
use super::section::{Facts, Section};
use super::{Bytes, DriveConfig, PolicyOptions, Share, Time, limits};
use flashlane_policy::Policies;
use serde::{Deserialize, Deserializer};

/// The name that stands for no write buffer among its policies, so that both can be compared by one setting.
pub const NO_BUFFER: &str = "none";

/// The write-back buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// The replacement policy's name; with `none` there is no buffer, whatever the rest says.
    #[serde(default = "fifo")]
    pub policy: String,
    /// Bytes that it holds; required, unless there is no buffer.
    #[serde(default)]
    pub size: Bytes,
    /// On which side of the translation layer it stands.
    #[serde(default)]
    pub placement: BufferSide,
    /// Which writes it admits; the others bypass it.
    #[serde(default)]
    pub admit: Admit,
    /// Whether a write of a mapping unit that is buffered whole replaces the buffered copy; otherwise both are
    /// programmed, one after the other.
    #[serde(default = "yes")]
    pub coalesce: bool,
    /// Time that the firmware takes to acknowledge a write that is wholly buffered; any number of them at once.
    #[serde(default)]
    pub latency: Time,
    /// Mapping units a package in a batch, which leaves when the buffer is full; units leave one by one where absent.
    pub batch_pages_per_package: Option<u32>,
    /// Units leave one by one as long as more than this share is filled; `0%` for at once. Has no effect on batches.
    #[serde(default)]
    pub high_watermark: Share,
    /// Of units that leave one by one, those that drain at once, for each die.
    #[serde(default = "two")]
    pub drain_per_die: u32,
    /// Units leave ahead of need once the host has had nothing in flight for this long; never where absent.
    pub idle_drain: Option<Time>,
    /// Longest that a read may wait behind buffer drains on its channel; limits how many drain at once. Without bound
    /// where absent.
    pub read_wait: Option<Time>,
    /// The policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
}

/// On which side of the translation layer the buffer stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BufferSide {
    /// Above: a unit's place is found when it leaves.
    #[default]
    Above,
    /// Below: a unit's package is assigned when it is admitted; a write of a unit that is still buffered keeps it.
    Below,
}

/// Which writes a buffer admits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Admit {
    /// All.
    #[default]
    All,
    /// Those that cover no mapping unit whole, which wait for the rest of it; the others bypass the buffer.
    PartialPageWrites,
}

impl Section for BufferConfig {
    fn facts() -> Facts {
        Facts::of_translation("buffer")
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            limits::time("buffer.idle_drain", self.idle_drain.unwrap_or_default()),
            limits::time("buffer.latency", self.latency),
            limits::time("buffer.read_wait", self.read_wait.unwrap_or_default()),
        ])
    }

    fn without_effect(&self, _drive: &DriveConfig) -> Vec<Refusal> {
        let is_single = self.batch_pages_per_package.is_none();
        let reason = "pages drain in batches; allowed: without buffer.batch_pages_per_package";
        unused([
            (self.high_watermark.0 > 0.0, "buffer.high_watermark", is_single, reason),
            (self.drain_per_die != two(), "buffer.drain_per_die", is_single, reason),
        ])
    }

    fn is_random(&self, policies: &Policies) -> bool {
        policies.buffer.is_random(&self.policy)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        (setting == "buffer.policy").then_some(&mut self.options)
    }
}

fn fifo() -> String {
    "fifo".into()
}

fn yes() -> bool {
    true
}

fn two() -> u32 {
    2
}

/// Reads the section; `None` if its policy is [`NO_BUFFER`].
pub(super) fn unless_none<'de, D: Deserializer<'de>>(section: D) -> Result<Option<BufferConfig>, D::Error> {
    let buffer = BufferConfig::deserialize(section)?;
    Ok((buffer.policy != NO_BUFFER).then_some(buffer))
}
