//! Messages about a setting's type: the TOML reader's name Rust types, these name the allowed values.

use flashlane_base::suggest::hint;

/// Rewrites a reader's message: the value given, the value probably meant, the values allowed.
pub(super) fn plain(message: &str) -> String {
    let message = message.trim();
    unknown(message)
        .or_else(|| mistyped(message))
        .or_else(|| of_length(message))
        .unwrap_or_else(|| message.replace('\n', " "))
}

/// The dotted field that a reader's error ends with: ``in `flash.channels` ``; of an unknown one it names the section.
pub(super) fn field(error: &str) -> Option<String> {
    let at = error.lines().find_map(|line| line.trim().strip_prefix("in `"))?;
    let at = at.strip_suffix('`')?;
    match error.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        Some((name, _)) if at.rsplit('.').next() != Some(name) => Some(format!("{at}.{name}")),
        _ => Some(at.to_owned()),
    }
}

/// ``unknown variant `ful`, expected one of `fresh`, `full` ``, or the same of a field.
fn unknown(message: &str) -> Option<String> {
    let (what, rest) = [("field", "unknown field `"), ("value", "unknown variant `")]
        .into_iter()
        .find_map(|(what, start)| Some((what, message.strip_prefix(start)?)))?;
    let (given, rest) = rest.split_once('`')?;
    // Every second part stands between quotes.
    let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Some(format!("there is no {what} '{given}'{}; allowed: {allowed}", hint(given, names)))
}

/// ``invalid type: string "four", expected u32``.
fn mistyped(message: &str) -> Option<String> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (given, expected) = rest.rsplit_once(", expected ")?;
    let given = match given.split_once(' ') {
        Some(("string", text)) => format!("'{}'", text.trim_matches('"')),
        Some((_, number)) if given.contains('`') => number.trim_matches(|c| c != '`').replace('`', ""),
        _ => given.to_owned(),
    };
    let allowed = match expected {
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number, at least 0".into(),
        "a boolean" => "true or false".into(),
        "a string" => "text".into(),
        section if section.starts_with("struct ") => "a section, whose settings are set one by one".into(),
        other => other.into(),
    };
    Some(format!("it is {given}; allowed: {allowed}"))
}

/// ``invalid length 1, expected an array of length 4``.
fn of_length(message: &str) -> Option<String> {
    let (given, expected) = message.strip_prefix("invalid length ")?.split_once(", expected ")?;
    let expected = expected.strip_prefix("an array of length ")?;
    Some(format!("it lists {given}; allowed: a list of {expected}"))
}

/// Whether a reader's message is about something that stands where a whole number belongs.
pub(super) fn expects_number(message: &str) -> bool {
    let expected = message.trim().rsplit_once(", expected ").map(|(_, expected)| expected);
    expected.is_some_and(|expected| ["u8", "u16", "u32", "u64", "usize"].contains(&expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_reader_are_said_in_words() {
        for (message, words) in [
            (
                "unknown variant `ful`, expected one of `fresh`, `full`, `fragmented`",
                "there is no value 'ful' (did you mean 'full'?); allowed: fresh, full, fragmented",
            ),
            (
                "unknown variant `x`, expected `above` or `below`",
                "there is no value 'x'; allowed: above, below",
            ),
            (
                "unknown field `chanels`, expected `channels`",
                "there is no field 'chanels' (did you mean 'channels'?); allowed: channels",
            ),
            (
                "invalid type: string \"four\", expected u32",
                "it is 'four'; allowed: a whole number from 0 to 4294967295",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "it is -1; allowed: a whole number from 0 to 4294967295",
            ),
            (
                "invalid type: integer `1`, expected struct MapCacheConfig",
                "it is 1; allowed: a section, whose settings are set one by one",
            ),
            ("invalid type: string \"yes\", expected a boolean", "it is 'yes'; allowed: true or false"),
            ("invalid length 1, expected an array of length 4", "it lists 1; allowed: a list of 4"),
            ("missing field `window`", "missing field `window`"),
        ] {
            assert_eq!(plain(message), words);
        }
        assert_eq!(field("it is wrong\nin `flash.channels`\n").as_deref(), Some("flash.channels"));
        let unknown = "unknown field `chanels`, expected `channels`\nin `flash`\n";
        assert_eq!(field(unknown).as_deref(), Some("flash.chanels"));
        assert_eq!(field("it is wrong"), None);
    }
}
