//! `flashlane serve`: a device for any program, in real time.

mod live;
mod recording;

use crate::device::{self as devices, Opening};
use crate::failure::{Failure, Status, notify};
use crate::options::{self, SafetyOptions};
use crate::output::print;
use crate::preflight;
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::{exact_bytes, format_bytes, parse_bytes};
use flashlane_device::DataDevice;
use flashlane_device::spec::Spec;
use flashlane_host::{DEPTH_DEFAULT, is_same_file};
use flashlane_open::Target;
use flashlane_serve::nbd::Export;
use flashlane_serve::{
    Address, Bound, CLIENT_MEMORY_BYTES_MIN, DATA_BYTES_MIN, ListenError, Options, RealTime, Server,
    how_to_connect,
};
use flashlane_trace::is_standard_output;
use live::Live;
use recording::Recording;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Serve a device to other programs, a simulated drive at its own speed in real time: nbd
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  flashlane serve nbd sim:ssd-s --socket ./drive.sock
  flashlane serve nbd sim:nvme-tlc --listen 127.0.0.1:10809 --slowdown 4 --memory 2GiB
  flashlane serve nbd ./image --socket ./drive.sock --read-only

docs/serve.md describes time, clients and limits.";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Serve NBD clients until Ctrl-C: fio, qemu, nbdcopy, the kernel's
    #[command(after_help = NBD_HELP)]
    Nbd(NbdOptions),
}

const NBD_HELP: &str = "\
A simulated drive completes each request when the wall clock reaches the simulated time, and keeps
its data in memory until the end. Where replies are late by more than a tenth of its latency, the
run is not valid, and the output says so, with the slowdown that would do. A real device is served
as fast as it is. Ctrl-C and SIGTERM end the server.";

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("place").required(true).multiple(true).args(["socket", "listen"]))]
struct NbdOptions {
    /// Simulated drive, file or block device
    #[arg(value_parser = options::device)]
    device: Spec,
    /// Listen on this Unix socket, which can be reached by the user of the server only
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Listen on this address; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Vec<SocketAddr>,
    /// Allow addresses that other machines can reach: they can then read and write the device
    #[arg(long)]
    allow_remote: bool,
    /// Refuse writes; a real device requires no permission then
    #[arg(long)]
    read_only: bool,
    /// Stretch all simulated times by N, for a drive that is too fast for this machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value = "1")]
    slowdown: u32,
    /// Memory for the data of a simulated drive; writes of new data beyond it fail. Default: half of the machine's
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Clients at most
    #[arg(long, value_name = "N", value_parser = options::positive_count, default_value = "64")]
    clients: u64,
    /// Memory of requests and replies of all clients
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256MiB")]
    client_memory: u64,
    /// Record what clients ask for in this new trace, compressed if it ends in .gz, .xz, .zst or .zstd
    #[arg(long, value_name = "TRACE")]
    record: Option<PathBuf>,
    /// Format of the trace; default: from its ending, as in TRACE.msr
    #[arg(long, value_name = "NAME", requires = "record")]
    to: Option<String>,
    /// Overwrite the trace if it exists; anything else is kept
    #[arg(long, requires = "record")]
    force: bool,
    /// Root of all randomness of a simulated drive
    #[arg(long, value_name = "N", value_parser = options::seed, default_value = "1")]
    seed: Seed,
    #[command(flatten)]
    safety: SafetyOptions,
}

/// Requests in flight at a real device.
const DEPTH: u64 = 256;

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Action::Nbd(options) = &arguments.action;
    let target = devices::resolve(&options.device)?;
    check_paths(&target, options)?;
    let data_bytes = check(&target, options)?;
    let mut addresses: Vec<Address> = options.listen.iter().copied().map(Address::Tcp).collect();
    addresses.extend(options.socket.clone().map(Address::Unix));
    let recording = match &options.record {
        Some(path) => Some(Recording::begin(path, options.to.as_deref(), options.force, options.slowdown)?),
        None => None,
    };
    let bound = Bound::bind(&addresses, options.allow_remote).map_err(|error| {
        Failure::unusable(match error {
            ListenError::Remote(_) => anyhow!("{error}; --allow-remote allows it"),
            ListenError::Refused(_) => error.into(),
        })
    })?;
    let device = preflight::creating(&target, &options.safety, || open(&target, options))?;
    warn_of_memory(&target, data_bytes);
    let serving = Options {
        clients_max: options.clients as usize,
        memory_bytes: options.client_memory as usize,
        data_bytes,
        read_only: options.read_only,
        description: target.to_string(),
    };
    match target.is_simulated() {
        true => {
            let device = RealTime::new(device, options.slowdown);
            serve(bound.serve(device, serving), &target, Some(options.slowdown), recording)
        }
        false => serve(bound.serve(device, serving), &target, None, recording),
    }
}

/// Refuses one file for two purposes: the device, its trace and the socket.
fn check_paths(target: &Target, options: &NbdOptions) -> Result<(), Failure> {
    if options.record.as_deref().is_some_and(is_standard_output) {
        return Err(Failure::unusable(anyhow!(
            "--record - would mix the trace with the lines of each second: give it a file"
        )));
    }
    let device = target.path().map(|path| ("the served device", path));
    let record = options.record.as_deref().map(|path| ("--record", path));
    let socket = options.socket.as_deref().map(|path| ("--socket", path));
    for (one, other) in [(device, record), (device, socket), (record, socket)] {
        if let (Some((one, path)), Some((other, other_path))) = (one, other)
            && is_same_file(path, other_path)
        {
            return Err(Failure::unusable(anyhow!(
                "{other} {} is the file of {one}: give each a path that the other does not lead to",
                other_path.display()
            )));
        }
    }
    Ok(())
}

/// Checks the arguments before anything is opened. Returns the memory for the data of a simulated drive.
fn check(target: &Target, options: &NbdOptions) -> Result<Option<u64>, Failure> {
    if target.capabilities().erase_units {
        return Err(Failure::unusable(anyhow!(
            "a served device requires random access, but '{target}' has erase units, which are written in order and \
             erased as a whole"
        )));
    }
    if options.client_memory < CLIENT_MEMORY_BYTES_MIN as u64 {
        return Err(Failure::unusable(anyhow!(
            "--client-memory {}: at least {} is required, for the longest request and its reply",
            exact_bytes(options.client_memory),
            exact_bytes(CLIENT_MEMORY_BYTES_MIN as u64)
        )));
    }
    if !target.is_simulated() {
        if options.slowdown > 1 {
            return Err(Failure::unusable(anyhow!(
                "--slowdown stretches simulated times, but '{target}' is a real device"
            )));
        }
        if options.memory.is_some() {
            return Err(Failure::unusable(anyhow!(
                "--memory is for the data of a simulated drive, but '{target}' keeps its own"
            )));
        }
        if !options.read_only {
            preflight::consent(target, &options.safety, "a client", "serve it with --read-only")?;
        }
        return Ok(None);
    }
    let machine_bytes = flashlane_host::machine_memory_bytes();
    let memory_bytes = options.memory.unwrap_or(machine_bytes / 2);
    if memory_bytes < DATA_BYTES_MIN {
        return Err(Failure::unusable(anyhow!(
            "--memory {}: at least {} is required, the memory of the shortest write",
            exact_bytes(memory_bytes),
            exact_bytes(DATA_BYTES_MIN)
        )));
    }
    if memory_bytes > machine_bytes {
        return Err(Failure::unusable(anyhow!(
            "--memory {} exceeds the {} of this machine",
            exact_bytes(memory_bytes),
            format_bytes(machine_bytes)
        )));
    }
    Ok(Some(memory_bytes))
}

/// Warns that a simulated drive may be written beyond the memory for its data. Data takes memory once it is written.
fn warn_of_memory(target: &Target, data_bytes: Option<u64>) {
    if let (Some(capacity_bytes), Some(data_bytes)) = (target.capacity_bytes(), data_bytes)
        && capacity_bytes > data_bytes
    {
        notify(&format!(
            "warning: the data of '{target}' is kept in memory, at most {} of {}: writes of new data beyond it fail with \
             ENOSPC; --memory changes the limit",
            format_bytes(data_bytes),
            format_bytes(capacity_bytes)
        ));
    }
}

/// Warns of the end of a file that is no whole unit of requests, which clients do not see.
fn warn_of_tail(target: &Target, export: &Export) {
    let length_bytes = target.path().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
    let tail_bytes = length_bytes.saturating_sub(export.size_bytes);
    if tail_bytes > 0 {
        notify(&format!(
            "warning: the last {} of '{target}' are not served: its length is no multiple of {}, the unit of its requests",
            exact_bytes(tail_bytes),
            exact_bytes(export.unit_bytes)
        ));
    }
}

fn open(target: &Target, options: &NbdOptions) -> Result<Box<dyn DataDevice>, Failure> {
    let _meter = Meter::new(format!("preparing {target}"));
    let opening = Opening {
        safety: &options.safety,
        writes: !options.read_only,
        depth: DEPTH.max(DEPTH_DEFAULT.into()),
        seed: options.seed,
    };
    let opened = devices::open_bytes(target, &opening)?;
    for warning in opened.warnings.iter().filter(|warning| warning.code != "not-written") {
        notify(&format!("warning: {}", warning.message));
    }
    Ok(opened.device)
}

/// Serves clients until Ctrl-C. `slowdown` is that of a simulated drive.
fn serve<D: DataDevice>(
    mut server: Server<D>,
    target: &Target,
    slowdown: Option<u32>,
    mut recording: Option<Recording>,
) -> Result<Status, Failure> {
    let export = server.engine().export();
    warn_of_tail(target, export);
    let speed = match slowdown {
        None => "",
        Some(1) => ", at its own speed",
        Some(n) => &format!(", {n} times slower than it is"),
    };
    let names: Vec<String> = server.addresses().map(ToString::to_string).collect();
    let first = server.addresses().next().expect("an address is required");
    print(&format!(
        "serving {target} ({}{}){speed} over NBD on {}; Ctrl-C ends\n{}",
        format_bytes(export.size_bytes),
        if export.is_read_only { ", read-only" } else { "" },
        names.join(", "),
        how_to_connect(first)
    ))?;
    if recording.is_some() {
        server.engine_mut().keep_asked();
    }
    let mut live = Live::new(server.engine(), slowdown);
    let mut done = Ok(());
    let ran = server.run(|engine| {
        done = live.tick(engine).and_then(|()| match &mut recording {
            Some(recording) => recording.tick(engine),
            None => Ok(()),
        });
        done.is_ok() && !flashlane_host::interrupted()
    });
    done?;
    ran.map_err(Failure::failed)?;
    print(&live.summary(server.engine()))?;
    match recording {
        Some(mut recording) => {
            recording.tick(server.engine_mut())?;
            recording.end()
        }
        None => Ok(()),
    }?;
    Ok(Status::Done)
}
