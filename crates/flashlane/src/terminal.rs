//! Escapes control characters in text for a terminal. Names of files, traces, models and results are untrusted; control
//! characters in them could move the cursor, recolour or retitle the terminal, or reverse the order of letters.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes every control character except line ends and tabs, as `\u001b`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // The line end of CSV.
            '\r' if rest.peek() == Some(&'\n') => out.push(c),
            c if is_active(c) => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes what it is given")
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns whether a terminal interprets the character instead of showing it: controls and marks of text direction.
fn is_active(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_escapes_controls_and_keeps_lines() {
        assert_eq!(printable("a\tb\r\n1,2\r\n"), "a\tb\r\n1,2\r\n");
        assert_eq!(printable("\u{1b}[2Jx\u{9b}1m\r\u{7f}"), "\\u001b[2Jx\\u009b1m\\u000d\\u007f");
        assert_eq!(printable("gpj.\u{202e}exe"), "gpj.\\u202eexe");
        // In JSON they occur only in strings, where this is their escape.
        let text = serde_json::json!({ "name": "\u{9b}" }).to_string();
        let read: serde_json::Value = serde_json::from_str(&printable(&text)).unwrap();
        assert_eq!(read["name"], "\u{9b}");
    }
}
