//! Transactions: the engine carries them out.

use crate::command::{Kind, Spec, Verb};

const FLAGS: &[&str] = &["noscript", "fast"];

pub static COMMANDS: &[Spec] = &[
    Spec { name: "multi", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Multi) },
    Spec { name: "exec", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Exec) },
    Spec { name: "discard", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Discard) },
    Spec { name: "watch", arity: -2, flags: FLAGS, keys: (1, -1, 1), kind: Kind::Transaction(Verb::Watch) },
    Spec { name: "unwatch", arity: 1, flags: FLAGS, keys: (0, 0, 0), kind: Kind::Transaction(Verb::Unwatch) },
];
