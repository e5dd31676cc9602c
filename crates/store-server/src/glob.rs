//! Patterns of KEYS and SCAN: `*`, `?`, `[a-c]`, `[^a]` and `\` before a byte that stands for itself, as in Redis.

/// Returns whether `text` matches `pattern`. Takes at most the product of both lengths, whatever the pattern.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on behind the last star: the pattern, and the text that the star has not taken.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            star = Some((p, t));
            continue;
        }
        if let Some(next) = pattern.get(p).and_then(|_| match_one(pattern, p, text[t])) {
            (p, t) = (next, t + 1);
            continue;
        }
        let Some((behind, taken)) = star else { return false };
        star = Some((behind, taken + 1));
        (p, t) = (behind, taken + 1);
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// Matches one byte with the element of the pattern at `at`. Returns where the next element begins.
fn match_one(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match pattern[at] {
        b'?' => Some(at + 1),
        b'[' => {
            let (is_in, next) = match_class(pattern, at + 1, byte);
            is_in.then_some(next)
        }
        b'\\' if at + 1 < pattern.len() => (pattern[at + 1] == byte).then_some(at + 2),
        own => (own == byte).then_some(at + 1),
    }
}

/// Matches a byte with the class whose content begins at `at`. Returns whether it is in it, and where the class ends;
/// one that is not closed ends with the pattern.
fn match_class(pattern: &[u8], mut at: usize, byte: u8) -> (bool, usize) {
    let is_negated = pattern.get(at) == Some(&b'^');
    at += usize::from(is_negated);
    let mut is_in = false;
    loop {
        match pattern[at.min(pattern.len())..] {
            [] => return (is_in != is_negated, pattern.len()),
            [b']', ..] => return (is_in != is_negated, at + 1),
            [b'\\', escaped, ..] => {
                is_in |= escaped == byte;
                at += 2;
            }
            [first, b'-', last, ..] => {
                is_in |= (first.min(last)..=first.max(last)).contains(&byte);
                at += 3;
            }
            [own, ..] => {
                is_in |= own == byte;
                at += 1;
            }
        }
    }
}

/// Returns the bytes with which every match begins.
pub fn prefix(pattern: &[u8]) -> Vec<u8> {
    let (mut prefix, mut at) = (Vec::new(), 0);
    while let Some(&byte) = pattern.get(at) {
        match byte {
            b'*' | b'?' | b'[' => break,
            b'\\' if at + 1 < pattern.len() => {
                prefix.push(pattern[at + 1]);
                at += 2;
            }
            own => {
                prefix.push(own);
                at += 1;
            }
        }
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("h?llo", "hallo", true),
            ("h?llo", "hllo", false),
            ("h*llo", "heeeello", true),
            ("h*l*o", "hllo!o", true),
            ("h[ae]llo", "hillo", false),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hbllo", true),
            ("h[a-b]llo", "hcllo", false),
            ("h\\*llo", "h*llo", true),
            ("h\\*llo", "hallo", false),
            ("[\\]]", "]", true),
            ("[ab", "b", true),
            ("a\\", "a\\", true),
            ("**a**", "a", true),
            ("a*", "b", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} on {text}");
        }
        let stars = "*a".repeat(30) + "b";
        assert!(!matches(stars.as_bytes(), &[b'a'; 5000]), "a hostile pattern ends");
    }

    #[test]
    fn prefix_begins_every_match() {
        for (pattern, expected) in
            [("user:*", "user:"), ("a\\*b?c", "a*b"), ("[a]", ""), ("a", "a"), ("a\\", "a\\")]
        {
            assert_eq!(prefix(pattern.as_bytes()), expected.as_bytes(), "{pattern}");
        }
    }
}
