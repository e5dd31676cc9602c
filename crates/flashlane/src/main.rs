//! The command line: parse, call, exit status.
//!
//! Every command checks its arguments before it opens or writes anything, but for what only the open device tells. It
//! prints its result before it writes files, and exits with 0 (done), 1 (failed, partial, or a verdict missed) or 2
//! (unusable arguments). An error is one paragraph on standard error.

mod allocator;
mod arguments;
mod command;
mod device;
mod device_argument;
mod failure;
mod files;
mod harness;
mod input;
mod options;
mod output;
mod preflight;
mod progress;
mod refusal;
mod suggest;
mod sweep;
mod terminal;
mod workload;

use arguments::Arguments;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use failure::{Status, notify};
use flashlane_workload::{KEYS, fio_word};
use std::io;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    flashlane_host::reserve_stack();
    let (arguments, matches) = match parse() {
        Ok(parsed) => parsed,
        Err(error) => return refuse(&error),
    };
    let whole = Arguments::command();
    match files::check(&whole, &matches).and_then(|()| command::call(arguments.command)) {
        Ok(status) => status.into(),
        Err(failure) => {
            if failure.status == Status::Unusable {
                files::remove_created(&whole, &matches);
            }
            output::remove_empty_directories();
            match files::device_given(&whole, &matches) {
                Some(device) => failure.print_of(&device),
                None => failure.print(),
            }
            failure.status.into()
        }
    }
}

/// Parses the command line. Also returns the values of all arguments as they were given.
fn parse() -> Result<(Arguments, ArgMatches), clap::Error> {
    let matches = Arguments::command().try_get_matches()?;
    let arguments = Arguments::from_arg_matches(&matches);
    Ok((arguments.map_err(|error| error.format(&mut Arguments::command()))?, matches))
}

/// Returns the hint for an unknown option that is a workload key of ours (`--depth=4`) or of fio (`--rw=randread`).
fn key_of_workload(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || std::env::args().nth(1).as_deref() != Some("run") {
        return None;
    }
    let option = option.strip_prefix("--")?;
    // The error lacks the value after '='.
    let typed = std::env::args()
        .find_map(|argument| Some(argument.strip_prefix(&format!("--{option}="))?.to_owned()));
    let value = typed.unwrap_or_default();
    let ours = match KEYS.iter().find(|key| key.name == option) {
        Some(_) => format!("'{option}' is a key of the workload"),
        None => fio_word(option, &value)?,
    };
    let sample = "'random-read,size=4k,depth=32'";
    Some(format!("{ours}: write it in the workload, after the pattern, as in {sample}"))
}

/// Returns the hint for `--repeat` without `--sweep`.
fn repeated_without_sweep(error: &clap::Error) -> Option<String> {
    let is_given = |option| std::env::args().any(|argument| argument.split('=').next() == Some(option));
    if error.kind() != ErrorKind::MissingRequiredArgument || !is_given("--repeat") || is_given("--sweep") {
        return None;
    }
    let hint = "--repeat measures the points of a sweep several times: add --sweep KEY=VALUES; one value makes one point, \
                as in '--sweep workload.depth=4'";
    Some(hint.into())
}

/// Returns the hint for `--allow-page-cache` at a command that keeps data and measures nothing.
fn page_cache_is_allowed(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let command = std::env::args().nth(1).filter(|command| matches!(&**command, "store" | "sdf"))?;
    let is_unknown = error.kind() == ErrorKind::UnknownArgument && option == "--allow-page-cache";
    is_unknown.then(|| {
        format!(
            "--allow-page-cache is for measurements: this command of '{command}' measures nothing, and uses the page cache \
             wherever the file system has no direct I/O; leave the option out"
        )
    })
}

/// Returns the hint for an option of `probe` at `advise`.
fn option_of_probe(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument && matches!(&**option, "--page" | "--p99");
    (is_unknown && std::env::args().nth(1).as_deref() == Some("advise")).then(|| {
        format!(
            "unexpected argument '{option}' found: 'advise' measures the pages of its program; 'flashlane probe DEVICE --page 8k \
             --p99 1ms' recommends how many requests of a size to keep in flight, within a latency"
        )
    })
}

/// Returns which argument is not UTF-8 where it has to be.
fn not_text(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidUtf8 {
        return None;
    }
    let found = std::env::args_os().skip(1).find(|argument| argument.to_str().is_none())?;
    Some(format!(
        "'{}' is not UTF-8, as the specs of devices, workloads and names have to be: name a file through a link with another \
         name",
        found.to_string_lossy()
    ))
}

/// Prints requested help, or an error in the arguments in the form of any other error.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        match error.print() {
            Err(failed) if !error.use_stderr() && failed.kind() != io::ErrorKind::BrokenPipe => {
                notify(&format!("cannot write to standard output: {failed}"));
                return Status::Failed.into();
            }
            // A failure to print on standard error cannot be reported anywhere.
            _ => {}
        }
    } else {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        // Drop the tip to pass an unknown option as a value: no value begins with '--'.
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("tip: to pass '"));
        let text = lines.collect::<Vec<_>>().join("\n").replace("\n\n\n", "\n\n");
        let help = "For more information, try '--help'.";
        let hint = key_of_workload(error)
            .or_else(|| repeated_without_sweep(error))
            .or_else(|| page_cache_is_allowed(error))
            .or_else(|| option_of_probe(error))
            .or_else(|| not_text(error));
        notify(&hint.map_or(text, |hint| format!("{hint}\n\n{help}")));
    }
    if error.use_stderr() { Status::Unusable.into() } else { Status::Done.into() }
}
