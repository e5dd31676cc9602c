//! The refusal of a section that the settings give in part: the field that is missing, and a profile that has all.

use super::PROFILES;
use super::words;
use crate::config::DriveConfig;

/// Returns field and reason, if the reader's error is about a missing field of a section. `table` is the file's.
pub(super) fn field_of_section(
    error: &toml::de::Error,
    file: &str,
    table: &toml::Table,
) -> Option<(String, String)> {
    let name = error.message().strip_prefix("missing field `")?.split('`').next()?;
    let section = words::field(&error.to_string())?;
    let mut reason = "it is missing".to_owned();
    if section_of(table, &section).is_none() {
        reason += &format!("; {file} has no [{section}], so that all of it must be given");
        if let Some((profile, example)) = example(&section) {
            reason += &format!(", as {profile} has it: {example}");
        } else if let Some(example) = smallest(&section) {
            reason += &format!(", as in {example}");
        }
    }
    Some((format!("{section}.{name}"), reason))
}

/// Returns the first built-in profile with this section, and the section's fields as settings.
fn example(section: &str) -> Option<(&'static str, String)> {
    let settings = |text: &str| {
        let table: toml::Table = toml::from_str(text).ok()?;
        let fields = section_of(&table, section)?.iter();
        let settings: Vec<String> = fields
            .filter_map(|(name, value)| match value {
                toml::Value::Table(_) | toml::Value::Array(_) => None,
                toml::Value::String(text) => Some(format!("{section}.{name}={text}")),
                other => Some(format!("{section}.{name}={other}")),
            })
            .collect();
        Some(settings.join(","))
    };
    PROFILES.iter().find_map(|profile| Some((profile.name, settings(profile.text)?)))
}

/// Returns settings that suffice for a small drive to have this section.
fn smallest(section: &str) -> Option<String> {
    let facts = DriveConfig::facts_of_sections().into_iter().find(|facts| facts.name == section)?;
    let settings: Vec<String> = facts.example.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!settings.is_empty()).then(|| settings.join(","))
}

fn section_of<'a>(table: &'a toml::Table, section: &str) -> Option<&'a toml::Table> {
    section.split('.').try_fold(table, |table, name| table.get(name)?.as_table())
}
