//! The mounts of all mount namespaces: those of processes and threads, and those that none is in (`visits`).

use super::lookup::{processes, threads};
use super::mounts::{Mount, mounts, read_escaped};
use super::visits::{self, Visit};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One survey at a time: a survey keeps the namespaces that it is in, and so the next would find what nothing else
/// keeps.
static ALONE: Mutex<()> = Mutex::new(());

/// What mount namespaces show. While it lives, the folders of `/proc` that its mounts name lead to their namespaces,
/// unless their processes end.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    pub mounts: Vec<Mount>,
    /// Why the mounts of namespaces cannot be seen, one reason each.
    pub unseen: Vec<String>,
    /// The names of the namespaces whose mounts are known, or cannot be.
    known: BTreeSet<PathBuf>,
    visits: Vec<Visit>,
    /// Given back after the visits have ended.
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Namespaces {
    /// Looks at the mounts of this process and of every other mount namespace that it may see.
    pub(super) fn all(proc: &Path) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self { _alone: Some(alone), ..Self::with(proc, visits::listed(proc)) }
    }

    /// As [`Namespaces::all`], where the kernel lists these.
    fn with(proc: &Path, listed: Vec<File>) -> Self {
        let name = |process: &str| fs::read_link(proc.join(process).join("ns/mnt")).ok();
        let mut all = Self { mounts: mounts(proc), ..Self::default() };
        all.known.extend(name("self"));
        // A thread may have a namespace of its own, and is all that is left of a process whose first thread has ended.
        let tasks = processes(proc).flat_map(|process| {
            let threads = threads(proc, &process);
            std::iter::once(process).chain(threads)
        });
        let mut visited = Vec::new();
        for task in tasks {
            let Some(name) = name(&task).filter(|name| !all.known.contains(name)) else { continue };
            if stays(&proc.join(&task)) {
                all.known.insert(name);
                all.add(proc, task);
            } else {
                visited.push((name, proc.join(task).join("ns/mnt")));
            }
        }
        all.enter_others(proc, listed, visited);
        all
    }

    /// Enters the namespaces that no process stays in: the kernel's list, these links and descriptors to them, and
    /// files that keep them, in whichever namespace.
    fn enter_others(&mut self, proc: &Path, listed: Vec<File>, mut links: Vec<(PathBuf, PathBuf)>) {
        for namespace in listed {
            if let Some(name) = visits::name_of(&namespace, proc) {
                self.enter(proc, name, Some(namespace));
            }
        }
        links.extend(visits::described(proc));
        for (name, link) in links {
            let namespace = visits::open(&link, proc, &name);
            self.enter(proc, name, namespace);
        }
        // Grows with each namespace that is entered.
        let mut next = 0;
        while let Some(mount) = self.mounts.get(next) {
            next += 1;
            if mount.file_system == "nsfs" && visits::is_name(&mount.root) {
                let name = mount.root.clone();
                let namespace = mount.here(&mount.at, proc).and_then(|path| visits::open(&path, proc, &name));
                self.enter(proc, name, namespace);
            }
        }
    }

    /// Adds the mounts of a namespace that no process stays in.
    fn enter(&mut self, proc: &Path, name: PathBuf, namespace: Option<File>) {
        if !self.known.insert(name.clone()) {
            return;
        }
        let lost = || std::io::Error::other("what keeps it cannot be opened");
        match namespace.ok_or_else(lost).and_then(Visit::begin) {
            Ok(visit) => {
                self.add(proc, visit.folder.clone());
                self.visits.push(visit);
            }
            // Others see no more of the namespaces of processes.
            Err(_) if !rustix::process::geteuid().is_root() => {}
            Err(error) => self.unseen.push(format!(
                "what is mounted in the mount namespace {}, which no process is in, cannot be seen: {error}",
                name.display()
            )),
        }
    }

    /// Adds the mounts that a process or thread sees, but for copies of known ones.
    fn add(&mut self, proc: &Path, task: String) {
        let text = read_escaped(&proc.join(&task).join("mountinfo")).unwrap_or_default();
        for mount in text.lines().filter_map(Mount::parse) {
            // Each file that keeps a namespace may keep another one.
            let is_copy = |known: &Mount| {
                known.number == mount.number && known.source == mount.source && known.root == mount.root
            };
            let is_known = match mount.file_system.as_str() {
                "nsfs" => self.mounts.iter().any(is_copy),
                _ => self
                    .mounts
                    .iter()
                    .any(|known| known.number == mount.number && known.source == mount.source),
            };
            if !is_known {
                self.mounts.push(Mount { process: Some(task.clone()), ..mount });
            }
        }
    }
}

/// Returns whether a process or thread is no visit of another survey, which may end meanwhile.
fn stays(task: &Path) -> bool {
    fs::read_to_string(task.join("comm")).map_or(true, |name| name.trim_end() != visits::THREAD_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_with_a_namespace_of_its_own_shows_its_mounts() {
        let proc = tempfile::tempdir().unwrap();
        for (folder, namespace) in [("self", 1), ("77", 1), ("77/task/77", 1), ("77/task/78", 2)] {
            let folder = proc.path().join(folder);
            fs::create_dir_all(folder.join("ns")).unwrap();
            std::os::unix::fs::symlink(format!("mnt:[{namespace}]"), folder.join("ns/mnt")).unwrap();
            fs::write(folder.join("mountinfo"), format!("22 1 0:{namespace} / / rw - tmpfs none rw\n"))
                .unwrap();
        }
        let found = Namespaces::all(proc.path());
        let numbers: Vec<_> = found.mounts.iter().map(|mount| mount.number).collect();
        assert_eq!(numbers, [(0, 1), (0, 2)]);
    }

    /// As before Linux 6.12.
    #[test]
    fn namespace_that_the_kernel_does_not_list_is_found_by_descriptors() {
        use std::io::{BufRead, BufReader, Write};
        use std::process::{Command, Stdio};
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", "mount -t tmpfs marked /mnt && echo ready && read wait"]);
        let child = unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return println!("skipped: there is no unshare(1) here") };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let kept = File::open(format!("/proc/{}/ns/mnt", child.id()));
        let _ = child.stdin.take().unwrap().write_all(b"end\n");
        child.wait().unwrap();
        if line != "ready\n" {
            return println!("skipped: cannot mount in a namespace here");
        }
        let is_found = || {
            let found = Namespaces::with(Path::new("/proc"), Vec::new());
            found
                .mounts
                .iter()
                .any(|mount| mount.source == Path::new("marked") && mount.at == Path::new("/mnt"))
        };
        assert!(is_found());
        drop(kept);
        // The survey of another program may be in it.
        let is_gone = (0..40).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(25));
            !is_found()
        });
        assert!(is_gone);
    }
}
