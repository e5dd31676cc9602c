//! A profile's text with settings entered: the file that the drive with these settings would have.

use super::error::ConfigError;
use super::fields::value_at;
use super::load::parse_with;
use super::reserve;
use super::settings::Settings;
use flashlane_policy::Policies;
use toml_edit::{DocumentMut, Item, Key, TableLike, TomlError, Value};

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
    let mut document: DocumentMut =
        text.parse().map_err(|error: TomlError| ConfigError::new(file, error.message()))?;
    for field in ["capacity", "over_provisioning"] {
        if before.contains_key(field) && !table.contains_key(field) {
            document.remove(field);
        }
    }
    for field in settings.names() {
        let Some(value) = value_at(&mut table, &field) else { continue };
        let value = value.to_string().parse().expect("a value of TOML is one");
        let parts: Vec<&str> = field.split('.').collect();
        let (name, sections) = parts.split_last().expect("a field has a name");
        enter(&mut document, sections, &Key::new(*name), value);
        let quoted = format!("\"{field}\"").parse().expect("a quoted name is a key");
        enter(&mut document, &["provenance"], &quoted, SOURCE.into());
    }
    let text = document.to_string();
    match parse_with(policies, file, &text, &[]) {
        Ok(_) => Ok(text),
        Err(error) => Err(error.without_lines()),
    }
}

/// Enters a value under a key of a section, which is added where it is not there. The comment of the value in its place
/// stays.
fn enter(document: &mut DocumentMut, sections: &[&str], key: &Key, mut value: Value) {
    let mut section: &mut dyn TableLike = document.as_table_mut();
    for name in sections {
        let item = section.entry(name).or_insert(toml_edit::table());
        section = item.as_table_like_mut().expect("the sections of a valid profile are tables");
    }
    if let Some(before) = section.get(key.get()).and_then(Item::as_value) {
        *value.decor_mut() = before.decor().clone();
    }
    *section.entry_format(key).or_insert(Item::None) = Item::Value(value);
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
