//! `flashlane serve nbd`: a device for clients of NBD.

use super::watch::{Watch, conclude};
use super::{
    DeviceOptions, check, check_paths, described, open, run_first, warn_of_memory, warn_of_speed,
    warn_of_tail,
};
use crate::command::sdf::counted;
use crate::failure::{Failure, Status};
use crate::options;
use crate::output::print;
use crate::preflight;
use anyhow::anyhow;
use flashlane_base::units::{exact_bytes, parse_bytes};
use flashlane_device::DataDevice;
use flashlane_open::Target;
use flashlane_serve::{
    Address, Bound, CLIENT_MEMORY_BYTES_MIN, ListenError, Options, RealTime, Server, how_to_connect,
};
use std::net::SocketAddr;
use std::path::PathBuf;

pub const HELP: &str = "\
A simulated drive completes each request when the wall clock reaches the simulated time, and keeps
its data in memory until the end. Where replies are late by more than a tenth of its latency, the
run is not valid, and the output says so, with the slowdown that would do. A real device is served
as fast as it is. Ctrl-C and SIGTERM end the server.";

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("place").required(true).multiple(true).args(["socket", "listen"]))]
pub struct Arguments {
    /// Listen on this Unix socket, which can be reached by the user of the server only
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Listen on this address; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = options::address)]
    listen: Vec<SocketAddr>,
    /// Allow addresses that other machines can reach: they can then read and write the device
    #[arg(long)]
    allow_remote: bool,
    #[command(flatten)]
    device: DeviceOptions,
    /// Maximum number of clients
    #[arg(long, value_name = "N", value_parser = options::positive_count, default_value = "64")]
    clients: u64,
    /// Memory of requests and replies of all clients
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256MiB")]
    client_memory: u64,
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let options = &arguments.device;
    let target = options.device.target()?;
    check_paths(options, arguments.socket.as_deref().map(|path| ("--socket", path)))?;
    if arguments.client_memory < CLIENT_MEMORY_BYTES_MIN as u64 {
        return Err(Failure::unusable(anyhow!(
            "--client-memory {}: at least {} is required, for the longest request and its reply",
            exact_bytes(arguments.client_memory),
            exact_bytes(CLIENT_MEMORY_BYTES_MIN as u64)
        )));
    }
    let data_bytes = check(target, options)?;
    let mut addresses: Vec<Address> = arguments.listen.iter().copied().map(Address::Tcp).collect();
    addresses.extend(arguments.socket.clone().map(Address::Unix));
    options.prepare_out(target)?;
    let recording = options.recording()?;
    let bound = Bound::bind(&addresses, arguments.allow_remote).map_err(|error| {
        Failure::unusable(match error {
            ListenError::Remote(_) => anyhow!("{error}; --allow-remote allows it"),
            ListenError::Refused(_) => error.into(),
        })
    })?;
    preflight::create(target, &options.safety)?;
    let device = open(target, options)?;
    warn_of_memory(target, data_bytes);
    let serving = Options {
        clients_max: arguments.clients as usize,
        memory_bytes: arguments.client_memory as usize,
        data_bytes,
        read_only: options.read_only,
        description: target.to_string(),
    };
    let slowdown = options.slowdown_of(target);
    run_first(options)?;
    if slowdown.is_some() {
        warn_of_speed(target, options)?;
    }
    let watch = Watch::new(slowdown, recording, options);
    match slowdown {
        Some(slowdown) => {
            serve(bound.serve(RealTime::new(device, slowdown), serving), target, options, watch)
        }
        None => serve(bound.serve(device, serving), target, options, watch),
    }
}

/// Serves clients until Ctrl-C.
fn serve<D: DataDevice>(
    mut server: Server<D>,
    target: &Target,
    options: &DeviceOptions,
    mut watch: Watch,
) -> Result<Status, Failure> {
    let export = server.engine().served().export();
    warn_of_tail(target, export);
    let names: Vec<String> = server.addresses().map(ToString::to_string).collect();
    let first = server.addresses().next().expect("an address is required");
    print(&format!(
        "serving {} over NBD on {}; Ctrl-C ends\n{}",
        described(target, export, watch.slowdown()),
        names.join(", "),
        how_to_connect(first)
    ))?;
    watch.begin(server.served_mut());
    let ran = server.run(|served| watch.go_on(served));
    watch.check()?;
    ran.map_err(Failure::failed)?;
    let clients = counted(server.engine().clients_total(), "client", "clients");
    let kept = watch.end(server.served_mut(), &clients, options.seed)?;
    let replied = server.served_mut().take_replied();
    drop(server);
    conclude(target, options, replied, kept)?;
    Ok(Status::Done)
}
