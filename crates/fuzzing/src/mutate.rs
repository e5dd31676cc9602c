//! Inputs for the smoke test: seeds with a few mutations.
//!
//! Without coverage feedback a reader refuses most random bytes at once. Seeds that are cut, joined, repeated and mixed
//! with the special characters of grammars reach further.

#![cfg(test)]

use flashlane_base::Random;
use std::ops::Range;

/// Special characters of grammars, and problematic numbers and text.
const TOKENS: &[&str] = &[
    "(",
    ")",
    ",",
    "=",
    "#",
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "{",
    "}",
    ".",
    ":",
    "\n",
    " ",
    "\t",
    "\0",
    "-",
    "+",
    "%",
    "_",
    "0",
    "1",
    "-1",
    "0.5",
    "1e999",
    "nan",
    "inf",
    "18446744073709551615",
    "18446744073709551616",
    "9999999TiB",
    "4k",
    "25us",
    "µ",
    "ß",
    "\u{202e}",
    "\u{feff}",
    "🦀",
];

/// Limit of the input: longer ones find no more than shorter ones.
const LONGEST_BYTES: usize = 4096;

/// Returns a seed with one to eight mutations.
pub fn input(seeds: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = pick(seeds, random).as_bytes().to_vec();
    for _ in 0..=random.below(8) {
        step(&mut bytes, seeds, random);
    }
    bytes.truncate(LONGEST_BYTES);
    bytes
}

fn step(bytes: &mut Vec<u8>, seeds: &[&str], random: &mut Random) {
    let range = range(bytes.len(), random);
    match random.below(7) {
        0 => drop(bytes.drain(range)),
        1 => {
            let copy = bytes[range.clone()].to_vec();
            bytes.splice(range.start..range.start, copy);
        }
        2 => {
            let other = pick(seeds, random).as_bytes();
            let part = self::range(other.len(), random);
            bytes.splice(range, other[part].iter().copied());
        }
        3 if !range.is_empty() => bytes[range.start] ^= 1 << random.below(8),
        4 if !range.is_empty() => bytes[range.start] = random.bits() as u8,
        // Deep nesting and long runs.
        5 if random.chance(0.05) => {
            let token = pick(TOKENS, random).repeat(1 + random.below(500) as usize);
            bytes.splice(range.start..range.start, token.bytes());
        }
        _ => drop(bytes.splice(range.start..range.start, pick(TOKENS, random).bytes())),
    }
}

fn pick<'a>(list: &[&'a str], random: &mut Random) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

/// Returns a range within `length`, mostly short.
fn range(length: usize, random: &mut Random) -> Range<usize> {
    let start = random.below(length as u64 + 1) as usize;
    let longest = if random.chance(0.1) { length } else { 8 };
    let end = start + random.below(longest as u64 + 1) as usize;
    start..end.min(length)
}
