//! Opens a real drive under the safety rules that protect existing data.
//!
//! Reading is always allowed and writes nothing (not even an access time, where the caller owns the file). Opening for
//! writing writes nothing either, and requires [`Consent`]. A target that is in use, partitioned, or carries a known
//! signature (including our own blocks) is still refused, with all findings, unless the consent repeats its path. A
//! target opened for writing is claimed for this process: block devices by the kernel's exclusive open, both kinds by
//! an advisory lock that a second Flashlane respects. What other programs may have changed before the claim is looked
//! at again (`claim`).

use crate::claim::{self, Lock, OtherFiles};
use crate::consent::{Change, Consent};
use crate::create::Created;
use crate::depth::{DEPTH_DEFAULT, DEPTH_MAX};
use crate::doubt::{Doubt, Doubts};
use crate::engine::EngineChoice;
use crate::file_device::{FileDevice, Setup};
use crate::finding::Finding;
use crate::open_error::OpenError;
use crate::signature::Signature;
use crate::target::{self, Target};
use crate::usage;
use flashlane_device::DeviceInfo;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Use of the operating system's page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageCache {
    /// Direct I/O; a target whose file system has none is refused.
    #[default]
    Bypass,
    /// Direct I/O where the file system has it, and otherwise the page cache, which is a [`Doubt`].
    Tolerate,
    /// As [`PageCache::Tolerate`], but reads of a regular file of up to 384 KiB go through the page cache. No more is
    /// read ahead than a request asks for. Nothing can be measured so. A block device is read past it: the pages of its
    /// partitions and of the whole are different ones, so that writes by another path would not be seen.
    Reads,
    /// A write completes when the operating system has it, and outlives this process but no power cut; a durable write
    /// or a flush completes when it is on the device. Nothing can be measured so.
    Use,
}

impl PageCache {
    /// Returns whether the page cache is used where the file system has no direct I/O.
    fn is_tolerated(self) -> bool {
        matches!(self, Self::Tolerate | Self::Reads)
    }
}

/// What the caller knows about Flashlane blocks on a device to overwrite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OwnData {
    /// Unknown: our own mark is a signature like any other.
    #[default]
    Unknown,
    /// The caller preserves them. They lie in these byte ranges (none where there are no blocks), where a signature is
    /// stored data: neither it nor our own mark counts.
    Preserved(Vec<Range<u64>>),
    /// The description of the blocks, which counts as a signature: `Flashlane lanes with 35 blocks`.
    Found(String),
}

/// How to open a block device or a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Path of the target. Symbolic links are followed; refusals name the real path.
    pub path: PathBuf,
    /// Consent to the loss of data.
    pub consent: Consent,
    /// The file that [`Consent::NewFile`] is about, where the caller made it itself: any other is refused.
    pub created: Option<Created>,
    /// The caller reads a target that it holds open, and locked, for writing.
    pub is_held: bool,
    /// What the caller knows about Flashlane blocks that would be overwritten.
    pub own_data: OwnData,
    /// Requests in flight at once, 1 to [`DEPTH_MAX`]; the threads engine supports at most 64.
    pub depth: u32,
    /// The I/O engine.
    pub engine: EngineChoice,
    /// Whether I/O goes through the page cache.
    pub page_cache: PageCache,
}

impl OpenOptions {
    /// Options to open `path` for reading only.
    pub fn read_only(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            consent: Consent::ReadOnly,
            created: None,
            is_held: false,
            own_data: OwnData::Unknown,
            depth: DEPTH_DEFAULT,
            engine: EngineChoice::Automatic,
            page_cache: PageCache::Bypass,
        }
    }

    /// Options to open `path` for reading and writing, unless it looks used.
    pub fn read_write(path: impl Into<PathBuf>) -> Self {
        Self { consent: Consent::Destroy, ..Self::read_only(path) }
    }

    /// Repeats the path of a target that is opened for writing ([`Consent::DestroyUsed`]).
    pub fn really(self, path: impl Into<PathBuf>) -> Self {
        let consent = if self.writes() { Consent::DestroyUsed(path.into()) } else { Consent::ReadOnly };
        Self { consent, ..self }
    }

    /// Opens the target as a device.
    ///
    /// # Errors
    /// [`OpenError`] says what was found and what is required.
    pub fn open(&self) -> Result<FileDevice, OpenError> {
        FileDevice::new(self.setup()?).map_err(|e| self.os("set up I/O on", e))
    }

    /// Opens, checks and locks a regular file, whatever its length, for the caller's own calls.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_file(&self) -> Result<File, OpenError> {
        let target = Target::resolve(&self.path)?;
        if target.block {
            let (path, real) = (self.path.clone(), target.real);
            return Err(OpenError::NotStorage { path, real, found: "a block device" });
        }
        Ok(self.claim(&target)?.file)
    }

    /// Returns why the target would not be opened for writing: the signs of existing data that its consent does not
    /// cover. Only reads.
    ///
    /// # Errors
    /// [`OpenError`] other than [`OpenError::Refused`].
    pub fn findings(&self) -> Result<Vec<Finding>, OpenError> {
        match self.check_consent(&Target::resolve(&self.path)?, usage::survey) {
            Ok(()) => Ok(Vec::new()),
            Err(OpenError::Refused { findings, .. }) => Ok(findings),
            Err(error) => Err(error),
        }
    }

    /// Opens and checks the target, without the engine.
    pub(crate) fn setup(&self) -> Result<Setup, OpenError> {
        if !(1..=DEPTH_MAX).contains(&self.depth) {
            return Err(OpenError::Depth { depth: self.depth });
        }
        let target = Target::resolve(&self.path)?;
        let Claimed { file, others, mut doubts } = self.claim(&target)?;
        let (path, real) = (self.path.clone(), target.real.clone());
        let extent = target.extent(&file).map_err(|e| self.os("measure", e))?;
        let buffered = doubts.contains(&Doubt::PageCacheNotBypassed);
        let unit_bytes = match extent.unit_bytes {
            0 if buffered || self.page_cache == PageCache::Use => 512,
            // The file opened with O_DIRECT, but the file system reports that it uses the page cache.
            0 if self.page_cache.is_tolerated() => {
                doubts.raise(Doubt::PageCacheNotBypassed);
                512
            }
            0 => return Err(OpenError::NoDirectIo { path, real }),
            unit => unit,
        };
        let capacity_bytes = extent.length_bytes / unit_bytes * unit_bytes;
        if capacity_bytes == 0 {
            return Err(OpenError::TooSmall { path, real, length_bytes: extent.length_bytes, unit_bytes });
        }
        if !target.block {
            add_file_doubts(&file, capacity_bytes, &mut doubts).map_err(|e| self.os("look at", e))?;
        }
        let info = DeviceInfo {
            depth: self.depth,
            read_only: !self.writes(),
            ..DeviceInfo::new(self.path.display().to_string(), capacity_bytes, unit_bytes)
        };
        let block = target.block;
        let trims = block.then(|| takes_discards(&target));
        let (engine, page_cache) = (self.engine, self.page_cache);
        let is_read_cached = self.page_cache == PageCache::Reads && !target.block;
        let reads = is_read_cached.then(|| open_for_reads(&file)).flatten();
        Ok(Setup { file, reads, others, info, block, trims, engine, page_cache, doubts })
    }

    pub(crate) fn os(&self, action: &'static str, source: io::Error) -> OpenError {
        OpenError::Os { path: self.path.clone(), action, source }
    }

    /// Returns whether the target is opened for writing.
    fn writes(&self) -> bool {
        self.consent.allows(Change::Write)
    }

    /// Opens and locks the target, where its existing data may be overwritten.
    fn claim(&self, target: &Target) -> Result<Claimed, OpenError> {
        self.check_protection(target)?;
        let mut kept = None;
        let mut tries_left = claim::LOCK_TRIES;
        loop {
            let (file, mut doubts) = match kept.take() {
                Some(opened) => opened,
                None => {
                    self.check_consent(target, usage::survey)?;
                    // Opening a file of an overlay opens that of its layer.
                    let is_open = |layers: &[File]| layers.iter().any(claim::is_open_elsewhere);
                    if self.checks_claim() && is_open(&usage::other_files(target).same) {
                        return Err(self.open_elsewhere(target));
                    }
                    self.open_checked(target)?
                }
            };
            let mut lock = if self.is_held { Lock::Held } else { claim::lock(&file, self.writes()) };
            let mut others = OtherFiles::default();
            if lock == Lock::Held && self.writes() {
                others = usage::other_files(target);
                lock = others.lock();
            }
            match lock {
                Lock::Busy if tries_left == 0 => {
                    return Err(self.locked(target));
                }
                // Exclusive open protects a block device, and each time that it is closed the device manager locks it.
                // A file is surveyed anew, since whoever has locked it may store data.
                Lock::Busy => kept = target.block.then_some((file, doubts)),
                Lock::Held | Lock::Unsupported => {
                    if lock == Lock::Unsupported {
                        doubts.raise(Doubt::NotExclusive);
                    }
                    self.check_claimed(target, &file)?;
                    return Ok(Claimed { file, others, doubts });
                }
            }
            tries_left -= 1;
            std::thread::sleep(claim::PAUSE);
        }
    }

    /// Returns the refusal of a target that another process has locked.
    fn locked(&self, target: &Target) -> OpenError {
        let mut users = usage::survey(target).unwrap_or_default();
        users.retain(|finding| matches!(finding, Finding::Open { .. }));
        OpenError::Locked { path: self.path.clone(), real: target.real.clone(), users }
    }

    /// Refuses to write to a block device that would refuse each request.
    fn check_protection(&self, target: &Target) -> Result<(), OpenError> {
        if !self.writes() || !target.block {
            return Ok(());
        }
        let file = target.open_to_read().map_err(|e| self.os("open", e))?;
        match target::is_write_protected(&file) {
            Ok(true) => Err(OpenError::WriteProtected { path: self.path.clone(), real: target.real.clone() }),
            // Where the device does not tell, its writes do.
            Ok(false) | Err(_) => Ok(()),
        }
    }

    /// Checks what other programs may have done before the target was claimed: stored data, or opened the file.
    fn check_claimed(&self, target: &Target, file: &File) -> Result<(), OpenError> {
        if !self.checks_claim() {
            return Ok(());
        }
        if !target.block && claim::is_open_elsewhere(file) {
            return Err(self.open_elsewhere(target));
        }
        self.check_consent(target, usage::content)
    }

    /// Returns whether it matters who else uses the target.
    fn checks_claim(&self) -> bool {
        !matches!(self.consent, Consent::ReadOnly | Consent::DestroyUsed(_))
    }

    /// Returns the refusal of a file that another program has open. The survey names the program, if it can be seen.
    fn open_elsewhere(&self, target: &Target) -> OpenError {
        let unseen = |target: &Target| {
            let here = target.inherited_descriptor().map(|descriptor| Finding::OpenHere { descriptor });
            Ok(vec![here.unwrap_or(Finding::OpenUnseen)])
        };
        let seen = self.check_consent(target, usage::survey);
        seen.and_then(|()| self.check_consent(target, unseen)).expect_err("the program is a finding")
    }

    /// Checks that existing data, of which `look` reports the signs, may be overwritten.
    fn check_consent(
        &self,
        target: &Target,
        look: impl FnOnce(&Target) -> io::Result<Vec<Finding>>,
    ) -> Result<(), OpenError> {
        let (path, real) = (self.path.clone(), target.real.clone());
        let is_new = match &self.consent {
            Consent::ReadOnly => return Ok(()),
            Consent::DestroyUsed(repeated) if *repeated == self.path => return Ok(()),
            Consent::DestroyUsed(repeated) => {
                return Err(OpenError::ReallyMismatch { path, real, really: repeated.clone() });
            }
            Consent::NewFile => true,
            Consent::KeepBlocks | Consent::Destroy => false,
        };
        let findings = look(target).map_err(|e| self.os("look at", e))?;
        let mut findings = self.with_own(findings);
        findings.retain(|finding| !(is_new && matches!(finding, Finding::HiddenUse { .. })));
        if findings.is_empty() { Ok(()) } else { Err(OpenError::Refused { path, real, findings }) }
    }

    /// Returns the findings, with our own mark replaced by what the caller knows of our own data.
    fn with_own(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let is_own =
            |finding: &Finding| matches!(finding, Finding::Signature(signature) if signature.is_own());
        match &self.own_data {
            OwnData::Unknown => {}
            OwnData::Preserved(ranges) => findings.retain(|finding| match finding {
                Finding::Signature(signature) => {
                    let is_stored = ranges.iter().any(|range| range.contains(&signature.offset_bytes));
                    !signature.is_own() && !is_stored
                }
                _ => true,
            }),
            OwnData::Found(what) => {
                let mark = findings.iter().position(is_own).map(|mark| findings.remove(mark));
                let mut signature = match mark {
                    Some(Finding::Signature(signature)) => signature,
                    _ => Signature { what: String::new(), offset_bytes: 0, uuid: None, label: None },
                };
                signature.what.clone_from(what);
                findings.push(Finding::Signature(signature));
            }
        }
        findings
    }

    /// Opens the target, with direct I/O unless the page cache is used, and, to write to a block device, exclusively.
    /// Also returns doubts about measurements.
    fn open_checked(&self, target: &Target) -> Result<(File, Doubts), OpenError> {
        let (file, doubts) = self.open_with_flags(target)?;
        // With O_NONBLOCK, io_uring would return EAGAIN for every request that it cannot complete at once.
        let flags = rustix::fs::fcntl_getfl(&file).map_err(|e| self.os("look at", e.into()))?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(|e| self.os("set up", e.into()))?;
        let is_same = target.is(&file).map_err(|e| self.os("look at", e))?;
        if !is_same || self.consent == Consent::NewFile && !self.is_created(&file)? {
            return Err(OpenError::Replaced { path: self.path.clone(), real: target.real.clone() });
        }
        Ok((file, doubts))
    }

    /// Returns whether `file` is the one that the caller made, if it names one.
    fn is_created(&self, file: &File) -> Result<bool, OpenError> {
        let Some(created) = self.created else { return Ok(true) };
        Created::of(file).map(|found| found == created).map_err(|e| self.os("look at", e))
    }

    fn open_with_flags(&self, target: &Target) -> Result<(File, Doubts), OpenError> {
        let write = self.writes();
        let mut doubts = Doubts::default();
        let mut tries_left = claim::LOCK_TRIES;
        // O_NONBLOCK: the open must not hang if a pipe has replaced the target.
        let mut flags = libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_NOATIME;
        if self.page_cache != PageCache::Use {
            flags |= libc::O_DIRECT;
        }
        if write && target.block {
            flags |= libc::O_EXCL;
        }
        loop {
            let mut options = std::fs::OpenOptions::new();
            let error = match target.open(options.read(true).write(write).custom_flags(flags)) {
                Ok(file) => return Ok((file, doubts)),
                Err(e) => e,
            };
            let (path, real) = (self.path.clone(), target.real.clone());
            match error.raw_os_error() {
                // Only the owner may open with O_NOATIME.
                Some(libc::EPERM) if flags & libc::O_NOATIME != 0 => flags &= !libc::O_NOATIME,
                Some(libc::EINVAL) if flags & libc::O_DIRECT != 0 && self.page_cache.is_tolerated() => {
                    flags &= !libc::O_DIRECT;
                    doubts.raise(Doubt::PageCacheNotBypassed);
                }
                Some(libc::EINVAL) if flags & libc::O_DIRECT != 0 => {
                    return Err(OpenError::NoDirectIo { path, real });
                }
                Some(libc::EBUSY)
                    if flags & libc::O_EXCL != 0 && matches!(self.consent, Consent::DestroyUsed(_)) =>
                {
                    flags &= !libc::O_EXCL;
                    doubts.raise(Doubt::NotExclusive);
                }
                Some(libc::EBUSY) if flags & libc::O_EXCL != 0 => {
                    let device = real.display().to_string();
                    let findings = vec![Finding::Claimed { device }];
                    return Err(OpenError::Refused { path, real, findings });
                }
                // Another program has a lease on the file, as this one while it claims one.
                Some(libc::EWOULDBLOCK) if tries_left > 0 => {
                    tries_left -= 1;
                    std::thread::sleep(claim::PAUSE);
                }
                _ => return Err(self.os("open", error)),
            }
        }
    }
}

/// An open target that no other program uses.
struct Claimed {
    file: File,
    /// Locked with it.
    others: OtherFiles,
    /// Doubts about measurements.
    doubts: Doubts,
}

/// Opens a file that is open once more, for reads through the page cache. Returns nothing where the system lacks
/// `/proc`.
fn open_for_reads(file: &File) -> Option<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let reads = File::open(path).ok()?;
    // The caller's reads are of random places, or ahead as far as they should be.
    let _ = rustix::fs::fadvise(&reads, 0, None, rustix::fs::Advice::Random);
    Some(reads)
}

fn add_file_doubts(file: &File, capacity_bytes: u64, doubts: &mut Doubts) -> io::Result<()> {
    if let Some(file_system) = target::memory_file_system(file)? {
        doubts.raise(Doubt::InMemory { file_system });
    }
    let written_bytes = target::written_bytes(file)?.min(capacity_bytes);
    if written_bytes < capacity_bytes {
        doubts.raise(Doubt::NotAllWritten { written_bytes, capacity_bytes });
    }
    Ok(())
}

/// Returns whether the queue of a block device takes discards.
fn takes_discards(target: &Target) -> bool {
    let (major, minor) = target.device_number();
    let folder = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    // A partition uses the queue of its drive.
    let limit = ["queue", "../queue"]
        .iter()
        .find_map(|queue| std::fs::read_to_string(folder.join(queue).join("discard_max_bytes")).ok());
    limit.is_some_and(|text| text.trim() != "0")
}
