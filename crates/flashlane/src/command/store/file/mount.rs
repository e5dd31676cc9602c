//! Mounts the files of a store until Ctrl-C.

use super::super::Level;
use super::super::device::{Place, create_simulated, open, open_to_write};
use super::{MountOptions, failed};
use crate::failure::{Failure, Status, notify};
use crate::output::print;
use anyhow::anyhow;
use flashlane_serve::{MountPoint, Unmounted};
use flashlane_store_files::{FileError, Files};
use flashlane_store_mount::StoreMount;

/// Mounts the files of a store. On a simulated device, creates a store first.
pub fn mount(place: &Place, options: &MountOptions, level: Level) -> Result<Status, Failure> {
    let mount_point = MountPoint::check(&options.mount_point).map_err(Failure::unusable)?;
    let mut store = match options.read_only {
        _ if place.device.is_simulated() => create_simulated(place, level)?,
        true => open(place).inspect(|_| place.warn_of_loss())?,
        false => open_to_write(place, level)?,
    };
    if let Some(loss) = store.loss().filter(|_| !options.read_only) {
        return Err(failed(FileError::Lossy(Box::new(loss)))
            .with_remedy("--read-only mounts what is left: what may be lost is an error there"));
    }
    let files = match options.extent {
        Some(extent) => Files::open_with(&mut store, extent),
        None => Files::open(&mut store),
    };
    let files = files.map_err(failed)?;
    let mounted = StoreMount::new(&mount_point, files, options.read_only).map_err(failed)?;
    let mut mounted = mounted.map_err(Failure::failed)?;
    let how = match options.read_only {
        true => "read-only".to_owned(),
        false => format!("durability: {}", level.name()),
    };
    let at = options.mount_point.display();
    let printed = print(&format!("files of {} on {at}, {how}; Ctrl-C ends\n", place.device));
    let ran = mounted.run(|| printed.is_ok() && !flashlane_host::interrupted());
    let requests = mounted.requests();
    // Whatever happened, the directory is given back first.
    match mounted.unmount() {
        Ok(Unmounted::Unused) => {}
        Ok(Unmounted::InUse) => notify(
            "warning: files were still open, and requests on them fail from now on; what was written before is stored",
        ),
        Err(error) => return Err(Failure::failed(anyhow!("the mount on {at} did not end well: {error}"))),
    }
    printed?;
    ran.map_err(Failure::failed)?;
    print(&format!("served {requests} requests\n"))?;
    Ok(Status::Done)
}
