//! How a device is opened: seed, depth, and what may be done to a real one.

use flashlane_base::Seed;
use flashlane_host::DEPTH_DEFAULT;
use flashlane_policy::Policies;
use std::path::PathBuf;

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
    pub(crate) check_erased: bool,
    pub(crate) keeps_blocks: bool,
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
            check_erased: false,
            keeps_blocks: false,
        }
    }
}

impl OpenOptions {
    /// Seed 0, the usual depth, and nothing that would change a real device.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows all data on a real device to be overwritten. A device that is mounted, held, partitioned or carries a file
    /// system, or blocks of ours, is refused all the same, until its path is repeated by [`really`](Self::really).
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

    /// Says that whoever opens the device keeps the blocks that are on it, so that they do not speak against writing to it.
    pub fn keeps_blocks(self, are_kept: bool) -> Self {
        Self { keeps_blocks: are_kept, ..self }
    }

    /// Lets the lanes of a real device take an erased unit for written where it begins with foreign data: for those who
    /// begin what they write with [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC), as blocks do.
    pub fn check_erased(self, is_checked: bool) -> Self {
        Self { check_erased: is_checked, ..self }
    }
}
