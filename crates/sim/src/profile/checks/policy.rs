//! The policies of the die's scheduling and of the submission queues.

use crate::config::DriveConfig;
use crate::config::refusal::{Refusal, require};

/// Checks the scheduling policy.
pub(super) fn scheduling(config: &DriveConfig) -> Result<(), Refusal> {
    let scheduling = &config.scheduling;
    scheduling.options.check(("scheduling.policy", "scheduling.options"), |options| {
        config.policies.scheduling.build(&scheduling.policy, options)
    })
    .and_then(|policy| {
        let queues = config.queues.as_ref().map_or(1, |queues| queues.count);
        require(policy.light_below().is_none() || queues > 1, "scheduling.policy", || {
            let policy = &scheduling.policy;
            format!(
                "'{policy}' compares submission queues, and there is 1; allowed: queues.count of 2 or more"
            )
        })
    })
}

/// Checks the policy of the submission queues, and their slots.
pub(super) fn arbitration(config: &DriveConfig) -> Result<(), Refusal> {
    let Some(queues) = &config.queues else { return Ok(()) };
    let depth = config.link.depth;
    require(queues.slots.is_none_or(|slots| slots <= depth), "queues.slots", || {
        format!("it is {}; allowed: at most link.depth, {depth}", queues.slots.unwrap_or(depth))
    })?;
    queues
        .options
        .check(("queues.policy", "queues.options"), |options| {
            config.policies.arbitration.build(&queues.policy, queues.count.clamp(1, 256), options)
        })
        .map(drop)
}
