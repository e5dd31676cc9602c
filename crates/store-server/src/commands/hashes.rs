//! Hashes. A hash is one value of the store, so that each command reads and writes all of it.

use super::float;
use crate::cells::Keys;
use crate::command::{CommandError, Kind, Spec, always, integer, is};
use crate::glob;
use crate::limits::VALUE_BYTES_MAX;
use crate::protocol::{Request, parse_integer};
use crate::reply::Reply;
use crate::value::{Entry, Hash, Value};
use std::rc::Rc;

const READ: &[&str] = &["readonly", "fast"];
const WRITE: &[&str] = &["write", "denyoom", "fast"];
const ONE: (i32, i32, i32) = (1, 1, 1);

pub static COMMANDS: &[Spec] = &[
    Spec { name: "hset", arity: -4, flags: WRITE, keys: ONE, kind: Kind::Keys(always, hset) },
    Spec { name: "hmset", arity: -4, flags: WRITE, keys: ONE, kind: Kind::Keys(always, hmset) },
    Spec { name: "hsetnx", arity: 4, flags: WRITE, keys: ONE, kind: Kind::Keys(always, hsetnx) },
    Spec { name: "hget", arity: 3, flags: READ, keys: ONE, kind: Kind::Keys(always, hget) },
    Spec { name: "hmget", arity: -3, flags: READ, keys: ONE, kind: Kind::Keys(always, hmget) },
    Spec { name: "hgetall", arity: 2, flags: &["readonly"], keys: ONE, kind: Kind::Keys(always, hgetall) },
    Spec { name: "hdel", arity: -3, flags: &["write", "fast"], keys: ONE, kind: Kind::Keys(always, hdel) },
    Spec { name: "hexists", arity: 3, flags: READ, keys: ONE, kind: Kind::Keys(always, hexists) },
    Spec { name: "hlen", arity: 2, flags: READ, keys: ONE, kind: Kind::Keys(always, hlen) },
    Spec { name: "hstrlen", arity: 3, flags: READ, keys: ONE, kind: Kind::Keys(always, hstrlen) },
    Spec { name: "hkeys", arity: 2, flags: &["readonly"], keys: ONE, kind: Kind::Keys(always, hkeys) },
    Spec { name: "hvals", arity: 2, flags: &["readonly"], keys: ONE, kind: Kind::Keys(always, hvals) },
    Spec { name: "hincrby", arity: 4, flags: WRITE, keys: ONE, kind: Kind::Keys(always, hincrby) },
    Spec { name: "hincrbyfloat", arity: 4, flags: WRITE, keys: ONE, kind: Kind::Keys(always, hincrbyfloat) },
    Spec { name: "hscan", arity: -3, flags: &["readonly"], keys: ONE, kind: Kind::Keys(always, hscan) },
];

/// Returns the hash of a key, if there is one.
fn hash<'a>(keys: &'a Keys<'_>, request: &Request) -> Result<Option<&'a Rc<Hash>>, CommandError> {
    match keys.get(request.arg(1)).map(|entry| &entry.value) {
        None => Ok(None),
        Some(Value::Hash(hash)) => Ok(Some(hash)),
        Some(_) => Err(CommandError::WrongType),
    }
}

/// Changes the hash of a key, which expires as before, and is removed with its last field.
fn change<T>(
    keys: &mut Keys<'_>,
    request: &Request,
    change: impl FnOnce(&mut Hash) -> T,
) -> Result<T, CommandError> {
    let mut changed = hash(keys, request)?.map(|hash| Hash::clone(hash)).unwrap_or_default();
    let key = request.arg(1);
    let done = change(&mut changed);
    let bytes: usize = changed.iter().map(|(field, value)| field.len() + value.len() + 8).sum();
    if bytes > VALUE_BYTES_MAX {
        return Err(CommandError::Other("ERR the hash exceeds 512 MiB, the longest value".into()));
    }
    if changed.is_empty() {
        keys.remove(key);
    } else {
        let expiry_ms = keys.get(key).and_then(|entry| entry.expiry_ms);
        keys.put(key, Entry { value: Value::Hash(Rc::new(changed)), expiry_ms });
    }
    Ok(done)
}

fn set_fields(keys: &mut Keys<'_>, request: &Request, command: &'static str) -> Result<i64, CommandError> {
    if !request.len().is_multiple_of(2) {
        return Err(CommandError::Arity(command));
    }
    change(keys, request, |hash| {
        let pairs = (2..request.len()).step_by(2).map(|nth| (request.arg(nth), request.arg(nth + 1)));
        pairs.filter(|(field, value)| hash.insert(field.to_vec(), value.to_vec()).is_none()).count() as i64
    })
}

fn hset(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.integer(set_fields(keys, request, "hset")?);
    Ok(())
}

fn hmset(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    set_fields(keys, request, "hmset")?;
    reply.ok();
    Ok(())
}

fn hsetnx(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let is_there = hash(keys, request)?.is_some_and(|hash| hash.contains_key(request.arg(2)));
    if !is_there {
        change(keys, request, |hash| hash.insert(request.arg(2).to_vec(), request.arg(3).to_vec()))?;
    }
    reply.integer((!is_there).into());
    Ok(())
}

fn field<'a>(keys: &'a Keys<'_>, request: &Request, name: &[u8]) -> Result<Option<&'a [u8]>, CommandError> {
    Ok(hash(keys, request)?.and_then(|hash| hash.get(name)).map(Vec::as_slice))
}

fn hget(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.bulk_or_null(field(keys, request, request.arg(2))?);
    Ok(())
}

fn hmget(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let hash = hash(keys, request)?;
    reply.array(request.len() - 2);
    for name in request.args(2) {
        reply.bulk_or_null(hash.and_then(|hash| hash.get(name)).map(Vec::as_slice));
    }
    Ok(())
}

fn hgetall(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let hash = hash(keys, request)?;
    reply.map(hash.map_or(0, |hash| hash.len()));
    for (name, value) in hash.into_iter().flat_map(|hash| hash.iter()) {
        reply.bulk(name);
        reply.bulk(value);
    }
    Ok(())
}

fn hdel(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let is_there = |hash: &Rc<Hash>| request.args(2).any(|name| hash.contains_key(name));
    let removed = match hash(keys, request)?.is_some_and(is_there) {
        false => 0,
        true => change(keys, request, |hash| {
            request.args(2).filter(|name| hash.remove(*name).is_some()).count() as i64
        })?,
    };
    reply.integer(removed);
    Ok(())
}

fn hexists(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.integer(field(keys, request, request.arg(2))?.is_some().into());
    Ok(())
}

fn hlen(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.integer(hash(keys, request)?.map_or(0, |hash| hash.len()) as i64);
    Ok(())
}

fn hstrlen(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.integer(field(keys, request, request.arg(2))?.map_or(0, <[u8]>::len) as i64);
    Ok(())
}

fn hkeys(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let hash = hash(keys, request)?;
    reply.array(hash.map_or(0, |hash| hash.len()));
    hash.into_iter().flat_map(|hash| hash.keys()).for_each(|name| reply.bulk(name));
    Ok(())
}

fn hvals(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let hash = hash(keys, request)?;
    reply.array(hash.map_or(0, |hash| hash.len()));
    hash.into_iter().flat_map(|hash| hash.values()).for_each(|value| reply.bulk(value));
    Ok(())
}

fn hincrby(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let by = integer(request.arg(3))?;
    let wrong = || CommandError::Other("ERR hash value is not an integer".into());
    let old = match field(keys, request, request.arg(2))? {
        None => 0,
        Some(text) => parse_integer(text).ok_or_else(wrong)?,
    };
    let sum = old.checked_add(by).ok_or(CommandError::Overflow)?;
    change(keys, request, |hash| hash.insert(request.arg(2).to_vec(), sum.to_string().into()))?;
    reply.integer(sum);
    Ok(())
}

fn hincrbyfloat(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    float::parse(request.arg(3)).ok_or(CommandError::NoFloat)?;
    let old = field(keys, request, request.arg(2))?.unwrap_or(b"0");
    if float::parse(old).is_none() {
        return Err(CommandError::Other("ERR hash value is not a float".into()));
    }
    let text = float::sum(old, request.arg(3)).ok_or(CommandError::NotFinite)?;
    change(keys, request, |hash| hash.insert(request.arg(2).to_vec(), text.clone().into()))?;
    reply.bulk(text.as_bytes());
    Ok(())
}

/// Replies all fields at once, since the hash was read as a whole: the cursor is always 0.
fn hscan(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let cursor = std::str::from_utf8(request.arg(2)).ok().and_then(|text| text.parse::<u64>().ok());
    if cursor.is_none() {
        return Err(CommandError::Other("ERR invalid cursor".into()));
    }
    let mut pattern = None;
    for nth in (3..request.len()).step_by(2) {
        let option = request.arg(nth);
        match request.args(nth + 1).next() {
            Some(given) if is(option, "match") => pattern = Some(given),
            Some(given) if is(option, "count") => {
                if integer(given)? < 1 {
                    return Err(CommandError::Syntax);
                }
            }
            _ => return Err(CommandError::Syntax),
        }
    }
    let hash = hash(keys, request)?;
    let fields = || {
        let all = hash.into_iter().flat_map(|hash| hash.iter());
        all.filter(|(name, _)| pattern.is_none_or(|pattern| glob::matches(pattern, name)))
    };
    reply.array(2);
    reply.bulk(b"0");
    reply.array(2 * fields().count());
    for (name, value) in fields() {
        reply.bulk(name);
        reply.bulk(value);
    }
    Ok(())
}
