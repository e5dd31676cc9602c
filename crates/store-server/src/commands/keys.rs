//! Keys, whatever their values.

use super::help;
use crate::cells::Keys;
use crate::command::{CommandError, Kind, Spec, always, integer, is, unknown_subcommand, wrong_arity};
use crate::jobs::Job;
use crate::protocol::{Request, parse_integer};
use crate::reply::Reply;
use crate::value::{Entry, Value};

const READ: &[&str] = &["readonly", "fast"];
const WRITE: &[&str] = &["write", "fast"];

/// The keys that are the only argument but options.
const ONE: (i32, i32, i32) = (1, 1, 1);

pub static COMMANDS: &[Spec] = &[
    Spec { name: "del", arity: -2, flags: &["write"], keys: (1, -1, 1), kind: Kind::Keys(always, del) },
    Spec { name: "unlink", arity: -2, flags: WRITE, keys: (1, -1, 1), kind: Kind::Keys(always, del) },
    Spec { name: "exists", arity: -2, flags: READ, keys: (1, -1, 1), kind: Kind::Keys(always, exists) },
    Spec { name: "touch", arity: -2, flags: READ, keys: (1, -1, 1), kind: Kind::Keys(always, exists) },
    Spec { name: "type", arity: 2, flags: READ, keys: ONE, kind: Kind::Keys(always, type_of) },
    Spec {
        name: "expire",
        arity: -3,
        flags: WRITE,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| expire(keys, request, 1000, true, "expire", reply)),
    },
    Spec {
        name: "pexpire",
        arity: -3,
        flags: WRITE,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| expire(keys, request, 1, true, "pexpire", reply)),
    },
    Spec {
        name: "expireat",
        arity: -3,
        flags: WRITE,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| {
            expire(keys, request, 1000, false, "expireat", reply)
        }),
    },
    Spec {
        name: "pexpireat",
        arity: -3,
        flags: WRITE,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| expire(keys, request, 1, false, "pexpireat", reply)),
    },
    Spec {
        name: "ttl",
        arity: 2,
        flags: READ,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| {
            let now_ms = keys.now_ms();
            when(keys, request, reply, |ms| (ms - now_ms + 500) / 1000)
        }),
    },
    Spec {
        name: "pttl",
        arity: 2,
        flags: READ,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| {
            let now_ms = keys.now_ms();
            when(keys, request, reply, |ms| ms - now_ms)
        }),
    },
    Spec {
        name: "expiretime",
        arity: 2,
        flags: READ,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| when(keys, request, reply, |ms| (ms + 500) / 1000)),
    },
    Spec {
        name: "pexpiretime",
        arity: 2,
        flags: READ,
        keys: ONE,
        kind: Kind::Keys(always, |keys, request, reply| when(keys, request, reply, |ms| ms)),
    },
    Spec { name: "persist", arity: 2, flags: WRITE, keys: ONE, kind: Kind::Keys(always, persist) },
    Spec {
        name: "rename",
        arity: 3,
        flags: &["write"],
        keys: (1, 2, 1),
        kind: Kind::Atomic(|keys, request, reply| {
            rename(keys, request)?;
            reply.ok();
            Ok(())
        }),
    },
    Spec {
        name: "renamenx",
        arity: 3,
        flags: WRITE,
        keys: (1, 2, 1),
        kind: Kind::Atomic(|keys, request, reply| {
            if keys.get(request.arg(1)).is_none() {
                return Err(CommandError::NoKey);
            }
            let is_free = keys.get(request.arg(2)).is_none();
            if is_free {
                rename(keys, request)?;
            }
            reply.integer(is_free.into());
            Ok(())
        }),
    },
    Spec {
        name: "object",
        arity: -2,
        flags: &["readonly"],
        keys: (2, 2, 1),
        kind: Kind::Keys(always, object),
    },
    Spec {
        name: "memory",
        arity: -2,
        flags: &["readonly"],
        keys: (2, 2, 1),
        kind: Kind::Keys(always, memory),
    },
    Spec {
        name: "keys",
        arity: 2,
        flags: &["readonly"],
        keys: (0, 0, 0),
        kind: Kind::Keyspace(|request| Ok(Job::keys(request.arg(1)))),
    },
    Spec { name: "scan", arity: -2, flags: &["readonly"], keys: (0, 0, 0), kind: Kind::Keyspace(scan) },
    Spec {
        name: "randomkey",
        arity: 1,
        flags: &["readonly"],
        keys: (0, 0, 0),
        kind: Kind::Keyspace(|_| Ok(Job::random_key())),
    },
    Spec {
        name: "dbsize",
        arity: 1,
        flags: READ,
        keys: (0, 0, 0),
        kind: Kind::Keyspace(|_| Ok(Job::count())),
    },
    Spec { name: "flushall", arity: -1, flags: &["write"], keys: (0, 0, 0), kind: Kind::Keyspace(flush) },
    Spec { name: "flushdb", arity: -1, flags: &["write"], keys: (0, 0, 0), kind: Kind::Keyspace(flush) },
];

fn del(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let removed = request.args(1).filter(|key| keys.remove(key)).count();
    reply.integer(removed as i64);
    Ok(())
}

fn exists(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.integer(request.args(1).filter(|key| keys.get(key).is_some()).count() as i64);
    Ok(())
}

fn type_of(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.simple(keys.get(request.arg(1)).map_or("none", |entry| entry.value.type_name()));
    Ok(())
}

/// Options of EXPIRE and its kin.
#[derive(Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

fn conditions(request: &Request) -> Result<Conditions, CommandError> {
    let mut found = Conditions::default();
    for option in request.args(3) {
        match () {
            () if is(option, "nx") => found.nx = true,
            () if is(option, "xx") => found.xx = true,
            () if is(option, "gt") => found.gt = true,
            () if is(option, "lt") => found.lt = true,
            () => {
                let option = String::from_utf8_lossy(option);
                return Err(CommandError::Other(format!("ERR Unsupported option {option}")));
            }
        }
    }
    let wrong = |text: &str| Err(CommandError::Other(text.into()));
    if found.nx && (found.xx || found.gt || found.lt) {
        return wrong("ERR NX and XX, GT or LT options at the same time are not compatible");
    }
    if found.gt && found.lt {
        return wrong("ERR GT and LT options at the same time are not compatible");
    }
    Ok(found)
}

fn expire(
    keys: &mut Keys<'_>,
    request: &Request,
    unit_ms: i64,
    is_relative: bool,
    command: &'static str,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let key = request.arg(1);
    let conditions = conditions(request)?;
    let number = integer(request.arg(2))?;
    let now_ms = if is_relative { keys.now_ms() as i64 } else { 0 };
    let ms = number.checked_mul(unit_ms).and_then(|ms| ms.checked_add(now_ms));
    let ms = ms.ok_or(CommandError::ExpireTime(command))?;
    let Some(entry) = keys.get(key).cloned() else {
        reply.integer(0);
        return Ok(());
    };
    let before = entry.expiry_ms.map(|before| before as i64);
    let is_met = (!conditions.nx || before.is_none())
        && (!conditions.xx || before.is_some())
        && (!conditions.gt || before.is_some_and(|before| ms > before))
        && (!conditions.lt || before.is_none_or(|before| ms < before));
    if is_met {
        // A time that has passed removes the key.
        keys.put(key, Entry { value: entry.value, expiry_ms: Some(ms.max(0) as u64) });
    }
    reply.integer(is_met.into());
    Ok(())
}

/// Replies when a key expires; -1 for never, and -2 where it is not there.
fn when(
    keys: &mut Keys<'_>,
    request: &Request,
    reply: &mut Reply,
    of: impl Fn(u64) -> u64,
) -> Result<(), CommandError> {
    reply.integer(match keys.get(request.arg(1)) {
        None => -2,
        Some(entry) => entry.expiry_ms.map_or(-1, |ms| of(ms) as i64),
    });
    Ok(())
}

fn persist(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let expiring = keys.get(request.arg(1)).filter(|entry| entry.expiry_ms.is_some()).cloned();
    reply.integer(expiring.is_some().into());
    if let Some(Entry { value, .. }) = expiring {
        keys.put(request.arg(1), Entry { value, expiry_ms: None });
    }
    Ok(())
}

fn rename(keys: &mut Keys<'_>, request: &Request) -> Result<(), CommandError> {
    let entry = keys.get(request.arg(1)).cloned().ok_or(CommandError::NoKey)?;
    if request.arg(1) != request.arg(2) {
        keys.remove(request.arg(1));
        keys.put(request.arg(2), entry);
    }
    Ok(())
}

fn object(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    match () {
        () if help::is_wanted(request) => return help::reply(help::OBJECT, request, reply),
        () if !is(request.arg(1), "encoding") => return Err(unknown_subcommand(request)),
        () if request.len() != 3 => return Err(wrong_arity(request)),
        () => {}
    }
    match keys.get(request.arg(2)).map(|entry| &entry.value) {
        None => reply.null(),
        Some(Value::Hash(_)) => reply.bulk(b"listpack"),
        Some(Value::String(bytes)) => reply.bulk(match bytes.len() {
            _ if parse_integer(bytes).is_some() => b"int",
            0..=44 => b"embstr",
            _ => b"raw",
        }),
    }
    Ok(())
}

/// Replies how many bytes a key and its value have.
fn memory(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    match () {
        () if help::is_wanted(request) => return help::reply(help::MEMORY, request, reply),
        () if !is(request.arg(1), "usage") => return Err(unknown_subcommand(request)),
        () if request.len() < 3 => return Err(wrong_arity(request)),
        () => {}
    }
    let key = request.arg(2);
    match keys.get(key).map(|entry| &entry.value) {
        None => reply.null(),
        Some(Value::String(bytes)) => reply.integer((key.len() + bytes.len()) as i64),
        Some(Value::Hash(hash)) => {
            let bytes: usize = hash.iter().map(|(field, value)| field.len() + value.len() + 8).sum();
            reply.integer((key.len() + bytes) as i64);
        }
    }
    Ok(())
}

fn scan(request: &Request) -> Result<Job, CommandError> {
    let invalid = || CommandError::Other("ERR invalid cursor".into());
    let cursor = std::str::from_utf8(request.arg(1)).ok().and_then(|text| text.parse().ok());
    let cursor: u64 = cursor.ok_or_else(invalid)?;
    let (mut pattern, mut count, mut type_name) = (None, 10, None);
    for nth in (2..request.len()).step_by(2) {
        let option = request.arg(nth);
        if nth + 1 == request.len() {
            return Err(CommandError::Syntax);
        }
        let given = request.arg(nth + 1);
        match () {
            () if is(option, "match") => pattern = Some(given.to_vec()),
            () if is(option, "count") => {
                count = integer(given)?;
                if count < 1 {
                    return Err(CommandError::Syntax);
                }
            }
            () if is(option, "type") => type_name = Some(String::from_utf8_lossy(given).to_lowercase()),
            () => return Err(CommandError::Syntax),
        }
    }
    Ok(Job::scan(cursor, pattern, count as u64, type_name))
}

fn flush(request: &Request) -> Result<Job, CommandError> {
    let is_known = request.len() == 1
        || request.len() == 2 && ["sync", "async"].iter().any(|word| is(request.arg(1), word));
    if is_known { Ok(Job::flush()) } else { Err(CommandError::Syntax) }
}

#[cfg(test)]
mod tests {
    use super::super::strings::expiry_at;
    use super::*;

    #[test]
    fn expiry_is_a_time_ahead() {
        assert_eq!(expiry_at(b"5", 1000, Some(7), "set"), Ok(5007));
        assert_eq!(expiry_at(b"5", 1000, None, "set"), Ok(5000));
        for wrong in ["0", "-1", "9223372036854775807"] {
            let refused = expiry_at(wrong.as_bytes(), 1000, Some(7), "set");
            assert_eq!(refused, Err(CommandError::ExpireTime("set")), "{wrong}");
        }
        assert_eq!(expiry_at(b"x", 1, None, "set"), Err(CommandError::NoInteger));
    }
}
