//! The uprobe events of a recording: the probed functions, and the fields of each event.
//!
//! PostgreSQL's own probes report transactions and page reads (a hit is a read too), but no pages that are made dirty,
//! and name pages by relation where `MarkBufferDirty` has the number of a buffer. `ReadBufferExtended` returns it: the
//! return that follows a finished read in the same process connects the two.

use super::argument::{translate, translate_text};
use super::elf::{Probe, Symbols};
use super::error::PostgresError;
use std::path::Path;

/// Arguments of `buffer__read__done` up to version 15; from 16 on it has no `isExtend`, and from 17 on pages are read
/// in streams that no function returns a buffer from.
const READ_DONE_ARGUMENTS: usize = 8;

/// The meaning of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Role {
    Query,
    Start,
    Commit,
    Abort,
    ReadDone,
    ReadReturned,
    Dirty,
    Switch,
}

/// An event to define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) role: Role,
    pub(super) name: String,
    /// `p` at an instruction, `r` at a function's return.
    kind: char,
    offset: u64,
    semaphore: Option<u64>,
    fields: Vec<String>,
}

impl Definition {
    /// Formats the line for `uprobe_events`.
    pub(super) fn line(&self, group: &str, program: &Path) -> String {
        let Self { name, kind, offset, .. } = self;
        let semaphore = self.semaphore.map_or(String::new(), |offset| format!("({offset:#x})"));
        let fields: String = self.fields.iter().map(|field| format!(" {field}")).collect();
        format!("{kind}:{group}/{name} {}:{offset:#x}{semaphore}{fields}", program.display())
    }
}

/// Chooses the events for the program at `path`.
pub(super) fn definitions(symbols: &Symbols, path: &Path) -> Result<Vec<Definition>, PostgresError> {
    if !symbols.has_probes() {
        return Err(PostgresError::NoProbes { path: path.into() });
    }
    let unsupported = |problem: String| PostgresError::Unsupported { path: path.into(), problem };
    let mut all = Vec::new();
    let mut probe = |role, name: &str, fields: &dyn Fn(&Probe) -> Result<Vec<String>, String>| {
        let sites = symbols.probes(name);
        if sites.is_empty() {
            return Err(unsupported(format!("has no probe {name}")));
        }
        for (number, site) in sites.into_iter().enumerate() {
            all.push(Definition {
                role,
                name: format!("{name}_{number}"),
                kind: 'p',
                offset: site.offset,
                semaphore: site.semaphore,
                fields: fields(site).map_err(unsupported)?,
            });
        }
        Ok(())
    };
    probe(Role::Query, "query__start", &|site| {
        let text = site.arguments.first().and_then(|argument| translate_text(argument));
        Ok(vec![format!("text={}", text.ok_or("has a probe query__start without text")?)])
    })?;
    for (role, name) in [
        (Role::Start, "transaction__start"),
        (Role::Commit, "transaction__commit"),
        (Role::Abort, "transaction__abort"),
    ] {
        probe(role, name, &|_| Ok(Vec::new()))?;
    }
    probe(Role::ReadDone, "buffer__read__done", &|site| {
        let name = "buffer__read__done";
        if site.arguments.len() != READ_DONE_ARGUMENTS {
            return Err(format!("has {name} with {} arguments", site.arguments.len()));
        }
        let field = |(at, field): (usize, &str)| {
            let argument = &site.arguments[at];
            let translated = translate(argument).ok_or(format!("has {name} with the argument {argument}"));
            translated.map(|translated| format!("{field}={translated}"))
        };
        [(0, "fork"), (1, "block"), (3, "db"), (4, "rel")].into_iter().map(field).collect()
    })?;
    for (role, name, kind, field) in [
        (Role::ReadReturned, "ReadBufferExtended", 'r', "buffer=$retval:s32"),
        (Role::Dirty, "MarkBufferDirty", 'p', "buffer=%di:s32"),
        (Role::Dirty, "MarkBufferDirtyHint", 'p', "buffer=%di:s32"),
    ] {
        let offset = symbols.function(name);
        let missing = || PostgresError::NoFunction { path: path.into(), function: name };
        all.push(Definition {
            role,
            name: name.into(),
            kind,
            offset: offset.ok_or_else(missing)?,
            semaphore: None,
            fields: vec![field.into()],
        });
    }
    Ok(all)
}
