//! Why the page accesses of a PostgreSQL could not be recorded, and what to do about it.

use crate::record::RecordError;
use std::io;
use std::path::PathBuf;

/// Why page accesses could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// The program does not exist.
    #[error("'{}' does not exist; Debian's server is /usr/lib/postgresql/15/bin/postgres", path.display())]
    NoProgram {
        /// As given.
        path: PathBuf,
    },
    /// The program cannot be read.
    #[error("cannot read '{}': {source}", path.display())]
    Program {
        /// As given.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is not a program with readable probes.
    #[error("'{}' is not a program for 64-bit x86 whose probes can be read: {problem}", path.display())]
    NotElf {
        /// As given.
        path: PathBuf,
        /// The finding.
        problem: String,
    },
    /// The program has no probes at all.
    #[error(
        "'{}' has no probes of PostgreSQL (section .note.stapsdt): a server that was configured with 'enable-dtrace' is \
         required, as Debian's are, and the server itself ('postgres', not 'psql')",
        path.display()
    )]
    NoProbes {
        /// As given.
        path: PathBuf,
    },
    /// A probe is missing, or has not the arguments of the supported versions.
    #[error("'{}' {problem}: the probes of PostgreSQL up to 15 are supported", path.display())]
    Unsupported {
        /// As given.
        path: PathBuf,
        /// The finding about one probe.
        problem: String,
    },
    /// An exported function is missing.
    #[error(
        "'{}' exports no function {function}: it was stripped of its dynamic symbols, which extensions need too",
        path.display()
    )]
    NoFunction {
        /// As given.
        path: PathBuf,
        /// Name of the function.
        function: &'static str,
    },
    /// The kernel has no uprobe events.
    #[error("this kernel cannot probe programs: {missing} is missing (CONFIG_UPROBE_EVENTS)")]
    NoUprobes {
        /// The missing file.
        missing: PathBuf,
    },
    /// The kernel refused the definition of an event.
    #[error("the kernel refuses the event '{definition}': {source}")]
    Event {
        /// Text written to `uprobe_events`.
        definition: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// An event lacks a field that its definition asks for.
    #[error("the event '{event}' has no field '{field}' in this kernel")]
    NoField {
        /// Name of the event.
        event: String,
        /// Name of the field.
        field: &'static str,
    },
    /// No server of this program runs.
    #[error("no server of '{}' runs: start it first", path.display())]
    NotRunning {
        /// As given.
        path: PathBuf,
    },
    /// Several servers of this program run, whose events cannot be separated.
    #[error(
        "{count} servers of '{}' run, and their pages would mix: stop all but one",
        path.display()
    )]
    Several {
        /// As given.
        path: PathBuf,
        /// Number of servers.
        count: usize,
    },
    /// psql failed.
    #[error("{program} failed: {message}")]
    Query {
        /// The program.
        program: String,
        /// Its message, or the reason why it could not be run.
        message: String,
    },
    /// The result of a query has another form.
    #[error("psql returned '{line}' where {expected} was expected")]
    Answer {
        /// The line.
        line: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The unnamed file with the transactions cannot be made, or written.
    #[error("cannot keep the recorded transactions: {0}")]
    Keep(#[source] io::Error),
    /// Tracing failed as for a block device.
    #[error(transparent)]
    Tracing(#[from] RecordError),
}
