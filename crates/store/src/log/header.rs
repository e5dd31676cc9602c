//! The header of the log's device: what was chosen when the store was created.
//!
//! It is written once, in two copies; of these one is enough.

use crate::bytes::{Reader, put_bytes, put_varint};
use crate::error::OpenError;
use crate::log::page::VERSION;
use crate::log::recover::execute;
use flashlane_device::{Buffer, DataDevice, Profile, Request};

const MAGIC: u64 = u64::from_le_bytes(*b"flashkvh");
/// Smallest page.
const PAGE_BYTES_MIN: u64 = 4096;
/// Most pages of a copy of the header.
const HEADER_PAGES_MAX: u64 = 64;
/// Bytes before the fields: magic, checksum, version and length.
const HEAD_BYTES: u64 = 20;

/// What a store is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogConfig {
    /// Identifies the store.
    pub(crate) store: u128,
    /// First keys of the slices, in order; that of slice 0 is empty.
    pub(crate) bounds: Vec<Vec<u8>>,
}

/// Sizes and places on the log's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogLayout {
    pub(crate) page_bytes: u64,
    /// Pages of a copy of the header.
    header_pages: u64,
    /// Pages of the ring.
    pub(crate) pages: u64,
}

impl LogConfig {
    fn encode(&self) -> Vec<u8> {
        let mut fields = self.store.to_le_bytes().to_vec();
        put_varint(&mut fields, self.bounds.len() as u64);
        self.bounds.iter().for_each(|bound| put_bytes(&mut fields, bound));
        let mut out = MAGIC.to_le_bytes().to_vec();
        out.extend_from_slice(&crc32c::crc32c(&fields).to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(fields.len() as u32).to_le_bytes());
        out.extend_from_slice(&fields);
        out
    }

    /// Returns the pages of a copy.
    fn pages(&self, page_bytes: u64) -> u64 {
        (self.encode().len() as u64).div_ceil(page_bytes)
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
        if version != VERSION {
            return Some(Header::Newer(version));
        }
        let Some(fields) = reader.take(length.into()) else { return Some(Header::Longer(length.into())) };
        if crc32c::crc32c(fields) != checksum {
            return None;
        }
        let mut reader = Reader::new(fields);
        let (store, count) = (reader.u128()?, reader.varint()?);
        let bounds = (0..count).map(|_| reader.bytes().map(<[u8]>::to_vec)).collect::<Option<Vec<_>>>()?;
        let is_sound =
            bounds.first().is_some_and(Vec::is_empty) && bounds.windows(2).all(|pair| pair[0] < pair[1]);
        is_sound.then_some(Header::Config(Self { store, bounds }))
    }
}

/// A copy of the header as found.
enum Header {
    Config(LogConfig),
    Foreign,
    Newer(u32),
    /// Its fields have this length.
    Longer(u64),
    Unreadable,
}

impl LogLayout {
    /// Returns the layout of a device with this profile for this configuration; `None` where it has too few pages.
    pub(crate) fn new(profile: &Profile, config: &LogConfig) -> Option<Self> {
        let page_bytes = page_bytes(profile);
        let header_pages = config.pages(page_bytes);
        if header_pages > HEADER_PAGES_MAX {
            return None;
        }
        let pages = (profile.capacity_bytes / page_bytes).checked_sub(2 * header_pages)?;
        Some(Self { page_bytes, header_pages, pages })
    }

    /// Returns the bytes of both copies of the header of a log with slices of these first keys.
    pub(crate) fn header_bytes(page_bytes: u64, bounds: &[Vec<u8>]) -> u64 {
        2 * LogConfig { store: 0, bounds: bounds.to_vec() }.pages(page_bytes) * page_bytes
    }

    /// Returns the offset of a slot of the ring.
    pub(super) fn page_offset(&self, slot: u64) -> u64 {
        (2 * self.header_pages + slot) * self.page_bytes
    }

    /// Returns the most bytes of a record: a quarter of the ring.
    pub(crate) fn record_bytes_max(&self) -> u64 {
        self.pages / 4 * super::page::payload_bytes(self)
    }
}

/// Returns the page size on a device: its write unit, and 4 KiB at least.
fn page_bytes(profile: &Profile) -> u64 {
    let unit = profile.write_unit_bytes.max(profile.read_unit_bytes);
    PAGE_BYTES_MIN.next_multiple_of(unit)
}

/// Writes the header to a log's device.
pub(crate) fn write_header<L: DataDevice>(
    device: &mut L,
    layout: &LogLayout,
    config: &LogConfig,
) -> Result<(), String> {
    let bytes = config.encode();
    for copy in 0..2 {
        let length = layout.header_pages * layout.page_bytes;
        let mut buffer = Buffer::zeroed(length as usize);
        buffer.as_mut_slice()[..bytes.len()].copy_from_slice(&bytes);
        let request = Request { durable: true, ..Request::write(0, copy * length, length) };
        execute(device, request, Some(buffer))?;
    }
    execute(device, Request::flush(0), None).map(drop)
}

/// Reads the header from a log's device.
pub(crate) fn read_header<L: DataDevice>(device: &mut L) -> Result<(LogConfig, LogLayout), OpenError> {
    let profile = device.profile().clone();
    let (name, page) = (profile.name.clone(), page_bytes(&profile));
    let mut is_ours = false;
    // The second copy stands behind the first, whose length only a valid copy says.
    for first in 0..HEADER_PAGES_MAX.min(profile.capacity_bytes / page) {
        match read_copy(device, page, first) {
            Header::Config(config) => {
                let layout = LogLayout::new(&profile, &config);
                let layout = layout.filter(|layout| first == 0 || first == layout.header_pages);
                return layout.map(|layout| (config, layout)).ok_or(OpenError::NoLog { device: name });
            }
            Header::Newer(found) => return Err(OpenError::NewerLog { device: name, found, known: VERSION }),
            Header::Unreadable | Header::Longer(_) => is_ours = true,
            Header::Foreign => {}
        }
    }
    Err(if is_ours {
        OpenError::LogHeaderDamaged { device: name }
    } else {
        OpenError::NoLog { device: name }
    })
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
