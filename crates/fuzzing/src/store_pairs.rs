//! Lines of `store import`: a pair that is read is the same after writing and reading it.

use crate::Target;
use flashlane_store::text::{TextError, escape, parse_pair};

pub const TARGET: Target = Target {
    name: "store_pairs",
    body,
    seeds: &[
        "key\tvalue\r",
        "a\\tb\\\\c\t\\x00\\xff\\u00e9\\n\\r",
        "\t",
        "key",
        "a\tb\tc",
        "a\t\\u{1f980}",
        "\u{e9}\\x4\t\\ud800",
    ],
};

fn body(input: &[u8]) {
    match parse_pair(input) {
        Ok((key, value)) => {
            let line = format!("{}\t{}", escape(&key), escape(&value));
            assert_eq!(parse_pair(line.as_bytes()), Ok((key, value)), "{line:?}");
        }
        Err(TextError::NoTab) => assert!(!input.contains(&b'\t')),
        Err(TextError::SecondTab { at } | TextError::Escape { at, .. }) => {
            assert!((1..=input.len()).contains(&at), "the place of the fault is in the line");
        }
    }
}
