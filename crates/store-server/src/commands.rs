//! The commands: a table with name, arity and keys of each, and a file for each group of them.

mod connection;
mod float;
mod hashes;
mod keys;
mod server;
mod strings;
mod transactions;

use crate::cells::Keys;
use crate::clients::Session;
use crate::jobs::Job;
use crate::protocol::{Request, parse_integer};
use crate::reply::Reply;
use crate::server_state::ServerState;
pub use connection::REDIS_VERSION;
use flashlane_store::Status;
pub use transactions::Verb;

/// A command.
#[derive(Debug)]
pub struct Spec {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Number of arguments with the name; the least number where negative.
    pub arity: i32,
    /// What Redis says of it in COMMAND.
    pub flags: &'static [&'static str],
    /// First key, last key (from the end where negative), and step; zeros where it has no keys.
    pub keys: (i32, i32, i32),
    /// How it works.
    pub kind: Kind,
}

/// How a command works.
pub enum Kind {
    /// On keys. It needs their values if the first function says so.
    Keys(fn(&Request) -> bool, KeysFn),
    /// The same, and its changes must be stored as a whole.
    Atomic(KeysFn),
    /// On the connection and the server.
    Session(SessionFn),
    /// On all keys.
    Keyspace(fn(&Request) -> Result<Job, CommandError>),
    /// Of a transaction.
    Transaction(Verb),
    /// Refused, for this reason.
    Refused(&'static str),
}

/// Runs a command on keys.
pub type KeysFn = fn(&mut Keys<'_>, &Request, &mut Reply) -> Result<(), CommandError>;
/// Runs a command of the connection or the server.
pub type SessionFn = fn(&mut Context<'_>, &Request, &mut Reply) -> Result<(), CommandError>;

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kind")
    }
}

/// What commands of the connection and the server see.
pub struct Context<'a> {
    /// State of the connection.
    pub session: &'a mut Session,
    /// State of the server.
    pub server: &'a mut ServerState,
    /// Returns the state of the store.
    pub status: &'a dyn Fn() -> Status,
    /// Returns blocks and wear of each lane, a line each.
    pub lanes: &'a dyn Fn() -> String,
    /// Other clients, a line each.
    pub clients: &'a dyn Fn() -> String,
}

/// Why a command is refused, in the words of Redis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The key has a value of another type.
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    /// An argument, or the value, is no integer.
    #[error("ERR value is not an integer or out of range")]
    NoInteger,
    /// An argument is no number.
    #[error("ERR value is not a valid float")]
    NoFloat,
    /// Options do not go together.
    #[error("ERR syntax error")]
    Syntax,
    /// The sum is no 64-bit integer.
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    /// The sum is no number.
    #[error("ERR increment would produce NaN or Infinity")]
    NotFinite,
    /// An expiry is no time.
    #[error("ERR invalid expire time in '{0}' command")]
    ExpireTime(&'static str),
    /// The number of arguments is wrong.
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(&'static str),
    /// The key is not there.
    #[error("ERR no such key")]
    NoKey,
    /// The key is one of a table or file.
    #[error("ERR the key begins with bytes 00 46 4c, as those of tables and files do")]
    OfAFace,
    /// A string would become too long.
    #[error("ERR string exceeds maximum allowed size (proto-max-bulk-len)")]
    LongString,
    /// Any other.
    #[error("{0}")]
    Other(String),
}

/// All commands, by name.
pub static COMMANDS: &[&[Spec]] = &[
    strings::COMMANDS,
    keys::COMMANDS,
    hashes::COMMANDS,
    transactions::COMMANDS,
    connection::COMMANDS,
    server::COMMANDS,
];

/// Returns a command, by its name in any case.
pub fn find(name: &[u8]) -> Option<&'static Spec> {
    // The most frequent ones stand first.
    COMMANDS.iter().copied().flatten().find(|spec| spec.name.as_bytes().eq_ignore_ascii_case(name))
}

impl Spec {
    /// Returns whether it takes this number of arguments, with the name.
    pub fn takes(&self, arguments: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { arguments >= arity } else { arguments == arity }
    }

    /// Returns the numbers of the arguments that are keys.
    pub fn key_numbers(&self, request: &Request) -> impl Iterator<Item = usize> + use<> {
        let (first, last, step) = self.keys;
        let end = if last < 0 { request.len() as i32 + last } else { last.min(request.len() as i32 - 1) };
        (first.max(1)..=if first == 0 { 0 } else { end })
            .step_by(step.max(1) as usize)
            .map(|nth| nth as usize)
    }
}

/// Returns the error of an unknown command, in the words of Redis.
pub fn unknown(request: &Request) -> CommandError {
    let shorten = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(128)]).into_owned();
    let mut arguments = String::new();
    for argument in request.args(1) {
        if arguments.len() >= 128 {
            break;
        }
        arguments += &format!("'{}' ", shorten(argument));
    }
    let name = shorten(request.arg(0));
    CommandError::Other(format!("ERR unknown command '{name}', with args beginning with: {arguments}"))
}

/// Returns the error of an unknown subcommand, in the words of Redis.
fn unknown_subcommand(request: &Request) -> CommandError {
    let (name, own) = (String::from_utf8_lossy(request.arg(0)), String::from_utf8_lossy(request.arg(1)));
    CommandError::Other(format!("ERR unknown subcommand '{own}'. Try {} HELP.", name.to_uppercase()))
}

fn integer(text: &[u8]) -> Result<i64, CommandError> {
    parse_integer(text).ok_or(CommandError::NoInteger)
}

fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

fn always(_: &Request) -> bool {
    true
}

fn never(_: &Request) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
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
            find(words[0].as_bytes()).unwrap().key_numbers(&request).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["get", "a"]), [1]);
        assert_eq!(numbers(&["MSET", "a", "1", "b", "2"]), [1, 3]);
        assert_eq!(numbers(&["del", "a", "b"]), [1, 2]);
        assert_eq!(numbers(&["rename", "a", "b"]), [1, 2]);
        assert_eq!(numbers(&["object", "encoding", "a"]), [2]);
        assert_eq!(numbers(&["ping"]), [0; 0]);
    }
}
