//! The option `weights`: what each queue gets beside the others.

use crate::{OptionError, Options};

/// What a queue gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// All it asks for, before queues that are not urgent.
    Urgent,
    /// A share in proportion, at least 1.
    Share(u32),
}

const LARGEST: u32 = 256;

/// Reads the weights of `queues` queues, in their order: `8:1:1`, where `urgent` is allowed `urgent:4:1`. Without the
/// option all are equal.
pub(super) fn read(options: &Options, queues: u32, may_be_urgent: bool) -> Result<Vec<Weight>, OptionError> {
    let Some(text) = options.text("weights") else { return Ok(vec![Weight::Share(1); queues as usize]) };
    let weight = |text: &str| match text {
        "urgent" if may_be_urgent => Some(Weight::Urgent),
        _ => text.parse().ok().filter(|weight| (1..=LARGEST).contains(weight)).map(Weight::Share),
    };
    let weights: Option<Vec<Weight>> = text.split(':').map(weight).collect();
    weights.filter(|weights| weights.len() == queues as usize).ok_or_else(|| {
        let urgent = if may_be_urgent { " or 'urgent'" } else { "" };
        let allowed =
            format!("a weight for each of {queues} queues, separated by ':', each 1 to {LARGEST}{urgent}");
        OptionError::Value { name: "weights", given: text.into(), allowed }
    })
}
