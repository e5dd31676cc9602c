//! What is said of a field that the TOML reader could not read.

use super::fields::value_at;
use super::{checks, renamed, words};
use crate::config::DriveConfig;

/// A reader's message in words; of a field that has another name now, that name; of a number in `table`, its range.
pub(super) fn in_words(message: &str, field: Option<&str>, table: &toml::Table) -> String {
    let renamed = field.filter(|_| message.starts_with("unknown field")).and_then(renamed::hint);
    let reason = renamed.unwrap_or_else(|| words::plain(message));
    if let Some(allowed) =
        field.filter(|_| words::expects_number(message)).and_then(|field| range_of(table, field))
        && let Some((before, _)) = reason.rsplit_once("; allowed: ")
    {
        return format!("{before}; allowed: a whole number, {allowed}");
    }
    match (reason.strip_suffix("a map"), field.filter(|field| field.ends_with("options"))) {
        (Some(before), Some(field)) => format!("{before}one option at a time, as in {field}.NAME=VALUE"),
        _ => reason,
    }
}

/// The numbers that a field may have, as the refusal of one far beyond says it.
fn range_of(table: &toml::Table, field: &str) -> Option<String> {
    let mut table = table.clone();
    *value_at(&mut table, field)? = toml::Value::Integer(u32::MAX.into());
    let mut config: DriveConfig = table.try_into().ok()?;
    let refusals = checks::complete_and_check(&mut config).err()?;
    let (_, reason) = refusals.into_iter().find(|(named, _)| *named == field)?;
    reason.split_once("; allowed: ").map(|(_, allowed)| allowed.to_owned())
}
