//! The commands: a file for each group of them.

mod connection;
mod float;
mod hashes;
mod help;
mod keys;
mod server;
mod strings;
mod transactions;

use crate::command::Table;

/// All commands, by name.
pub static COMMANDS: Table = &[
    strings::COMMANDS,
    keys::COMMANDS,
    hashes::COMMANDS,
    transactions::COMMANDS,
    connection::COMMANDS,
    server::COMMANDS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Kind, find};
    use crate::protocol::Request;
    use std::collections::BTreeSet;

    #[test]
    fn commands_are_named_once() {
        let mut names = BTreeSet::new();
        for spec in COMMANDS.iter().copied().flatten() {
            assert!(names.insert(spec.name), "{} stands twice", spec.name);
            assert_eq!(spec.name, spec.name.to_lowercase());
            let is_keyed = matches!(spec.kind, Kind::Keys(..) | Kind::Atomic(_));
            assert!(!is_keyed || spec.keys.0 > 0, "{} has keys", spec.name);
        }
    }

    #[test]
    fn keys_are_found_by_position() {
        let numbers = |words: &[&str]| {
            let request = Request::of(words.iter().map(|word| word.as_bytes()));
            find(COMMANDS, words[0].as_bytes()).unwrap().key_numbers(&request).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["get", "a"]), [1]);
        assert_eq!(numbers(&["MSET", "a", "1", "b", "2"]), [1, 3]);
        assert_eq!(numbers(&["del", "a", "b"]), [1, 2]);
        assert_eq!(numbers(&["rename", "a", "b"]), [1, 2]);
        assert_eq!(numbers(&["object", "encoding", "a"]), [2]);
        assert_eq!(numbers(&["ping"]), [0; 0]);
    }
}
