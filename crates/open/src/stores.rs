//! A key-value store on the devices of two specs, opened or created in one call.

use crate::blocks::{BlocksError, target_of_blocks};
use crate::error::OpenError;
use crate::length::{file_length, least_length_for_store};
use crate::open::{Opened, create};
use crate::options::{AccessMode, OpenOptions};
use crate::target::{IntoTarget, Target};
use flashlane_base::units::exact_bytes;
use flashlane_device::spec::Spec;
use flashlane_device::{DataDevice, Device, DeviceInfo};
use flashlane_host::{Change, Consent};
use flashlane_layer::StateOptions;
use flashlane_store::{CreateError, KeyValueStore, Requirements, Slices, Store, StoreOptions};
use std::cell::RefCell;
use std::path::Path;

/// A store on devices of any kind, for calls that do not wait.
pub type AnyStore = Store<Box<dyn DataDevice>, Box<dyn DataDevice>>;

/// A store on devices of any kind.
pub type AnyKeyValueStore = KeyValueStore<Box<dyn DataDevice>, Box<dyn DataDevice>>;

/// Why a store could not be opened or created. Where opening failed, nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum StoreSpecError {
    /// The device, or the blocks on it, cannot be used.
    #[error(transparent)]
    Device(#[from] BlocksError),
    /// The device of the log cannot be opened.
    #[error("the log cannot be opened: {0}")]
    Log(OpenError),
    /// The devices hold no store, or a part of it is lost.
    #[error(transparent)]
    Open(#[from] flashlane_store::OpenError),
    /// The devices cannot hold a store, or a write failed.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A file is, or would be, too short for a store.
    #[error("{reason}. A file of {} is long enough for the store", exact_bytes(*least_bytes))]
    FileTooShort {
        /// What the length that was given is too short for.
        reason: Box<StoreSpecError>,
        /// The least length that suits, in whole MiB.
        least_bytes: u64,
    },
    /// The device and the log are one.
    #[error("'{spec}' is the device of the store, and its log needs another device or file")]
    LogOnDevice {
        /// The spec of the log.
        spec: String,
    },
    /// The device and the log have bytes in common.
    #[error("'{spec}' has bytes in common with the device of the store, and its log needs others")]
    LogSharesBytes {
        /// The spec of the log.
        spec: String,
    },
    /// The log is simulated, and the device is not.
    #[error("the log '{spec}' is simulated, and would be lost with the writes in it: name a device or file")]
    LogInMemory {
        /// The spec of the log.
        spec: String,
    },
    /// No log is named, and none can stand beside the device.
    #[error("'{spec}' is no regular file beside which a log could stand: name the device or file of the log")]
    NoLogNamed {
        /// The spec of the device.
        spec: String,
    },
    /// Creating was not allowed to overwrite a real log.
    #[error(
        "a log on '{spec}' loses all data on it: allow that by NewStore::log_consent, or name a new file"
    )]
    LogNotAllowed {
        /// The spec of the log.
        spec: String,
    },
}

impl From<OpenError> for StoreSpecError {
    fn from(error: OpenError) -> Self {
        Self::Device(error.into())
    }
}

/// What a store is created with.
#[derive(Clone, Debug)]
pub struct NewStore {
    /// The parts of the keys.
    pub slices: Slices,
    /// Bytes of a log that is a new file; as [`Requirements::log_bytes`] says unless given.
    pub log_bytes: Option<u64>,
    /// Consent to the loss of the data on an existing log; a log that is a new file requires none.
    pub log_consent: Consent,
    /// Options of this opening.
    pub options: StoreOptions,
}

impl StoreSpecError {
    /// Returns whether a longer device would have been taken.
    fn is_of_length(&self) -> bool {
        use flashlane_block::{FormatError, Unsuitable};
        match self {
            Self::Device(BlocksError::Device(error)) => error.is_of_length(),
            Self::Create(CreateError::Blocks(FormatError::Unsuitable(Unsuitable::TooFewUnits {
                ..
            }))) => true,
            Self::Create(CreateError::DeviceTooSmall { .. }) => true,
            _ => false,
        }
    }
}

impl Default for NewStore {
    /// One slice, and a new file as the log.
    fn default() -> Self {
        let options = StoreOptions::default();
        Self { slices: Slices::even(1), log_bytes: None, log_consent: Consent::ReadOnly, options }
    }
}

/// Returns the spec of the log that stands beside a device unless another is named: for a file, the file with `.log`
/// behind its name; for a simulated device, a simulated drive.
///
/// # Errors
/// [`StoreSpecError::NoLogNamed`] for a block device.
pub fn log_beside(device: &Target) -> Result<Spec, StoreSpecError> {
    let Some(path) = device.path() else {
        return Ok("backed(sim:ssd-s)".parse().expect("the spec is well-formed"));
    };
    let is_file = path.metadata().map_or(!path.starts_with("/dev"), |data| data.is_file());
    if !is_file {
        return Err(StoreSpecError::NoLogNamed { spec: device.to_string() });
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".log");
    Ok(Spec::Path(name.into()))
}

/// Checks that a store can be created on a file that does not exist yet, of `length_bytes`, with a log at `log`: as far
/// as that is known before the file is made.
///
/// # Errors
/// [`StoreSpecError`] says what would be refused.
pub fn check_new_store(
    device: &Target,
    log: &Target,
    length_bytes: u64,
    new: &NewStore,
) -> Result<(), StoreSpecError> {
    let needs = needs_of(device, length_bytes, new).map_err(|reason| {
        match least_length_for_store(device, length_bytes, new) {
            Some(least_bytes) => StoreSpecError::FileTooShort { reason: Box::new(reason), least_bytes },
            None => reason,
        }
    })?;
    if let Some(path) = log.path().filter(|path| !path.exists()) {
        flashlane_host::check_new_file(path).map_err(|error| StoreSpecError::Log(error.into()))?;
        let log_bytes = new.log_bytes.unwrap_or(needs.log_bytes);
        needs.check_log(&log.planned(log_bytes).map_err(StoreSpecError::Log)?, &new.slices)?;
    }
    Ok(())
}

/// Returns what a store needs on a new file of this length.
pub(crate) fn needs_of(
    device: &Target,
    length_bytes: u64,
    new: &NewStore,
) -> Result<Requirements, StoreSpecError> {
    Ok(Requirements::new(&device.planned(length_bytes)?, &new.slices, &new.options)?)
}

/// The log of a store that is being created, with its file if that is new.
type NewLog = (Opened<dyn DataDevice>, Option<NewFile>);

/// Removes the file that was created for a target unless it is kept.
struct NewFile {
    target: Target,
    is_kept: bool,
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_kept {
            self.target.remove_created();
        }
    }
}

impl OpenOptions {
    /// Opens the store on `device` with its log on `log`. Devices that hold anything else are refused and not written,
    /// so this requires no [`consent`](Self::consent).
    ///
    /// # Errors
    /// [`StoreSpecError`] says what failed.
    pub fn open_store(
        &self,
        device: impl IntoTarget,
        log: impl IntoTarget,
        access: AccessMode,
        options: StoreOptions,
    ) -> Result<AnyStore, StoreSpecError> {
        let (target, log) = self.targets(device, log)?;
        target_of_blocks(&target)?;
        let opening = self.keeping_blocks(access).for_store();
        let state = StateOptions { check_erased: true, ..StateOptions::default() };
        let (opened, _) = opening.open_with_state::<BlocksError>(&target, state, &|_| Ok(()))?;
        let opened_log = opening.through_page_cache().open_data(&log).map_err(StoreSpecError::Log)?;
        Ok(Store::open(opened.device, opened_log.device, options)?)
    }

    /// Formats `device` and `log` to hold an empty store. A device with lanes keeps them unless its spec gives another
    /// shape. All data on real devices is lost, which requires [`consent`](Self::consent) and
    /// [`NewStore::log_consent`]; a file of [`create`](Self::create) is new, as is a log that is a file and does not
    /// exist. What this created is removed where it fails, and devices that cannot hold the store are not changed.
    ///
    /// # Errors
    /// [`StoreSpecError`] says what failed.
    pub fn create_store(
        &self,
        device: impl IntoTarget,
        log: impl IntoTarget,
        new: NewStore,
    ) -> Result<AnyStore, StoreSpecError> {
        let (target, log) = self.targets(device, log)?;
        if !self.may_overwrite(&target) {
            return Err(BlocksError::NotAllowed { spec: target.to_string() }.into());
        }
        if log.path().is_some_and(Path::exists) && !new.log_consent.allows(Change::Destroy) {
            return Err(StoreSpecError::LogNotAllowed { spec: log.to_string() });
        }
        if log.capabilities().erase_units {
            return Err(CreateError::LogHasEraseUnits { device: log.to_string() }.into());
        }
        if let Some(length_bytes) = self.create_bytes {
            check_new_store(&target, &log, length_bytes, &new)?;
        }
        let created = self.creating(&target, |options| {
            let opened_log: RefCell<Option<NewLog>> = RefCell::default();
            // The last moment at which nothing is written.
            let accept = |info: &DeviceInfo| -> Result<(), StoreSpecError> {
                let mut opened = opened_log.borrow_mut();
                if opened.is_none() {
                    *opened = Some(self.open_new_log(&log, info, &new)?);
                }
                Ok(())
            };
            let opening = options.clone().for_store();
            let (opened, _) = opening.open_to_format::<StoreSpecError>(&target, &accept)?;
            let (log, mut file) = opened_log.take().expect("the device was accepted");
            let NewStore { slices, options, .. } = new.clone();
            let id = self.new_formatting(&target)?;
            let store = Store::create(opened.device, log.device, id, slices, options)?;
            if let Some(file) = &mut file {
                file.is_kept = true;
            }
            Ok(store)
        });
        created.map_err(|reason: StoreSpecError| {
            let length_bytes = file_length(&target).filter(|_| reason.is_of_length());
            match length_bytes.and_then(|bytes| least_length_for_store(&target, bytes, &new)) {
                Some(least_bytes) => StoreSpecError::FileTooShort { reason: Box::new(reason), least_bytes },
                None => reason,
            }
        })
    }

    /// Opens the log of a store that is created on a device with these properties, after creating its file where there
    /// is none.
    fn open_new_log(
        &self,
        log: &Target,
        device: &DeviceInfo,
        new: &NewStore,
    ) -> Result<NewLog, StoreSpecError> {
        let needs = Requirements::new(device, &new.slices, &new.options)?;
        let file = match log.path().filter(|path| !path.exists()) {
            None => None,
            Some(_) => {
                let bytes = new.log_bytes.unwrap_or(needs.log_bytes);
                let go_on = |_| !flashlane_host::interrupted();
                create(log, bytes, go_on).map_err(StoreSpecError::Log)?;
                Some(NewFile { target: log.clone(), is_kept: false })
            }
        };
        let consent = if file.is_some() { Consent::NewFile } else { new.log_consent.clone() };
        let opening = Self { consent, create_bytes: None, ..self.clone() };
        let opened = opening.through_page_cache().open_data(log);
        let opened = opened.map_err(StoreSpecError::Log)?;
        needs.check_log(opened.device.info(), &new.slices)?;
        Ok((opened, file))
    }

    fn targets(
        &self,
        device: impl IntoTarget,
        log: impl IntoTarget,
    ) -> Result<(Target, Target), StoreSpecError> {
        let target = device.into_target(&self.policies)?;
        let log = log.into_target(&self.policies).map_err(StoreSpecError::Log)?;
        if let (Some(device), Some(beside)) = (target.path(), log.path()) {
            if flashlane_host::is_same_file(device, beside) {
                return Err(StoreSpecError::LogOnDevice { spec: log.to_string() });
            }
            if flashlane_host::share_bytes(device, beside) {
                return Err(StoreSpecError::LogSharesBytes { spec: log.to_string() });
            }
        }
        if !target.is_simulated() && log.is_simulated() {
            return Err(StoreSpecError::LogInMemory { spec: log.to_string() });
        }
        Ok((target, log))
    }
}
