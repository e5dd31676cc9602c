//! Opens and creates the store on two devices, read-only unless the command writes.

use super::damage::told;
use super::opened::OpenedStore;
use super::{CreateOptions, Level};
use crate::command::sdf::{counted, named_without_lanes, used_device_refusal};
use crate::failure::{Failure, Status, notify};
use crate::preflight::{self, require_consent};
use crate::refusal::length_of;
use crate::suggest::{quoted, to_destroy};
use anyhow::anyhow;
use flashlane_base::units::exact_bytes;
use flashlane_block::{BlockOptions, OpenError as BlockOpenError};
use flashlane_host::OpenError as HostError;
use flashlane_layer::{LanesError, LayerError};
use flashlane_open::{
    AccessMode, AnyKeyValueStore, BlocksError, Change, Consent, NewStore, OpenError, OpenOptions,
    StoreSpecError, Target, check_new_store, has_signatures,
};
use flashlane_store::{
    CreateError, LogOverwritten, Loss, OpenError as StoreOpenError, Slices, StoreError, StoreOptions,
    WriteError,
};

use std::cell::RefCell;
use std::path::Path;

/// How a store goes on whose log is lost.
const TO_COPY: &str = "If nothing else helps, go back to a copy of device and log from one moment: no command finds keys without the log";

/// The device of a store and that of its log.
#[derive(Debug)]
pub struct Place {
    pub device: Target,
    pub log: Target,
    /// Whether the user named the log; otherwise it is the file beside that of the device.
    pub log_is_named: bool,
    /// Whether reads of the device bypass the page cache.
    pub direct_reads: bool,
    /// What the store that was opened has lost, until it is reported.
    loss: RefCell<Option<Loss>>,
}

impl Place {
    pub fn new(device: Target, log: Target, log_is_named: bool, direct_reads: bool) -> Self {
        Self { device, log, log_is_named, direct_reads, loss: RefCell::default() }
    }

    /// Returns what the store has lost, which the caller reports.
    pub fn take_loss(&self) -> Option<Loss> {
        self.loss.take()
    }

    /// Warns of what the store has lost, at the beginning of a command.
    pub fn warn_of_loss(&self) {
        if let Some(loss) = self.take_loss() {
            notify(&format!("warning: {}", told(self, &loss)));
        }
    }

    /// Returns whether the log is a file or device that exists and was never the log of a store.
    fn log_is_foreign(&self) -> bool {
        let existing = self.log.path().filter(|path| path.exists());
        existing.is_some_and(|path| !flashlane_host::is_store_log(path).is_ok_and(|is_log| is_log))
    }

    /// Returns the arguments that name both, to be copied.
    pub fn named(&self) -> String {
        let device = quoted(&self.device.to_string());
        let is_beside = flashlane_open::log_beside(&self.device).is_ok_and(|log| log == *self.log.spec());
        if is_beside && !self.log_is_foreign() {
            device
        } else {
            format!("{device} --log {}", quoted(&self.log.to_string()))
        }
    }
}

/// Opens the store for reading. Reading works without a superblock of the blocks.
pub fn open(place: &Place) -> Result<OpenedStore, Failure> {
    open_with(place, AccessMode::ReadOnly, options_to_read())
}

/// Opens the store for reading many short values that lie side by side: the cache has all but the first of each group.
pub fn open_with_cache(place: &Place) -> Result<OpenedStore, Failure> {
    open_with(place, AccessMode::ReadOnly, StoreOptions { cache_reads: true, ..options_to_read() })
}

fn options_to_read() -> StoreOptions {
    let blocks = BlockOptions { without_superblock: true, ..BlockOptions::default() };
    StoreOptions { blocks, without_damaged_blocks: true, ..uncached() }
}

/// Opens the store for writing, which requires no consent. Devices with other data are refused. Warns of what it has
/// lost.
pub fn open_to_write(place: &Place, level: Level) -> Result<OpenedStore, Failure> {
    let store = open_with(place, AccessMode::ReadWrite, uncached())?;
    if let Some(found) = store.status().log_overwritten {
        return Err(Failure::unusable(anyhow!("{}", overwritten_log(place, found))));
    }
    place.warn_of_loss();
    Ok(store.with_durability(level.into()))
}

/// Opens the store to write what is left of it.
pub fn open_to_salvage(place: &Place) -> Result<OpenedStore, Failure> {
    open_with(place, AccessMode::ReadWrite, StoreOptions { without_damaged_blocks: true, ..uncached() })
}

/// The server has its own cache, and other commands read a key once.
fn uncached() -> StoreOptions {
    StoreOptions { cache_reads: false, ..StoreOptions::default() }
}

fn open_with(place: &Place, access: AccessMode, options: StoreOptions) -> Result<OpenedStore, Failure> {
    if place.device.is_simulated() {
        return Err(keeps_nothing(&place.device));
    }
    if !place.device.capabilities().erase_units {
        let device = &place.device;
        if let Some(path) = device.path().filter(|path| !path.exists() && !path.starts_with("/dev")) {
            let lanes = quoted(&format!("lanes({device})"));
            return Err(Failure::unusable(anyhow!(
                "'{}' does not exist; 'flashlane store create {lanes} --create SIZE' creates a new store",
                path.display()
            )));
        }
        if let Some(refusal) = named_without_lanes(device) {
            return Err(refusal);
        }
        return Err(Failure::unusable(anyhow!(
            "'{device}' has no erase units, and a store needs them: lanes({device}) divides a file or block device into \
             such"
        )));
    }
    let opening = OpenOptions::new().direct_reads(place.direct_reads);
    let opened = opening.open_store(&place.device, &place.log, access, options);
    let store = opened.map_err(|error| not_opened(place, error))?;
    place.loss.replace(store.loss());
    let mut opened = OpenedStore::from(AnyKeyValueStore::from(store));
    // What clients let expire is gone for commands too.
    opened.store().set_time(flashlane_host::calendar_ms());
    Ok(opened)
}

/// Refuses a simulated device.
fn keeps_nothing(device: &Target) -> Failure {
    Failure::unusable(anyhow!(
        "'{device}' is simulated and keeps nothing between commands; use 'flashlane store import', 'serve' or 'bench', which \
         create a store on it first"
    ))
}

/// Creates an empty store, and opens it with `options`. Devices that cannot hold it are not changed.
pub fn create(
    place: &Place,
    slices: Slices,
    options: StoreOptions,
    safety: &CreateOptions,
) -> Result<OpenedStore, Failure> {
    if place.device.is_simulated() {
        return Err(keeps_nothing(&place.device));
    }
    let (device, log_consent) = (&safety.safety(), safety.log_consent());
    require_consent(&place.device, &device.consent(), "creating a store", "")?;
    let exists = |target: &Target| target.path().is_some_and(Path::exists);
    if device.create.is_some() && !log_consent.allows(Change::Destroy) && exists(&place.device) {
        let log = match exists(&place.log) {
            true => format!(", and so does its log '{}'", place.log),
            false => String::new(),
        };
        let path = place.device.path().unwrap_or(Path::new(""));
        return Err(Failure::unusable(anyhow!(
            "'{}' exists already and is not replaced{log}{}. Name new files; or remove what is there, and --create makes it anew. \
             If all data there may be lost, 'flashlane store create {}{}' creates a store in its place, of that length",
            path.display(),
            path.metadata().map_or_else(|_| String::new(), |data| length_of(&data)),
            place.named(),
            to_destroy_both(place)
        )));
    }
    if place.log.path().is_some_and(Path::exists) {
        // Consent is for what the user names, or for an earlier log of ours.
        if !place.log_is_named && place.log_is_foreign() {
            return Err(Failure::unusable(anyhow!(
                "the log of the store would be '{}', which exists, is no log of a store, and is kept: --log NAME makes the log \
                 elsewhere; if all data in that file may be lost: --log {} --destroy-data",
                place.log,
                quoted(&place.log.to_string())
            )));
        }
        let what = "creating the log of a store";
        require_consent(&place.log, &log_consent, what, "name a new file with --log")?;
    }
    let new = NewStore { slices, log_bytes: safety.log_size, log_consent, options };
    let refused = |error| not_created(&place.device, error);
    if let Some(length_bytes) = device.create.filter(|_| !exists(&place.device)) {
        check_new_store(&place.device, &place.log, length_bytes, &new).map_err(refused)?;
    }
    preflight::create(&place.device, device)?;
    let opening = OpenOptions::new().consent(device.consent()).direct_reads(place.direct_reads);
    let created = opening.create_store(&place.device, &place.log, new);
    // A file without its store is of no use, whatever the reason.
    let created = created.inspect_err(|_| place.device.remove_created());
    Ok(AnyKeyValueStore::from(created.map_err(refused)?).into())
}

/// Creates a store on simulated devices, to be tried.
pub fn create_simulated(place: &Place, level: Level) -> Result<OpenedStore, Failure> {
    Ok(create_simulated_with(place, Slices::even(1), uncached())?.with_durability(level.into()))
}

/// Creates a store on simulated devices, and opens it with `options`.
pub fn create_simulated_with(
    place: &Place,
    slices: Slices,
    options: StoreOptions,
) -> Result<OpenedStore, Failure> {
    let new = NewStore { slices, options, ..NewStore::default() };
    let created = OpenOptions::new().create_store(&place.device, &place.log, new);
    Ok(AnyKeyValueStore::from(created.map_err(|error| not_created(&place.device, error))?).into())
}

/// Returns why a store was not created.
pub fn not_created(device: &Target, error: StoreSpecError) -> Failure {
    match error {
        StoreSpecError::NoLogNamed { .. } => Failure::unusable(anyhow!(
            "'{device}' is no regular file, beside which a log could stand: --log LOG names the device or file of the log"
        )),
        StoreSpecError::Log(OpenError::Real { error: error @ HostError::Refused { .. }, path }) => {
            Failure::unusable(anyhow!(
                "{}\nif that data may be lost: --destroy-data --really-log {}",
                error.found(),
                quoted(&path.to_string_lossy())
            ))
        }
        StoreSpecError::Log(OpenError::Real { error: HostError::TooSmall { length_bytes, .. }, path }) => {
            Failure::unusable(anyhow!(
                "'{}' is {} long, and too short for a log: name a new file with --log, which is made as long as the store needs, \
                 or remove this one",
                path.display(),
                exact_bytes(length_bytes)
            ))
        }
        StoreSpecError::Log(error) => of_log(error),
        // A store on a simulated drive, which takes no consent.
        StoreSpecError::LogNotAllowed { spec } => Failure::unusable(anyhow!(
            "'{spec}' exists already, and its data is not overwritten by a log: name a new file with --log"
        )),
        StoreSpecError::Device(BlocksError::Device(error)) => error.into(),
        StoreSpecError::Create(error @ (CreateError::Log { .. } | CreateError::Blocks(_)))
            if !matches!(error, CreateError::Blocks(flashlane_block::FormatError::Unsuitable(_))) =>
        {
            Failure::failed(error)
        }
        error => Failure::unusable(error),
    }
}

/// Returns why the device of a log was not opened.
fn of_log(error: OpenError) -> Failure {
    let failure = Failure::from(error);
    let reason = anyhow!("the log cannot be opened: {}", failure.reason());
    match failure.status {
        Status::Failed => Failure::failed(reason),
        _ => Failure::unusable(reason),
    }
}

fn not_opened(place: &Place, error: StoreSpecError) -> Failure {
    match error {
        StoreSpecError::Log(error) => log_not_opened(place, error),
        StoreSpecError::Device(error) => device_not_opened(place, error),
        StoreSpecError::Open(error) => store_not_opened(place, error),
        error => Failure::unusable(error),
    }
}

fn log_not_opened(place: &Place, error: OpenError) -> Failure {
    let Place { device, log, .. } = place;
    match error {
        OpenError::Real { error: HostError::NotFound { .. }, .. } => {
            if let Some(blocks) = blocks_without_store(device) {
                return no_store(
                    place,
                    &format!("it has {blocks} of 'flashlane sdf', which lists them with 'ls'"),
                );
            }
            Failure::unusable(anyhow!(
                "there is no log '{log}', and no store without it: --log LOG names it where it has another place"
            ))
        }
        OpenError::Real { error: error @ HostError::Refused { .. }, .. } => {
            Failure::unusable(anyhow!("{}\nit is not opened as the log of a store", error.found()))
        }
        OpenError::Real { error: HostError::TooSmall { length_bytes, .. }, .. } => {
            Failure::unusable(anyhow!(
                "the log '{log}' is {} long: it was cut, and the store's last writes with it. The store opens with a copy of \
                 the log from the same moment as its device",
                exact_bytes(length_bytes)
            ))
        }
        error => of_log(error),
    }
}

fn device_not_opened(place: &Place, error: BlocksError) -> Failure {
    let device = &place.device;
    match error {
        BlocksError::Device(OpenError::Real { error, path }) => match error {
            HostError::NotFound { .. } if !path.starts_with("/dev") => Failure::unusable(anyhow!(
                "{error}; 'flashlane store create {} --create SIZE' creates a new store",
                place.named()
            )),
            error => {
                used_device_refusal(device, &error).unwrap_or_else(|| OpenError::Real { error, path }.into())
            }
        },
        BlocksError::Device(OpenError::Layer(LayerError::Lanes(LanesError::NotFormatted { .. }))) => {
            no_store(place, &"it is not divided into lanes")
        }
        BlocksError::Device(error) => error.into(),
        BlocksError::FormatInSpec { .. } => Failure::unusable(anyhow!(
            "'{device}' sets format=yes, which destroys all data on it: only 'flashlane store create' accepts it"
        )),
        error => Failure::unusable(error),
    }
}

fn store_not_opened(place: &Place, error: StoreOpenError) -> Failure {
    let Place { device, log, .. } = place;
    match error {
        error @ StoreOpenError::LogTooShort { least_bytes, .. } => {
            let path = log.path().filter(|path| path.is_file());
            let longer = path.map(|path| {
                format!(
                    ". 'truncate -s {least_bytes} {}' makes it as long as it was: the store then opens with what the log still \
                     holds, and names what is missing",
                    quoted(&path.to_string_lossy())
                )
            });
            Failure::failed(anyhow!("{error}{}. {TO_COPY}", longer.unwrap_or_default()))
        }
        error @ StoreOpenError::NoLog { .. } if has_store_blocks(device) => Failure::unusable(anyhow!(
            "{error}, and '{device}' has the blocks of one. Its log is another file or device, which --log LOG names, or was \
                 overwritten. {TO_COPY}"
        )),
        error @ StoreOpenError::LogHeaderDamaged { .. } => Failure::failed(anyhow!("{error}. {TO_COPY}")),
        StoreOpenError::Blocks(error) => match error {
            BlockOpenError::Device { .. } | BlockOpenError::Unreadable { .. } => Failure::failed(error),
            BlockOpenError::NoSuperblock { unreadable: 1.., .. } => Failure::failed(error),
            BlockOpenError::NotFormatted { .. } => no_store(place, &error),
            error => Failure::unusable(error),
        },
        error @ (StoreOpenError::LogFull { .. } | StoreOpenError::Block { .. }) => Failure::failed(error),
        error @ (StoreOpenError::DeviceOlder { .. }
        | StoreOpenError::PatchesMissing { .. }
        | StoreOpenError::PieceMissing { .. }
        | StoreOpenError::MissingOutput { .. }) => {
            Failure::unusable(anyhow!("{error}. {}", to_salvage(place)))
        }
        error @ StoreOpenError::BlockDamaged { .. } => {
            Failure::failed(anyhow!("{error}. {}", to_salvage(place)))
        }
        error @ (StoreOpenError::LogDamaged { .. }
        | StoreOpenError::LogMarksDamaged { .. }
        | StoreOpenError::LogUnreadable { .. }) => Failure::failed(anyhow!("{error}. {}", to_move(place))),
        error @ StoreOpenError::ForeignBlock { id } => Failure::failed(anyhow!(
            "{error}; if its data may be lost, 'flashlane sdf rm {} {id}' deletes it, and the store opens",
            quoted(&device.to_string())
        )),
        error => Failure::unusable(error),
    }
}

/// Says which other data is in the log, and how the store goes on.
pub fn overwritten_log(place: &Place, found: LogOverwritten) -> String {
    let LogOverwritten { offset_bytes, bytes } = found;
    format!(
        "other data is in the log '{}': {}, the first at byte {offset_bytes}, where the store would overwrite it, so nothing is \
         written. Copy it if it is needed; if it may be lost, 'flashlane store salvage {} --destroy-data' erases it",
        place.log,
        exact_bytes(bytes),
        place.named()
    )
}

/// How what a store holds goes to a new one: `import` takes plain keys alone.
const MOVES: &str = "plain keys by 'flashlane store scan --values' and 'flashlane store import', rows by 'flashlane store table scan \
    --format csv' and 'flashlane store table import', files by 'flashlane store file get' and 'flashlane store file put'";

/// Says how a store goes on that has lost blocks, or parts of them.
pub fn to_salvage(place: &Place) -> String {
    format!(
        "Go back to a copy of device and log; if there is none, 'flashlane store salvage {}' shows what is lost, and gives it up \
         with --destroy-data",
        place.named()
    )
}

/// Says how what a store with a damaged log holds goes to a new one.
pub fn to_move(place: &Place) -> String {
    format!(
        "Go back to a copy of device and log; if there is none, what is left of {} goes to a new store: {MOVES}",
        place.named()
    )
}

/// Returns whether a device can be opened and has the blocks of a store.
fn has_store_blocks(device: &Target) -> bool {
    let options = BlockOptions { without_superblock: true, ..BlockOptions::default() };
    let blocks = OpenOptions::new().open_blocks_with(device, AccessMode::ReadOnly, options);
    blocks.is_ok_and(|blocks| blocks.has_log())
}

/// Counts the blocks on a device that belong to no store; `None` where there are none, or it cannot be opened.
fn blocks_without_store(device: &Target) -> Option<String> {
    let options = BlockOptions { without_superblock: true, ..BlockOptions::default() };
    let blocks = OpenOptions::new().open_blocks_with(device, AccessMode::ReadOnly, options).ok()?;
    (!blocks.has_log()).then(|| counted(blocks.status().blocks, "block", "blocks"))
}

fn no_store(place: &Place, error: &dyn std::fmt::Display) -> Failure {
    Failure::unusable(anyhow!(
        "'{}' holds no store ({error}). If the data on it and on its log may be lost, 'flashlane store create {}{}' creates one",
        place.device,
        place.named(),
        to_destroy_both(place)
    ))
}

/// Returns the options, each after a space, by which a store is created over the data of a device and of a log.
fn to_destroy_both(place: &Place) -> String {
    let log = place.log.path().filter(|_| has_signatures(&place.log, &Consent::Destroy));
    let really = log.map(|path| format!(" --really-log {}", quoted(&path.to_string_lossy())));
    to_destroy(&place.device, &Consent::Destroy) + &really.unwrap_or_default()
}

/// Returns why a call of an open store failed.
pub fn failed(error: StoreError) -> Failure {
    match error {
        StoreError::Write(WriteError::KeyTooLong { .. } | WriteError::BatchTooLarge { .. }) => {
            Failure::unusable(error)
        }
        error => Failure::failed(error),
    }
}
