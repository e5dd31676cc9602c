//! A pair as a line of text: the key, a tab, the value.
//!
//! In both, `\\` is a backslash, `\t` a tab, `\n` a line feed, `\r` a carriage return, `\xNN` the byte with these two
//! hexadecimal digits, and `\uNNNN` the character of Unicode with these four. Any other byte stands for itself; a
//! carriage return at the end of a line is a part of the line's end.

use std::fmt::Write;

/// Why a line is no pair.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// No tab ends the key.
    #[error("no tab ends the key: a line is the key, a tab and the value")]
    NoTab,
    /// A tab in the value.
    #[error("byte {at} is a second tab: one in a key or value is written \\t")]
    SecondTab {
        /// Byte of the line, from 1.
        at: usize,
    },
    /// An escape that is none.
    #[error(
        "'{given}' at byte {at} is no escape: allowed are \\\\, \\t, \\n, \\r, \\xNN and \\uNNNN; a backslash is written \\\\"
    )]
    Escape {
        /// Byte of the line, from 1.
        at: usize,
        /// The backslash and the character behind it.
        given: String,
    },
}

/// Returns a key or value as text.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("a String takes what it is given");
        }
    }
    out
}

/// Returns the key or value that a text stands for.
///
/// # Errors
/// [`TextError::Escape`] names the byte that is wrong.
pub fn unescape(text: &[u8]) -> Result<Vec<u8>, TextError> {
    unescape_at(text, 0)
}

/// Returns the bytes of the part of a line that begins with its byte `start`.
fn unescape_at(text: &[u8], start: usize) -> Result<Vec<u8>, TextError> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        let escape = &rest[at + 1..];
        let refused = || {
            let end = escape.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
            let given = end.map_or_else(|| "\\".to_owned(), |c| format!("\\{c}"));
            TextError::Escape { at: start + text.len() - rest.len() + at + 1, given }
        };
        let digits = |count: usize| {
            let digits = std::str::from_utf8(escape.get(1..1 + count)?).ok()?;
            let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            are_digits.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
        };
        let taken = match escape.first() {
            Some(b'\\') => (1, vec![b'\\']),
            Some(b't') => (1, vec![b'\t']),
            Some(b'n') => (1, vec![b'\n']),
            Some(b'r') => (1, vec![b'\r']),
            Some(b'x') => (3, vec![digits(2).ok_or_else(refused)? as u8]),
            Some(b'u') => {
                let c = digits(4).and_then(char::from_u32).ok_or_else(refused)?;
                (5, c.encode_utf8(&mut [0; 4]).as_bytes().to_vec())
            }
            _ => return Err(refused()),
        };
        out.extend_from_slice(&taken.1);
        rest = &escape[taken.0..];
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// Returns the pair of a line, given without its line feed.
///
/// # Errors
/// [`TextError`] names the byte that is wrong.
pub fn parse_pair(line: &[u8]) -> Result<(Vec<u8>, Vec<u8>), TextError> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let tab = line.iter().position(|&byte| byte == b'\t').ok_or(TextError::NoTab)?;
    let (key, value) = (&line[..tab], &line[tab + 1..]);
    if let Some(second) = value.iter().position(|&byte| byte == b'\t') {
        return Err(TextError::SecondTab { at: tab + 1 + second + 1 });
    }
    Ok((unescape_at(key, 0)?, unescape_at(value, tab + 1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn pairs_are_read_back() {
        let mut random = Seed(1).source();
        let bytes = |random: &mut flashlane_base::Random| -> Vec<u8> {
            const USUAL: &[u8] = b"ab\\\t\n\r\x1b\xff\xc3\xa9u0x";
            (0..random.below(12)).map(|_| USUAL[random.below(USUAL.len() as u64) as usize]).collect()
        };
        for _ in 0..20_000 {
            let (key, value) = (bytes(&mut random), bytes(&mut random));
            let line = format!("{}\t{}", escape(&key), escape(&value));
            assert!(!line.contains('\n'), "{line:?}");
            assert_eq!(parse_pair(line.as_bytes()), Ok((key, value)), "{line:?}");
        }
    }

    #[test]
    fn lines_of_other_programs_are_read() {
        let pair = |line: &[u8]| parse_pair(line).unwrap();
        assert_eq!(pair(b"a\tb\r"), (b"a".to_vec(), b"b".to_vec()));
        assert_eq!(pair(b"a\xff\t"), (b"a\xff".to_vec(), b"".to_vec()));
        assert_eq!(pair(b"\\u001b[2J\t\\u00e9\\x0a"), (b"\x1b[2J".to_vec(), "é\n".into()));
    }

    #[test]
    fn malformed_lines_are_refused_at_their_byte() {
        assert_eq!(parse_pair(b"key"), Err(TextError::NoTab));
        assert_eq!(parse_pair(b""), Err(TextError::NoTab));
        assert_eq!(parse_pair(b"a\tb\tc"), Err(TextError::SecondTab { at: 4 }));
        let refused = |at, given: &str| Err(TextError::Escape { at, given: given.into() });
        assert_eq!(parse_pair(b"C:\\q\tb"), refused(3, "\\q"));
        assert_eq!(parse_pair(b"a\tb\\"), refused(4, "\\"));
        assert_eq!(parse_pair(b"a\t\\n\\x4g"), refused(5, "\\x"));
        assert_eq!(parse_pair(b"a\t\\ud800"), refused(3, "\\u"));
        assert_eq!(parse_pair(b"a\t\\x+1"), refused(3, "\\x"));
    }
}
