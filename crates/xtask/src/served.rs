//! Programs on a drive that `flashlane serve fuse` serves: the options of `scripts/served`.

use crate::record::{check_buffers, count, number, size, size_or_none, work};
use crate::script::{self, Variables};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program to run.
#[derive(Clone, Debug, Subcommand)]
pub enum Program {
    /// A fresh ext4 on the drive, and a command in it; without one, until Ctrl-C
    FileSystem {
        #[command(flatten)]
        drive: Drive,
        /// The command; its directory, also in $DIRECTORY, is that of the file system
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// pgbench on a PostgreSQL whose data lies on the drive
    Pgbench {
        #[command(flatten)]
        drive: Drive,
        /// Scale factor of pgbench: 15 MB each
        #[arg(long, default_value = "10", value_parser = count)]
        scale: u64,
        /// Connections
        #[arg(long, default_value = "4", value_parser = count)]
        clients: u64,
        /// Duration of pgbench in seconds
        #[arg(long, default_value = "30", value_parser = count)]
        seconds: u64,
        /// Another setting of PostgreSQL, as in `max_wal_size=1GB`; may be repeated
        #[arg(long, value_name = "NAME=VALUE")]
        set: Vec<String>,
        #[command(flatten)]
        database: Database,
    },
    /// Queries with PostgreSQL's defaults and with the settings that `flashlane advise` proposes for the drive, in turn
    #[command(mut_arg("device", |arg| arg.default_value("sim:ssd-s,capacity=2GiB")))]
    Advice {
        #[command(flatten)]
        drive: Drive,
        /// Rows of the table: 128 bytes each
        #[arg(long, default_value = "3M", value_parser = count)]
        rows: u64,
        /// Times that each query is made with each settings
        #[arg(long, default_value = "5", value_parser = count)]
        rounds: u64,
        #[command(flatten)]
        database: Database,
    },
}

/// A PostgreSQL.
#[derive(Args, Clone, Debug)]
pub struct Database {
    /// shared_buffers; at least 128KiB
    #[arg(long, default_value = "32MiB", value_parser = size)]
    buffers: u64,
    /// The directory of PostgreSQL's programs; by default Debian's
    #[arg(long, value_name = "DIR")]
    postgres: Option<PathBuf>,
}

impl Database {
    fn check(&self) -> Result<Variables> {
        check_buffers(self.buffers)?;
        let postgres = self.postgres.clone().unwrap_or_default();
        Ok(vec![("BUFFERS", number(self.buffers)), ("POSTGRES", postgres.into())])
    }
}

/// The served drive.
#[derive(Args, Clone, Debug)]
pub struct Drive {
    /// The device to serve; a real one requires `--serve=--destroy-data`
    #[arg(default_value = "sim:ssd-s,capacity=1GiB")]
    device: String,
    /// An argument of `flashlane serve fuse`, as in `--serve=--slowdown --serve=4`; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    serve: Vec<String>,
    /// Memory of the program, with its page cache; 0 for no limit
    #[arg(long, default_value = "0", value_parser = size_or_none)]
    memory: u64,
    /// A directory for mount points and sockets
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    work: PathBuf,
}

impl Drive {
    fn check(&self) -> Result<Variables> {
        Ok(vec![
            ("DEVICE", self.device.clone().into()),
            ("OPTIONS", lines("--serve", &self.serve)?),
            ("MEMORY", number(self.memory)),
            ("WORK_IN", work(&self.work)?),
        ])
    }
}

/// Returns arguments as lines.
fn lines(option: &str, arguments: &[String]) -> Result<OsString> {
    if let Some(argument) = arguments.iter().find(|argument| argument.contains('\n')) {
        bail!("{option} {argument:?}: line breaks are not passed on");
    }
    Ok(arguments.join("\n").into())
}

impl Program {
    /// Returns the script's name, variables and arguments.
    fn check(&self) -> Result<(&'static str, Variables, &[OsString])> {
        Ok(match self {
            Self::FileSystem { drive, command } => ("file-system", drive.check()?, command),
            Self::Pgbench { drive, scale, clients, seconds, set, database } => {
                if let Some(setting) = set.iter().find(|setting| !setting.contains('=')) {
                    bail!("--set {setting}: a setting is NAME=VALUE");
                }
                let all = [("SCALE", scale), ("CLIENTS", clients), ("RUN_SECONDS", seconds)];
                let mut variables = [drive.check()?, database.check()?].concat();
                variables.extend(all.map(|(name, value)| (name, number(*value))));
                variables.push(("SETTINGS", lines("--set", set)?));
                ("pgbench", variables, &[])
            }
            Self::Advice { drive, rows, rounds, database } => {
                let mut variables = [drive.check()?, database.check()?].concat();
                variables.extend([("ROWS", number(*rows)), ("ROUNDS", number(*rounds))]);
                ("advice", variables, &[])
            }
        })
    }
}

/// Runs a program on a served drive.
///
/// # Errors
/// Where an option is out of range, or the script fails.
pub fn run(root: &Path, program: &Program) -> Result<()> {
    let (script, variables, arguments) = program.check()?;
    script::run(root, &format!("served/{script}"), variables, arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        program: Program,
    }

    fn checked(line: &str) -> Result<(&'static str, Variables, Vec<OsString>), String> {
        let words = std::iter::once("served").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let (script, variables, arguments) = line.program.check().map_err(|error| error.to_string())?;
        Ok((script, variables, arguments.to_vec()))
    }

    #[test]
    fn every_program_has_a_script_that_reads_its_variables() {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
        let read = |name: &str| std::fs::read_to_string(scripts.join(name)).unwrap();
        for name in ["file-system", "pgbench", "advice"] {
            let (script, variables, _) = checked(name).unwrap();
            let text = read(&format!("served/{script}")) + &read("lib.sh") + &read("postgres.sh");
            for (variable, _) in variables {
                assert!(text.contains(variable), "{name}: {variable}");
            }
        }
    }

    #[test]
    fn arguments_of_the_server_and_the_command_are_passed_on() {
        let (_, variables, command) =
            checked("file-system sim:ssd-m --serve=--slowdown --serve=4 -- dd if=/dev/zero").unwrap();
        let value = |of: &str| variables.iter().find(|(name, _)| *name == of).unwrap().1.clone();
        assert_eq!((value("DEVICE"), value("OPTIONS")), ("sim:ssd-m".into(), "--slowdown\n4".into()));
        assert_eq!(command, ["dd", "if=/dev/zero"]);
        let settings = checked("pgbench --set a=1 --set b=2").unwrap().1;
        assert!(settings.contains(&("SETTINGS", "a=1\nb=2".into())));
        assert!(checked("pgbench --set a").unwrap_err().contains("NAME=VALUE"));
        assert!(checked("pgbench --buffers 1k").unwrap_err().contains("128 KiB"));
    }
}
