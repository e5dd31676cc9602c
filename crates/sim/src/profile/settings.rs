//! Settings in place of those of a profile's file: each a field's name, dotted or plain, and its value as text.

use super::builtin::PROFILES;
use super::error::ConfigError;
use super::fields::{dotted, field_names, line_of, value_at};
use super::message::in_words;
use super::{checks, missing, renamed, words};
use crate::config::refusal::Refusal;
use flashlane_base::suggest::hint;
use std::collections::BTreeSet;

/// The settings that were given, each with the path of its field.
pub(super) struct Settings<'a> {
    given: Vec<(Vec<String>, &'a (String, String))>,
}

impl<'a> Settings<'a> {
    /// Puts settings into a profile's table.
    pub(super) fn apply(
        file: &str,
        table: &mut toml::Table,
        overrides: &'a [(String, String)],
    ) -> Result<Self, ConfigError> {
        let mut given: Vec<(Vec<String>, &(String, String))> = Vec::new();
        for setting in overrides {
            let (key, value) = setting;
            let path = apply(file, table, key, value)?;
            // Of one name the last counts; two names of one field contradict each other.
            if let Some((_, (other, _))) =
                given.iter().find(|(known, (other, _))| *known == path && other != key)
            {
                let reason = format!("'{other}' and '{key}' are the same field; allowed: one of them");
                return Err(ConfigError { field: Some(path.join(".")), ..ConfigError::new(file, reason) });
            }
            given.push((path, setting));
        }
        Ok(Self { given })
    }

    /// Returns the full names of the fields that were set.
    pub(super) fn names(&self) -> Vec<String> {
        self.given.iter().map(|(path, _)| path.join(".")).collect()
    }

    /// Returns the names of the fields that were set and stand in no section.
    pub(super) fn unsectioned(&self) -> Vec<&str> {
        self.given.iter().filter_map(|(path, _)| (path.len() == 1).then_some(path[0].as_str())).collect()
    }

    /// Returns the error of a refusal; it names the setting that caused it, where one did.
    pub(super) fn refused(&self, file: &str, text: &str, (field, reason): Refusal) -> ConfigError {
        let names = self.names();
        let field = checks::given(field, &names);
        // The value of a setting does not stand in the text.
        let line = if names.iter().any(|name| name == field) { None } else { line_of(text, field) };
        ConfigError { line, field: Some(field.into()), ..ConfigError::new(file, reason) }
    }

    /// Returns the error of a file's table that could be read, and that with the settings, `table`, cannot.
    pub(super) fn misread(
        &self,
        file: &str,
        file_table: &toml::Table,
        table: &toml::Table,
        error: &toml::de::Error,
    ) -> ConfigError {
        if let Some((field, reason)) = missing::field_of_section(error, file, file_table) {
            return ConfigError { field: Some(field), ..ConfigError::new(file, reason) };
        }
        let field = words::field(&error.to_string());
        let mut reason = in_words(error.message(), field.as_deref(), table);
        if let Some(parts) = field.as_deref().and_then(|field| list_at(file_table, field)) {
            reason += &format!(", joined by '+', as in {}", parts.join("+"));
        }
        if !field.as_ref().is_some_and(|field| self.names().contains(field)) {
            let given = self.given.iter().map(|(_, (key, value))| format!("{key}={value}"));
            reason = format!("with '{}': {reason}", given.collect::<Vec<_>>().join(","));
        }
        if field.as_deref() == Some("over_provisioning") && reason.contains("over 100%") {
            reason += "; allowed: up to 100%, and for more than 100% give the capacity in its place";
        }
        ConfigError { field, ..ConfigError::new(file, reason) }
    }
}

/// The lists that a profile need not set, with their defaults, or with an example where the default is none.
const DEFAULT_LISTS: [(&str, &[&str]); 3] = [
    ("mapping.order", &["channel", "package", "die", "plane"]),
    ("flash.read_by_type", &["40us", "60us"]),
    ("flash.program_by_type", &["500us", "900us"]),
];

/// The names that a dotted field lists, by default where the table does not set it.
fn list_at(table: &toml::Table, field: &str) -> Option<Vec<String>> {
    let mut table = table.clone();
    if let Some(value) = value_at(&mut table, field) {
        return Some(value.as_array()?.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect());
    }
    let (_, default) = DEFAULT_LISTS.iter().find(|(name, _)| *name == field)?;
    Some(default.iter().map(|&name| name.to_owned()).collect())
}

/// Fields that a profile need not set and whose full name is one word: they stand in no section.
const UNSECTIONED: [&str; 4] = ["capacity", "description", "over_provisioning", "sector"];

/// Puts an override into the table, and says where. A plain name stands for the one field of that name, wherever it is.
fn apply(file: &str, table: &mut toml::Table, key: &str, value: &str) -> Result<Vec<String>, ConfigError> {
    let fail = |reason: String| ConfigError { field: Some(key.into()), ..ConfigError::new(file, reason) };
    let path: Vec<String> = if key.contains('.') {
        key.split('.').map(str::to_owned).collect()
    } else {
        let mut found = Vec::new();
        find_fields(table, &mut Vec::new(), key, &mut found);
        match found.len() {
            1 => found.remove(0),
            // The full name of a field, which others may have in their sections.
            _ if UNSECTIONED.contains(&key) => vec![key.into()],
            0 => return Err(fail(no_such_field(file, table, key))),
            _ => {
                let all = found.iter().map(|path| path.join(".")).collect::<Vec<_>>().join(", ");
                return Err(fail(format!("several fields have this name: {all}; say which")));
            }
        }
    };
    let list = list_at(table, &path.join("."));
    let (last, sections) = path.split_last().expect("a path has at least one part");
    let mut section = table;
    for part in sections {
        section = section
            .entry(part.clone())
            .or_insert_with(|| toml::Value::Table(toml::Table::new()))
            .as_table_mut()
            .ok_or_else(|| fail(format!("'{part}' is no section")))?;
    }
    let value = match list {
        Some(names) if value.contains(['-', ';', '/', ':', '>', ' ']) && !value.contains('+') => {
            let names = names.join("+");
            return Err(fail(format!("'{value}' is no list; allowed: names joined by '+', as in {names}")));
        }
        Some(_) => value.split('+').map(str::trim).collect::<Vec<_>>().into(),
        None => typed(value, section.get(last)),
    };
    section.insert(last.clone(), value);
    Ok(path)
}

/// That the profile sets no field called `key`, and which one may have been meant.
fn no_such_field(file: &str, table: &toml::Table, key: &str) -> String {
    let mut known = BTreeSet::new();
    dotted(table, "", &mut known);
    known.extend(UNSECTIONED.map(str::to_owned));
    known.extend(PROFILES.iter().flat_map(|profile| field_names(profile.text)));
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let full: Vec<&str> = known.iter().filter(|name| last(name) == key).map(String::as_str).collect();
    if !full.is_empty() {
        let full = full.join("' or '");
        return format!("the profile sets no field of this name; set it by its full name: '{full}'");
    }
    if let Some(hint) = renamed::hint(key) {
        return hint;
    }
    let short: BTreeSet<String> = known.iter().map(|name| last(name)).collect();
    format!(
        "there is no field of this name{}; set one by its full name, like 'flash.channels=16' (fields are listed by \
         'flashlane profile show {file}')",
        hint(key, short.iter().map(String::as_str))
    )
}

fn find_fields(table: &toml::Table, path: &mut Vec<String>, key: &str, found: &mut Vec<Vec<String>>) {
    for (name, value) in table {
        if path.is_empty() && name == "provenance" {
            continue;
        }
        path.push(name.clone());
        match value {
            toml::Value::Table(inner) => find_fields(inner, path, key, found),
            _ if name == key => found.push(path.clone()),
            _ => {}
        }
        path.pop();
    }
}

/// An override's value in the type that stood there before; without one, whatever it looks like.
fn typed(text: &str, before: Option<&toml::Value>) -> toml::Value {
    if matches!(before, Some(toml::Value::String(_))) {
        return toml::Value::String(text.into());
    }
    match (text.parse::<i64>(), text.parse::<bool>()) {
        (Ok(number), _) => toml::Value::Integer(number),
        (_, Ok(truth)) => toml::Value::Boolean(truth),
        _ => toml::Value::String(text.into()),
    }
}
