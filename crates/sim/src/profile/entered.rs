//! A profile's text with settings entered: the file that the drive with these settings would have.

use super::error::ConfigError;
use super::fields::value_at;
use super::load::parse_with;
use super::reserve;
use super::settings::Settings;
use flashlane_policy::Policies;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// What the text says of where an entered value comes from.
const SOURCE: &str = "set on the command line";

/// Returns a profile's text with `overrides` entered: their values in place of the file's, and their source in
/// `[provenance]`. All else, comments too, is as it was. `file` is what errors call the text.
///
/// # Errors
/// As [`load`](super::load) of the profile with the settings, and where the text itself would be no profile with them:
/// an option that a replaced policy leaves behind has no place in a file.
pub fn text_with(
    policies: &Policies,
    file: &str,
    text: &str,
    overrides: &[(String, String)],
) -> Result<String, ConfigError> {
    parse_with(policies, file, text, overrides)?;
    let misread = |error: toml::de::Error| ConfigError::new(file, error.message());
    let mut table: toml::Table = toml::from_str(text).map_err(misread)?;
    let before = table.clone();
    let settings = Settings::apply(file, &mut table, overrides)?;
    reserve::choose_one(&mut table, &settings.unsectioned())
        .map_err(|refusal| settings.refused(file, text, refusal))?;
    let mut text = text.to_owned();
    for field in ["capacity", "over_provisioning"] {
        if before.contains_key(field) && !table.contains_key(field) {
            remove(&mut text, field);
        }
    }
    for field in settings.names() {
        let Some(value) = value_at(&mut table, &field) else { continue };
        enter(&mut text, &field, &value.to_string());
        enter_in(&mut text, &["provenance"], &format!("\"{field}\""), &format!("\"{SOURCE}\""));
    }
    match parse_with(policies, file, &text, &[]) {
        Ok(_) => Ok(text),
        Err(error) => Err(ConfigError { line: None, ..error }),
    }
}

/// Enters the value of a dotted field.
fn enter(text: &mut String, field: &str, value: &str) {
    let parts: Vec<&str> = field.split('.').collect();
    let (name, sections) = parts.split_last().expect("a field has a name");
    enter_in(text, sections, name, value);
}

/// Enters a value under a key of a section: in place of the one there, or as the section's first line. A section that
/// the text lacks comes at its end.
fn enter_in(text: &mut String, sections: &[&str], key: &str, value: &str) {
    let name = key.trim_matches('"');
    if let Some((_, at)) = place(text, sections, name) {
        return text.replace_range(at, value);
    }
    let line = format!("{key} = {value}\n");
    let (at, entry) = match (section(text, sections), sections) {
        (Some(Place::Inline(range)), _) => {
            let is_empty = text[range.clone()].trim_matches(['{', '}', ' ']).is_empty();
            let comma = if is_empty { "" } else { "," };
            (range.start + 1, format!(" {key} = {value}{comma}"))
        }
        (Some(Place::Header(after)), _) => (after, line),
        (None, []) => (first_entry(text), line),
        (None, _) => (text.len(), format!("\n[{}]\n{line}", sections.join("."))),
    };
    text.insert_str(at, &entry);
}

/// Where the text's first line stands that is no comment and not empty.
fn first_entry(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    lines.take_while(|line| line.trim().is_empty() || line.starts_with('#')).map(str::len).sum()
}

/// Removes the line of a field that stands in no section.
fn remove(text: &mut String, field: &str) {
    if let Some((key, value)) = place(text, &[], field) {
        let start = text[..key.start].rfind('\n').map_or(0, |end| end + 1);
        let end = text[value.end..].find('\n').map_or(text.len(), |end| value.end + end + 1);
        text.replace_range(start..end, "");
    }
}

/// Where a field's key and value stand.
fn place(text: &str, sections: &[&str], name: &str) -> Option<(Range<usize>, Range<usize>)> {
    let mut table = DeTable::parse(text).ok()?.into_inner();
    for part in sections {
        let (_, value) = table.into_iter().find(|(key, _)| key.as_ref() == *part)?;
        let DeValue::Table(inner) = value.into_inner() else { return None };
        table = inner;
    }
    let (key, value) = table.into_iter().find(|(key, _)| key.as_ref() == name)?;
    Some((key.span(), value.span()))
}

/// Where keys can be added to a section.
enum Place {
    /// Behind its header.
    Header(usize),
    /// Within its braces.
    Inline(Range<usize>),
}

fn section(text: &str, sections: &[&str]) -> Option<Place> {
    let header = format!("[{}]", sections.join("."));
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        start += line.len();
        if line.split('#').next().is_some_and(|line| line.trim() == header) {
            return Some(Place::Header(start));
        }
    }
    let (name, above) = sections.split_last()?;
    let (_, value) = place(text, above, name)?;
    text[value.clone()].starts_with('{').then_some(Place::Inline(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{PROFILES, parse};

    #[test]
    fn text_with_settings_is_the_profile_with_them() {
        let settings = [
            ("flash.channels", "4"),
            ("capacity", "8GiB"),
            ("buffer.high_watermark", "50%"),
            ("mapping.order", "package+channel+die+plane"),
            ("readahead.options.trigger", "5"),
            ("cleaning.high", "6%"),
            ("scheduling.policy", "read-first"),
        ];
        let settings: Vec<_> =
            settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let own = PROFILES.iter().find(|profile| profile.name == "ssd-s").unwrap().text;
        let text = text_with(&Policies::default(), "ssd-s", own, &settings).unwrap();
        let entered = parse("ssd-s", &text, &[]).unwrap();
        let set = parse("ssd-s", own, &settings).unwrap();
        assert_eq!(format!("{:?}", entered.flash), format!("{:?}", set.flash));
        assert_eq!(format!("{:?}", entered.buffer), format!("{:?}", set.buffer));
        assert_eq!(format!("{:?}", entered.readahead), format!("{:?}", set.readahead));
        assert_eq!((entered.capacity, entered.scheduling.policy.as_str()), (set.capacity, "read-first"));
        let comments = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(comments(&text), comments(own));
        for (field, _) in &settings {
            assert!(text.contains(&format!("\"{field}\" = \"{SOURCE}\"")), "{field}: {text}");
        }
        // A share in place of the capacity takes its line.
        let reserve = [("over_provisioning".to_owned(), "30%".to_owned())];
        let text = text_with(&Policies::default(), "ssd-s", own, &reserve).unwrap();
        assert!(!text.contains("\ncapacity =") && text.contains("over_provisioning = \"30%\""), "{text}");
        assert_eq!(text_with(&Policies::default(), "ssd-s", own, &[]).unwrap(), own);
    }
}
