//! Records pgbench on a server made for the test. Requires root, PostgreSQL 15 and uprobe events; elsewhere the test
//! prints that it was skipped, and why.

use crate::blocks::run;
use flashlane_host::{
    Ended, PageAccess, PageTransaction, PostgresError, PostgresRecorder, RecordError, Until,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const TRANSACTIONS: u64 = 200;
const CLIENTS: u64 = 2;

/// A server with its files in a temporary folder.
struct Server {
    folder: tempfile::TempDir,
}

/// Runs one of PostgreSQL's programs as its user.
fn program(name: &str, arguments: &[&str]) -> Result<(), String> {
    let path = format!("{PROGRAMS}/{name}");
    let all = ["-u", "postgres", "--", &path].into_iter().chain(arguments.iter().copied());
    run("runuser", &all.collect::<Vec<_>>()).map(drop)
}

impl Server {
    fn start() -> Result<Self, String> {
        let server = Self { folder: tempfile::tempdir_in("/tmp").unwrap() };
        run("chown", &["postgres", server.at("").to_str().unwrap()])?;
        let (data, log) = (server.at("data"), server.at("log"));
        let (data, log) = (data.to_str().unwrap(), log.to_str().unwrap());
        program("initdb", &["-N", "-D", data])?;
        let options = format!("-k {} -h '' -c fsync=off -c autovacuum=off", server.folder.path().display());
        program("pg_ctl", &["-s", "-w", "-D", data, "-l", log, "-o", &options, "start"])?;
        let socket = server.folder.path().to_str().unwrap();
        program("pgbench", &["-h", socket, "-i", "-q", "-s", "2", "postgres"])?;
        Ok(server)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.at("data");
        if data.join("postmaster.pid").exists() {
            let _ = program("pg_ctl", &["-s", "-m", "immediate", "-D", data.to_str().unwrap(), "stop"]);
        }
    }
}

/// Returns our events and instances in the tracing folder.
fn left() -> Vec<String> {
    let ours = format!("flashlane_{}", std::process::id());
    let events = std::fs::read_to_string("/sys/kernel/tracing/uprobe_events").unwrap_or_default();
    let instance = Path::new("/sys/kernel/tracing/instances").join(&ours);
    let mut found: Vec<String> = events.lines().filter(|line| line.contains(&ours)).map(Into::into).collect();
    found.extend(instance.exists().then(|| instance.display().to_string()));
    found
}

#[test]
fn pgbench_transactions_are_recorded_with_every_access() {
    let path = Path::new(PROGRAMS).join("postgres");
    if !path.exists() {
        return println!("skipped: no PostgreSQL 15 here");
    }
    let recorder = match PostgresRecorder::find(&path) {
        Ok(recorder) => recorder,
        Err(e @ PostgresError::Tracing(RecordError::NotMounted | RecordError::Denied { .. })) => {
            return println!("skipped: {e}");
        }
        Err(e) => panic!("{e}"),
    };
    let server = match Server::start() {
        Ok(server) => server,
        Err(e) => return println!("skipped: no server can be started here: {e}"),
    };
    let socket = server.folder.path().to_str().unwrap();
    let database = match recorder.database("postgres") {
        Ok(database) => database,
        Err(e @ PostgresError::Several { .. }) => return println!("skipped: {e}"),
        Err(e) => panic!("{e}"),
    };
    assert_eq!(database.page_bytes, 8192);
    let relations = database.relations().unwrap();
    let accounts = relations.iter().find(|relation| relation.name == "public.pgbench_accounts").unwrap();
    assert!(accounts.pages > 3000, "{accounts:?}");
    let command = format!(
        "exec runuser -u postgres -- {PROGRAMS}/pgbench -n -h {socket} -c {CLIENTS} -t {} postgres",
        TRANSACTIONS / CLIENTS
    );
    let until = Until::Exited(["sh", "-c", &command].map(OsString::from).to_vec());
    let before = database.settled_blocks_read(0).unwrap();
    let recorded = match recorder.record(&database, &until, server.folder.path()) {
        Ok(recorded) => recorded,
        Err(e @ (PostgresError::NoUprobes { .. } | PostgresError::Tracing(RecordError::Denied { .. }))) => {
            return println!("skipped: {e}");
        }
        Err(e) => panic!("{e}"),
    };
    assert!(matches!(recorded.ended, Ended::Exited(status) if status.success()), "{:?}", recorded.ended);
    assert_eq!(left(), [""; 0], "the kernel still has events or an instance");
    let counts = &recorded.counts;
    assert_eq!(recorded.transactions.clients(), CLIENTS as usize);
    assert_eq!((recorded.lost_events, counts.losses, counts.aborted, counts.incomplete), (0, 0, 0, 0));
    assert_eq!(
        counts.reads,
        database.settled_blocks_read(before + counts.reads).unwrap() - before,
        "the server counts otherwise: {counts:?}"
    );
    let changed = database.changed_pages(&recorded.log).unwrap();
    assert!(changed.len() > 100 && changed.is_subset(&recorded.dirtied), "the log has other pages");
    let transactions: Vec<PageTransaction> = recorded.transactions.collect::<Result<_, _>>().unwrap();
    assert_eq!(counts.committed, transactions.len() as u64);
    // Each updates one account, one teller and one branch, and adds a line of history.
    let full: Vec<_> = transactions
        .iter()
        .filter(|transaction| {
            let writes = |page: &PageAccess| page.is_write && page.page.file == accounts.file;
            transaction.accesses.iter().any(writes)
        })
        .collect();
    assert_eq!(full.len() as u64, TRANSACTIONS);
    for transaction in full {
        // Sessions that wait for the extension of the history add twenty pages each at once, and enter them into its
        // free space map: the history has no upper bound.
        for (table, most) in [("accounts", 10), ("tellers", 10), ("branches", 10), ("history", usize::MAX)] {
            let name = format!("public.pgbench_{table}");
            let file = relations.iter().find(|relation| relation.name == name).unwrap().file;
            let is_its_write =
                |access: &&PageAccess| access.is_write && (access.page.file, access.page.fork) == (file, 0);
            let writes = transaction.accesses.iter().filter(is_its_write).count();
            assert!((1..=most).contains(&writes), "{writes} of {table}: {transaction:?}");
        }
        assert!(transaction.cpu_ns > 0);
        for access in &transaction.accesses {
            let has = |relation: &&flashlane_host::Relation| {
                (relation.file, relation.fork) == (access.page.file, access.page.fork)
            };
            assert!(relations.iter().any(|relation| has(&relation)), "{access:?} is in no relation");
        }
    }
    // A page made dirty was read before, by some process, or while the server started.
    assert!(counts.dirty_unknown < TRANSACTIONS, "{counts:?}");
}
