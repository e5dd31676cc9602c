//! Surveys the users and the existing data of a device or file: every reason not to write to it.
//!
//! | module | holds |
//! | --- | --- |
//! | `machine` | block devices, mounts and swap spaces as plain data |
//! | `read`, `mounts`, `namespaces`, `visits`, `loops`, `lookup` | the sources of that data |
//! | `layers`, `held`, `links`, `bytes` | overlays, and the files of their layers |
//! | `graph` | all users of a target's bytes |
//! | `openers`, `descriptors` | other processes that have it open |

mod bytes;
mod descriptors;
mod graph;
mod held;
mod layers;
mod links;
mod lookup;
mod loops;
mod machine;
mod mounts;
mod namespaces;
mod openers;
mod read;
mod visits;

pub(crate) use mounts::{Mount, mounts, read_escaped};

use crate::blkid;
use crate::claim::OtherFiles;
use crate::finding::Finding;
use crate::signature::{self, Signature};
use crate::target::{self, Target};
use descriptors::Unreceived;
use graph::Whole;
use layers::{Layers, Mounts, OpenFile};
use machine::{Backing, FileId, Machine, Number, Storage};
use openers::Openers;
use rustix::fs::SeekFrom;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns every reason not to write to `target`. Only reads.
///
/// # Errors
/// The operating system's error where the target cannot be opened for reading.
pub(crate) fn survey(target: &Target) -> io::Result<Vec<Finding>> {
    let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
    if lookup::processes(proc).next().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "/proc, which shows what is in use, is not mounted",
        ));
    }
    let mounts = Mounts::of_all(proc);
    let machine = read::machine(sys, &mounts);
    let own = own_file(target, &machine, proc);
    let identities = match &own {
        Some(file) => file.storage.clone(),
        None => vec![Storage::Block(lookup::split(target.identity.2))],
    };
    let mut findings = uses(&machine, &identities, sys);
    let below = graph::files_below(&machine, &identities);
    findings.extend(hidden_use(target, &below, &mounts));
    let files = [own.into_iter().collect(), below].concat();
    findings.extend(in_layers(&files, &mounts));
    findings.extend(mounts.unseen.iter().map(|reason| Finding::Unreadable { reason: reason.clone() }));
    let used = graph::storage_below(&machine, &identities);
    findings.extend(open_elsewhere(&Openers::new(&mounts, used, files)));
    // A claim without a name, as of the journal of a mounted file system.
    if target.block && findings.is_empty() && stays_claimed(&target.real) {
        findings.push(Finding::Claimed { device: target.real.display().to_string() });
    }
    let content = content(target)?;
    let is_own = |finding: &Finding| matches!(finding, Finding::Signature(signature) if signature.is_own());
    let shows_own = content.iter().any(is_own);
    findings.extend(content);
    if let Storage::Block(number) = identities[0] {
        findings.extend(data_below(&machine, number, shows_own));
    }
    Ok(findings)
}

/// Returns whether a path leads into a file system that lies on a device or file, however many loop, mapped or other
/// devices are between. A file that does not exist yet is where its nearest folder is.
pub fn is_on_device(path: &Path, device: &Path) -> bool {
    let Some(device) = lookup::storage_at(device) else { return false };
    let absolute = std::path::absolute(path);
    let mut places = absolute.iter().flat_map(|path| path.ancestors());
    let Some(place) = places.find_map(|place| place.canonicalize().ok()) else { return false };
    let proc = Path::new("/proc");
    let machine = read::machine(Path::new("/sys"), &Mounts::of_this(proc));
    graph::storage_below(&machine, &read::storage_of(&place, proc, &machine)).contains(&device)
}

/// Returns whether two devices or files have bytes in common, however many loop, partition or other devices are
/// between. One that does not exist yet has none.
pub fn share_bytes(one: &Path, other: &Path) -> bool {
    let (Some(one), Some(other)) = (lookup::storage_at(one), lookup::storage_at(other)) else { return false };
    let machine = read::machine(Path::new("/sys"), &Mounts::of_this(Path::new("/proc")));
    graph::share_bytes(&machine, &[one], &[other])
}

/// Returns the reasons not to write to `target` that its bytes show.
///
/// # Errors
/// As [`survey`].
pub(crate) fn content(target: &Target) -> io::Result<Vec<Finding>> {
    let file = target.open_to_read()?;
    let length_bytes =
        if target.block { target::block_device_length(&file)? } else { file.metadata()?.len() };
    Ok(match signatures(&file, length_bytes) {
        Ok(found) => found.into_iter().map(Finding::Signature).collect(),
        Err(e) => vec![Finding::Unreadable { reason: format!("its bytes cannot be read: {e}") }],
    })
}

/// Returns whether a file or device is, or was, the log of a store of ours.
///
/// # Errors
/// The operating system's error where it cannot be read.
pub fn is_store_log(path: &Path) -> io::Result<bool> {
    let found = content(&Target::resolve(path).map_err(io::Error::other)?)?;
    Ok(found.iter().any(|finding| matches!(finding, Finding::Signature(signature) if signature.is_log())))
}

/// Returns the signatures on a file or device of this length, by libblkid and our own table.
fn signatures(file: &File, length_bytes: u64) -> io::Result<Vec<Signature>> {
    let starts = data_starts(file, length_bytes);
    let own = signature::find(length_bytes, &starts, |at, buffer| file.read_at(buffer, at))?;
    Ok(signature::merge(blkid::find(file).unwrap_or_default(), own))
}

/// Most pieces of a sparse file that are looked at.
const DATA_STARTS_MAX: usize = 1024;

/// Returns where the data of a sparse file begins behind its holes. A device has none, nor has a file system that does
/// not tell.
fn data_starts(file: &File, length_bytes: u64) -> Vec<u64> {
    let mut hole = None;
    let next = || {
        let from = match hole {
            None => 0,
            Some(start) => rustix::fs::seek(file, SeekFrom::Hole(start)).ok()?,
        };
        let start =
            rustix::fs::seek(file, SeekFrom::Data(from)).ok().filter(|&start| start < length_bytes)?;
        hole = Some(start);
        Some(start)
    };
    std::iter::from_fn(next).take(DATA_STARTS_MAX).collect()
}

/// Returns whether the target, or a file below it, is on a FUSE file system, which may show a file that is in use by
/// another name. One on a block device of its own (`fuseblk`) shows no file of another file system.
fn hidden_use(target: &Target, below: &[Backing], mounts: &Mounts<'_>) -> Option<Finding> {
    const FUSE: i64 = 0x6573_5546;
    let type_of = |number| {
        let mount = mounts.all.iter().find(|mount| mount.number == number)?;
        mount.file_system.starts_with("fuse").then(|| mount.file_system.clone())
    };
    let is_on_fuse = !target.block && target.file_system_magic().ok() == Some(FUSE);
    let own = is_on_fuse.then(|| {
        let file_system = type_of(lookup::split(target.identity.0)).unwrap_or_else(|| "fuse".to_owned());
        ("it".to_owned(), file_system)
    });
    let below = below.iter().filter_map(|file| Some((file.name.clone(), type_of(file.file_system)?)));
    let (file, file_system) =
        own.into_iter().chain(below).find(|(_, file_system)| file_system != "fuseblk")?;
    Some(Finding::HiddenUse { file, file_system })
}

/// Returns every use of the target's bytes that the kernel reports.
fn uses(machine: &Machine, identities: &[Storage], sys: &Path) -> Vec<Finding> {
    let mut findings = graph::uses(machine, identities);
    if let Storage::Block(number) = identities[0]
        && !machine.devices.contains_key(&number)
    {
        let reason =
            format!("what uses it is unknown: {} has no entry for it", sys.join("dev/block").display());
        findings.push(Finding::Unreadable { reason });
    }
    for number in graph::devices_below(machine, identities) {
        let name = machine.name(number);
        if lookup::node(&name, number).is_some_and(|node| is_claimed(&node)) {
            findings.push(Finding::Claimed { device: name });
        }
    }
    findings
}

/// Returns the signatures of everything of which a device is a part, where the part may show none itself: it may begin
/// inside a block of ours, or inside a file system. Of a whole that begins with the part, only our own marks count, and
/// partition tables never do: what they describe lies behind them. Our own marks count once, and not at all if the
/// device `shows_own`, or in a partition. A drive that cannot be read is passed over: a user may have one of its
/// partitions only.
fn data_below(machine: &Machine, number: Number, mut shows_own: bool) -> Vec<Finding> {
    let (mut findings, mut seen) = (Vec::new(), BTreeSet::new());
    for whole in graph::wholes_below(machine, number) {
        let path = whole.path.display();
        let found = match open_below(&whole).map(|(file, length_bytes)| signatures(&file, length_bytes)) {
            Some(Ok(found)) => found,
            _ if whole.is_inside && !whole.is_drive => {
                let reason = format!("what is in '{path}', of which it presents a part, cannot be read");
                findings.push(Finding::Unreadable { reason });
                continue;
            }
            _ => continue,
        };
        for mut signature in found {
            let is_in_partition =
                whole.partitions.iter().any(|range| range.contains(&signature.offset_bytes));
            let counts = match signature.is_own() {
                true => !is_in_partition && !std::mem::replace(&mut shows_own, true),
                false => whole.is_inside && !signature.is_table() && seen.insert(signature.what.clone()),
            };
            if counts && !signature.is_own() {
                signature.what = format!("{} in '{path}', of which it presents a part", signature.what);
            }
            findings.extend(counts.then_some(Finding::Signature(signature)));
        }
    }
    findings
}

/// Opens what a device is a part of, if its path still leads to it. Returns its length too.
fn open_below(whole: &Whole) -> Option<(File, u64)> {
    let on = lookup::storage_at(&whole.path)?;
    if !whole.storage.contains(&on) {
        return None;
    }
    let file = File::open(&whole.path).ok()?;
    let length_bytes = match on {
        Storage::Block(_) => target::block_device_length(&file).ok()?,
        Storage::File(_) => file.metadata().ok()?.len(),
    };
    Some((file, length_bytes))
}

/// Returns the target with all its identities, unless it is a block device: itself, and the same file in the layers of
/// an overlay.
fn own_file(target: &Target, machine: &Machine, proc: &Path) -> Option<Backing> {
    if target.block {
        return None;
    }
    let length_bytes = target.real.metadata().map_or(0, |metadata| metadata.len());
    let mounts = Mounts::of_this(proc);
    let (layers, facts) = mounts.look_up(as_file(target), length_bytes..length_bytes.saturating_add(1));
    let own = std::iter::once(Storage::File(facts.id));
    let possible = machine.possible_identities(&facts);
    Some(Backing {
        storage: own.chain(layers.files.into_keys()).chain(possible).collect(),
        file_system: facts.id.file_system,
        range: 0..length_bytes,
        file: Some(facts),
        name: target.real.display().to_string(),
    })
}

/// Returns a target that is a file.
fn as_file(target: &Target) -> OpenFile<'_> {
    let (file_system, inode, _) = target.identity;
    let id = FileId { file_system: lookup::split(file_system), inode };
    OpenFile { id, path: &target.real, link: &target.real }
}

/// Opens the files that hold the target's bytes under other identities, as far as their paths lead to them.
pub(crate) fn other_files(target: &Target) -> OtherFiles {
    let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
    if !target.block {
        let layers = Mounts::of_this(proc).layers_of(as_file(target));
        return OtherFiles { same: opened(layers.files), below: Vec::new() };
    }
    let mounts = Mounts::of_all(proc);
    let machine = read::machine(sys, &mounts);
    let below = graph::files_below(&machine, &[Storage::Block(lookup::split(target.identity.2))]);
    let files = below.iter().flat_map(|file| {
        let path = Path::new(&file.name);
        let named = lookup::storage_at(path).filter(|on| file.storage.contains(on));
        let layers = match &file.file {
            Some(facts) => mounts.layers_of(OpenFile { id: facts.id, path, link: path }),
            None => Layers::default(),
        };
        named.map(|on| (on, path.to_owned())).into_iter().chain(layers.files)
    });
    OtherFiles { same: Vec::new(), below: opened(files) }
}

/// Opens the files at these paths for reading, unless others have come there.
fn opened(files: impl IntoIterator<Item = (Storage, PathBuf)>) -> Vec<File> {
    let open = |(on, path): (Storage, PathBuf)| {
        let target = Target::resolve(&path).ok()?;
        (on == Storage::File(as_file(&target).id)).then(|| target.open_to_read().ok()).flatten()
    };
    files.into_iter().filter_map(open).collect()
}

/// Returns the overlays of whose layers these files are part.
fn in_layers(files: &[Backing], mounts: &Mounts<'_>) -> Vec<Finding> {
    let findings = files.iter().flat_map(|file| {
        let path = Path::new(&file.name);
        let leads_to_it = lookup::storage_at(path).is_some_and(|on| file.storage.contains(&on));
        if leads_to_it { mounts.overlays_over(path) } else { Vec::new() }
    });
    findings.collect()
}

/// Returns whether a device is claimed by the kernel or a process.
fn is_claimed(node: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    let opened = options.read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(node);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// How often it is looked, and how far apart: what a process that starts shares with its parent, and what another has
/// just closed, is seen for a moment.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// Returns whether a device stays claimed.
fn stays_claimed(node: &Path) -> bool {
    (0..LOOKS).all(|_| {
        let is_claimed = is_claimed(node);
        if is_claimed {
            std::thread::sleep(PAUSE);
        }
        is_claimed
    })
}

/// Returns other processes that stay with the target open.
fn open_elsewhere(openers: &Openers<'_>) -> Vec<Finding> {
    let mut found = openers.find();
    let mut looks_left = LOOKS;
    while !found.is_empty() && looks_left > 0 {
        std::thread::sleep(PAUSE);
        found = openers.find();
        looks_left -= 1;
    }
    let finding = |openers::Opener { program, process, unreceived }| match unreceived {
        Some(Unreceived::Waiting) => Finding::Waiting { program, process },
        Some(Unreceived::Unknown) => Finding::UnknownRing { program, process },
        Some(Unreceived::Registered) | None => Finding::Open { program, process },
    };
    found.into_iter().map(finding).collect()
}
