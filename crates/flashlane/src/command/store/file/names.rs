//! Names: listed, made, moved, removed.

use super::super::Level;
use super::super::damage::told;
use super::super::device::{Place, open, open_to_write, open_with_cache};
use super::super::entries::ended;
use super::bytes::shown;
use super::failed;
use crate::failure::{Failure, Status, notify};
use crate::options::Format;
use crate::output::{json, print};
use crate::terminal::printable;
use anyhow::anyhow;
use flashlane_base::units::exact_bytes;
use flashlane_device::DataDevice;
use flashlane_report::csv_line;
use flashlane_store::text::escape;
use flashlane_store_files::{Attributes, Entry, FileError, Files, Inode, Kind};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::vec;

/// Names of a directory that are read at once.
const NAMES_AT_ONCE: usize = 1000;

/// A directory of which some names are listed.
struct Listed {
    inode: Inode,
    /// Begins the paths of what is in it.
    prefix: String,
    page: vec::IntoIter<Entry>,
    /// The last name of the page.
    last: Option<Vec<u8>>,
}

impl Listed {
    fn new(inode: Inode, prefix: String) -> Self {
        Self { inode, prefix, page: Vec::new().into_iter(), last: None }
    }
}

/// Lists a directory, page by page.
pub fn list(place: &Place, path: &OsStr, recursive: bool, format: Format) -> Result<Status, Failure> {
    let mut store = open_with_cache(place)?;
    let mut files = Files::open(&mut store).map_err(failed)?;
    let top = files.find(path.as_bytes()).map_err(failed)?;
    if top.kind == Kind::File {
        return Err(failed(FileError::NoDirectory { name: shown(path) }));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let mut write = |text: &str| out.write_all(printable(text).as_bytes());
    let mut written = match format {
        Format::Text => Ok(()),
        Format::Csv => write(&csv_line(["path", "kind", "length_bytes", "modified_ms"])),
        Format::Json => write(&format!(
            "{{\"schema\": \"flashlane.files/1\", \"path\": {}, \"entries\": [",
            json!(shown(path))
        )),
    };
    let mut separator = "\n";
    // The directory that is being listed, behind those in which it lies.
    let mut levels = vec![Listed::new(top.inode, String::new())];
    while written.is_ok()
        && let Some(level) = levels.last_mut()
    {
        let Some(entry) = level.page.next() else {
            let page = files.list(level.inode, level.last.as_deref(), NAMES_AT_ONCE).map_err(failed)?;
            level.last = page.last().map(|entry| entry.name.clone());
            if page.is_empty() {
                levels.pop();
            } else {
                level.page = page.into_iter();
            }
            continue;
        };
        let found = files.attributes(entry.inode).map_err(failed)?;
        let name = format!("{}{}", level.prefix, escape(&entry.name));
        written = match format {
            Format::Text => write(&line(&name, &found)),
            Format::Csv => {
                let numbers = [found.length_bytes, found.modified_ms].map(|number| number.to_string());
                write(&csv_line([name.as_str(), kind(&found), &numbers[0], &numbers[1]]))
            }
            Format::Json => {
                let text = format!("{separator}{}", row(&name, &found));
                separator = ",\n";
                write(&text)
            }
        };
        if recursive && found.kind == Kind::Directory {
            levels.push(Listed::new(found.inode, format!("{name}/")));
        }
    }
    if format == Format::Json {
        written = written.and_then(|()| write("\n]}\n"));
    }
    ended(written.and_then(|()| out.flush()))
}

fn line(name: &str, found: &Attributes) -> String {
    let date = flashlane_host::date_of(found.modified_ms);
    match found.kind {
        Kind::File => format!("{:>14}  {date}  {name}\n", found.length_bytes),
        Kind::Directory => format!("{:>14}  {date}  {name}/\n", "-"),
    }
}

fn kind(found: &Attributes) -> &'static str {
    match found.kind {
        Kind::File => "file",
        Kind::Directory => "directory",
    }
}

fn row(path: &str, found: &Attributes) -> Value {
    json!({
        "path": path,
        "kind": kind(found),
        "length_bytes": found.length_bytes,
        "modified_ms": found.modified_ms,
        "inode": found.inode.0,
    })
}

/// Shows the properties of a file or directory.
pub fn stat(place: &Place, path: &OsStr, format: Format) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let mut files = Files::open(&mut store).map_err(failed)?;
    let found = files.find(path.as_bytes()).map_err(failed)?;
    let extent_bytes = files.extent_bytes();
    let text = match format {
        Format::Text => [
            ("Path", shown(path)),
            ("Kind", kind(&found).to_owned()),
            ("Length", exact_bytes(found.length_bytes)),
            ("Last change", flashlane_host::date_of(found.modified_ms)),
            ("Inode", found.inode.to_string()),
            ("Extents", exact_bytes(extent_bytes)),
        ]
        .iter()
        .map(|(label, value)| format!("{label:<16}{value}\n"))
        .collect(),
        Format::Csv => {
            let numbers = [found.length_bytes, found.modified_ms, found.inode.0, extent_bytes];
            let [length, modified, inode, extent] = numbers.map(|number| number.to_string());
            csv_line(["path", "kind", "length_bytes", "modified_ms", "inode", "extent_bytes"])
                + &csv_line([shown(path).as_str(), kind(&found), &length, &modified, &inode, &extent])
        }
        Format::Json => {
            let mut fields = row(&shown(path), &found);
            fields["schema"] = "flashlane.file/1".into();
            fields["extent_bytes"] = extent_bytes.into();
            json(&fields)
        }
    };
    print(&text)?;
    Ok(Status::Done)
}

/// Makes directories, and those above them.
pub fn make(place: &Place, paths: &[OsString], level: Level) -> Result<Status, Failure> {
    change(place, level, paths, ("made", "not made"), |files, path| {
        let is_there = files.find(path).is_ok_and(|found| found.kind == Kind::Directory);
        files.make_directories(path).map(|_| !is_there)
    })
}

/// Removes files and directories.
pub fn remove(place: &Place, paths: &[OsString], recursive: bool, level: Level) -> Result<Status, Failure> {
    change(place, level, paths, ("removed", "not removed"), |files, path| {
        let (directory, name) = files.place(path)?;
        let removed =
            if recursive { files.remove_all(directory, &name) } else { files.remove(directory, &name) };
        removed.map(|_| true).map_err(|error| error.of_path(path))
    })
}

/// Gives a file or directory another path.
pub fn rename(place: &Place, from: &OsStr, to: &OsStr, level: Level) -> Result<Status, Failure> {
    change(place, level, &[from.to_owned()], ("moved", "not moved"), |files, path| {
        let ((from, from_name), (to, to_name)) = (files.place(path)?, files.place(to.as_bytes())?);
        files.rename(from, &from_name, to, &to_name).map(|_| true)
    })
}

/// Checks the whole tree. What a store has lost is looked at as if it were deleted; a repair needs consent to that.
pub fn check(place: &Place, (repairs, may_destroy): (bool, bool), format: Format) -> Result<Status, Failure> {
    let mut store = if repairs { open_to_write(place, Level::Device)? } else { open(place)? };
    let loss = store.loss();
    if let Some(loss) = loss.as_ref().filter(|_| repairs && !may_destroy) {
        return Err(Failure::failed(anyhow!(
            "nothing is repaired: it would remove what belongs to lost blocks, and {}. If that may be lost: --repair \
             --destroy-data",
            told(place, loss)
        )));
    }
    let checked = Files::open_without_lost(&mut store).and_then(|mut files| files.check(repairs));
    let found = checked.map_err(failed)?;
    store.store().settle();
    let facts = [
        ("files", "Files", found.files),
        ("directories", "Directories", found.directories),
        ("dangling_entries", "Names that lead nowhere", found.dangling_entries),
        ("lost_inodes", "Files and directories without name", found.lost_inodes),
        ("lost_extents", "Removed files with extents left", found.lost_extents),
    ];
    let is_whole = loss.is_none();
    let (is_sound, is_repaired) = (is_whole && found.is_sound(), repairs && !found.is_sound());
    print(&match format {
        Format::Text => {
            let verdict = match (is_whole, found.is_sound(), is_repaired) {
                (true, true, _) => "sound",
                (_, _, true) => "repaired; what had lost its name is in /lost+found",
                (false, ..) => "the store is damaged: bytes, names and files may be missing",
                (true, false, _) => {
                    "damaged; --repair removes what leads nowhere and names the rest in /lost+found"
                }
            };
            let lines = facts.map(|(_, label, count)| format!("{label:<36}{count}\n"));
            format!("Verdict: {verdict}\n{}", lines.concat())
        }
        Format::Csv => facts.iter().fold(csv_line(["name", "value"]), |text, (name, _, count)| {
            text + &csv_line([*name, count.to_string().as_str()])
        }),
        Format::Json => {
            let mut fields =
                json!({ "schema": "flashlane.files-check/1", "sound": is_sound, "repaired": is_repaired });
            facts.iter().for_each(|(name, _, count)| fields[*name] = (*count).into());
            json(&fields)
        }
    })?;
    Ok(if is_sound || is_repaired { Status::Done } else { Status::Failed })
}

type AnyFiles<'a> = Files<'a, Box<dyn DataDevice>, Box<dyn DataDevice>>;

/// Changes what some paths stand for, one after the other. If a change is refused, the earlier ones stay, and both are
/// reported.
fn change(
    place: &Place,
    level: Level,
    paths: &[OsString],
    (done, not_done): (&str, &str),
    mut apply: impl FnMut(&mut AnyFiles<'_>, &[u8]) -> Result<bool, FileError>,
) -> Result<Status, Failure> {
    let mut store = open_to_write(place, level)?;
    let mut files = Files::open(&mut store).map_err(failed)?;
    files.set_time(flashlane_host::calendar_ms());
    let (mut changed, mut there) = (Vec::new(), Vec::new());
    let mut refused = None;
    for path in paths {
        match apply(&mut files, path.as_bytes()) {
            Ok(true) => changed.push(shown(path)),
            Ok(false) => there.push(shown(path)),
            Err(error) if changed.is_empty() && there.is_empty() => return Err(failed(error)),
            Err(error) => {
                refused = Some((path, error));
                break;
            }
        }
    }
    store.store().settle();
    if !changed.is_empty() {
        print(&format!("{}: {done}, durability: {}\n", changed.join(", "), level.name()))?;
    }
    if !there.is_empty() {
        print(&format!("{}: there already\n", there.join(", ")))?;
    }
    match refused {
        None => Ok(Status::Done),
        Some((path, error)) => {
            notify(&format!("{not_done}: {} and those behind it ({error})", shown(path)));
            Ok(Status::Failed)
        }
    }
}
