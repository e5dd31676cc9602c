//! `flashlane serve fuse`: a device as a file.

use super::watch::{Watch, conclude};
use super::{
    DeviceOptions, check, check_paths, described, open, run_first, warn_of_memory, warn_of_speed,
    warn_of_tail,
};
use crate::failure::{Failure, Status, notify};
use crate::output::{is_in, print};
use crate::preflight;
use crate::suggest::quoted;
use anyhow::anyhow;
use flashlane_device::DataDevice;
use flashlane_open::Target;
use flashlane_serve::{Export, FuseServer, MountError, MountPoint, Options, RealTime, Unmounted, how_to_use};
use std::path::{Path, PathBuf};

pub const HELP: &str = "\
The file takes reads, writes, fsync and fallocate, which trims, past the page cache. With a loop
device it carries a file system; only the user of the server, and root's loop devices if that is
root, can reach it. Time and memory are those of 'serve nbd'. Ctrl-C and SIGTERM end the server and
unmount. After kill -9, 'umount MOUNT' does, or the next server on the same directory.";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceOptions,
    /// Empty directory to mount on: the device is the file 'drive' in it
    #[arg(value_name = "MOUNT")]
    mount_point: PathBuf,
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let options = &arguments.device;
    let target = options.device.target()?;
    check_paths(options, None)?;
    let data_bytes = check(target, options)?;
    let mount_point = MountPoint::check(&arguments.mount_point).map_err(Failure::unusable)?;
    check_record(options, &arguments.mount_point)?;
    options.prepare_out(target)?;
    let recording = options.recording()?;
    preflight::create(target, &options.safety)?;
    let device = open(target, options)?;
    warn_of_memory(target, data_bytes);
    let serving = Options { data_bytes, read_only: options.read_only, ..Options::default() };
    let slowdown = options.slowdown_of(target);
    run_first(options)?;
    if slowdown.is_some() {
        warn_of_speed(target, options)?;
    }
    let watch = Watch::new(slowdown, recording, options);
    match slowdown {
        Some(slowdown) => {
            let device = RealTime::new(device, slowdown);
            serve(FuseServer::mount(&mount_point, device, &serving), target, arguments, watch)
        }
        None => serve(FuseServer::mount(&mount_point, device, &serving), target, arguments, watch),
    }
}

/// Refuses a trace in the directory that the mount hides.
fn check_record(options: &DeviceOptions, mount_point: &Path) -> Result<(), Failure> {
    match options.record.as_deref().filter(|record| is_in(record, mount_point)) {
        None => Ok(()),
        Some(record) => Err(Failure::unusable(anyhow!(
            "--record {} is in the directory that is mounted on, where the trace could not be written: give a path \
             elsewhere",
            record.display()
        ))),
    }
}

/// Serves the file until Ctrl-C.
fn serve<D: DataDevice>(
    mounted: Result<FuseServer<D>, MountError>,
    target: &Target,
    arguments: &Arguments,
    mut watch: Watch,
) -> Result<Status, Failure> {
    let place = &arguments.mount_point;
    let mut server = mounted.map_err(Failure::failed)?;
    let export = server.served().export();
    warn_of_tail(target, export);
    let file = place.join(Export::NAME);
    let printed = print(&format!(
        "serving {} as {}; Ctrl-C ends\n{}",
        described(target, export, watch.slowdown()),
        file.display(),
        how_to_use(&quoted(&file.display().to_string()), export)
    ));
    watch.begin(server.served_mut());
    let ran = server.run(|served| printed.is_ok() && watch.go_on(served));
    // Whatever happened, the directory is given back first.
    let failed = watch.check();
    let replied = server.served_mut().take_replied();
    let ended = watch.end(server.served_mut(), &file.display().to_string(), arguments.device.seed);
    match server.unmount() {
        Ok(Unmounted::Unused) => {}
        Ok(Unmounted::InUse) => notify(
            "warning: the drive was still in use, and its requests fail from now on, as if it had been pulled: next time, \
             unmount what is on it and detach its loop devices first (umount, losetup -d)",
        ),
        Err(error) => notify(&format!("warning: {} remains mounted ({error}): umount it", place.display())),
    }
    printed.and(failed)?;
    ran.map_err(Failure::failed)?;
    conclude(target, &arguments.device, replied, ended?)?;
    Ok(Status::Done)
}
