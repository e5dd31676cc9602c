//! Text in XML: escaping, and estimated width in a sans-serif font.

use unicode_width::UnicodeWidthChar;

/// Escapes text for XML and HTML, in content and quoted attributes. Characters that XML does not allow become the
/// replacement character.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if (control as u32) < 0x20 => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// Estimates the width of `text` in a sans-serif font of `size` pixels, rather too large than too small.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let em = |character: char| match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.29,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' => 0.38,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.9,
        'A'..='Z' => 0.69,
        other if other.width().unwrap_or(0) > 1 => 1.05,
        _ => 0.57,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// Breaks `text` into lines of at most `most` pixels; a longer word gets its own line.
pub(crate) fn wrap(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + 0.38 * size <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
