//! Checks whether tracing is already in use. The machine has one tracer, and while that is the block tracer, it
//! receives the requests of every traced device. All findings are reported at once, with the commands that end them.

use super::error::RecordError;
use super::settings::read;
use super::tracefs::Tracefs;
use super::undo::Undo;
use std::fs;
use std::path::{Path, PathBuf};

/// Refuses where a tracer, trace events or tracing of a device below `sys` are in use.
pub(super) fn check(tracefs: &Tracefs, sys: &Path) -> Result<(), RecordError> {
    let (mut found, mut undo) = (Vec::new(), Vec::new());
    let mut tell = |what: String, path: PathBuf, value| {
        found.push(what);
        undo.push(Undo { path, value });
    };
    let current_tracer = tracefs.at("current_tracer");
    let tracer = read(&current_tracer)?;
    if tracer != "nop" {
        tell(format!("the tracer '{tracer}'"), current_tracer, "nop");
    }
    let set_event = tracefs.at("set_event");
    let events = read(&set_event)?;
    let mut events = events.lines();
    if let Some(first) = events.next() {
        let more = if events.next().is_some() { ", …" } else { "" };
        tell(format!("trace events ({first}{more})"), set_event, "");
    }
    for (name, enable) in traced(sys)? {
        tell(format!("tracing of '{name}'"), enable, "0");
    }
    if found.is_empty() {
        return Ok(());
    }
    undo.extend(tracefs.left_behind()?);
    Err(RecordError::InUse { found, undo })
}

/// Returns the traced drives, each with its enable file. The files of their partitions are equivalent.
fn traced(sys: &Path) -> Result<Vec<(String, PathBuf)>, RecordError> {
    let folder = sys.join("dev/block");
    let entries = fs::read_dir(&folder).map_err(|e| RecordError::os(&folder, "list", e))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| RecordError::os(&folder, "list", e))?;
        let (link, enable) = (entry.path(), entry.path().join("trace/enable"));
        if !link.join("partition").exists() && is_on(&enable)? {
            let name = fs::canonicalize(&link).ok().and_then(|path| Some(path.file_name()?.to_owned()));
            let name = name.unwrap_or_else(|| entry.file_name());
            found.push((name.to_string_lossy().into_owned(), enable));
        }
    }
    found.sort();
    Ok(found)
}

fn is_on(enable: &Path) -> Result<bool, RecordError> {
    match fs::read_to_string(enable) {
        Ok(on) => Ok(on.trim() != "0"),
        // The drive does not support tracing, or was removed.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENODEV | libc::ENXIO)) => Ok(false),
        Err(e) => Err(RecordError::os(enable, "read", e)),
    }
}
