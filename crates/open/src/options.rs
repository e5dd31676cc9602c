//! Options of opening a device: seed, depth, and the permissions for a real one.

use flashlane_base::Seed;
use flashlane_host::{DEPTH_DEFAULT, PageCache};
use flashlane_policy::Policies;
use std::path::PathBuf;

/// Options to open a device. A real device is opened for reading only, unless [`destroy_data`](Self::destroy_data) is
/// set.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(crate) destroy_data: bool,
    pub(crate) empties_bytes_file: bool,
    pub(crate) really: Option<PathBuf>,
    pub(crate) page_cache: PageCache,
    pub(crate) depth: u32,
    pub(crate) seed: Seed,
    pub(crate) policies: Policies,
    pub(crate) create_bytes: Option<u64>,
    pub(crate) is_new: bool,
    pub(crate) check_erased: bool,
    pub(crate) keeps_blocks: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            destroy_data: false,
            empties_bytes_file: false,
            really: None,
            page_cache: PageCache::Bypass,
            depth: DEPTH_DEFAULT,
            seed: Seed(0),
            policies: Policies::default(),
            create_bytes: None,
            is_new: false,
            check_erased: false,
            keeps_blocks: false,
        }
    }
}

impl OpenOptions {
    /// Seed 0, the default depth, and no permission to change a real device.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows all data on a real device to be overwritten. A device that is mounted, held, partitioned or carries a
    /// file system, or our blocks, is still refused until its path is repeated by [`really`](Self::really).
    pub fn destroy_data(self, allowed: bool) -> Self {
        Self { destroy_data: allowed, ..self }
    }

    /// Allows a file that exists to be emptied for the data of a simulated drive: `backed(sim:NAME,file=PATH)`. A file that
    /// is mounted, in use or carries a file system is still refused until its path is repeated by
    /// [`really`](Self::really).
    pub fn empty_bytes_file(self, allowed: bool) -> Self {
        Self { empties_bytes_file: allowed, ..self }
    }

    /// Confirms by its path that a device may be overwritten although it looks used.
    pub fn really(self, path: impl Into<PathBuf>) -> Self {
        Self { really: Some(path.into()), ..self }
    }

    /// Allows buffered I/O where the file system does not support direct I/O: this measures memory, not the drive.
    pub fn allow_page_cache(self, allowed: bool) -> Self {
        Self { page_cache: if allowed { PageCache::Tolerate } else { PageCache::Bypass }, ..self }
    }

    /// Opens a real device through the page cache ([`PageCache::Use`]).
    pub(crate) fn through_page_cache(self) -> Self {
        Self { page_cache: PageCache::Use, ..self }
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

    /// States that the file of the spec is new, so that formatting it with lanes loses nothing.
    pub fn newly_made(self, is_new: bool) -> Self {
        Self { is_new, ..self }
    }

    /// States that the caller preserves the blocks on the device, so that they are no reason to refuse writing to it.
    pub fn keeps_blocks(self, are_kept: bool) -> Self {
        Self { keeps_blocks: are_kept, ..self }
    }

    /// Makes the lanes of a real device treat an erased unit as written where it begins with foreign data. For callers
    /// that begin each unit with [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC), as blocks do.
    pub fn check_erased(self, is_checked: bool) -> Self {
        Self { check_erased: is_checked, ..self }
    }
}
