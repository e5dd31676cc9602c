//! The parts of a drive that begin empty whenever it is powered on.

use crate::buffer::WriteBuffer;
use crate::cache::ReadCache;
use crate::config::DriveConfig;
use crate::host::{Exclusion, Link};
use crate::nand::{FlashArray, Geometry};
use flashlane_base::Seed;
use flashlane_policy::readahead::Readahead;
use std::collections::VecDeque;

pub(super) struct Powered {
    pub(super) link: Link,
    pub(super) held: VecDeque<u32>,
    pub(super) exclusion: Option<Exclusion>,
    pub(super) readahead: Option<(Box<dyn Readahead>, ReadCache)>,
    pub(super) buffer: Option<WriteBuffer>,
    pub(super) flash: FlashArray,
}

impl Powered {
    /// Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        let readahead = config.readahead.as_ref().map(|r| {
            let policy = config.policies.readahead.build(&r.policy, r.window.0, &r.options.options());
            let cache = ReadCache::new(r.cache.0 / geometry.page_bytes);
            (policy.expect("validation built every policy once"), cache)
        });
        Self {
            link: Link::new(&config.link),
            held: VecDeque::new(),
            exclusion: config.link.read_write_exclusion.then(Exclusion::default),
            readahead,
            buffer: WriteBuffer::new(config, geometry),
            flash: FlashArray::new(config, geometry, seed),
        }
    }
}
