//! Options of opening a device: seed, depth, what the caller does, and the consent of the user.

use flashlane_base::Seed;
use flashlane_host::{Consent, DEPTH_DEFAULT, PageCache};
use flashlane_policy::Policies;

/// What a caller does with a device, or with the blocks on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// Reads the data, or gets blocks.
    ReadOnly,
    /// Also writes and trims the data, or puts and deletes blocks.
    ReadWrite,
}

impl AccessMode {
    /// Returns what a caller does that writes only where `writes`.
    pub fn for_writes(writes: bool) -> Self {
        if writes { Self::ReadWrite } else { Self::ReadOnly }
    }
}

/// Options to open a device. A real device is opened for reading only, unless [`consent`](Self::consent) allows
/// writing.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(crate) consent: Consent,
    pub(crate) access: AccessMode,
    pub(crate) page_cache: PageCache,
    pub(crate) direct_reads: bool,
    pub(crate) depth: u32,
    pub(crate) seed: Seed,
    pub(crate) policies: Policies,
    pub(crate) create_bytes: Option<u64>,
    pub(crate) check_erased: bool,
    pub(crate) after_interrupt: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            consent: Consent::ReadOnly,
            access: AccessMode::ReadWrite,
            page_cache: PageCache::Bypass,
            direct_reads: false,
            depth: DEPTH_DEFAULT,
            seed: Seed(0),
            policies: Policies::default(),
            create_bytes: None,
            check_erased: false,
            after_interrupt: false,
        }
    }
}

impl OpenOptions {
    /// Seed 0, the default depth, and no consent to change a real device.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what the user has agreed to lose on a real device, or in the file that keeps the data of a simulated one
    /// (`backed(sim:NAME,file=PATH)`). With [`Consent::Destroy`], a device that is mounted, held, partitioned or
    /// carries a file system, or our blocks, is still refused.
    pub fn consent(self, consent: Consent) -> Self {
        Self { consent, ..self }
    }

    /// Limits what is done with a real device, whatever the consent. Default: [`AccessMode::ReadWrite`].
    pub fn access(self, access: AccessMode) -> Self {
        Self { access, ..self }
    }

    /// Returns the consent to what is done with the device.
    pub(crate) fn consent_to_access(&self) -> Consent {
        match self.access {
            AccessMode::ReadOnly => Consent::ReadOnly,
            AccessMode::ReadWrite => self.consent.clone(),
        }
    }

    /// Allows buffered I/O where the file system does not support direct I/O: this measures memory, not the drive.
    pub fn allow_page_cache(self, allowed: bool) -> Self {
        Self { page_cache: if allowed { PageCache::Tolerate } else { PageCache::Bypass }, ..self }
    }

    /// Opens a real device through the page cache ([`PageCache::Use`]).
    pub(crate) fn through_page_cache(self) -> Self {
        Self { page_cache: PageCache::Use, ..self }
    }

    /// Reads the blocks of a store on a file past the page cache of the operating system. Default: gets and short scans
    /// of such a store read through it, so that data beyond the store's memory is read from what the system has free.
    /// It gives that memory back where programs need it. Writes and long reads bypass it either way, as do stores on
    /// drives and all else that reads a real device.
    pub fn direct_reads(self, are_direct: bool) -> Self {
        Self { direct_reads: are_direct, ..self }
    }

    /// Opens the device of a store's blocks.
    pub(crate) fn for_store(self) -> Self {
        Self { page_cache: if self.direct_reads { PageCache::Tolerate } else { PageCache::Reads }, ..self }
    }

    /// Sets the number of requests in flight on a real device; the depth of a simulated one is set by its profile.
    pub fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// Sets the root seed of simulated drives and layers.
    pub fn seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    /// Sets the policies available to a simulated drive's profile; default [`Policies::default`].
    pub fn policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// Creates the file of the spec with this length, and allows it to be overwritten. An existing file is never
    /// replaced, and a file that cannot be opened as the spec says is removed.
    pub fn create(self, length_bytes: u64) -> Self {
        Self { create_bytes: Some(length_bytes), ..self }
    }

    /// Prepares simulated drives also where a signal has requested an orderly end, which stops their preparation
    /// otherwise: for a step that follows this request. The next signal still ends the program.
    pub fn after_interrupt(self, is_after: bool) -> Self {
        Self { after_interrupt: is_after, ..self }
    }

    /// Makes the lanes of a real device treat an erased unit as written where it begins with foreign data. For callers
    /// that begin each unit with [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC), as blocks do.
    pub fn check_erased(self, is_checked: bool) -> Self {
        Self { check_erased: is_checked, ..self }
    }
}
