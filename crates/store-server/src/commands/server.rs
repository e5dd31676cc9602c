//! The server: what it is, how it does, and its end.

use super::help;
use crate::command::{
    CommandError, Context, Kind, REDIS_VERSION, Spec, find, integer, is, unknown_subcommand, wrong_arity,
};
use crate::glob;
use crate::info;
use crate::protocol::Request;
use crate::reply::Reply;
use flashlane_store::Durability;

const NONE: (i32, i32, i32) = (0, 0, 0);
const STALE: &[&str] = &["loading", "stale"];

pub static COMMANDS: &[Spec] = &[
    Spec { name: "info", arity: -1, flags: STALE, keys: NONE, kind: Kind::Session(info) },
    Spec { name: "config", arity: -2, flags: &["admin"], keys: NONE, kind: Kind::Session(config) },
    Spec { name: "command", arity: -1, flags: STALE, keys: NONE, kind: Kind::Session(command) },
    Spec { name: "time", arity: 1, flags: &["fast"], keys: NONE, kind: Kind::Session(time) },
    Spec { name: "wait", arity: 3, flags: &["noscript"], keys: NONE, kind: Kind::Session(wait) },
    Spec {
        name: "bgsave",
        arity: -1,
        flags: &["admin", "noscript", "no_multi"],
        keys: NONE,
        kind: Kind::Backup,
    },
    Spec { name: "lastsave", arity: 1, flags: &["fast"], keys: NONE, kind: Kind::Session(last_save) },
    Spec { name: "shutdown", arity: -1, flags: &["admin"], keys: NONE, kind: Kind::Session(shutdown) },
    Spec {
        name: "debug",
        arity: -2,
        flags: &["admin"],
        keys: NONE,
        kind: Kind::Refused("ERR DEBUG command not allowed."),
    },
];

fn info(context: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let sections: Vec<String> =
        request.args(1).map(|name| String::from_utf8_lossy(name).to_lowercase()).collect();
    reply.verbatim(&info::text(context.server, &(context.status)(), context.lanes, &sections));
    Ok(())
}

/// Settings as Redis names them.
fn settings(context: &Context<'_>) -> Vec<(&'static str, String)> {
    let options = &context.server.options;
    let fsync = match options.durability {
        Durability::Memory => "no",
        Durability::System => "everysec",
        Durability::Device => "always",
    };
    let limits = &options.limits;
    let fixed = [
        ("appendonly", "yes"),
        ("appendfsync", fsync),
        ("save", ""),
        ("databases", "1"),
        ("maxmemory", "0"),
        ("maxmemory-policy", "noeviction"),
        ("timeout", "0"),
        ("cluster-enabled", "no"),
        ("notify-keyspace-events", ""),
    ];
    let mut all: Vec<(&'static str, String)> =
        fixed.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
    all.push(("maxclients", limits.clients_max.to_string()));
    all.push(("maxmemory-clients", limits.memory_bytes.to_string()));
    all.push(("proto-max-bulk-len", limits.request_bytes_max.to_string()));
    all.push(("port", options.port.to_string()));
    all
}

fn config(context: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    match &*request.arg(1).to_ascii_lowercase() {
        b"get" if request.len() > 2 => {
            let patterns: Vec<Vec<u8>> = request.args(2).map(<[u8]>::to_ascii_lowercase).collect();
            let is_wanted =
                |name: &str| patterns.iter().any(|pattern| glob::matches(pattern, name.as_bytes()));
            let found: Vec<_> = settings(context).into_iter().filter(|(name, _)| is_wanted(name)).collect();
            reply.map(found.len());
            for (name, value) in found {
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
        }
        b"resetstat" if request.len() == 2 => {
            context.server.commands.clear();
            reply.ok();
        }
        b"set" | b"rewrite" => {
            let name = request.args(2).next().unwrap_or_default();
            return Err(CommandError::Other(format!(
                "ERR CONFIG {} of '{}' is not supported: settings are options of 'flashlane store serve'",
                String::from_utf8_lossy(request.arg(1)).to_uppercase(),
                String::from_utf8_lossy(name)
            )));
        }
        b"get" | b"resetstat" => return Err(wrong_arity(request)),
        b"help" => return help::reply(help::CONFIG, request, reply),
        _ => return Err(unknown_subcommand(request)),
    }
    Ok(())
}

fn last_save(context: &mut Context<'_>, _: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.integer((context.server.backups.last_ms.unwrap_or(0) / 1000) as i64);
    Ok(())
}

fn describe(spec: &Spec, reply: &mut Reply) {
    reply.array(10);
    reply.bulk(spec.name.as_bytes());
    reply.integer(spec.arity.into());
    reply.set(spec.flags.len());
    spec.flags.iter().for_each(|flag| reply.simple(flag));
    let (first, last, step) = spec.keys;
    [first, last, step].into_iter().for_each(|number| reply.integer(number.into()));
    // Categories of access, hints, specifications of keys, subcommands: none.
    reply.set(0);
    (0..3).for_each(|_| reply.array(0));
}

fn command(context: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let table = context.commands;
    let all = || table.iter().copied().flatten();
    let subcommand = request.args(1).next().map(<[u8]>::to_ascii_lowercase);
    match subcommand.as_deref() {
        None => {
            reply.array(all().count());
            all().for_each(|spec| describe(spec, reply));
        }
        Some(b"count") => reply.integer(all().count() as i64),
        Some(b"list") => {
            reply.array(all().count());
            all().for_each(|spec| reply.bulk(spec.name.as_bytes()));
        }
        Some(b"info") if request.len() > 2 => {
            reply.array(request.len() - 2);
            for name in request.args(2) {
                match find(table, name) {
                    Some(spec) => describe(spec, reply),
                    None => reply.null_array(),
                }
            }
        }
        Some(b"info") => {
            reply.array(all().count());
            all().for_each(|spec| describe(spec, reply));
        }
        Some(b"docs") => {
            let wanted: Vec<&Spec> = match request.len() {
                2 => all().collect(),
                _ => request.args(2).filter_map(|name| find(table, name)).collect(),
            };
            reply.map(wanted.len());
            for spec in wanted {
                reply.bulk(spec.name.as_bytes());
                reply.map(1);
                reply.bulk(b"summary");
                reply.bulk(
                    format!("As in Redis {REDIS_VERSION}, but for what docs/store.md lists.").as_bytes(),
                );
            }
        }
        Some(b"help") => return help::reply(help::COMMAND, request, reply),
        Some(_) => return Err(unknown_subcommand(request)),
    }
    Ok(())
}

fn time(context: &mut Context<'_>, _: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let now_ms = context.server.now_ms;
    reply.array(2);
    reply.bulk((now_ms / 1000).to_string().as_bytes());
    reply.bulk((now_ms % 1000 * 1000).to_string().as_bytes());
    Ok(())
}

/// There are no replicas to wait for.
fn wait(_: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    integer(request.arg(1))?;
    match integer(request.arg(2)) {
        Ok(0..) => reply.integer(0),
        Ok(_) => return Err(CommandError::Other("ERR timeout is negative".into())),
        Err(_) => return Err(CommandError::Other("ERR timeout is not an integer or out of range".into())),
    }
    Ok(())
}

/// Ends the server. The connection ends without a reply.
fn shutdown(context: &mut Context<'_>, request: &Request, _: &mut Reply) -> Result<(), CommandError> {
    let known = ["save", "nosave", "now", "force"];
    if !request.args(1).all(|option| known.iter().any(|word| is(option, word))) {
        return Err(CommandError::Syntax);
    }
    context.server.is_stopping = true;
    context.session.is_closing = true;
    Ok(())
}
