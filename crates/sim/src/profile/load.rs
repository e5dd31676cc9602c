//! From a name or a file's text, and overrides, to a checked profile.

use super::checks::lanes;
use super::error::ConfigError;
use super::reserve::Reserve;
use super::{checks, inherited, renamed, reserve, words};
use crate::config::DriveConfig;
use crate::config::refusal::{Refusal, require};
use flashlane_device::OverProvisioningChange;
use flashlane_policy::Policies;
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// A built-in profile.
pub struct ProfileSource {
    /// The name that selects it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! profiles {
    ($($name:literal)*) => {
        &[$(ProfileSource {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/", $name, ".toml")),
        }),*]
    };
}

/// All built-in profiles: one file in `profiles/` and one word here.
pub const PROFILES: &[ProfileSource] = profiles![
    "ssd-s" "ssd-m" "msr-32g" "msr-64g" "nvme-tlc" "memoright-like" "mtron-like" "samsung-like" "transcend-module-like"
    "kingston-dti-like" "sdf" "sdf-tlc" "huawei-gen3" "intel-320" "memblaze-q520-like"
    "he-4g" "zn540-like" "vector-like" "intel-335-like"
];

/// Their names.
pub fn names() -> Vec<&'static str> {
    PROFILES.iter().map(|profile| profile.name).collect()
}

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
        let known = names().join(", ");
        ConfigError::new(
            &format!("'{name}'"),
            format!("there is no such profile; there are: {known}; a file's path must end in .toml"),
        )
    })?;
    parse_with(policies, name, source.text, overrides)
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
    let mut table: toml::Table = toml::from_str(text).map_err(|error| locate(file, text, &error))?;
    // Read the file as it stands first, so that its own mistakes are reported with their lines.
    let mut config: DriveConfig =
        table.clone().try_into().map_err(|error| misread(file, text, &table, &error))?;
    let file_table = table.clone();
    let mut set: Vec<(Vec<String>, &str)> = Vec::new();
    for (key, value) in overrides {
        let path = apply(file, &mut table, key, value)?;
        // Of one name the last counts; two names of one field contradict each other.
        if let Some((_, other)) = set.iter().find(|(known, other)| *known == path && other != key) {
            let reason = format!("'{other}' and '{key}' are the same field; allowed: one of them");
            return Err(ConfigError { field: Some(path.join(".")), ..ConfigError::new(file, reason) });
        }
        set.push((path, key));
    }
    let names: Vec<String> = set.iter().map(|(path, _)| path.join(".")).collect();
    let refused = |(field, reason): Refusal| {
        let field = checks::given(field, &names);
        let (line, field) = (line_of(text, field), Some(field.into()));
        ConfigError { line, field, ..ConfigError::new(file, reason) }
    };
    let all_refused = |refusals: Vec<Refusal>| {
        let mut all = refusals.into_iter().map(refused);
        let first = all.next().expect("something is refused");
        ConfigError { others: all.collect(), ..first }
    };
    let set_fields: Vec<&str> =
        set.iter().filter_map(|(path, _)| (path.len() == 1).then_some(path[0].as_str())).collect();
    reserve::choose_one(&mut table, &set_fields).map_err(refused)?;
    let mut reserve_of_file = None;
    if !overrides.is_empty() {
        if !set_fields.contains(&"over_provisioning") {
            config.policies = policies.clone();
            // A file that makes a drive only with these settings has none.
            let makes_a_drive = checks::validate(&mut config).is_ok();
            reserve_of_file = makes_a_drive.then(|| Reserve::of(&config)).flatten();
        }
        config = table.clone().try_into().map_err(|error: toml::de::Error| {
            let lacks = error.message().starts_with("missing field");
            // A section that has no place here is refused before its missing fields are.
            if lacks && let Err(refusal) = sections(&table) {
                return refused(refusal);
            }
            let given = overrides.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",");
            let field = words::field(&error.to_string()).filter(|_| !lacks);
            let mut reason = in_words(error.message(), field.as_deref(), &table);
            if let Some(parts) = field.as_deref().and_then(|field| list_at(&file_table, field)) {
                reason += &format!(", joined by '+', as in {}", parts.join("+"));
            }
            if !field.as_ref().is_some_and(|field| names.contains(field)) {
                reason = format!("with '{given}': {reason}");
            }
            if field.as_deref() == Some("over_provisioning") && reason.contains("over 100%") {
                reason += "; allowed: up to 100%, and for more than 100% give the capacity in its place";
            }
            let new = set.iter().find(|(path, _)| path.len() > 1 && !file_table.contains_key(&path[0]));
            if let Some((path, _)) = new.filter(|_| lacks) {
                let section = &path[0];
                reason += &format!("; {file} has no [{section}], so that all of it must be given");
            }
            ConfigError { field, ..ConfigError::new(file, reason) }
        })?;
        inherited::mark(&mut config, &file_table, &table, &names);
    }
    config.policies = policies.clone();
    sections(&table).map_err(refused)?;
    checks::validate(&mut config).map_err(all_refused)?;
    let is_of_capacity = set_fields.contains(&"capacity");
    config.over_provisioning_change = reserve_of_file
        .zip(Reserve::of(&config))
        // With a change of the flash, the capacity beside it confirms the reserve.
        .filter(|(file, now)| {
            now.share != file.share && !(is_of_capacity && now.flash_bytes != file.flash_bytes)
        })
        .map(|(file, _)| OverProvisioningChange { profile_share: file.share, is_of_capacity });
    Ok(config)
}

/// A drive has a translation layer or shows its flash, not both.
fn sections(table: &toml::Table) -> Result<(), Refusal> {
    if !table.contains_key("lanes") {
        return require(table.contains_key("mapping"), "mapping", || {
            "the section is missing; allowed: [mapping], or [lanes] for software-defined flash".into()
        });
    }
    match lanes::CONVENTIONAL.iter().find(|&&field| table.contains_key(field)) {
        None => Ok(()),
        Some(field) => Err((
            field,
            "it has no meaning beside [lanes], which shows the flash as it is; leave it away".into(),
        )),
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

/// A reader's message in words; of a field that has another name now, that name; of a number in `table`, its range.
fn in_words(message: &str, field: Option<&str>, table: &toml::Table) -> String {
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
    let refusals = checks::validate(&mut config).err()?;
    let (_, reason) = refusals.into_iter().find(|(named, _)| *named == field)?;
    reason.split_once("; allowed: ").map(|(_, allowed)| allowed.to_owned())
}

/// The value of a dotted field.
fn value_at<'a>(table: &'a mut toml::Table, field: &str) -> Option<&'a mut toml::Value> {
    match field.split_once('.') {
        Some((section, rest)) => value_at(table.get_mut(section)?.as_table_mut()?, rest),
        None => table.get_mut(field),
    }
}

/// The lists that a profile need not set, with their defaults.
const DEFAULT_LISTS: [(&str, [&str; 4]); 1] = [("mapping.order", ["channel", "package", "die", "plane"])];

/// The names that a dotted field lists, by default where the table does not set it.
fn list_at(table: &toml::Table, field: &str) -> Option<Vec<String>> {
    let mut table = table.clone();
    if let Some(value) = value_at(&mut table, field) {
        return Some(value.as_array()?.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect());
    }
    let (_, default) = DEFAULT_LISTS.iter().find(|(name, _)| *name == field)?;
    Some(default.map(str::to_owned).to_vec())
}

fn line_at(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|&&b| b == b'\n').count()
}

/// The line on which a dotted field stands, if the file has it.
fn line_of(text: &str, field: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut table = document.into_inner();
    let mut parts = field.split('.').peekable();
    while let Some(part) = parts.next() {
        let (key, value) = table.into_iter().find(|(key, _)| key.as_ref() == part)?;
        if parts.peek().is_none() {
            return Some(line_at(text, key.span().start));
        }
        table = match value.into_inner() {
            DeValue::Table(inner) => inner,
            _ => return None,
        };
    }
    None
}

/// The dotted field whose key or value covers a byte of the text.
fn field_at(text: &str, byte: usize) -> Option<String> {
    fn search(table: &DeTable<'_>, byte: usize) -> Option<String> {
        table.iter().find_map(|(key, value)| {
            let inner = match value.get_ref() {
                DeValue::Table(inner) => search(inner, byte),
                _ => None,
            };
            match inner {
                Some(rest) => Some(format!("{}.{rest}", key.as_ref())),
                None => (key.span().contains(&byte) || value.span().contains(&byte))
                    .then(|| key.as_ref().to_string()),
            }
        })
    }
    search(DeTable::parse(text).ok()?.get_ref(), byte)
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
            0 if UNSECTIONED.contains(&key) => vec![key.into()],
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
        words::hint(key, short.iter().map(String::as_str))
    )
}

/// The dotted names of the fields that a profile's text sets; none where it cannot be read.
pub fn field_names(text: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    if let Ok(table) = toml::from_str::<toml::Table>(text) {
        dotted(&table, "", &mut names);
    }
    names.into_iter().collect()
}

fn dotted(table: &toml::Table, before: &str, names: &mut BTreeSet<String>) {
    for (name, value) in table.iter().filter(|(name, _)| !(before.is_empty() && *name == "provenance")) {
        match value {
            toml::Value::Table(inner) => dotted(inner, &format!("{before}{name}."), names),
            _ => drop(names.insert(format!("{before}{name}"))),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The dotted names of all fields of a table.
    fn fields(table: &toml::Table, before: &str, all: &mut Vec<String>) {
        for (name, value) in table {
            match value {
                toml::Value::Table(inner) => fields(inner, &format!("{before}{name}."), all),
                _ => all.push(format!("{before}{name}")),
            }
        }
    }

    #[test]
    fn every_number_has_a_source_and_every_source_a_number() {
        for source in PROFILES {
            let mut table: toml::Table = toml::from_str(source.text).unwrap();
            let Some(toml::Value::Table(provenance)) = table.remove("provenance") else {
                panic!("{} has no [provenance]", source.name)
            };
            let mut all = Vec::new();
            fields(&table, "", &mut all);
            all.retain(|field| field != "name" && field != "description");
            let covers = |source: &str, field: &str| match source.strip_suffix('*') {
                Some(section) => field.starts_with(section),
                None => field == source,
            };
            for field in &all {
                assert!(
                    provenance.keys().any(|known| covers(known, field)),
                    "{}: where does {field} come from?",
                    source.name
                );
            }
            for (known, words) in &provenance {
                assert!(all.iter().any(|field| covers(known, field)), "{}: there is no {known}", source.name);
                assert!(words.as_str().is_some_and(|words| words.len() > 5), "{}: {known}", source.name);
            }
        }
    }
}
