//! One rule for all commands: a file that a command reads or writes is not the device that it was given, under any
//! name. Standard output and standard error are such files, where the shell led them there.
//!
//! The rule walks the parsed command line instead of asking each command: every [`DeviceArgument`] is a device, every
//! `PathBuf` a file, but for those that repeat the path of a device. A new option is covered by its type.

use crate::device_argument::DeviceArgument;
use crate::failure::Failure;
use crate::workload::{Word, WorkloadSource};
use anyhow::anyhow;
use clap::{Arg, ArgMatches, Command};
use flashlane_host::{is_on_device, is_same_file, redirect_standard_error};
use flashlane_open::{Target, log_beside};
use flashlane_trace::is_standard_input;
use std::path::{Path, PathBuf};

/// Arguments whose path repeats that of a device.
const REPEATED: [&str; 2] = ["really", "really_log"];
/// The argument for the log of a store, which is beside its device unless it is given.
const LOG: &str = "log";
/// The option that allows a device to be overwritten.
const DESTROYS: &str = "destroy_data";

/// Paths of what the program writes to.
const STANDARD_OUTPUT: &str = "/dev/stdout";
const STANDARD_ERROR: &str = "/dev/stderr";

/// A device of the command line, as its argument is called there.
struct Device {
    label: String,
    device: DeviceArgument,
}

impl Device {
    /// Returns the paths at which the device has its data.
    fn places(&self) -> Vec<Named> {
        let Ok(target) = self.device.target() else { return Vec::new() };
        let paths = target.path().into_iter().chain(target.bytes_file());
        paths.map(|path| Named { label: self.label.clone(), path: path.into() }).collect()
    }
}

/// Removes the files that a command made for its devices before it found its arguments unusable.
pub fn remove_created(command: &Command, matches: &ArgMatches) {
    let (command, matches) = innermost(command, matches);
    for Device { device, .. } in devices(command, matches) {
        device.resolved().into_iter().for_each(Target::remove_created);
    }
}

/// Returns the device that a command was given as its argument `DEVICE`.
pub fn device_given(command: &Command, matches: &ArgMatches) -> Option<Target> {
    let (command, matches) = innermost(command, matches);
    let given = devices(command, matches).into_iter().find(|device| device.label == "DEVICE")?;
    given.device.target().ok().cloned()
}

/// A file of the command line, as its argument is called there.
struct Named {
    label: String,
    path: PathBuf,
}

/// Returns the files to which all commands write, if the shell made them such.
fn written() -> [Named; 2] {
    [("standard output", STANDARD_OUTPUT), ("standard error", STANDARD_ERROR)]
        .map(|(label, path)| Named { label: label.into(), path: path.into() })
}

/// Refuses a file that is a device of the command, or the file in which a layer of one keeps its bytes, and one on a
/// device that is overwritten. A device that cannot be resolved passes, as where a sweep completes it: the command says
/// why when it resolves it.
pub fn check(command: &Command, matches: &ArgMatches) -> Result<(), Failure> {
    let (command, matches) = innermost(command, matches);
    let destroys = matches.try_get_one::<bool>(DESTROYS).ok().flatten().is_some_and(|given| *given);
    let files: Vec<Named> = files(command, matches).into_iter().chain(written()).collect();
    let places: Vec<Named> = devices(command, matches).iter().flat_map(Device::places).collect();
    let is_device = |path: &str| places.iter().any(|place| is_same_file(&place.path, Path::new(path)));
    for place in &places {
        let is_lost = |file: &Named| destroys && is_on_device(&file.path, &place.path);
        let clashing = files.iter().find(|file| is_same_file(&place.path, &file.path) || is_lost(file));
        // The log of a store can be on the file system of its device.
        if let Some(file) = clashing.or_else(|| places.iter().find(|other| is_lost(other))) {
            let refusal = refusal(file, place);
            // The refusal must not be written there.
            if is_device(STANDARD_ERROR) {
                redirect_standard_error(!is_device(STANDARD_OUTPUT)).map_err(Failure::failed)?;
            }
            return Err(refusal);
        }
    }
    Ok(())
}

fn refusal(file: &Named, device: &Named) -> Failure {
    let (Named { label, path }, Named { label: device, path: place }) = (file, device);
    let relation = if is_same_file(place, path) { "is the file of" } else { "is on" };
    Failure::unusable(anyhow!(
        "{label} '{}' {relation} {device}, '{}', and no file of a command may be what it measures or stores in; nothing was \
         touched: give another of the two",
        path.display(),
        place.display()
    ))
}

/// Returns the subcommand that is called, with its arguments.
fn innermost<'a>(mut command: &'a Command, mut matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    while let Some((name, inner)) = matches.subcommand() {
        command = command.find_subcommand(name).expect("only known subcommands are parsed");
        matches = inner;
    }
    (command, matches)
}

/// Returns the values of an argument, if they have this type.
fn values<'a, T: Clone + Send + Sync + 'static>(
    matches: &'a ArgMatches,
    argument: &Arg,
) -> impl Iterator<Item = &'a T> {
    matches.try_get_many(argument.get_id().as_str()).ok().flatten().into_iter().flatten()
}

/// Returns what an argument is called: its option, or the name of its value.
fn label(argument: &Arg) -> String {
    let value = || argument.get_value_names().and_then(|names| Some(names.first()?.to_string()));
    let option = argument.get_long().map(|long| format!("--{long}"));
    option.or_else(value).unwrap_or_else(|| argument.get_id().to_string())
}

fn devices(command: &Command, matches: &ArgMatches) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    for argument in command.get_arguments() {
        let given = values::<DeviceArgument>(matches, argument).cloned();
        devices.extend(given.map(|device| Device { label: label(argument), device }));
    }
    // A store has its log on a device too.
    if let (Ok(None), [Device { device, .. }]) = (matches.try_get_one::<DeviceArgument>(LOG), &devices[..])
        && let Some(log) = device.target().ok().and_then(|target| log_beside(target).ok())
    {
        devices.push(Device { label: "the log of DEVICE".into(), device: DeviceArgument::new(log) });
    }
    devices
}

fn files(command: &Command, matches: &ArgMatches) -> Vec<Named> {
    let mut files = Vec::new();
    for argument in command.get_arguments().filter(|argument| !REPEATED.contains(&argument.get_id().as_str()))
    {
        let paths = values::<PathBuf>(matches, argument).map(|path| match is_standard_input(path) {
            // Files are also read from standard input, or written to standard output.
            true => PathBuf::from(if argument.is_positional() { "/dev/stdin" } else { STANDARD_OUTPUT }),
            false => path.clone(),
        });
        files.extend(paths.map(|path| Named { label: label(argument), path }));
        let words: Vec<Word> = values::<Word>(matches, argument).cloned().collect();
        let job = Word::joined(&words);
        let job = WorkloadSource::job_file(&job);
        files.extend(job.map(|path| Named { label: "the job file".into(), path: path.into() }));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    fn leaves<'a>(command: &'a Command, into: &mut Vec<&'a Command>) {
        if command.has_subcommands() {
            command.get_subcommands().for_each(|inner| leaves(inner, into));
        }
        into.push(command);
    }

    #[test]
    fn arguments_with_the_names_of_files_are_paths() {
        let command = Arguments::command();
        let mut commands = Vec::new();
        leaves(&command, &mut commands);
        let mut seen = 0;
        for argument in commands.iter().flat_map(|command| command.get_arguments()) {
            let name = label(argument);
            let value = argument.get_value_names().map(|names| names[0].to_string()).unwrap_or_default();
            let is_file = ["FILE", "DIR", "TRACE", "MOUNT", "RECORDING", "PATH"].contains(&value.as_str());
            // Paths within a store are no files of this machine.
            let is_stored = argument.is_positional() && value == "PATH";
            if !is_file || is_stored {
                continue;
            }
            let parsed = argument.get_value_parser().type_id();
            assert_eq!(parsed, std::any::TypeId::of::<PathBuf>(), "{name} {value}");
            seen += 1;
        }
        assert!(seen > 20, "{seen}");
    }
}
