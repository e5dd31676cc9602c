//! The running server: its process, its relations and its own counters, asked through psql.
//!
//! psql connects to the server's first socket, as the server's user, so that peer authentication lets it in. Where the
//! server has no socket, the environment says how (`PGHOST`, `PGPORT`, `PGUSER` …).

use super::assemble::PageName;
use super::error::PostgresError;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// A fork of a relation: a file of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// `schema.name`, with the fork behind it where it is not the relation itself.
    pub name: String,
    /// Number of its file.
    pub file: u32,
    /// As in [`PageName::fork`].
    pub fork: u8,
    /// Length in pages.
    pub pages: u32,
}

impl Relation {
    /// The page `block` of it.
    pub fn page(&self, block: u32) -> PageName {
        PageName { file: self.file, fork: self.fork, block }
    }
}

/// A database of the running server.
#[derive(Debug)]
pub struct Database {
    psql: PathBuf,
    user: u32,
    group: u32,
    /// Its data directory.
    data: PathBuf,
    /// Folder of the socket, and the port that its name contains.
    socket: Option<(String, String)>,
    name: String,
    /// Number of the database.
    pub(super) oid: u32,
    /// Length of its pages.
    pub page_bytes: u32,
    /// Version of the server.
    pub version: String,
}

/// Questions until a count stands still, and the time between them.
const SETTLING_STEPS: u32 = 30;
const SETTLING_STEP: Duration = Duration::from_millis(100);

/// Relations of a database that have storage, in the order of their creation; shared ones belong to the cluster.
const RELATIONS: &str = "SELECT c.oid, pg_relation_filenode(c.oid), f.number, pg_relation_size(c.oid, f.name) / \
    current_setting('block_size')::bigint, n.nspname || '.' || c.relname || f.suffix \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, \
    (VALUES (0, 'main', ''), (1, 'fsm', ' (free space map)'), (2, 'vm', ' (visibility map)')) AS f (number, name, suffix) \
    WHERE pg_relation_filenode(c.oid) IS NOT NULL AND NOT c.relisshared ORDER BY c.oid, f.number";

impl Database {
    /// Connects to the database `name` of the one server of `program` that runs.
    pub(super) fn find(program: &Path, name: &str) -> Result<Self, PostgresError> {
        let server = server_of(program)?;
        let process = Path::new("/proc").join(server.to_string());
        let metadata = fs::metadata(&process)
            .map_err(|source| PostgresError::Program { path: process.clone(), source })?;
        let beside = program.with_file_name("psql");
        let psql = if beside.exists() { beside } else { "psql".into() };
        let mut database = Self {
            psql,
            user: metadata.uid(),
            group: metadata.gid(),
            data: fs::read_link(process.join("cwd")).unwrap_or_else(|_| process.join("cwd")),
            socket: fs::read_to_string(process.join("cwd/postmaster.pid")).ok().as_deref().and_then(socket),
            name: name.into(),
            oid: 0,
            page_bytes: 0,
            version: String::new(),
        };
        let facts = "SELECT oid, current_setting('block_size'), current_setting('server_version') \
            FROM pg_database WHERE datname = current_database()";
        let answer = database.ask(name, facts)?;
        let mut fields = answer.trim_end().splitn(3, '\t');
        let mut number = || fields.next()?.parse().ok();
        let parsed = (|| Some((number()?, number()?)))();
        let wrong = || PostgresError::Answer { line: answer.clone(), expected: "a database" };
        (database.oid, database.page_bytes) = parsed.ok_or_else(wrong)?;
        database.version = fields.next().ok_or_else(wrong)?.into();
        Ok(database)
    }

    /// Returns the relations with their present sizes, in the order of their creation.
    ///
    /// # Errors
    /// psql fails.
    pub fn relations(&self) -> Result<Vec<Relation>, PostgresError> {
        self.ask(&self.name, RELATIONS)?.lines().map(relation).collect()
    }

    /// Returns the pages read, hits and misses, by the server's own count.
    ///
    /// # Errors
    /// psql fails.
    pub fn blocks_read(&self) -> Result<u64, PostgresError> {
        let query = format!("SELECT blks_hit + blks_read FROM pg_stat_database WHERE datid = {}", self.oid);
        // Asked from another database, so that the question does not count.
        let answer = self.ask("template1", &query)?;
        let line = answer.trim_end();
        line.parse().map_err(|_| PostgresError::Answer { line: line.into(), expected: "a number of pages" })
    }

    /// Returns the pages read once the count stands still at `least` or more; what it is then after three seconds. A
    /// session adds its pages when it ends, or about once a second.
    ///
    /// # Errors
    /// psql fails.
    pub fn settled_blocks_read(&self, least: u64) -> Result<u64, PostgresError> {
        let mut before = self.blocks_read()?;
        for _ in 0..SETTLING_STEPS {
            thread::sleep(SETTLING_STEP);
            let now = self.blocks_read()?;
            if now == before && now >= least {
                break;
            }
            before = now;
        }
        Ok(before)
    }

    /// Returns the present end of the log.
    pub(super) fn log_end(&self) -> Result<String, PostgresError> {
        Ok(self.ask("template1", "SELECT pg_current_wal_insert_lsn()")?.trim_end().into())
    }

    /// Returns the database's pages that the log says were changed between two of its positions, by pg_waldump.
    ///
    /// # Errors
    /// pg_waldump fails, such as where that part of the log was removed.
    pub fn changed_pages(&self, (from, to): &(String, String)) -> Result<BTreeSet<PageName>, PostgresError> {
        let program = self.psql.with_file_name("pg_waldump");
        let failed = |message| PostgresError::Query { program: program.display().to_string(), message };
        let mut command = Command::new(&program);
        command.arg("-p").arg(self.data.join("pg_wal")).args(["-s", from, "-e", to]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let mut pages = BTreeSet::new();
        let mut lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines);
        // pg_waldump writes one message at most, so that its other pipe cannot fill up.
        let read = lines.try_for_each(|line| line.map(|line| pages.extend(references(&line, self.oid))));
        read.map_err(|error| failed(error.to_string()))?;
        let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")));
        }
        Ok(pages)
    }

    fn ask(&self, database: &str, query: &str) -> Result<String, PostgresError> {
        let failed = |message| PostgresError::Query { program: self.psql.display().to_string(), message };
        let mut command = Command::new(&self.psql);
        command
            .args(["-X", "-q", "-A", "-t", "-w", "-F", "\t", "-d", database, "-c", query])
            .current_dir("/");
        if let Some((folder, port)) = &self.socket {
            command.env("PGHOST", folder).env("PGPORT", port).env_remove("PGHOSTADDR");
        }
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } == 0 {
            command.uid(self.user).gid(self.group);
        }
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Returns the pages of `database` in a line of pg_waldump: `blkref #0: rel 1663/16384/16396 fork vm blk 4`.
fn references(line: &str, database: u32) -> impl Iterator<Item = PageName> {
    line.split("blkref #").skip(1).filter_map(move |reference| {
        let mut words = reference.split(|c: char| c.is_whitespace() || c == ',').skip(1);
        if words.next()? != "rel" {
            return None;
        }
        let mut file = words.next()?.split('/').skip(1);
        if file.next()?.parse() != Ok(database) {
            return None;
        }
        let file = file.next()?.parse().ok()?;
        let mut key = words.next()?;
        let mut fork = 0;
        if key == "fork" {
            fork = match words.next()? {
                "fsm" => 1,
                "vm" => 2,
                _ => 3,
            };
            key = words.next()?;
        }
        (key == "blk").then_some(())?;
        Some(PageName { file, fork, block: words.next()?.parse().ok()? })
    })
}

fn relation(line: &str) -> Result<Relation, PostgresError> {
    let mut fields = line.splitn(5, '\t').skip(1);
    let mut parsed = || {
        let mut number = || fields.next()?.parse::<u32>().ok();
        let (file, fork, pages) = (number()?, number()?, number()?);
        Some(Relation { name: fields.next()?.into(), file, fork: u8::try_from(fork).ok()?, pages })
    };
    parsed().ok_or_else(|| PostgresError::Answer { line: line.into(), expected: "a relation" })
}

/// Returns the process of the one server of `program`: one whose parent is of another program.
fn server_of(program: &Path) -> Result<u32, PostgresError> {
    let unreadable = |source| PostgresError::Program { path: program.into(), source };
    let program = fs::canonicalize(program).map_err(unreadable)?;
    let runs = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
    let processes = fs::read_dir("/proc").map_err(unreadable)?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let servers: Vec<u32> =
        pids.filter(|&pid| runs(pid) && parent(pid).is_none_or(|parent| !runs(parent))).collect();
    match servers[..] {
        [] => Err(PostgresError::NotRunning { path: program }),
        [server] => Ok(server),
        _ => Err(PostgresError::Several { path: program, count: servers.len() }),
    }
}

/// Returns the socket's folder and port from the text of `postmaster.pid`.
fn socket(text: &str) -> Option<(String, String)> {
    let mut lines = text.lines().skip(3);
    let (port, folder) = (lines.next()?.trim(), lines.next()?.trim());
    folder.starts_with('/').then(|| (folder.into(), port.into()))
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may contain anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relation_is_parsed_with_any_name() {
        let found = relation("2619\t2619\t1\t3\tpublic.odd\tname (free space map)").unwrap();
        assert_eq!(
            found,
            Relation { name: "public.odd\tname (free space map)".into(), file: 2619, fork: 1, pages: 3 }
        );
        assert!(relation("2619\t2619\t1\t\tx").is_err());
        assert!(relation("").is_err());
    }

    #[test]
    fn references_of_the_log_are_pages_of_the_database() {
        let line = "rmgr: Heap2 len (rec/tot): 59/59, tx: 0, lsn: 0/1, prev 0/0, desc: VISIBLE cutoff, \
                    blkref #0: rel 1663/5/2619 fork vm blk 3 FPW, blkref #1: rel 1663/5/2620 blk 7, \
                    blkref #2: rel 1663/6/2620 blk 8";
        let page = |file, fork, block| PageName { file, fork, block };
        assert_eq!(references(line, 5).collect::<Vec<_>>(), [page(2619, 2, 3), page(2620, 0, 7)]);
        assert_eq!(references("desc: COMMIT", 5).count(), 0);
        assert_eq!(references("blkref #0: rel 1663/5", 5).count(), 0);
    }

    #[test]
    fn socket_is_found_where_the_server_has_one() {
        let text = "812\n/data\n1763862000\n5432\n/run/postgresql\n\n  5432001  3\nready   \n";
        assert_eq!(socket(text), Some(("/run/postgresql".into(), "5432".into())));
        assert_eq!(socket(&text.replace("/run/postgresql", "")), None);
        assert_eq!(socket("812\n/data\n"), None);
    }

    #[test]
    fn program_without_server_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("postgres");
        fs::write(&program, "").unwrap();
        assert!(matches!(server_of(&program), Err(PostgresError::NotRunning { .. })));
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
    }
}
