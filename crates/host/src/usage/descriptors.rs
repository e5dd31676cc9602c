//! Descriptors of block devices that no table of open files has: on their way through a Unix socket, or registered with
//! a ring of io_uring. For files a write lease answers the same (`claim`); the kernel has none for devices.
//!
//! `/proc/PID/fdinfo` shows the number of descriptors that wait in a Unix socket, and the paths of the files of a ring.
//! A socket that is on its way itself waits in another one. A ring whose own descriptor is closed shows nothing, but
//! most are mapped.

use super::lookup::{names, storage_at};
use super::machine::Storage;
use super::mounts::unescape;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why a device is not known to be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreceived {
    /// Descriptors wait in a socket of a process.
    Waiting,
    /// A ring has files that cannot be told.
    Unknown,
    /// A ring has the device.
    Registered,
}

/// Looks through the open files of a task, a folder of `/proc`, for descriptors that may be of these devices.
pub(super) fn unreceived(task: &Path, devices: &[Storage]) -> Option<Unreceived> {
    let mut rings = BTreeSet::new();
    for descriptor in names(&task.join("fd")) {
        let link = task.join("fd").join(&descriptor);
        let Ok(kind) = fs::read_link(&link) else { continue };
        let info = || fs::read_to_string(task.join("fdinfo").join(&descriptor)).ok();
        let kind = kind.to_string_lossy();
        let found = if kind.starts_with("socket:") {
            info().filter(|info| waiting(info) > 0).map(|_| Unreceived::Waiting)
        } else if kind == "anon_inode:[io_uring]" {
            rings.extend(fs::metadata(&link).map(|data| data.ino()));
            info().and_then(|info| in_ring(&info, task, devices))
        } else {
            None
        };
        if found.is_some() {
            return found;
        }
    }
    maps_other_ring(task, &rings).then_some(Unreceived::Unknown)
}

/// Returns the number of descriptors that wait in a socket; 0 where the kernel does not say, as before Linux 5.6.
fn waiting(info: &str) -> u64 {
    let count = info.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Returns whether a ring has one of the devices, or a file whose path does not tell. While the ring is busy, the
/// kernel leaves its files out.
fn in_ring(info: &str, task: &Path, devices: &[Storage]) -> Option<Unreceived> {
    let mut lines = info.lines().skip_while(|line| !line.starts_with("UserFiles:"));
    if lines.next().is_none() {
        return Some(Unreceived::Unknown);
    }
    // Each is `NUMBER: PATH`, up to the next title.
    let paths = lines.map_while(|line| line.trim_start().split_once(": "));
    let mut found = None;
    for (_, path) in paths {
        match registered(path, task, devices) {
            Some(Unreceived::Registered) => return Some(Unreceived::Registered),
            other => found = found.or(other),
        }
    }
    found
}

/// Returns whether a path in the list of a ring is one of the devices. It is a path of this process's root, or, where
/// that does not reach the file, of another namespace; before Linux 6.9 only its last part.
fn registered(path: &str, task: &Path, devices: &[Storage]) -> Option<Unreceived> {
    let path = unescape(path);
    let text = path.to_string_lossy();
    let has_kind = ["socket:", "pipe:", "anon_inode:"].iter().any(|kind| text.starts_with(kind));
    match text.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
        // Descriptors may wait in it, unless it is of another kind.
        Some(number) => return is_unix_socket(task, number).then_some(Unreceived::Unknown),
        None if has_kind || text.starts_with("/memfd:") => return None,
        None => {}
    }
    let inside = path.strip_prefix("/").unwrap_or(&path);
    let here = [Path::new("/").join(inside), Path::new("/dev").join(inside), task.join("root").join(inside)];
    let leads = here.map(|path| (storage_at(&path), path.exists()));
    if leads.iter().any(|(on, _)| on.is_some_and(|on| devices.contains(&on))) {
        return Some(Unreceived::Registered);
    }
    let is_known = leads.iter().any(|(_, exists)| *exists);
    (path.is_absolute() && !is_known).then_some(Unreceived::Unknown)
}

/// Returns whether a task sees a Unix socket of this number that it has no descriptor of.
fn is_unix_socket(task: &Path, number: &str) -> bool {
    let list = fs::read_to_string(task.join("net/unix")).unwrap_or_default();
    let is_listed = list.lines().any(|line| line.split_whitespace().nth(6) == Some(number));
    let name = format!("socket:[{number}]");
    let folder = task.join("fd");
    let is_open = |descriptor: &String| {
        fs::read_link(folder.join(descriptor)).is_ok_and(|link| link == Path::new(&name))
    };
    is_listed && !names(&folder).iter().any(is_open)
}

/// Returns whether a task has a ring mapped that is none of these, its open ones.
fn maps_other_ring(task: &Path, rings: &BTreeSet<u64>) -> bool {
    let maps = String::from_utf8_lossy(&fs::read(task.join("maps")).unwrap_or_default()).into_owned();
    let of_rings = maps.lines().filter(|line| line.ends_with("anon_inode:[io_uring]"));
    let mut inodes = of_rings.filter_map(|line| line.split_whitespace().nth(4)?.parse().ok());
    inodes.any(|inode| !rings.contains(&inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_lists_its_files() {
        let task = tempfile::tempdir().unwrap();
        let node = task.path().join("a node");
        fs::write(&node, "").unwrap();
        fs::create_dir_all(task.path().join("net")).unwrap();
        fs::write(
            task.path().join("net/unix"),
            "Num RefCount Protocol Flags Type St Inode Path\n0: 2 0 0 1 3 77\n",
        )
        .unwrap();
        let devices = [storage_at(&node).unwrap()];
        let list = |files: &str| {
            let info = format!("flags:\t02\nUserFiles:\t4\n{files}UserBufs:\t0\n    9: /none\n");
            in_ring(&info, task.path(), &devices)
        };
        let node = node.display().to_string().replace(' ', "\\040");
        for (files, expected) in [
            (String::new(), None),
            ("    0: /etc\n    1: socket:[5]\n    2: /memfd:a (deleted)\n    3: null\n".into(), None),
            (format!("    0: /none\n    1: {node}\n"), Some(Unreceived::Registered)),
            ("    0: /none (deleted)\n".into(), Some(Unreceived::Unknown)),
            ("    0: socket:[77]\n".into(), Some(Unreceived::Unknown)),
        ] {
            assert_eq!(list(&files), expected, "{files}");
        }
        assert_eq!(in_ring("flags:\t02\n", task.path(), &devices), Some(Unreceived::Unknown), "it is busy");
        assert_eq!(["flags:\t02\n", "scm_fds: 0\n", "ino:\t1\nscm_fds: 2\n"].map(waiting), [0, 0, 2]);
    }

    /// What these leave open counts against every device, so that no test of devices may run meanwhile, nor for long.
    #[test]
    fn descriptor_that_no_table_has_is_found() {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};
        let file = tempfile::NamedTempFile::new().unwrap();
        let devices = [storage_at(file.path()).unwrap()];
        let found_under = |script: &str| {
            let begin = "import array, ctypes, mmap, os, socket, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n";
            let end = "\nprint('open', flush=True); sys.stdin.read()";
            let mut python = Command::new("python3");
            python.args(["-c", &[begin, script, end].concat()]).arg(file.path());
            let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let task = Path::new("/proc").join(child.id().to_string());
            let found = unreceived(&task, &devices);
            child.kill().unwrap();
            child.wait().unwrap();
            (line == "open\n").then_some(found)
        };
        let send = "a, b = socket.socketpair()\n\
            a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))])\n";
        let register = "call = ctypes.CDLL(None).syscall\nring = call(425, 4, ctypes.create_string_buffer(120))\n\
            assert ring >= 0 and call(427, ring, 2, (ctypes.c_int * 1)(fd), 1) == 0\n";
        // The ring is mapped, and its descriptors are closed.
        let hide = "map = mmap.mmap(ring, 4096, flags=mmap.MAP_SHARED)\n\
            rings = [n for n in os.listdir('/proc/self/fd') if os.path.islink(f'/proc/self/fd/{n}') \
            and 'io_uring' in os.readlink(f'/proc/self/fd/{n}')]\n[os.close(int(n)) for n in rings]\n";
        for (script, expected) in [
            (String::new(), None),
            (format!("{send}os.close(fd)"), Some(Unreceived::Waiting)),
            // The socket waits in another one itself.
            (format!("{send}c = b\nfd = b.fileno()\n{send}c.close()"), Some(Unreceived::Waiting)),
            (format!("{register}os.close(fd)"), Some(Unreceived::Registered)),
            (format!("{register}os.close(fd)\n{hide}"), Some(Unreceived::Unknown)),
        ] {
            match found_under(&script) {
                Some(found) => assert_eq!(found, expected, "{script}"),
                None => println!("skipped: Python or the kernel cannot do this here: {script}"),
            }
        }
    }
}
