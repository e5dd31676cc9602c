//! Transactions: the engine carries them out.

use super::{Kind, Spec};

/// What a command does to the transaction of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Begin to collect commands.
    Multi,
    /// Run them at once, alone, and store their changes as a whole.
    Exec,
    /// Forget them.
    Discard,
    /// Let EXEC do nothing if one of these keys changes before.
    Watch,
    /// Forget the keys.
    Unwatch,
}

const FLAGS: &[&str] = &["noscript", "fast"];

pub static COMMANDS: &[Spec] = &[
    Spec { name: "multi", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Multi) },
    Spec { name: "exec", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Exec) },
    Spec { name: "discard", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Discard) },
    Spec { name: "watch", arity: -2, flags: FLAGS, keys: (1, -1, 1), kind: Kind::Transaction(Verb::Watch) },
    Spec { name: "unwatch", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Unwatch) },
];
