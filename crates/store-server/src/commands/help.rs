//! `COMMAND HELP`: the subcommands of a command, in the form in which Redis lists its own.

use crate::command::{CommandError, is, wrong_arity};
use crate::protocol::Request;
use crate::reply::Reply;

/// A subcommand, with the arguments that it takes, and what it does.
type Subcommand = (&'static str, &'static str);

pub(super) const CLIENT: &[Subcommand] = &[
    ("GETNAME", "Reply the name of this connection."),
    ("ID", "Reply the number of this connection."),
    ("INFO", "Describe this connection in a line."),
    ("LIST [options ...]", "Describe all connections, a line each, whatever the options choose."),
    ("NO-EVICT (ON|OFF)", "Note the flag; a client that takes most memory is closed all the same."),
    ("SETINFO (LIB-NAME|LIB-VER) <value>", "Note the client's library or its version."),
    ("SETNAME <name>", "Name this connection."),
];

pub(super) const COMMAND: &[Subcommand] = &[
    ("(no subcommand)", "Describe all commands."),
    ("COUNT", "Reply the number of commands."),
    ("DOCS [<command-name> ...]", "Reply the documentation of these commands, or of all."),
    ("INFO [<command-name> ...]", "Describe these commands, or all."),
    ("LIST", "Reply the names of all commands."),
];

pub(super) const CONFIG: &[Subcommand] = &[
    ("GET <pattern>", "Reply the settings whose names match the glob pattern."),
    ("RESETSTAT", "Begin the statistics of commands anew."),
];

pub(super) const MEMORY: &[Subcommand] =
    &[("USAGE <key> [SAMPLES <count>]", "Reply the bytes of the key and its value.")];

pub(super) const OBJECT: &[Subcommand] =
    &[("ENCODING <key>", "Reply the form that Redis would choose for the value of the key.")];

/// Returns whether a request asks for the subcommands of its command.
pub(super) fn is_wanted(request: &Request) -> bool {
    request.len() > 1 && is(request.arg(1), "help")
}

/// Replies the subcommands of the command of a request that asks for them.
///
/// # Errors
/// [`CommandError::Other`] where more is asked.
pub(super) fn reply(
    subcommands: &[Subcommand],
    request: &Request,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    if request.len() > 2 {
        return Err(wrong_arity(request));
    }
    let own = ("HELP", "List the subcommands.");
    let all = subcommands.iter().chain([&own]);
    reply.array(1 + 2 * (subcommands.len() + 1));
    reply.simple(&format!(
        "{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        String::from_utf8_lossy(request.arg(0)).to_uppercase()
    ));
    for (form, effect) in all {
        reply.simple(form);
        reply.simple(&format!("    {effect}"));
    }
    Ok(())
}
