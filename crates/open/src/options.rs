//! How a device is opened: seed, depth, and what may be done to a real one.

use crate::{IntoSpec, OpenError, real_path, stack};
use flashlane_base::Seed;
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Device, Interleaved, Profile};
use flashlane_host::{CreateError, DEPTH_DEFAULT, Warning};
use flashlane_layer::{Backed, Stack};
use flashlane_policy::Policies;
use std::fmt;
use std::path::{Path, PathBuf};

/// How to open a device. A real one is only read unless [`destroy_data`](Self::destroy_data) allows more.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(crate) destroy_data: bool,
    pub(crate) really: Option<PathBuf>,
    pub(crate) allow_page_cache: bool,
    pub(crate) depth: u32,
    pub(crate) seed: Seed,
    pub(crate) policies: Policies,
    pub(crate) create_bytes: Option<u64>,
    pub(crate) is_new: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            destroy_data: false,
            really: None,
            allow_page_cache: false,
            depth: DEPTH_DEFAULT,
            seed: Seed(0),
            policies: Policies::default(),
            create_bytes: None,
            is_new: false,
        }
    }
}

/// A device that is ready for requests.
pub struct Opened<D: ?Sized> {
    /// The device.
    pub device: Box<D>,
    /// Doubts about what will be measured on it.
    pub warnings: Vec<Warning>,
}

impl<D: Device + ?Sized> fmt::Debug for Opened<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (profile, warnings) = (self.device.profile(), &self.warnings);
        f.debug_struct("Opened").field("profile", profile).field("warnings", warnings).finish()
    }
}

impl OpenOptions {
    /// Seed 0, the usual depth, and nothing that would change a real device.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows all data on a real device to be overwritten. A device that is mounted, held, partitioned or carries a file
    /// system is refused all the same, until its path is repeated by [`really`](Self::really).
    pub fn destroy_data(self, allowed: bool) -> Self {
        Self { destroy_data: allowed, ..self }
    }

    /// Repeats the path of a device that looks used, to overwrite it all the same.
    pub fn really(self, path: impl Into<PathBuf>) -> Self {
        Self { really: Some(path.into()), ..self }
    }

    /// Allows buffered I/O where the file system has no direct I/O: memory is measured then, rather than the drive.
    pub fn allow_page_cache(self, allowed: bool) -> Self {
        Self { allow_page_cache: allowed, ..self }
    }

    /// Sets the number of requests that may be in flight on a real device; the depth of a simulated one stands in its
    /// profile.
    pub fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// Sets the root of the randomness in simulated drives and layers.
    pub fn seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    /// Sets the policies among which a simulated drive's profile chooses: those of [`Policies::default`] unless set.
    pub fn policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// Creates the file in the spec first, with this many bytes, and allows it to be overwritten. An existing file is
    /// never replaced, and a file that cannot be opened as the spec says is removed again.
    pub fn create(self, length_bytes: u64) -> Self {
        Self { create_bytes: Some(length_bytes), ..self }
    }

    /// Says that the file in the spec was made for this, so that dividing it into lanes loses nothing.
    pub fn newly_made(self, is_new: bool) -> Self {
        Self { is_new, ..self }
    }

    /// Opens the device that `spec` names. Several lanes are interleaved into one range of addresses.
    ///
    /// # Errors
    /// [`OpenError`] says what failed and what would do; nothing was written then.
    pub fn open(&self, spec: impl IntoSpec) -> Result<Opened<dyn Device>, OpenError> {
        let (stack, warnings) = self.stack::<OpenError>(&spec.into_spec()?, &|_| Ok(()))?;
        let device = stack.into_device();
        let device = if device.profile().lanes > 1 { Box::new(Interleaved::new(device)) } else { device };
        Ok(Opened { device, warnings })
    }

    /// Opens the device that `spec` names, for reading back what was written. Its lanes stay apart, and the bytes of a
    /// simulated device are kept in memory.
    ///
    /// # Errors
    /// [`OpenError`] says what failed and what would do; nothing was written then.
    pub fn open_data(&self, spec: impl IntoSpec) -> Result<Opened<dyn DataDevice>, OpenError> {
        self.open_data_if(spec, &|_| Ok(()))
    }

    /// Opens as [`open_data`](Self::open_data) does. Before a real device is divided into lanes anew, `accept` is given
    /// the profile that it would have; where that returns an error, nothing is written.
    ///
    /// # Errors
    /// Those of `accept` and [`OpenError`].
    pub fn open_data_if<E: From<OpenError>>(
        &self,
        spec: impl IntoSpec,
        accept: &dyn Fn(&Profile) -> Result<(), E>,
    ) -> Result<Opened<dyn DataDevice>, E> {
        let spec = spec.into_spec().map_err(|error| E::from(error.into()))?;
        let (stack, warnings) = self.stack(&spec, accept)?;
        let device = match stack {
            Stack::Data(device) => device,
            Stack::Timing(device) => Box::new(Backed::new(device)),
        };
        Ok(Opened { device, warnings })
    }

    fn stack<E: From<OpenError>>(
        &self,
        spec: &Spec,
        accept: &dyn Fn(&Profile) -> Result<(), E>,
    ) -> Result<(Stack, Vec<Warning>), E> {
        self.creating(spec, |options| {
            let mut warnings = Vec::new();
            Ok((stack::stack(spec, options, accept, &mut warnings)?, warnings))
        })
    }

    /// Calls `open` with the options for the file that [`create`](Self::create) makes, or with these where no file is to
    /// be made. The file is removed where `open` fails.
    pub(crate) fn creating<T, E: From<OpenError>>(
        &self,
        spec: &Spec,
        open: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(length_bytes) = self.create_bytes else { return open(self) };
        create(spec, length_bytes, |_| true)?;
        let options = Self { destroy_data: true, create_bytes: None, is_new: true, ..self.clone() };
        open(&options).inspect_err(|_| {
            // Where it cannot be removed, the first error is still the one to report.
            let _ = real_path(spec).map(std::fs::remove_file);
        })
    }
}

/// Creates the file in `spec`, filled with random bytes. `go_on` gets the number of bytes written so far and returns
/// whether to go on; a file that is not finished is removed.
///
/// # Errors
/// [`OpenError::Create`] and [`OpenError::CreateSimulated`].
pub fn create(spec: &Spec, length_bytes: u64, go_on: impl FnMut(u64) -> bool) -> Result<(), OpenError> {
    let path: &Path = real_path(spec).ok_or_else(|| OpenError::CreateSimulated { spec: spec.to_string() })?;
    flashlane_host::create(path, length_bytes, go_on).map_err(|error: CreateError| error.into())
}
