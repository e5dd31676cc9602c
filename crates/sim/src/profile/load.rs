//! From a name or a file's text, and overrides, to a checked profile.

use super::builtin::{PROFILES, names};
use super::checks::{lanes, zones};
use super::error::ConfigError;
use super::fields::{field_at, line_at, line_of};
use super::message::in_words;
use super::settings::Settings;
use super::{checks, inherited, reserve, words};
use crate::config::DriveConfig;
use crate::config::refusal::{Refusal, require};
use crate::config::section::DriveKind;
use flashlane_base::suggest::hint;
use flashlane_policy::Policies;

/// The profile called `name`, with `overrides` (dotted or plain field names and their values) in place of those of
/// the file.
///
/// # Errors
/// [`ConfigError`] where there is no such profile, or an override does not suit it.
pub fn load(name: &str, overrides: &[(String, String)]) -> Result<DriveConfig, ConfigError> {
    load_with(&Policies::default(), name, overrides)
}

/// As [`load`], with policies of your own among those that can be chosen.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    policies: &Policies,
    name: &str,
    overrides: &[(String, String)],
) -> Result<DriveConfig, ConfigError> {
    let source = PROFILES.iter().find(|profile| profile.name == name).ok_or_else(|| {
        let (known, hint) = (names(), hint(name, names()));
        let known = known.join(", ");
        ConfigError::new(
            &format!("'{name}'"),
            format!("there is no such profile{hint}; there are: {known}; a file's path must end in .toml"),
        )
    })?;
    // Its user has never seen the text.
    parse_with(policies, name, source.text, overrides).map_err(ConfigError::without_lines)
}

/// Reads a profile's text. `file` is what errors call it.
///
/// # Errors
/// [`ConfigError`] names line and field, the value given and the values allowed.
pub fn parse(file: &str, text: &str, overrides: &[(String, String)]) -> Result<DriveConfig, ConfigError> {
    parse_with(&Policies::default(), file, text, overrides)
}

/// As [`parse`], with policies of your own among those that can be chosen.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(
    policies: &Policies,
    file: &str,
    text: &str,
    overrides: &[(String, String)],
) -> Result<DriveConfig, ConfigError> {
    match parse_any(policies, file, text, overrides)? {
        (config, None) => Ok(config),
        (_, Some(unused)) => Err(unused),
    }
}

/// As [`parse_with`], also with overrides that have no effect: returns the refusal of the first one beside the drive.
pub(crate) fn parse_any(
    policies: &Policies,
    file: &str,
    text: &str,
    overrides: &[(String, String)],
) -> Result<(DriveConfig, Option<ConfigError>), ConfigError> {
    let file_table: toml::Table = toml::from_str(text).map_err(|error| locate(file, text, &error))?;
    // Read the file as it stands first, so that its own mistakes are reported with their lines.
    let of_file: DriveConfig =
        file_table.clone().try_into().map_err(|error| misread(file, text, &file_table, &error))?;
    let mut table = file_table.clone();
    let settings = Settings::apply(file, &mut table, overrides)?;
    let refused = |refusal: Refusal| settings.refused(file, text, refusal);
    reserve::choose_one(&mut table, &settings.unsectioned()).map_err(refused)?;
    let mut config: DriveConfig = table.clone().try_into().map_err(|error: toml::de::Error| {
        // A section that has no place here is refused before its missing fields are.
        match sections(&table) {
            Err(refusal) if error.message().starts_with("missing field") => refused(refusal),
            _ => settings.misread(file, &file_table, &table, &error),
        }
    })?;
    let set = settings.names();
    inherited::mark(&mut config, &file_table, &table, &set);
    config.policies = policies.clone();
    sections(&table).map_err(refused)?;
    checks::complete_and_check(&mut config).map_err(|refusals| {
        let mut all = refusals.into_iter().map(refused);
        let first = all.next().expect("something is refused");
        ConfigError { others: all.collect(), ..first }
    })?;
    // A file that makes a drive only with these settings has no over-provisioning to change.
    let mut of_file = DriveConfig { policies: policies.clone(), ..of_file };
    if checks::complete_and_check(&mut of_file).is_ok() {
        config.over_provisioning_change = reserve::change(&of_file, &config, &settings.unsectioned());
    }
    let mut unused =
        config.without_effect().into_iter().filter(|(field, _)| set.iter().any(|set| set == field));
    let unused = unused.next().map(refused);
    Ok((config, unused))
}

/// A drive has a translation layer, or lanes, or zones: one of them.
fn sections(table: &toml::Table) -> Result<(), Refusal> {
    let (section, kind, fields, what) = if table.contains_key("zones") {
        ("[zones]", DriveKind::Zoned, zones::WITHOUT, "which are written in order and never moved")
    } else if table.contains_key("lanes") {
        ("[lanes]", DriveKind::Lanes, lanes::WITHOUT, "which shows the flash as it is")
    } else {
        return require(table.contains_key("mapping"), "mapping", || {
            "the section is missing; allowed: [mapping], [lanes] for software-defined flash, or [zones] for a zoned drive"
                .into()
        });
    };
    let sections = DriveConfig::facts_of_sections().into_iter().filter(|facts| !facts.kinds.contains(&kind));
    let mut without = fields.iter().copied().chain(sections.map(|facts| facts.name));
    match without.find(|&field| table.contains_key(field)) {
        None => Ok(()),
        Some(field) => Err((field, format!("it has no meaning beside {section}, {what}; leave it away"))),
    }
}

fn locate(file: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let line = error.span().map(|span| line_at(text, span.start));
    let field = error.span().and_then(|span| field_at(text, span.start));
    if line.is_none() && error.message().contains("recursion limit") {
        // The reader does not say where; a key of that many parts has the most dots.
        let lines = text.lines().zip(1..);
        let line = lines.max_by_key(|(line, _)| line.matches('.').count()).map(|(_, number)| number);
        let reason = "keys are nested too deeply; allowed: a section and a name, like flash.channels";
        return ConfigError { line, ..ConfigError::new(file, reason) };
    }
    let reason = in_words(error.message(), field.as_deref(), &toml::Table::new());
    ConfigError { line, field, ..ConfigError::new(file, reason) }
}

/// As [`locate`], for an error of a table, which names the field and not its place in the text.
fn misread(file: &str, text: &str, table: &toml::Table, error: &toml::de::Error) -> ConfigError {
    let field = words::field(&error.to_string());
    // Where all of a section is missing, or a field that stands in none, it is the text's beginning.
    let line = field.as_deref().map_or(Some(1), |field| line_of(text, field));
    let mut reason = in_words(error.message(), field.as_deref(), table);
    if error.message().starts_with("missing field") {
        reason += "; 'flashlane profile show ssd-s' prints a whole profile, to begin with";
    }
    ConfigError { line, field, ..ConfigError::new(file, reason) }
}
