//! `[replication]`: copies of pages that are often blocked, on other dies (he14).

use super::refusal::{Refusal, range, refusals, require};
use super::{PolicyOptions, Share, Time, limits};
use flashlane_base::Duration;
use serde::{Deserialize, Deserializer};

/// The name that stands for no replication among its policies, so that both can be compared by one setting.
pub const NO_REPLICATION: &str = "none";

/// Copies of a mapping unit, itself included, where the setting is absent.
const COPIES: u32 = 4;

/// Longest epoch.
const LONGEST_EPOCH: Duration = Duration::from_s(3600);

/// Replication of mapping units over dies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplicationConfig {
    /// The policy's name; with `none` there is no replication, whatever the rest says.
    pub policy: String,
    /// Room for copies, as a share of the capacity. It is taken from over-provisioning.
    pub space: Share,
    /// Copies of a mapping unit at most, itself included; 4, or one a die where there are fewer, where absent.
    pub copies: Option<u32>,
    /// From an access to its deadline, when the next copy is read or written; twice the time of a program where absent.
    pub delay: Option<Time>,
    /// How long the thresholds of idle periods hold before they are estimated anew.
    pub epoch: Time,
    /// Extra writes that wait for a die at most; further ones are dropped.
    pub queue: u32,
    /// The policy's own settings.
    pub options: PolicyOptions,
}

impl Default for ReplicationConfig {
    fn default() -> Self {
        Self {
            policy: "pblru".into(),
            space: Share(0.1),
            copies: None,
            delay: None,
            epoch: Time(flashlane_replication::EPOCH),
            queue: 256,
            options: PolicyOptions::default(),
        }
    }
}

impl ReplicationConfig {
    pub(crate) fn ranges(&self) -> Vec<Refusal> {
        let epoch = self.epoch.0;
        refusals([
            limits::time("replication.delay", self.delay.unwrap_or_default()),
            require(!epoch.is_zero() && epoch <= LONGEST_EPOCH, "replication.epoch", || {
                format!("it is {epoch}; allowed: more than 0 s, at most {LONGEST_EPOCH}")
            }),
            range("replication.queue", self.queue, 1, 1 << 20),
        ])
    }

    /// The number of copies of a mapping unit at most, itself included, on a drive of `dies`.
    pub(crate) fn most_copies(&self, dies: u32) -> u32 {
        self.copies.unwrap_or(COPIES.min(dies))
    }

    /// The delay of a drive whose flash programs in `program`.
    pub(crate) fn delay_of(&self, program: Duration) -> Duration {
        self.delay.map_or(program * 2, |delay| delay.0)
    }
}

/// Reads the section; `None` if its policy is [`NO_REPLICATION`].
pub(super) fn unless_none<'de, D: Deserializer<'de>>(
    section: D,
) -> Result<Option<ReplicationConfig>, D::Error> {
    let replication = ReplicationConfig::deserialize(section)?;
    Ok((replication.policy != NO_REPLICATION).then_some(replication))
}
