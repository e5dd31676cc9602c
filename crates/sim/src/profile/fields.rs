//! Fields of a profile's text and table, by their dotted names.

use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// The value of a dotted field.
pub(super) fn value_at<'a>(table: &'a mut toml::Table, field: &str) -> Option<&'a mut toml::Value> {
    match field.split_once('.') {
        Some((section, rest)) => value_at(table.get_mut(section)?.as_table_mut()?, rest),
        None => table.get_mut(field),
    }
}

pub(super) fn line_at(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|&&b| b == b'\n').count()
}

/// The line on which a dotted field stands, if the file has it.
pub(super) fn line_of(text: &str, field: &str) -> Option<usize> {
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
pub(super) fn field_at(text: &str, byte: usize) -> Option<String> {
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

/// The dotted names of the fields that a profile's text sets; none where it cannot be read.
pub fn field_names(text: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    if let Ok(table) = toml::from_str::<toml::Table>(text) {
        dotted(&table, "", &mut names);
    }
    names.into_iter().collect()
}

pub(super) fn dotted(table: &toml::Table, before: &str, names: &mut BTreeSet<String>) {
    for (name, value) in table.iter().filter(|(name, _)| !(before.is_empty() && *name == "provenance")) {
        match value {
            toml::Value::Table(inner) => dotted(inner, &format!("{before}{name}."), names),
            _ => drop(names.insert(format!("{before}{name}"))),
        }
    }
}
