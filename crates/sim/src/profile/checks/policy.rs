//! The name and the settings of a policy.

use crate::config::refusal::{Refusal, require};
use crate::config::{DriveConfig, PolicyOptions};
use flashlane_base::suggest::hint;
use flashlane_policy::{OptionError, Options};

/// Builds a policy once, so that its name and options are refused when the profile is read and not during a run.
/// `fields` are those of the name and of the options.
pub(super) fn check<P>(
    fields: (&'static str, &'static str),
    options: &PolicyOptions,
    build: impl FnOnce(&Options) -> Result<P, OptionError>,
) -> Result<P, Refusal> {
    build(&options.options()).map_err(|error| match &error {
        OptionError::Policy { given, known, .. } => {
            let hint = hint(given, known.split(", "));
            (fields.0, format!("{error}{hint}"))
        }
        // Only a buffer's policies can be unsuited, and only because of where the buffer stands.
        OptionError::Unsuited { .. } => (
            "buffer.placement",
            format!("{error}; allowed: \"below\", or a mapping that binds a page to a place"),
        ),
        _ => (fields.1, error.to_string()),
    })
}

/// Checks the scheduling policy.
pub(super) fn scheduling(config: &DriveConfig) -> Result<(), Refusal> {
    let scheduling = &config.scheduling;
    check(("scheduling.policy", "scheduling.options"), &scheduling.options, |options| {
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
    check(("queues.policy", "queues.options"), &queues.options, |options| {
        config.policies.arbitration.build(&queues.policy, queues.count.clamp(1, 256), options)
    })
    .map(drop)
}
