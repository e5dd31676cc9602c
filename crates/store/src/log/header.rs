//! The header of the log's device: what was chosen when the store was created.
//!
//! It is written once, in two copies; of these one is enough. Opening reports a damaged one, and the first write of the
//! log after it is preceded by a repair, unless other data is in its place. The header records the length of the ring,
//! so that a device that was cut is refused: the pages that are left would look like a whole log. Version 1 did not
//! record it. From version 3 on patches cover the writes of the log (`Fields::sequences`), which tells copies of
//! different moments apart. From version 4 on two marks of the log's end ([`super::mark`]) stand between header and
//! ring. Version 5 has a [`Salvage`] behind the other fields; only a log that needs it has that version. All versions
//! are read.

use crate::bytes::{Reader, put_bytes, put_varint};
use crate::error::OpenError;
use crate::log::recover::execute;
use crate::salvage::Salvage;
use flashlane_device::remains::{SECTOR_BYTES, is_remains};
use flashlane_device::{Buffer, DataDevice, DeviceInfo, Request};

const MAGIC: u64 = u64::from_le_bytes(*b"flashkvh");
/// Version of the header that is the newest that this program reads: that of a store that was salvaged.
const VERSION: u32 = 5;
/// Version without the length of the ring; its checksum is that of the fields alone.
const VERSION_WITHOUT_RING: u32 = 1;
/// First version of stores whose patches cover the writes of the log.
const VERSION_WITH_COVER: u32 = 3;
/// First version with marks of the log's end, and the version of a store that was never salvaged.
const VERSION_WITH_MARKS: u32 = 4;
/// First version with a salvage.
const VERSION_WITH_SALVAGE: u32 = 5;
/// Marks of the log's end, each a page.
pub(super) const MARKS: u64 = 2;
/// Smallest page.
const PAGE_BYTES_MIN: u64 = 4096;
/// Most pages of a copy of the header.
const HEADER_PAGES_MAX: u64 = 64;
/// Bytes before the fields: magic, checksum, version and length.
const HEAD_BYTES: u64 = 20;
/// The checksum covers the bytes from here on.
const CHECKED_FROM: usize = 12;

/// What a store is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogConfig {
    /// Identifies the store.
    pub(crate) store: u128,
    /// First keys of the slices, in order; that of slice 0 is empty.
    pub(crate) bounds: Vec<Vec<u8>>,
    /// Whether the patches of a slice cover all writes whose records were freed, as those of every new store do.
    pub(crate) patches_cover_log: bool,
    /// The last salvage of the store.
    pub(crate) salvage: Option<Salvage>,
}

/// Sizes and places on the log's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogLayout {
    pub(crate) page_bytes: u64,
    /// Pages of a copy of the header.
    header_pages: u64,
    /// Pages of marks behind both copies; 0 in versions without them.
    mark_pages: u64,
    /// Pages of the ring.
    pub(crate) pages: u64,
}

impl LogConfig {
    /// A new store's.
    pub(crate) fn new(store: u128, bounds: Vec<Vec<u8>>) -> Self {
        Self { store, bounds, patches_cover_log: true, salvage: None }
    }

    /// Returns the header of a log whose ring has this number of pages.
    pub(super) fn encode(&self, ring_pages: u64) -> Vec<u8> {
        let mut fields = self.store.to_le_bytes().to_vec();
        fields.extend_from_slice(&ring_pages.to_le_bytes());
        put_varint(&mut fields, self.bounds.len() as u64);
        self.bounds.iter().for_each(|bound| put_bytes(&mut fields, bound));
        let version = match &self.salvage {
            None => VERSION_WITH_MARKS,
            Some(salvage) => {
                salvage.encode(&mut fields);
                VERSION_WITH_SALVAGE
            }
        };
        let mut checked = version.to_le_bytes().to_vec();
        checked.extend_from_slice(&(fields.len() as u32).to_le_bytes());
        checked.extend_from_slice(&fields);
        let mut out = MAGIC.to_le_bytes().to_vec();
        out.extend_from_slice(&crc32c::crc32c(&checked).to_le_bytes());
        out.extend_from_slice(&checked);
        out
    }

    /// Returns the pages of a copy, which do not depend on the length of the ring.
    fn pages(&self, page_bytes: u64) -> u64 {
        (self.encode(0).len() as u64).div_ceil(page_bytes)
    }

    fn decode(bytes: &[u8]) -> Header {
        Self::parse(bytes).unwrap_or(Header::Unreadable)
    }

    fn parse(bytes: &[u8]) -> Option<Header> {
        let mut reader = Reader::new(bytes);
        if reader.u64()? != MAGIC {
            return Some(Header::Foreign);
        }
        let (checksum, version, length) = (reader.u32()?, reader.u32()?, reader.u32()?);
        if version > VERSION {
            return Some(Header::Newer(version));
        }
        let Some(fields) = reader.take(length.into()) else { return Some(Header::Longer(length.into())) };
        let records_ring = version != VERSION_WITHOUT_RING;
        let checked =
            if records_ring { &bytes[CHECKED_FROM..HEAD_BYTES as usize + fields.len()] } else { fields };
        if crc32c::crc32c(checked) != checksum {
            return None;
        }
        let mut reader = Reader::new(fields);
        let store = reader.u128()?;
        let ring_pages = if records_ring { Some(reader.u64()?) } else { None };
        let count = reader.varint()?;
        let bounds = (0..count).map(|_| reader.bytes().map(<[u8]>::to_vec)).collect::<Option<Vec<_>>>()?;
        let is_sound =
            bounds.first().is_some_and(Vec::is_empty) && bounds.windows(2).all(|pair| pair[0] < pair[1]);
        let header_bytes = HEAD_BYTES + u64::from(length);
        let patches_cover_log = version >= VERSION_WITH_COVER;
        let salvage =
            if version >= VERSION_WITH_SALVAGE { Some(Salvage::decode(&mut reader)?) } else { None };
        let config = Self { store, bounds, patches_cover_log, salvage };
        let mark_pages = if version >= VERSION_WITH_MARKS { MARKS } else { 0 };
        is_sound.then_some(Header::Sound { config, header_bytes, mark_pages, ring_pages })
    }
}

/// A copy of the header as found.
enum Header {
    Sound {
        config: LogConfig,
        header_bytes: u64,
        mark_pages: u64,
        /// `None` in version 1, where the ring ends with the device.
        ring_pages: Option<u64>,
    },
    Foreign,
    Newer(u32),
    /// Its fields have this length.
    Longer(u64),
    Unreadable,
}

impl LogLayout {
    /// Returns the layout of a device with these properties for this configuration; `None` where it has too few pages.
    pub(crate) fn new(info: &DeviceInfo, config: &LogConfig) -> Option<Self> {
        let page_bytes = page_bytes(info);
        let header_pages = config.pages(page_bytes);
        if header_pages > HEADER_PAGES_MAX {
            return None;
        }
        let pages = (info.capacity_bytes / page_bytes).checked_sub(2 * header_pages + MARKS)?;
        Some(Self { page_bytes, header_pages, mark_pages: MARKS, pages })
    }

    /// Returns the layout of a log on a device whose header was read. Without `ring_pages` the ring ends with the
    /// device.
    fn of_device(
        info: &DeviceInfo,
        page_bytes: u64,
        (header_pages, mark_pages): (u64, u64),
        ring_pages: Option<u64>,
    ) -> Result<Self, OpenError> {
        let before_ring = 2 * header_pages + mark_pages;
        let on_device = (info.capacity_bytes / page_bytes).saturating_sub(before_ring);
        let pages = ring_pages.unwrap_or(on_device);
        if pages > on_device {
            return Err(OpenError::LogTooShort {
                device: info.name.clone(),
                given_bytes: info.capacity_bytes,
                least_bytes: (before_ring + pages) * page_bytes,
            });
        }
        match pages {
            0 => Err(OpenError::NoLog { device: info.name.clone() }),
            _ => Ok(Self { page_bytes, header_pages, mark_pages, pages }),
        }
    }

    /// Returns the bytes before the ring of a log with slices of these first keys: both copies of the header, and the
    /// marks.
    pub(crate) fn header_bytes(page_bytes: u64, bounds: &[Vec<u8>]) -> u64 {
        (2 * LogConfig::new(0, bounds.to_vec()).pages(page_bytes) + MARKS) * page_bytes
    }

    /// Returns the bytes that a salvage may take in the header of a log with this configuration; `None` where the log
    /// is of a version that cannot record one.
    pub(crate) fn salvage_bytes_max(&self, config: &LogConfig) -> Option<u64> {
        let own = config.encode(self.pages).len() as u64;
        self.has_marks().then(|| (self.header_pages * self.page_bytes).saturating_sub(own))
    }

    /// Returns whether the log has marks of its end.
    pub(super) fn has_marks(&self) -> bool {
        self.mark_pages > 0
    }

    /// Returns the offset of a mark of the log's end.
    pub(super) fn mark_offset(&self, place: u64) -> u64 {
        assert!(place < self.mark_pages, "the log has {} marks, and none at {place}", self.mark_pages);
        (2 * self.header_pages + place) * self.page_bytes
    }

    /// A ring of this number of pages of 4 KiB.
    #[cfg(test)]
    pub(super) fn for_tests(pages: u64) -> Self {
        Self { page_bytes: PAGE_BYTES_MIN, header_pages: 1, mark_pages: MARKS, pages }
    }

    /// The same as versions before 4 have it.
    #[cfg(test)]
    pub(super) fn without_marks(self) -> Self {
        Self { mark_pages: 0, pages: self.pages + self.mark_pages, ..self }
    }

    /// Returns the offset of a slot of the ring.
    pub(super) fn page_offset(&self, slot: u64) -> u64 {
        (2 * self.header_pages + self.mark_pages + slot) * self.page_bytes
    }

    /// Returns the most bytes of a record: a quarter of the ring.
    pub(crate) fn record_bytes_max(&self) -> u64 {
        self.pages / 4 * super::page::payload_bytes(self)
    }
}

/// Returns the page size on a device: its write unit, and 4 KiB at least.
fn page_bytes(info: &DeviceInfo) -> u64 {
    let unit = info.write_unit_bytes.max(info.read_unit_bytes);
    PAGE_BYTES_MIN.next_multiple_of(unit)
}

/// Writes the header to a log's device, and marks of an empty log.
pub(crate) fn write_header<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
) -> Result<(), String> {
    write_copies(device, layout, config, [0, 1])?;
    for place in 0..layout.mark_pages {
        let write = Request::write(0, layout.mark_offset(place), layout.page_bytes);
        let mark = super::mark::encode(layout, config.store, 0);
        execute(device, Request { durable: true, ..write }, Some(mark))?;
    }
    execute(device, Request::flush(0), None).map(drop)
}

/// Writes both copies of the header, in this order, the second once the first is durable.
fn write_copies<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
    order: [u64; 2],
) -> Result<(), String> {
    let bytes = config.encode(layout.pages);
    let length = layout.header_pages * layout.page_bytes;
    assert_eq!(
        (bytes.len() as u64).div_ceil(layout.page_bytes),
        layout.header_pages,
        "a header of {} bytes takes the pages of its place",
        bytes.len()
    );
    for copy in order {
        let mut buffer = Buffer::zeroed(length as usize);
        buffer.as_mut_slice()[..bytes.len()].copy_from_slice(&bytes);
        let request = Request { durable: true, ..Request::write(0, copy * length, length) };
        execute(device, request, Some(buffer))?;
    }
    Ok(())
}

/// Writes the header anew: after a power cut it is as it was, or as it is now. `damaged` is the copy that is not sound,
/// and is written first.
pub(super) fn rewrite_header<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
    damaged: Option<&DamagedCopy>,
) -> Result<(), String> {
    let order = if damaged.is_some_and(|copy| copy.offset_bytes > 0) { [1, 0] } else { [0, 1] };
    execute(device, Request::flush(0), None)?;
    write_copies(device, layout, config, order)?;
    execute(device, Request::flush(0), None).map(drop)
}

/// The header as found.
pub(crate) struct FoundHeader {
    pub(crate) config: LogConfig,
    pub(crate) layout: LogLayout,
    /// The copy that is not sound, if one is.
    pub(crate) damaged: Option<DamagedCopy>,
}

/// A copy of the header that is not sound.
#[derive(Clone, Debug)]
pub(crate) struct DamagedCopy {
    pub(crate) offset_bytes: u64,
    /// The bytes of the other copy, to be written in its place; `None` where other data is there.
    pub(crate) repair: Option<Buffer>,
}

/// Reads the header from a log's device.
pub(crate) fn read_header<L: DataDevice>(device: &mut L) -> Result<FoundHeader, OpenError> {
    let info = device.info().clone();
    let (name, page) = (info.name.clone(), page_bytes(&info));
    let (mut is_ours, mut newer) = (false, None);
    // The second copy stands behind the first, whose length only a valid copy says.
    for first in 0..HEADER_PAGES_MAX.min(info.capacity_bytes / page) {
        match read_copy(device, page, first) {
            Header::Sound { config, header_bytes, mark_pages, ring_pages } => {
                let header_pages = header_bytes.div_ceil(page);
                if first != 0 && first != header_pages {
                    return Err(OpenError::NoLog { device: name });
                }
                let layout = LogLayout::of_device(&info, page, (header_pages, mark_pages), ring_pages)?;
                let damaged = damaged_copy(device, &layout, &config, first == 0, header_bytes);
                return Ok(FoundHeader { config, layout, damaged });
            }
            // A damaged byte can be taken for the version: a sound copy decides.
            Header::Newer(found) => newer = newer.or(Some(found)),
            Header::Unreadable | Header::Longer(_) => is_ours = true,
            Header::Foreign => {}
        }
    }
    Err(match newer {
        Some(found) => OpenError::NewerLog { device: name, found, known: VERSION },
        None if is_ours || has_pages(device, page) => OpenError::LogHeaderDamaged { device: name },
        None => OpenError::NoLog { device: name },
    })
}

/// Returns whether marks or pages of a log stand where they do behind a header.
fn has_pages<L: DataDevice>(device: &mut L, page: u64) -> bool {
    let places = (2 * HEADER_PAGES_MAX + MARKS + 1).min(device.info().capacity_bytes / page);
    (0..places).any(|place| {
        let request = Request::read(0, place * page, page);
        let found = execute(device, request, Some(Buffer::zeroed(page as usize))).ok().flatten();
        found.is_some_and(|found| {
            let found = found.as_slice();
            super::mark::has_magic(found) || super::page::has_magic(found)
        })
    })
}

/// Compares the two copies of the header, of which the first or the second is sound. Returns the other if it differs.
fn damaged_copy<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
    first_is_sound: bool,
    header_bytes: u64,
) -> Option<DamagedCopy> {
    let length = layout.header_pages * layout.page_bytes;
    let (sound_at, offset_bytes) = if first_is_sound { (0, length) } else { (length, 0) };
    let mut read = |offset: u64| {
        let request = Request::read(0, offset, length);
        execute(device, request, Some(Buffer::zeroed(length as usize))).ok().flatten()
    };
    let (sound, other) = (read(sound_at)?, read(offset_bytes));
    let header = 0..header_bytes as usize;
    let mut expected = vec![0; length as usize];
    expected[header.clone()].copy_from_slice(&sound.as_slice()[header.clone()]);
    let found = other.as_ref().map(Buffer::as_slice);
    // What is behind a sound header means nothing.
    if found.is_some_and(|found| found[header.clone()] == expected[header]) {
        return None;
    }
    let is_ours = found.is_none_or(|found| {
        is_remains(found, &expected)
            || is_other_version(found, config, layout)
            || is_torn_by_a_salvage(found, &expected, config, layout)
    });
    Some(DamagedCopy { offset_bytes, repair: is_ours.then_some(sound) })
}

/// Returns whether a place holds a sound header of the same store, as before or after a salvage, and nothing behind it.
fn is_other_version(found: &[u8], config: &LogConfig, layout: &LogLayout) -> bool {
    match LogConfig::decode(found) {
        Header::Sound { config: other, header_bytes, ring_pages, .. } => {
            let has_nothing_behind = found[header_bytes as usize..].iter().all(|&byte| byte == 0);
            let is_same = (other.store, &other.bounds) == (config.store, &config.bounds);
            has_nothing_behind && is_same && ring_pages == Some(layout.pages)
        }
        _ => false,
    }
}

/// Returns whether a place may hold a header that a power cut tore while a salvage was recorded: sectors of two headers
/// of the same store. What a store is created with is the same in both. The statement of the other salvage is not
/// known, so it may be any. A header within one sector is not torn.
fn is_torn_by_a_salvage(found: &[u8], expected: &[u8], config: &LogConfig, layout: &LogLayout) -> bool {
    let end_of = |bytes: &[u8]| {
        let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let (version, length) = (field(CHECKED_FROM), field(CHECKED_FROM + 4));
        let end = HEAD_BYTES as usize + length as usize;
        // Behind a statement may be the end of a longer one.
        let end = if version == VERSION_WITH_SALVAGE { bytes.len().max(end) } else { end };
        ((VERSION_WITH_MARKS..=VERSION_WITH_SALVAGE).contains(&version) && end <= bytes.len()).then_some(end)
    };
    let Some((one, other)) = end_of(found).zip(end_of(expected)) else { return false };
    let end = one.max(other);
    let created = LogConfig { salvage: None, ..config.clone() }.encode(layout.pages).len();
    let same = [0..size_of_val(&MAGIC), HEAD_BYTES as usize..created, end..found.len()];
    end > SECTOR_BYTES && same.into_iter().all(|part| found[part.clone()] == expected[part])
}

/// Reads the copy of the header that begins with page `first`.
fn read_copy<L: DataDevice>(device: &mut L, page: u64, first: u64) -> Header {
    let mut read = |length: u64| {
        let request = Request::read(0, first * page, length);
        match execute(device, request, Some(Buffer::zeroed(length as usize))) {
            Ok(Some(buffer)) => LogConfig::decode(buffer.as_slice()),
            _ => Header::Unreadable,
        }
    };
    match read(page) {
        Header::Longer(fields) if fields + HEAD_BYTES <= HEADER_PAGES_MAX * page => {
            read((fields + HEAD_BYTES).next_multiple_of(page))
        }
        found => found,
    }
}
