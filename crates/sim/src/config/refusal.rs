//! The refusal of a setting: the field to change, the value given and the values allowed.

/// The field, as a dotted path, and the reason.
pub(crate) type Refusal = (&'static str, String);

/// Refuses `field` unless `holds`.
pub(crate) fn require(
    holds: bool,
    field: &'static str,
    reason: impl FnOnce() -> String,
) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err((field, reason())) }
}

/// Collects the refusals of checks of which none needs another to hold.
pub(crate) fn refusals<const N: usize>(checks: [Result<(), Refusal>; N]) -> Vec<Refusal> {
    checks.into_iter().filter_map(Result::err).collect()
}

/// A setting with a value other than its default, its name, whether the drive gives it an effect, and otherwise why not
/// and what would.
pub(crate) type Use = (bool, &'static str, bool, &'static str);

/// Collects the refusals of settings that are set and have no effect.
pub(crate) fn unused<const N: usize>(settings: [Use; N]) -> Vec<Refusal> {
    let unused = settings.into_iter().filter(|&(is_set, _, is_used, _)| is_set && !is_used);
    unused.map(|(_, field, _, reason)| (field, format!("it has no effect: {reason}"))).collect()
}

/// Refuses a count that is out of range.
pub(crate) fn range(field: &'static str, given: u32, least: u32, most: u32) -> Result<(), Refusal> {
    require((least..=most).contains(&given), field, || format!("it is {given}; allowed: {least} to {most}"))
}
