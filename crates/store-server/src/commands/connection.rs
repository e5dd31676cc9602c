//! The connection: handshake, password, name.

use super::help;
use crate::command::{CommandError, Context, Kind, REDIS_VERSION, Spec, is, unknown_subcommand, wrong_arity};
use crate::password;
use crate::protocol::{Request, parse_integer};
use crate::reply::Reply;

const FAST: &[&str] = &["fast", "loading", "stale"];
const NONE: (i32, i32, i32) = (0, 0, 0);

pub static COMMANDS: &[Spec] = &[
    Spec { name: "ping", arity: -1, flags: &["fast"], keys: NONE, kind: Kind::Session(ping) },
    Spec { name: "echo", arity: 2, flags: FAST, keys: NONE, kind: Kind::Session(echo) },
    Spec { name: "hello", arity: -1, flags: &["fast", "no_auth"], keys: NONE, kind: Kind::Session(hello) },
    Spec { name: "auth", arity: -2, flags: &["fast", "no_auth"], keys: NONE, kind: Kind::Session(auth) },
    Spec { name: "select", arity: 2, flags: FAST, keys: NONE, kind: Kind::Session(select) },
    Spec { name: "quit", arity: -1, flags: &["fast", "no_auth"], keys: NONE, kind: Kind::Session(quit) },
    Spec { name: "reset", arity: 1, flags: &["fast", "no_auth"], keys: NONE, kind: Kind::Session(reset) },
    Spec { name: "client", arity: -2, flags: &["admin"], keys: NONE, kind: Kind::Session(client) },
];

fn ping(_: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    match request.len() {
        1 => reply.simple("PONG"),
        2 => reply.bulk(request.arg(1)),
        _ => return Err(CommandError::Arity("ping")),
    }
    Ok(())
}

fn echo(_: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.bulk(request.arg(1));
    Ok(())
}

/// Checks user and password. The only user is `default`.
fn check(context: &mut Context<'_>, user: &[u8], given: &[u8]) -> Result<(), CommandError> {
    let right = match &context.server.options.password {
        None => true,
        Some(own) => password::is_equal(own, given),
    };
    if user != password::USER || !right {
        let text = "WRONGPASS invalid username-password pair or user is disabled.";
        return Err(CommandError::Other(text.into()));
    }
    context.session.is_authenticated = true;
    Ok(())
}

fn auth(context: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    match request.len() {
        2 if context.server.options.password.is_none() => {
            return Err(CommandError::Other(
                "ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?"
                    .into(),
            ));
        }
        2 => check(context, b"default", request.arg(1))?,
        3 => check(context, request.arg(1), request.arg(2))?,
        _ => return Err(CommandError::Syntax),
    }
    reply.ok();
    Ok(())
}

fn check_name(name: &[u8]) -> Result<(), CommandError> {
    let text = "ERR Client names cannot contain spaces, newlines or special characters.";
    let is_plain = name.iter().all(|byte| (b'!'..=b'~').contains(byte));
    if is_plain { Ok(()) } else { Err(CommandError::Other(text.into())) }
}

/// What a client asks for with HELLO.
#[derive(Default)]
struct Hello<'a> {
    version: Option<i64>,
    /// User and password.
    login: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

fn read_hello(request: &Request) -> Result<Hello<'_>, CommandError> {
    let mut hello = Hello::default();
    if request.len() > 1 {
        let given = parse_integer(request.arg(1)).ok_or_else(|| {
            CommandError::Other("ERR Protocol version is not an integer or out of range".into())
        })?;
        if !(2..=3).contains(&given) {
            return Err(CommandError::Other("NOPROTO unsupported protocol version".into()));
        }
        hello.version = Some(given);
    }
    let mut nth = 2;
    while nth < request.len() {
        let left = request.len() - nth - 1;
        if is(request.arg(nth), "auth") && left >= 2 {
            hello.login = Some((request.arg(nth + 1), request.arg(nth + 2)));
            nth += 3;
        } else if is(request.arg(nth), "setname") && left >= 1 {
            hello.name = Some(request.arg(nth + 1));
            check_name(request.arg(nth + 1))?;
            nth += 2;
        } else {
            let option = String::from_utf8_lossy(request.arg(nth));
            return Err(CommandError::Other(format!("ERR Syntax error in HELLO option '{option}'")));
        }
    }
    Ok(hello)
}

fn hello(context: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let Hello { version, login, name } = read_hello(request)?;
    if let Some((user, password)) = login {
        check(context, user, password)?;
    }
    let session = &mut *context.session;
    if !session.is_authenticated {
        return Err(CommandError::Other(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
             <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
                .into(),
        ));
    }
    if let Some(name) = name {
        session.name = name.to_vec();
    }
    if let Some(version) = version {
        session.is_resp3 = version == 3;
    }
    reply.set_resp3(session.is_resp3);
    reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.integer(if session.is_resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(session.id as i64);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}

fn select(_: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    match parse_integer(request.arg(1)) {
        Some(0) => reply.ok(),
        Some(_) => return Err(CommandError::Other("ERR DB index is out of range".into())),
        None => return Err(CommandError::NoInteger),
    }
    Ok(())
}

fn quit(context: &mut Context<'_>, _: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    context.session.is_closing = true;
    reply.ok();
    Ok(())
}

fn reset(context: &mut Context<'_>, _: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let session = &mut *context.session;
    session.is_resp3 = false;
    session.name.clear();
    session.is_authenticated = context.server.options.password.is_none();
    reply.simple("RESET");
    Ok(())
}

fn client(context: &mut Context<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let subcommand = request.arg(1).to_ascii_lowercase();
    let session = &mut *context.session;
    match (&*subcommand, request.len()) {
        (b"setinfo", 4) => {
            let nth = match () {
                () if is(request.arg(2), "lib-name") => 0,
                () if is(request.arg(2), "lib-ver") => 1,
                () => {
                    let option = String::from_utf8_lossy(request.arg(2));
                    return Err(CommandError::Other(format!("ERR Unrecognized option '{option}'")));
                }
            };
            check_name(request.arg(3))?;
            session.library[nth] = request.arg(3).to_vec();
            reply.ok();
        }
        (b"setname", 3) => {
            check_name(request.arg(2))?;
            session.name = request.arg(2).to_vec();
            reply.ok();
        }
        (b"getname", 2) => match session.name.is_empty() {
            true => reply.null(),
            false => reply.bulk(&session.name),
        },
        (b"id", 2) => reply.integer(session.id as i64),
        (b"info", 2) => {
            let now = context.server.now;
            reply.verbatim(&format!("{}\n", session.line(now, None)));
        }
        // Types of clients and ids only choose among the same lines.
        (b"list", 2..) => {
            let own = session.line(context.server.now, None);
            reply.verbatim(&format!("{own}\n{}", (context.clients)()));
        }
        (b"no-evict", 3) => {
            session.is_no_evict = match () {
                () if is(request.arg(2), "on") => true,
                () if is(request.arg(2), "off") => false,
                () => return Err(CommandError::Syntax),
            };
            reply.ok();
        }
        (b"setinfo" | b"setname" | b"getname" | b"id" | b"info" | b"no-evict", _) => {
            return Err(wrong_arity(request));
        }
        (b"help", _) => return help::reply(help::CLIENT, request, reply),
        (b"reply" | b"kill" | b"pause" | b"unpause" | b"tracking" | b"unblock", _) => {
            let name = String::from_utf8_lossy(request.arg(1)).to_uppercase();
            return Err(CommandError::Other(format!("ERR CLIENT {name} is not supported by this server")));
        }
        _ => return Err(unknown_subcommand(request)),
    }
    Ok(())
}
