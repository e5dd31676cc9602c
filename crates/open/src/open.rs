//! Opens the device of a target.

use crate::error::OpenError;
use crate::options::{AccessMode, OpenOptions};
use crate::stack::{self, Accept, Built};
use crate::target::{IntoTarget, Target};
use flashlane_device::{DataDevice, Device, DeviceInfo, Interleaved};
use flashlane_host::{Consent, Doubts};
use flashlane_layer::{Backed, Format, Stack, StateChange, StateOptions};
use std::fmt;

/// A device that is ready for requests.
pub struct Opened<D: ?Sized> {
    /// The device.
    pub device: Box<D>,
    /// Doubts about measurements on the device.
    pub doubts: Doubts,
}

impl<D: Device + ?Sized> fmt::Debug for Opened<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (info, doubts) = (self.device.info(), &self.doubts);
        f.debug_struct("Opened").field("info", info).field("doubts", doubts).finish()
    }
}

/// Why opening ended before a layer changed its stored state.
enum Planned {
    Change(Box<DeviceInfo>),
    Failed(OpenError),
}

impl From<OpenError> for Planned {
    fn from(error: OpenError) -> Self {
        Self::Failed(error)
    }
}

impl OpenOptions {
    /// Opens the device `device`. Several lanes are interleaved into one address space.
    ///
    /// # Errors
    /// [`OpenError`] says what failed and what is allowed; nothing was written.
    pub fn open(&self, device: impl IntoTarget) -> Result<Opened<dyn Device>, OpenError> {
        let target = device.into_target(&self.policies)?;
        let Built { stack, doubts, .. } =
            self.build::<OpenError>(&target, self.state_options(), &|_| Ok(()))?;
        let device = stack.into_device();
        let device = if device.info().lanes > 1 { Box::new(Interleaved::new(device)) } else { device };
        Ok(Opened { device, doubts })
    }

    /// Returns the properties that [`open`](Self::open) would give a real device where it would first change the state
    /// that a layer stores there: divide it into lanes, or repair them. `None` where opening changes nothing. Only
    /// reads.
    ///
    /// # Errors
    /// [`OpenError`] says what failed.
    pub fn planned_change(&self, device: impl IntoTarget) -> Result<Option<DeviceInfo>, OpenError> {
        let target = device.into_target(&self.policies)?;
        let settings = target.state_settings();
        let may_change = settings.format == Some(Format::Always) || settings.repair.is_some();
        if target.is_simulated() || !may_change {
            return Ok(None);
        }
        let reading = self.clone().access(AccessMode::ReadOnly);
        let stop = |info: &DeviceInfo| Err(Planned::Change(Box::new(info.clone())));
        match stack::build(&target, &reading, self.state_options(), &stop) {
            Ok(_) => Ok(None),
            Err(Planned::Change(info)) => {
                let whole = Interleaved::<Box<dyn Device>>::info_over(&info);
                Ok(Some(DeviceInfo { read_only: self.access == AccessMode::ReadOnly, ..whole }))
            }
            Err(Planned::Failed(error)) => Err(error),
        }
    }

    /// Opens the device `device` with its data: a simulated device keeps the bytes written to it in memory. Lanes are
    /// not interleaved.
    ///
    /// # Errors
    /// [`OpenError`] says what failed and what is allowed; nothing was written.
    pub fn open_data(&self, device: impl IntoTarget) -> Result<Opened<dyn DataDevice>, OpenError> {
        self.open_data_if(device, &|_| Ok(()))
    }

    /// Opens as [`open_data`](Self::open_data) does. Before a real device is formatted with new lanes, `accept`
    /// receives their properties; where it returns an error, nothing is written.
    ///
    /// # Errors
    /// The errors of `accept`, and [`OpenError`].
    pub fn open_data_if<E: From<OpenError>>(
        &self,
        device: impl IntoTarget,
        accept: &dyn Fn(&DeviceInfo) -> Result<(), E>,
    ) -> Result<Opened<dyn DataDevice>, E> {
        let target = device.into_target(&self.policies)?;
        Ok(self.open_with_state(&target, self.state_options(), accept)?.0)
    }

    /// Opens as [`open_data_if`](Self::open_data_if) does, with options for the state that a layer stores on the
    /// device. Also returns what the layer wrote of that state.
    pub(crate) fn open_with_state<E: From<OpenError>>(
        &self,
        target: &Target,
        state: StateOptions,
        accept: Accept<'_, E>,
    ) -> Result<(Opened<dyn DataDevice>, StateChange), E> {
        let state = StateOptions { check_erased: state.check_erased && !target.is_simulated(), ..state };
        let Built { stack, doubts, change } = self.build(target, state, accept)?;
        let device = match stack {
            Stack::Data(device) => device,
            Stack::Timing(device) => Box::new(Backed::new(device)),
        };
        Ok((Opened { device, doubts }, change))
    }

    /// Returns the options for the state that a layer stores on the device.
    fn state_options(&self) -> StateOptions {
        StateOptions { check_erased: self.check_erased, ..StateOptions::default() }
    }

    fn build<E: From<OpenError>>(
        &self,
        target: &Target,
        state: StateOptions,
        accept: Accept<'_, E>,
    ) -> Result<Built, E> {
        self.creating(target, |options| stack::build(target, options, state, accept))
    }

    /// Calls `open` with options for the file that [`create`](Self::create) makes, or with `self` where no file is
    /// created. The file is removed where `open` fails.
    pub(crate) fn creating<T, E: From<OpenError>>(
        &self,
        target: &Target,
        open: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(length_bytes) = self.create_bytes else { return open(self) };
        create(target, length_bytes, |_| true)?;
        let options = Self { consent: Consent::NewFile, create_bytes: None, ..self.clone() };
        open(&options).inspect_err(|_| target.remove_created())
    }
}

/// Creates the file of `target` with random data, where its layers can be put over a file of that length. `go_on`
/// receives the number of bytes written so far and returns whether to continue; an unfinished file is removed.
///
/// # Errors
/// [`OpenError::Create`], and those of [`Target::planned`]. No file remains.
pub fn create(target: &Target, length_bytes: u64, go_on: impl FnMut(u64) -> bool) -> Result<(), OpenError> {
    target.planned(length_bytes)?;
    let real = target.real().ok_or_else(|| OpenError::CreateSimulated { spec: target.to_string() })?;
    real.note_created(flashlane_host::create(real.path(), length_bytes, go_on)?);
    Ok(())
}
