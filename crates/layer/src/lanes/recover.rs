//! Lanes of which both superblocks are lost, as where a partition table was written to both ends of the device: found again
//! by the blocks on them.
//!
//! Whoever writes whole units begins each with [`UNIT_MAGIC`] and the unit's place (`heads`); the block layer's headers also
//! say to which formatting they belong, how often the unit had been erased and, in a copy of its superblock, the shape
//! (`docs/layout.md`). Where a shape is given, and every such head stands where that shape puts it, the lanes are opened
//! with it, to be read; nothing is written before a repair that may overwrite foreign data. Of the table the sectors that
//! are left count. What those that are lost said is taken from the heads: a unit with the head of a block of the formatting
//! that most of them belong to was written, one with an empty head is erased, and any other counts as written, with its
//! erases unknown. An erase moves no bytes, so blocks that were deleted may be there again.
//!
//! Where no shape is given a cheap look tells whether blocks are there, and their shape where it meets a superblock of
//! theirs.

use super::disk::{Record, Superblock, VERSION, table_sector, u32_at, u64_at};
use super::error::LanesError;
use super::heads;
use super::layout::{Layout, SECTOR_BYTES, Shape};
use super::open::{Driven, Opened, PORTION_BYTES};
use super::ours::is_empty;
use super::table::Found;
use flashlane_device::{DataDevice, UNIT_MAGIC};
use std::collections::BTreeMap;

/// How far every sector is looked at for a head where the shape is not known, and from there on how many sectors at whole MiB.
const NEAR_BYTES: u64 = 2 << 20;
const FAR_LOOKS: u64 = 254;

/// What the head of a unit says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// Zeros or ones: nothing was written since it was erased.
    Empty,
    /// The header of a block, or of a superblock of blocks.
    Written(Header),
    /// Foreign data, or nothing that the device reads.
    Unknown,
}

/// The fields of a block's header that tell where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    format: [u8; 16],
    lane: u32,
    unit: u64,
    /// How often the unit had been erased; none where that was not counted.
    erases: Option<u32>,
    /// Lanes, units of a lane, bytes of a unit and of a read unit, of a superblock.
    shape: Option<(u32, u64, u64, u64)>,
}

impl Header {
    fn decode(bytes: &[u8]) -> Option<Self> {
        const SUPERBLOCK: u32 = 2;
        if !bytes.starts_with(&UNIT_MAGIC) || !matches!(u32_at(bytes, 12), 1 | SUPERBLOCK) {
            return None;
        }
        let shape = || (u32_at(bytes, 56), u32_at(bytes, 60).into(), u64_at(bytes, 64), u64_at(bytes, 72));
        Some(Self {
            format: bytes[16..32].try_into().expect("sixteen bytes"),
            lane: u32_at(bytes, 40),
            unit: u32_at(bytes, 44).into(),
            erases: Some(u32_at(bytes, 48)).filter(|&erases| erases != u32::MAX),
            shape: (u32_at(bytes, 12) == SUPERBLOCK).then(shape),
        })
    }
}

/// What is known of the units of lanes without a superblock.
pub(super) struct Recovered {
    heads: BTreeMap<u64, Head>,
    /// The formatting that most heads belong to.
    format: [u8; 16],
}

/// How lanes without a superblock are looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// The shape that they had, where that is given.
    pub shape: Option<Shape>,
    /// Whether to say that blocks are there where they cannot be opened.
    pub looks_for_blocks: bool,
}

/// Goes on where no superblock was found, for the reason `error`: opens the lanes in the shape that is given, or says which
/// blocks are there.
pub(super) fn lanes<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    search: Search,
    error: LanesError,
) -> Result<Opened, LanesError> {
    let is_lost = matches!(
        error,
        LanesError::NotFormatted { .. } | LanesError::NoSuperblock { .. } | LanesError::Damaged { .. }
    );
    if !is_lost {
        return Err(error);
    }
    if let Some(shape) = search.shape
        && let Some(opened) = in_shape(driven, shape)?
    {
        return Ok(opened);
    }
    if search.looks_for_blocks
        && let Some(shape) = blocks(driven)?
    {
        let device = driven.device.profile().name.clone();
        return Err(LanesError::OnlyBlocks { device, shape: shape.map(|shape| shape.settings()) });
    }
    Err(error)
}

/// The lanes in this shape, where the heads of their units, or what is left of their table, say that it is theirs.
fn in_shape<D: DataDevice>(driven: &mut Driven<'_, D>, shape: Shape) -> Result<Option<Opened>, LanesError> {
    let below = driven.device.profile().clone();
    let device_bytes = below.capacity_bytes / SECTOR_BYTES * SECTOR_BYTES;
    if shape.fits(&below).is_err() {
        return Ok(None);
    }
    let Ok(layout) = Layout::new(shape, device_bytes) else { return Ok(None) };
    let mut found = BTreeMap::new();
    heads::read_all(driven, &layout, |number, bytes| {
        let head = match bytes {
            None => Head::Unknown,
            Some(bytes) if is_empty(bytes) => Head::Empty,
            Some(bytes) => Header::decode(bytes).map_or(Head::Unknown, Head::Written),
        };
        found.insert(number, head);
    })?;
    let headers = || {
        found.iter().filter_map(|(&number, head)| match head {
            Head::Written(header) => Some((number, header)),
            _ => None,
        })
    };
    let is_of_shape = |(number, header): (u64, &Header)| {
        let expected = (shape.lanes, layout.units_per_lane, shape.unit_bytes, shape.read_unit_bytes);
        (header.lane, header.unit) == layout.lane_and_unit(number)
            && header.shape.is_none_or(|shape| shape == expected)
    };
    if headers().count() == 0 || !headers().all(is_of_shape) {
        return Ok(None);
    }
    let id = table_id(driven, &layout)?;
    // A head in the first unit stands there in many shapes.
    if id.is_none() && headers().count() == 1 && headers().all(|(_, header)| header.shape.is_none()) {
        return Ok(None);
    }
    let mut formats: BTreeMap<[u8; 16], u64> = BTreeMap::new();
    for (_, header) in headers() {
        *formats.entry(header.format).or_default() += 1;
    }
    let (format, _) = formats.into_iter().max_by_key(|(_, units)| *units).expect("there is a header");
    // The id tells this division from others on the device, and the formatting lies in no other.
    let superblock = Superblock { version: VERSION, id: id.unwrap_or(format), shape, device_bytes };
    let mut opened = Opened::without_superblock(driven, superblock)?;
    opened.recovered = Some(Recovered { heads: found, format });
    Ok(Some(opened))
}

/// The id of the table, where a sector of it is left in its place.
fn table_id<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    layout: &Layout,
) -> Result<Option<[u8; 16]>, LanesError> {
    for slot in [0, 1] {
        for first in (0..layout.sectors()).step_by((PORTION_BYTES / SECTOR_BYTES) as usize) {
            let count = (PORTION_BYTES / SECTOR_BYTES).min(layout.sectors() - first);
            let sectors =
                driven.read_sectors("look for the table of units", layout.slot(first, slot), count)?;
            for (block, number) in sectors.iter().zip(first..) {
                if let Some((id, sector, written)) = block.as_deref().and_then(table_sector)
                    && (sector, written.len() as u64) == (number, layout.records_of(number))
                {
                    return Ok(Some(id));
                }
            }
        }
    }
    Ok(None)
}

impl Recovered {
    /// Replaces the records of lost sectors, of which `found` says so, by what the heads say.
    pub fn fill(&self, layout: &Layout, records: &mut [Record], found: &[Found]) {
        let is_lost = |number: u64| found[(number / super::RECORDS) as usize].unsound == [true; 2];
        for (&number, head) in self.heads.iter().filter(|(number, _)| is_lost(**number)) {
            records[number as usize] = match head {
                Head::Empty => Record { erases: None, ..Record::NEW },
                Head::Written(header) if header.format == self.format => {
                    Record { erases: header.erases, ..Record::lost(&layout.shape) }
                }
                Head::Written(_) | Head::Unknown => Record::lost(&layout.shape),
            };
        }
    }
}

/// Whether a cheap look finds blocks, and their shape where it finds a superblock of theirs: every sector near the
/// beginning, and some at whole MiB, where units of whole MiB begin.
fn blocks<D: DataDevice>(driven: &mut Driven<'_, D>) -> Result<Option<Option<Shape>>, LanesError> {
    const ACTION: &str = "look for blocks";
    let device_bytes = driven.device.profile().capacity_bytes / SECTOR_BYTES * SECTOR_BYTES;
    let near = (0..NEAR_BYTES.min(device_bytes)).step_by(PORTION_BYTES as usize);
    let near = near.map(|at| (at, (device_bytes - at).min(PORTION_BYTES) / SECTOR_BYTES));
    let far = (0..FAR_LOOKS).map(|nth| (NEAR_BYTES + nth * PORTION_BYTES, 1));
    let far = far.take_while(|(at, _)| at + SECTOR_BYTES <= device_bytes);
    let mut seen = None;
    for (at, count) in near.chain(far) {
        for block in driven.read_sectors(ACTION, at, count)?.into_iter().flatten() {
            let Some(header) = Header::decode(&block) else { continue };
            if let Some((lanes, _, unit_bytes, read_unit_bytes)) = header.shape {
                return Ok(Some(Some(Shape {
                    lanes,
                    unit_bytes,
                    read_unit_bytes,
                    write_unit_bytes: unit_bytes,
                })));
            }
            seen = Some(None);
        }
    }
    Ok(seen)
}
