//! Reads: from the write buffer, the read cache, or flash; then over the link, unit by unit or whole.
//!
//! [`ReadPath`] owns the readahead policy and the read cache. It looks up buffered units in the write path and
//! those on flash in the translation.
//!
//! Invariant: a mapping unit in the cache is not older than the last write or trim that reached the drive before it was
//! asked for: [`ReadPath::forget`].
//!
//! A readahead for which a request of the host waits has the rank of a host read from then on: otherwise a steady
//! stream of host reads would keep the request waiting for ever. For the same reason a readahead that has not begun is
//! cancelled when its place in the cache is needed for another stream: those that a scan leaves behind would fill the
//! cache for ever.

use super::link_transfers::LinkTransfers;
use super::read_cache::{CacheLookup, ReadCache};
use super::request::{DriveKernel, pieces_of};
use super::translation::Translation;
use super::write::WritePath;
use crate::config::DriveConfig;
use crate::ids::{FlashPage, Lpn, PlaneId, RequestSlot};
use crate::nand::{Geometry, Read};
use crate::pieces::{Piece, UnitParts, piece};
use flashlane_device::{Failure, Request};
use flashlane_policy::readahead::Readahead;
use flashlane_policy::scheduling::Class;

/// What reads counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadCounts {
    reads: u64,
    units: u64,
    buffer_hits: u64,
    cache_hits: u64,
    read_ahead: u64,
    unreadable: u64,
}

impl ReadCounts {
    /// The counters, under the names that results have.
    pub(super) fn list(&self) -> [(&'static str, u64); 6] {
        [
            ("host_reads", self.reads),
            ("host_pages_read", self.units),
            ("pages_unreadable", self.unreadable),
            ("buffer_read_hits", self.buffer_hits),
            ("readahead_pages_fetched", self.read_ahead),
            ("readahead_page_hits", self.cache_hits),
        ]
    }
}

/// Where a mapping unit of a read comes from.
enum UnitSource {
    /// The buffer or the cache has it; or it was never written, and is zeros.
    Memory,
    /// It is being read ahead of the host: the read waits for that.
    Readahead,
    /// Flash, this page on this plane.
    Flash(PlaneId, FlashPage),
    /// None, as the map on flash will tell.
    MapOnFlash,
}

/// The part of a drive that serves reads.
pub(super) struct ReadPath {
    transfers: LinkTransfers,
    /// Whether mapping units are larger than a page: the end of a read stands for several pages.
    large_units: bool,
    capacity_bytes: u64,
    readahead: Option<(Box<dyn Readahead>, ReadCache)>,
    counts: ReadCounts,
    /// An empty list, kept to spare its allocation.
    to_fetch: Vec<Lpn>,
}

impl ReadPath {
    /// An empty read path whose counters start at `counts`. Requires: `config` is validated.
    pub(super) fn new(
        config: &DriveConfig,
        geometry: &Geometry,
        transfers: LinkTransfers,
        counts: ReadCounts,
    ) -> Self {
        let readahead = config.readahead.as_ref().map(|r| {
            let policy = config.policies.readahead.build(&r.policy, r.window.0, &r.options.options());
            let cache = ReadCache::new(r.cache.0 / geometry.unit_bytes);
            (policy.expect("validation built every policy once"), cache)
        });
        Self {
            transfers,
            large_units: geometry.pages_per_unit > 1,
            capacity_bytes: config.capacity.0,
            readahead,
            counts,
            to_fetch: Vec::new(),
        }
    }

    pub(super) fn counts(&self) -> ReadCounts {
        self.counts
    }

    /// Whether anything is ever read ahead.
    #[inline]
    pub(super) fn has_readahead(&self) -> bool {
        self.readahead.is_some()
    }

    /// Counts a read that reached the drive.
    pub(super) fn count(&mut self) {
        self.counts.reads += 1;
    }

    /// Whether any mapping unit of a read has to be read from flash and is not being read ahead.
    pub(super) fn needs_flash(
        &self,
        request: &Request,
        writes: &WritePath,
        translation: &Translation,
    ) -> bool {
        let unit_bytes = self.transfers.unit_bytes;
        pieces_of(request, unit_bytes).any(|piece| {
            let touched = piece.touched(unit_bytes);
            let buffered = writes.present(piece.lpn).contains(touched);
            let cached = self.readahead.as_ref().is_some_and(|(_, cache)| cache.contains(piece.lpn));
            !buffered
                && !cached
                && (translation.plane_of(piece.lpn).is_some() || translation.needs_map_read(piece.lpn))
        })
    }

    /// Looks up every mapping unit of a read: what is there is delivered, what is not is read from flash. Returns
    /// whether nothing has to come from flash.
    pub(super) fn start(
        &mut self,
        kernel: &mut DriveKernel,
        writes: &mut WritePath,
        translation: &mut Translation,
        slot: RequestSlot,
    ) -> bool {
        let unit_bytes = self.transfers.unit_bytes;
        let request = kernel.in_flight(slot).request();
        let (mut units, mut ready, mut ready_bytes, mut from_flash) = (0, 0, 0, 0);
        for piece in pieces_of(&request, unit_bytes) {
            units += 1;
            match self.look_up(kernel, writes, translation, slot, piece) {
                UnitSource::Memory => {
                    ready += 1;
                    ready_bytes += u64::from(piece.bytes);
                }
                UnitSource::Readahead => {}
                UnitSource::Flash(plane, page) => {
                    from_flash += 1;
                    writes.reserve_clean(piece.lpn);
                    let place = (plane, page);
                    translation.read_for_host(kernel, slot, place, piece);
                }
                UnitSource::MapOnFlash => {
                    from_flash += 1;
                    translation.look_up_for_host(kernel, slot, piece.lpn, u64::from(piece.bytes));
                }
            }
        }
        self.counts.units += u64::from(units);
        kernel.in_flight_mut(slot).start_reading(units, from_flash);
        if ready > 0 {
            self.transfers.transfer_out(kernel, slot, ready, ready_bytes);
        }
        from_flash == 0
    }

    /// Finds where a piece of a read comes from: the buffer first, then the cache, then flash.
    #[inline]
    fn look_up(
        &mut self,
        kernel: &mut DriveKernel,
        writes: &mut WritePath,
        translation: &Translation,
        slot: RequestSlot,
        piece: Piece,
    ) -> UnitSource {
        if writes.read(piece.lpn, piece.touched(self.transfers.unit_bytes)) {
            self.counts.buffer_hits += 1;
            return UnitSource::Memory;
        }
        if let Some((_, cache)) = &mut self.readahead {
            let found = cache.look_up(piece.lpn, (slot, piece.bytes));
            self.counts.cache_hits += u64::from(!matches!(found, CacheLookup::Miss));
            match found {
                CacheLookup::Miss => {}
                CacheLookup::Pending => {
                    // Of a large unit only the last page would pass others.
                    if !self.large_units
                        && let Some(plane) = translation.plane_of(piece.lpn)
                    {
                        kernel.promote_readahead(plane, piece.lpn);
                    }
                    return UnitSource::Readahead;
                }
                CacheLookup::Ready => return UnitSource::Memory,
            }
        }
        match translation.place_of(piece.lpn) {
            Some((plane, page)) => UnitSource::Flash(plane, page),
            None if translation.needs_map_read(piece.lpn) => UnitSource::MapOnFlash,
            None => UnitSource::Memory,
        }
    }

    /// Flash has delivered mapping units of a read. Returns whether they were the last from there.
    #[inline]
    pub(super) fn units_read(
        &mut self,
        kernel: &mut DriveKernel,
        writes: &mut WritePath,
        slot: RequestSlot,
        read: &Read,
    ) -> bool {
        if read.unreadable {
            self.counts.unreadable += 1;
            kernel.in_flight_mut(slot).fail(Failure::Unreadable);
        } else if writes.keeps_reads() {
            let unit_bytes = self.transfers.unit_bytes;
            writes.fill_clean(read.lpn, self.piece_of(kernel, slot, read.lpn).touched(unit_bytes));
        }
        let bytes = match self.large_units {
            false => read.bus_bytes,
            true => u64::from(self.piece_of(kernel, slot, read.lpn).bytes),
        };
        self.transfers.transfer_out(kernel, slot, read.reads, bytes);
        kernel.in_flight_mut(slot).units_read(read.reads)
    }

    /// The piece of a request in a mapping unit that it touches.
    fn piece_of(&self, kernel: &DriveKernel, slot: RequestSlot, lpn: Lpn) -> Piece {
        let Request { offset_bytes, length_bytes, .. } = kernel.in_flight(slot).request();
        piece(lpn, offset_bytes, offset_bytes + length_bytes, self.transfers.unit_bytes)
    }

    /// Asks the readahead policy what to read from flash after a read. Returns those mapping units that are not on
    /// their way already, for which [`ReadPath::recycle`] takes back the list, and the number of waiting reads ahead
    /// that were cancelled for want of room in the cache.
    pub(super) fn units_to_read_ahead(
        &mut self,
        kernel: &mut DriveKernel,
        request: &Request,
        writes: &WritePath,
        translation: &Translation,
    ) -> (Vec<Lpn>, usize) {
        let (mut to_fetch, mut cancelled) = (std::mem::take(&mut self.to_fetch), 0);
        let Some((policy, cache)) = &mut self.readahead else { return (to_fetch, 0) };
        let fetch = policy.observe(request.offset_bytes..request.offset_bytes + request.length_bytes);
        let unit_bytes = self.transfers.unit_bytes;
        // A unit of which the host has only read the beginning is fetched too.
        let first = fetch.start / unit_bytes;
        let end = fetch.end.min(self.capacity_bytes).div_ceil(unit_bytes);
        let of_this_stream = request.offset_bytes / unit_bytes..end;
        let mut cancel = |oldest: Lpn| {
            let is_cancelled = !of_this_stream.contains(&u64::from(oldest.0))
                && translation.plane_of(oldest).is_some_and(|plane| kernel.cancel_readahead(plane, oldest));
            cancelled += usize::from(is_cancelled);
            is_cancelled
        };
        for lpn in (first..end).map(|number| Lpn(number as u32)) {
            let known =
                writes.present(lpn) != UnitParts::NONE || cache.contains(lpn) || cache.is_pending(lpn);
            if known || translation.plane_of(lpn).is_none() {
                continue;
            }
            if !cache.fetch(lpn, &mut cancel) {
                break;
            }
            to_fetch.push(lpn);
        }
        self.counts.read_ahead += to_fetch.len() as u64;
        self.counts.read_ahead -= cancelled as u64;
        (to_fetch, cancelled)
    }

    /// Takes back the list of [`ReadPath::units_to_read_ahead`].
    pub(super) fn recycle(&mut self, mut to_fetch: Vec<Lpn>) {
        to_fetch.clear();
        self.to_fetch = to_fetch;
    }

    /// Reads a mapping unit ahead of the host, whose place is known. Returns false where it was trimmed since it was
    /// chosen.
    pub(super) fn start_readahead(
        &self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        lpn: Lpn,
    ) -> bool {
        let Some(plane) = translation.plane_of(lpn) else { return false };
        let is_awaited = self.readahead.as_ref().is_some_and(|(_, cache)| cache.is_awaited(lpn));
        let class = if is_awaited { Class::HostRead } else { Class::Readahead };
        translation.read_ahead(kernel, class, plane, lpn);
        true
    }

    /// A mapping unit has been read ahead: the reads that wait for it get it.
    pub(super) fn readahead_done(&mut self, kernel: &mut DriveKernel, lpn: Lpn) {
        let Some((_, cache)) = &mut self.readahead else { return };
        for (slot, bytes) in cache.fetched(lpn) {
            kernel.charge_wait(slot);
            self.transfers.transfer_out(kernel, slot, 1, u64::from(bytes));
        }
    }

    /// Mapping units were written or trimmed: what the cache has of them is stale.
    pub(super) fn forget(&mut self, units: impl Iterator<Item = Lpn>) {
        if let Some((_, cache)) = &mut self.readahead {
            units.for_each(|lpn| cache.forget(lpn));
        }
    }
}
