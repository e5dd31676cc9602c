//! What a command is: its name, arity, keys and function, what it sees, and why it is refused.

use crate::cells::Keys;
use crate::jobs::Job;
use crate::protocol::{Request, parse_integer};
use crate::reply::Reply;
use crate::server_state::ServerState;
use crate::session::Session;
use flashlane_store::Status;

/// Version of Redis whose commands these are. Clients choose by it what they send.
pub const REDIS_VERSION: &str = "7.0.15";

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
    /// Begins a backup.
    Backup,
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
    /// Returns blocks, wear and queue of each lane, a line each.
    pub lanes: &'a dyn Fn() -> String,
    /// Other clients, a line each.
    pub clients: &'a dyn Fn() -> String,
    /// All commands.
    pub commands: Table,
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

/// Commands, in groups.
pub type Table = &'static [&'static [Spec]];

/// Returns a command of a table, by its name in any case.
pub fn find(commands: Table, name: &[u8]) -> Option<&'static Spec> {
    // The most frequent ones stand first.
    commands.iter().copied().flatten().find(|spec| spec.name.as_bytes().eq_ignore_ascii_case(name))
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
pub fn unknown_subcommand(request: &Request) -> CommandError {
    let (name, own) = (String::from_utf8_lossy(request.arg(0)), String::from_utf8_lossy(request.arg(1)));
    CommandError::Other(format!("ERR unknown subcommand '{own}'. Try {} HELP.", name.to_uppercase()))
}

/// Returns the error of a subcommand with another number of arguments, in the words of Redis.
pub fn wrong_arity(request: &Request) -> CommandError {
    let [name, own] = [0, 1].map(|nth| String::from_utf8_lossy(request.arg(nth)).to_lowercase());
    CommandError::Other(format!("ERR wrong number of arguments for '{name}|{own}' command"))
}

/// Returns an argument that must be an integer.
pub fn integer(text: &[u8]) -> Result<i64, CommandError> {
    parse_integer(text).ok_or(CommandError::NoInteger)
}

/// Returns whether an argument is a word, in any case.
pub fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// Of commands that need the values of their keys.
pub fn always(_: &Request) -> bool {
    true
}

/// Of commands that do not need the values of their keys.
pub fn never(_: &Request) -> bool {
    false
}
