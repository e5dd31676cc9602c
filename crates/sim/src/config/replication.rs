//! `[replication]`: copies of pages that are often blocked, on other dies (he14).

use super::array_size::ArraySize;
use super::refusal::{Refusal, range, refusals, require};
use super::section::{Exclusions, Facts, Other, Room, Section};
use super::{PolicyOptions, Share, Time, limits};
use flashlane_base::Duration;
use flashlane_base::units::exact_bytes;
use flashlane_policy::Policies;
use flashlane_replication::MOST_COPIES;
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

impl Section for ReplicationConfig {
    fn facts() -> Facts {
        Facts {
            room: &["replication.space"],
            absence: ("replication.policy", "only 'none'"),
            shortage: (" with its copies", "a smaller replication.space, "),
            ..Facts::of_translation("replication")
        }
    }

    fn ranges(&self) -> Vec<Refusal> {
        let epoch = self.epoch.0;
        refusals([
            limits::time("replication.delay", self.delay.unwrap_or_default()),
            require(!epoch.is_zero() && epoch <= LONGEST_EPOCH, "replication.epoch", || {
                format!("it is {epoch}; allowed: more than 0 s, at most {LONGEST_EPOCH}")
            }),
            range("replication.queue", self.queue, 1, 1 << 20),
        ])
    }

    fn exclusions(&self) -> Option<Exclusions> {
        Some(Exclusions {
            reason: "there are copies of mapping units ([replication]); allowed with them".into(),
            others: &[Other::BlockMapping, Other::Parity, Other::JoinedPlanes, Other::DeferredGc],
        })
    }

    fn check(&self, array: &ArraySize, policies: &Policies) -> Result<(), Refusal> {
        let policy = &self.policy;
        require(array.dies >= 2, "replication.policy", || {
            format!("it is '{policy}', but the drive has one die; allowed with one die: 'none'")
        })?;
        let most = array.dies.min(MOST_COPIES);
        let copies = self.most_copies(array.dies);
        require((2..=most).contains(&copies), "replication.copies", || {
            format!("it is {copies}; allowed with {} dies: 2 to {most}", array.dies)
        })?;
        let (share, replicas) = (self.space.0, self.replica_units(array));
        require(share > 0.0 && share <= 1.0 && replicas > 0, "replication.space", || {
            let least = u64::from(array.dies) * array.unit_bytes;
            format!(
                "it is {}%; allowed: up to 100%, and at least a mapping unit on each die, {} in all",
                share * 100.0,
                exact_bytes(least)
            )
        })?;
        let build = |options: &_| policies.replication.build(policy, replicas, options);
        self.options.check(("replication.policy", "replication.options"), build).map(drop)
    }

    fn room(&self, array: &ArraySize) -> Room {
        Room { later_units: self.replica_units(array), ..Room::default() }
    }

    fn is_random(&self, _policies: &Policies) -> bool {
        true
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        (setting == "replication.policy").then_some(&mut self.options)
    }
}

impl ReplicationConfig {
    /// Mapping units for copies, the same number on each die.
    fn replica_units(&self, array: &ArraySize) -> u32 {
        (f64::from(array.logical_units) * self.space.0 / f64::from(array.dies)) as u32 * array.dies
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
