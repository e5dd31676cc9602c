//! Strings.

use super::float;
use crate::cells::Keys;
use crate::command::{CommandError, Kind, Spec, always, integer, is, never};
use crate::protocol::{Request, parse_integer};
use crate::reply::Reply;
use crate::value::{Entry, Value};
use std::sync::Arc;

pub static COMMANDS: &[Spec] = &[
    Spec {
        name: "get",
        arity: 2,
        flags: &["readonly", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, get),
    },
    Spec {
        name: "set",
        arity: -3,
        flags: &["write", "denyoom"],
        keys: (1, 1, 1),
        kind: Kind::Keys(set_needs_value, set),
    },
    Spec {
        name: "incr",
        arity: 2,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, |keys, request, reply| add(keys, request.arg(1), Ok(1), reply)),
    },
    Spec {
        name: "mget",
        arity: -2,
        flags: &["readonly", "fast"],
        keys: (1, -1, 1),
        kind: Kind::Keys(always, mget),
    },
    Spec {
        name: "mset",
        arity: -3,
        flags: &["write", "denyoom"],
        keys: (1, -1, 2),
        kind: Kind::Keys(never, mset),
    },
    Spec {
        name: "setnx",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, setnx),
    },
    Spec {
        name: "setex",
        arity: 4,
        flags: &["write", "denyoom"],
        keys: (1, 1, 1),
        kind: Kind::Keys(never, |keys, request, reply| set_for(keys, request, 1000, "setex", reply)),
    },
    Spec {
        name: "psetex",
        arity: 4,
        flags: &["write", "denyoom"],
        keys: (1, 1, 1),
        kind: Kind::Keys(never, |keys, request, reply| set_for(keys, request, 1, "psetex", reply)),
    },
    Spec {
        name: "getset",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, getset),
    },
    Spec {
        name: "getdel",
        arity: 2,
        flags: &["write", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, getdel),
    },
    Spec {
        name: "getex",
        arity: -2,
        flags: &["write", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, getex),
    },
    Spec {
        name: "msetnx",
        arity: -3,
        flags: &["write", "denyoom"],
        keys: (1, -1, 2),
        kind: Kind::Atomic(msetnx),
    },
    Spec {
        name: "getrange",
        arity: 4,
        flags: &["readonly"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, getrange),
    },
    Spec {
        name: "substr",
        arity: 4,
        flags: &["readonly"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, getrange),
    },
    Spec {
        name: "setrange",
        arity: 4,
        flags: &["write", "denyoom"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, setrange),
    },
    Spec {
        name: "strlen",
        arity: 2,
        flags: &["readonly", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, strlen),
    },
    Spec {
        name: "append",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, append),
    },
    Spec {
        name: "decr",
        arity: 2,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, |keys, request, reply| add(keys, request.arg(1), Ok(-1), reply)),
    },
    Spec {
        name: "incrby",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, |keys, request, reply| {
            add(keys, request.arg(1), integer(request.arg(2)), reply)
        }),
    },
    Spec {
        name: "decrby",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, |keys, request, reply| {
            let too_low = || CommandError::Other("ERR decrement would overflow".into());
            let by = integer(request.arg(2)).and_then(|by| by.checked_neg().ok_or_else(too_low));
            add(keys, request.arg(1), by, reply)
        }),
    },
    Spec {
        name: "incrbyfloat",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        keys: (1, 1, 1),
        kind: Kind::Keys(always, incrbyfloat),
    },
];

/// Returns the string of a key, if there is one.
fn string<'a>(keys: &'a Keys<'_>, key: &[u8]) -> Result<Option<&'a Arc<Vec<u8>>>, CommandError> {
    match keys.get(key).map(|entry| &entry.value) {
        None => Ok(None),
        Some(Value::String(bytes)) => Ok(Some(bytes)),
        Some(_) => Err(CommandError::WrongType),
    }
}

/// Replaces a string, which expires as before.
fn replace(keys: &mut Keys<'_>, key: &[u8], bytes: impl Into<Vec<u8>>) {
    let expiry_ms = keys.get(key).and_then(|entry| entry.expiry_ms);
    keys.put(key, Entry { value: Value::string(bytes), expiry_ms });
}

fn get(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.bulk_or_null(string(keys, request.arg(1))?.map(|bytes| bytes.as_slice()));
    Ok(())
}

/// Whether a string is set only where the key has a value, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Always,
    Absent,
    Present,
}

/// Expiry as an option gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewExpiry {
    None,
    Keep,
    At(u64),
}

struct SetOptions {
    condition: Condition,
    expiry: NewExpiry,
    returns_old: bool,
}

/// Returns the milliseconds since 1970 that a number means: in units of `unit_ms`, from now on or absolute.
pub fn expiry_at(
    number: &[u8],
    unit_ms: i64,
    now_ms: Option<u64>,
    command: &'static str,
) -> Result<u64, CommandError> {
    let number = integer(number)?;
    let wrong = CommandError::ExpireTime(command);
    if number <= 0 {
        return Err(wrong);
    }
    let ms = number.checked_mul(unit_ms).and_then(|ms| ms.checked_add(now_ms.unwrap_or(0) as i64));
    ms.map(|ms| ms as u64).ok_or(wrong)
}

/// Reads EX, PX, EXAT and PXAT with their number.
fn expiry_option(
    option: &[u8],
    number: Option<&[u8]>,
    now_ms: u64,
    command: &'static str,
) -> Option<Result<u64, CommandError>> {
    let (unit_ms, now_ms) = match () {
        () if is(option, "ex") => (1000, Some(now_ms)),
        () if is(option, "px") => (1, Some(now_ms)),
        () if is(option, "exat") => (1000, None),
        () if is(option, "pxat") => (1, None),
        () => return None,
    };
    Some(number.ok_or(CommandError::Syntax).and_then(|number| expiry_at(number, unit_ms, now_ms, command)))
}

fn set_options(request: &Request, now_ms: u64) -> Result<SetOptions, CommandError> {
    let mut options =
        SetOptions { condition: Condition::Always, expiry: NewExpiry::None, returns_old: false };
    let mut nth = 3;
    let (mut timing, mut wrong_time) = (None, None);
    while nth < request.len() {
        let option = request.arg(nth);
        // The same option of expiry may come again, and the last one counts.
        let is_free = timing.is_none_or(|timing: &[u8]| timing.eq_ignore_ascii_case(option));
        if is(option, "nx") && options.condition != Condition::Present {
            options.condition = Condition::Absent;
        } else if is(option, "xx") && options.condition != Condition::Absent {
            options.condition = Condition::Present;
        } else if is(option, "get") {
            options.returns_old = true;
        } else if is(option, "keepttl") && is_free {
            timing = Some(option);
            options.expiry = NewExpiry::Keep;
        } else {
            let number = (nth + 1 < request.len()).then(|| request.arg(nth + 1));
            match expiry_option(option, number, now_ms, "set") {
                Some(Err(CommandError::Syntax)) | None => return Err(CommandError::Syntax),
                Some(_) if !is_free => return Err(CommandError::Syntax),
                // Redis looks at the number when all options have been read.
                Some(Err(error)) => wrong_time = Some(error),
                Some(Ok(ms)) => (options.expiry, wrong_time) = (NewExpiry::At(ms), None),
            }
            timing = Some(option);
            nth += 1;
        }
        nth += 1;
    }
    wrong_time.map_or(Ok(options), Err)
}

/// A set without a condition replaces any value, and need not know it.
fn set_needs_value(request: &Request) -> bool {
    request.args(3).any(|option| ["nx", "xx", "get", "keepttl"].iter().any(|word| is(option, word)))
}

fn set(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let (key, value) = (request.arg(1), request.arg(2));
    if request.len() == 3 {
        keys.put(key, Entry { value: Value::string(value), expiry_ms: None });
        reply.ok();
        return Ok(());
    }
    let options = set_options(request, keys.now_ms())?;
    let is_known = set_needs_value(request);
    let old = if options.returns_old { string(keys, key)?.cloned() } else { None };
    let is_met = match options.condition {
        Condition::Always => true,
        Condition::Absent => keys.get(key).is_none(),
        Condition::Present => keys.get(key).is_some(),
    };
    if is_met {
        let expiry_ms = match options.expiry {
            NewExpiry::None => None,
            NewExpiry::Keep => {
                debug_assert!(is_known, "an expiry that is kept is known");
                keys.get(key).and_then(|entry| entry.expiry_ms)
            }
            NewExpiry::At(ms) => Some(ms),
        };
        keys.put(key, Entry { value: Value::string(value), expiry_ms });
    }
    match (options.returns_old, is_met) {
        (true, _) => reply.bulk_or_null(old.as_deref().map(Vec::as_slice)),
        (false, true) => reply.ok(),
        (false, false) => reply.null(),
    }
    Ok(())
}

fn mget(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.array(request.len() - 1);
    for key in request.args(1) {
        reply.bulk_or_null(string(keys, key).ok().flatten().map(|bytes| bytes.as_slice()));
    }
    Ok(())
}

fn set_all(keys: &mut Keys<'_>, request: &Request) {
    for nth in (1..request.len()).step_by(2) {
        let value = Value::string(request.arg(nth + 1));
        keys.put(request.arg(nth), Entry { value, expiry_ms: None });
    }
}

fn mset(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    if request.len().is_multiple_of(2) {
        return Err(CommandError::Arity("mset"));
    }
    set_all(keys, request);
    reply.ok();
    Ok(())
}

fn msetnx(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    if request.len().is_multiple_of(2) {
        return Err(CommandError::Arity("msetnx"));
    }
    let is_met = (1..request.len()).step_by(2).all(|nth| keys.get(request.arg(nth)).is_none());
    if is_met {
        set_all(keys, request);
    }
    reply.integer(is_met.into());
    Ok(())
}

fn setnx(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let is_met = keys.get(request.arg(1)).is_none();
    if is_met {
        keys.put(request.arg(1), Entry { value: Value::string(request.arg(2)), expiry_ms: None });
    }
    reply.integer(is_met.into());
    Ok(())
}

fn set_for(
    keys: &mut Keys<'_>,
    request: &Request,
    unit_ms: i64,
    command: &'static str,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let expiry_ms = expiry_at(request.arg(2), unit_ms, Some(keys.now_ms()), command)?;
    keys.put(request.arg(1), Entry { value: Value::string(request.arg(3)), expiry_ms: Some(expiry_ms) });
    reply.ok();
    Ok(())
}

fn getset(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.bulk_or_null(string(keys, request.arg(1))?.map(|bytes| bytes.as_slice()));
    keys.put(request.arg(1), Entry { value: Value::string(request.arg(2)), expiry_ms: None });
    Ok(())
}

fn getdel(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.bulk_or_null(string(keys, request.arg(1))?.map(|bytes| bytes.as_slice()));
    keys.remove(request.arg(1));
    Ok(())
}

fn getex(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let key = request.arg(1);
    let option = (request.len() > 2).then(|| request.arg(2));
    let number = (request.len() > 3).then(|| request.arg(3));
    let expiry = match option {
        None => Ok(NewExpiry::Keep),
        Some(option) if is(option, "persist") && number.is_none() => Ok(NewExpiry::None),
        Some(option) if request.len() <= 4 => {
            let expiry = expiry_option(option, number, keys.now_ms(), "getex").ok_or(CommandError::Syntax)?;
            expiry.map(NewExpiry::At)
        }
        Some(_) => return Err(CommandError::Syntax),
    };
    if expiry == Err(CommandError::Syntax) {
        return Err(CommandError::Syntax);
    }
    let Some(bytes) = string(keys, key)?.cloned() else {
        reply.null();
        return Ok(());
    };
    // Redis looks at the number only where there is a string.
    let expiry = expiry?;
    reply.bulk(&bytes);
    let before = keys.get(key).and_then(|entry| entry.expiry_ms);
    let expiry_ms = match expiry {
        NewExpiry::Keep => before,
        NewExpiry::None => None,
        NewExpiry::At(ms) => Some(ms),
    };
    if expiry_ms != before {
        keys.put(key, Entry { value: Value::String(bytes), expiry_ms });
    }
    Ok(())
}

fn getrange(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let (start, end) = (integer(request.arg(2))?, integer(request.arg(3))?);
    let Some(bytes) = string(keys, request.arg(1))? else {
        reply.bulk(b"");
        return Ok(());
    };
    let length = bytes.len() as i64;
    let is_reversed = start < 0 && end < 0 && start > end;
    let place = |at: i64| if at < 0 { at.saturating_add(length).max(0) } else { at };
    let (start, end) = (place(start), place(end).min(length - 1));
    let is_empty = is_reversed || start > end || length == 0;
    reply.bulk(if is_empty { b"" } else { &bytes[start as usize..=end as usize] });
    Ok(())
}

fn setrange(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let (key, part) = (request.arg(1), request.arg(3));
    let offset = integer(request.arg(2))?;
    let Ok(offset) = usize::try_from(offset) else {
        return Err(CommandError::Other("ERR offset is out of range".into()));
    };
    let old = string(keys, key)?;
    let old_bytes = old.map_or(0, |bytes| bytes.len());
    if part.is_empty() {
        reply.integer(old_bytes as i64);
        return Ok(());
    }
    let end = offset.checked_add(part.len()).filter(|&end| end <= keys.string_bytes_max());
    let end = end.ok_or(CommandError::LongString)?;
    let mut bytes = old.map(|bytes| bytes.to_vec()).unwrap_or_default();
    bytes.resize(old_bytes.max(end), 0);
    bytes[offset..end].copy_from_slice(part);
    reply.integer(bytes.len() as i64);
    replace(keys, key, bytes);
    Ok(())
}

fn strlen(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    reply.integer(string(keys, request.arg(1))?.map_or(0, |bytes| bytes.len()) as i64);
    Ok(())
}

fn append(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let old = string(keys, request.arg(1))?.map_or(&[][..], |bytes| bytes.as_slice());
    if old.len() + request.arg(2).len() > keys.string_bytes_max() {
        return Err(CommandError::LongString);
    }
    let bytes = [old, request.arg(2)].concat();
    reply.integer(bytes.len() as i64);
    replace(keys, request.arg(1), bytes);
    Ok(())
}

fn add(
    keys: &mut Keys<'_>,
    key: &[u8],
    by: Result<i64, CommandError>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let by = by?;
    let old = match string(keys, key)? {
        None => 0,
        Some(bytes) => parse_integer(bytes).ok_or(CommandError::NoInteger)?,
    };
    let sum = old.checked_add(by).ok_or(CommandError::Overflow)?;
    replace(keys, key, sum.to_string());
    reply.integer(sum);
    Ok(())
}

fn incrbyfloat(keys: &mut Keys<'_>, request: &Request, reply: &mut Reply) -> Result<(), CommandError> {
    let old = string(keys, request.arg(1))?.map_or(&b"0"[..], |bytes| bytes.as_slice());
    for number in [old, request.arg(2)] {
        float::parse(number).ok_or(CommandError::NoFloat)?;
    }
    let text = float::sum(old, request.arg(2)).ok_or(CommandError::NotFinite)?;
    replace(keys, request.arg(1), text.as_str());
    reply.bulk(text.as_bytes());
    Ok(())
}
