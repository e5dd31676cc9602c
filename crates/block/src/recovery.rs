//! What is on a device, found by reading a header from each written unit.
//!
//! It takes time in proportion to the units, not to their bytes, and writes nothing. A header that cannot be read is
//! looked for at the unit's other end. Nothing of an interrupted put or delete has to be undone: the medium tells a
//! unit that was not written to its end from one that was, and a unit that is neither erased nor wholly written is
//! merely to be erased.

use crate::blocks::Options;
use crate::header::{Content, Header, HeaderError, Place, Superblock, UNCOUNTED};
use crate::layout::Layout;
use flashlane_base::Instant;
use flashlane_base::units::exact_bytes;
use flashlane_device::{Buffer, DataDevice, Failure, Lane, Request, RequestId, SubmitError, UnitState};
use std::collections::{BTreeMap, VecDeque};

/// Requests in flight a lane while the headers are read.
const READS_PER_LANE: u32 = 4;

/// What a unit was found to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// Erased.
    Erased,
    /// Cut short while it was written or erased.
    Torn,
    /// Bad.
    Bad,
    /// Written, and its header says this.
    Written(Header),
    /// Ours, and what it holds cannot be told: it is damaged at both ends, or what should be here got lost. Where a header
    /// of this formatting stands there the block it names may be gone, but it was once.
    Damaged { once: Option<u64> },
}

/// All that was found.
pub(crate) struct Survey {
    /// Every unit, lane after lane.
    pub(crate) units: Vec<(Place, Found)>,
    /// The newest superblock: its format, and where its copies lie.
    pub(crate) superblock: (u128, u64, Superblock, Vec<Place>),
    /// Units that rest on one of their ends, as far as both were looked at.
    pub(crate) damaged_ends: Vec<DamagedEnd>,
}

/// A unit of which one end is damaged; what it holds was found by the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedEnd {
    /// The unit.
    pub place: Place,
    /// The block that it holds; `None` for a copy of the superblock.
    pub id: Option<u64>,
    /// Whether the header is damaged; otherwise the footer is.
    pub is_header: bool,
}

/// Why there are no blocks on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The device cannot hold any.
    #[error(transparent)]
    Unsuitable(#[from] crate::Unsuitable),
    /// Nothing of ours is on it.
    #[error("'{device}' holds no blocks: none of its {written} written units begins or ends as one of ours")]
    NotFormatted {
        /// The device's name.
        device: String,
        /// Units that hold something.
        written: u64,
    },
    /// A later version of this program formatted it.
    #[error(
        "'{device}' was formatted by version {found} of the layout, and {known} is the newest that is known"
    )]
    Newer {
        /// The device's name.
        device: String,
        /// Its version.
        found: u32,
        /// The newest known.
        known: u32,
    },
    /// It was formatted with another shape.
    #[error(
        "'{device}' was formatted as {formatted}, and is now {given}: open it as it was, with every lane in its place"
    )]
    OtherGeometry {
        /// The device's name.
        device: String,
        /// Its shape when it was formatted.
        formatted: Geometry,
        /// Its shape now.
        given: Geometry,
    },
    /// A superblock was here, and none of its copies can be read. [`Options::without_superblock`](crate::Options) opens
    /// the blocks all the same, where their headers say enough.
    #[error(
        "'{device}' holds blocks, and no copy of the superblock can be read. {}",
        if *headers_tell {
            "Do not format it: 'flashlane sdf ls', 'get' and 'fsck' read the blocks that are left, and 'flashlane sdf fsck \
             DEVICE --repair --destroy-data' writes the superblock anew from their headers"
        } else {
            "Nor do the headers of its units say which of them count: they are damaged, or of several formattings, or it is \
             not known whether the units were erased since. 'flashlane sdf format' would lose them all"
        }
    )]
    NoSuperblock {
        /// The device's name.
        device: String,
        /// Whether the headers of the blocks that are left are enough to open them.
        headers_tell: bool,
    },
    /// The device refused a read, or went away.
    #[error("'{device}' cannot be read: {reason}")]
    Device {
        /// The device's name.
        device: String,
        /// What it said.
        reason: String,
    },
}

/// A device's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Lanes.
    pub lanes: u32,
    /// Units of a lane.
    pub units: u32,
    /// Bytes of a unit.
    pub unit_bytes: u64,
    /// Bytes of a read unit.
    pub granule_bytes: u64,
}

impl std::fmt::Display for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lanes, units, unit_bytes, granule_bytes } = self;
        let (unit, granule) = (exact_bytes(*unit_bytes), exact_bytes(*granule_bytes));
        write!(f, "{lanes} lanes of {units} units of {unit}, read in units of {granule}")
    }
}

impl Geometry {
    fn of_layout(layout: &Layout) -> Self {
        let &Layout { lanes, units, unit_bytes, granule_bytes, .. } = layout;
        Self { lanes, units, unit_bytes, granule_bytes }
    }

    fn of_superblock(superblock: &Superblock) -> Self {
        let &Superblock { lanes, units, unit_bytes, granule_bytes, .. } = superblock;
        Self { lanes, units, unit_bytes, granule_bytes }
    }
}

/// What the end of a unit looked like.
#[derive(Debug)]
enum Look {
    Header(Header),
    /// Not ours.
    Foreign,
    Newer(u32),
    /// Ours, and damaged.
    Damaged,
    /// The device cannot read it.
    Unreadable,
}

/// Looks at every unit of `device`.
pub(crate) fn survey<D: DataDevice>(
    device: &mut D,
    layout: &Layout,
    Options { both_ends, without_superblock, .. }: Options,
) -> Result<Survey, OpenError> {
    let name = device.profile().name.clone();
    let mut scan = Scan { layout: *layout, first: BTreeMap::new(), looks: BTreeMap::new() };
    let mut damaged_ends = Vec::new();
    let mut units = Vec::with_capacity(layout.all_units() as usize);
    let mut written = Vec::new();
    // Unit by unit over all lanes, so that all of them are read at once.
    for unit in 0..layout.units {
        for lane in 0..layout.lanes {
            let place = Place { lane, unit };
            let known = device.unit(Lane(lane), unit.into());
            let found = match known.map(|unit| unit.state) {
                Some(UnitState::Written { bytes: 0 }) => Some(Found::Erased),
                Some(UnitState::Written { bytes }) if bytes == layout.unit_bytes => None,
                Some(UnitState::Written { .. } | UnitState::Torn) => Some(Found::Torn),
                Some(UnitState::Bad) | None => Some(Found::Bad),
            };
            match found {
                Some(found) => units.push((place, found)),
                None => written.push((place, known.and_then(|unit| unit.erases).unwrap_or(UNCOUNTED))),
            }
        }
    }
    let places: Vec<Place> = written.iter().map(|(place, _)| *place).collect();
    scan.look(device, &places, 0).map_err(|reason| OpenError::Device { device: name.clone(), reason })?;
    scan.first = std::mem::take(&mut scan.looks);
    // The other end of what could not be read, or looks like nothing of ours: a block whose header is lost is still ours.
    let doubtful: Vec<Place> = places
        .iter()
        .copied()
        .filter(|place| both_ends || !matches!(scan.first.get(place), Some(Look::Header(_))))
        .collect();
    scan.look(device, &doubtful, layout.footer_offset())
        .map_err(|reason| OpenError::Device { device: name.clone(), reason })?;
    let headers = |place: &Place| match (scan.first.get(place), scan.looks.get(place)) {
        (Some(Look::Header(header)), _) | (_, Some(Look::Header(header))) => Some(header),
        _ => None,
    };
    let given = Geometry::of_layout(layout);
    let other = places.iter().filter_map(headers).find_map(|header| match &header.content {
        Content::Superblock(superblock) => {
            Some(Geometry::of_superblock(superblock)).filter(|of| *of != given)
        }
        Content::Block { .. } => None,
    });
    // What stands where it was written and is no older than its unit's last erase. A device that has forgotten how often it
    // erased its units may bring back any that was ever on them: of such superblocks one counts only where there is no
    // other, and nothing speaks for another formatting.
    let in_place = |is_sure: bool| {
        written.iter().filter_map(move |(place, erases)| {
            headers(place).filter(|header| header.place == *place && (header.erases == *erases || !is_sure))
        })
    };
    let superblock = newest_superblock(in_place(true)).or_else(|| {
        let of_blocks = in_place(true).map(|header| header.format).next();
        let format = of_blocks.or_else(|| in_place(false).map(|header| header.format).next())?;
        let others = in_place(of_blocks.is_some()).any(|header| header.format != format);
        newest_superblock(in_place(false).filter(|header| header.format == format)).filter(|_| !others)
    });
    let newer = scan.first.values().find_map(|look| match look {
        Look::Newer(found) => Some(*found),
        _ => None,
    });
    let may_rebuild = without_superblock && newer.is_none() && other.is_none();
    let superblock =
        superblock.or_else(|| may_rebuild.then(|| superblock_of_blocks(in_place(true), given)).flatten());
    let Some((format, sequence, superblock, copies)) = superblock else {
        let is_damaged = |look: Option<&Look>| matches!(look, Some(Look::Damaged));
        let ours = places.iter().any(|place| {
            headers(place).is_some() || is_damaged(scan.first.get(place)) || is_damaged(scan.looks.get(place))
        });
        return Err(match newer {
            Some(found) => OpenError::Newer { device: name, found, known: crate::header::VERSION },
            // With a lane missing nothing is where it was written.
            None if other.is_some() => {
                let formatted = other.unwrap_or(given);
                OpenError::OtherGeometry { device: name, formatted, given }
            }
            None if ours => OpenError::NoSuperblock {
                device: name,
                headers_tell: superblock_of_blocks(in_place(true), given).is_some(),
            },
            None => OpenError::NotFormatted { device: name, written: written.len() as u64 },
        });
    };
    let formatted = Geometry::of_superblock(&superblock);
    if formatted != given {
        return Err(OpenError::OtherGeometry { device: name, formatted, given });
    }
    for (place, erases) in written {
        let (first, second) = (scan.first.remove(&place), scan.looks.remove(&place));
        // Which end is damaged, where the other is sound.
        let is_header = match (&first, &second) {
            (Some(Look::Header(header)), Some(Look::Header(footer))) => (header != footer).then_some(false),
            (Some(Look::Header(_)), None) => None,
            (Some(Look::Header(_)), Some(_)) => Some(false),
            _ => Some(true),
        };
        let found = match (first, second) {
            (Some(Look::Header(header)), _) | (_, Some(Look::Header(header))) => {
                let known = (format, place, erases);
                match (header.format, header.place, header.erases) == known {
                    // Formatting erased everything. What was written since got lost where another's header stands, one
                    // that was written elsewhere, or before the last erase. Or the device has forgotten how often it
                    // erased the unit, and nobody knows whether this was deleted since.
                    false => Found::Damaged {
                        once: match header.content {
                            Content::Block { id, .. } if header.format == format => Some(id),
                            _ => None,
                        },
                    },
                    true => {
                        let id = match header.content {
                            Content::Block { id, .. } => Some(id),
                            Content::Superblock(_) => None,
                        };
                        damaged_ends.extend(is_header.map(|is_header| DamagedEnd { place, id, is_header }));
                        Found::Written(header)
                    }
                }
            }
            // Ours, whatever it looks like now.
            _ => Found::Damaged { once: None },
        };
        units.push((place, found));
    }
    units.sort_by_key(|(place, _)| *place);
    Ok(Survey { units, superblock: (format, sequence, superblock, copies), damaged_ends })
}

fn newest_superblock<'a>(
    headers: impl Iterator<Item = &'a Header>,
) -> Option<(u128, u64, Superblock, Vec<Place>)> {
    let mut newest: Option<(u128, u64, Superblock, Vec<Place>)> = None;
    for header in headers {
        let Content::Superblock(superblock) = &header.content else { continue };
        match &mut newest {
            Some((format, sequence, _, copies))
                if (*format, *sequence) == (header.format, header.sequence) =>
            {
                copies.push(header.place);
            }
            Some((_, sequence, ..)) if *sequence > header.sequence => {}
            _ => newest = Some((header.format, header.sequence, superblock.clone(), vec![header.place])),
        }
    }
    newest
}

/// What the headers of blocks say of a superblock of which no copy is left: the formatting that most of them belong to. Its
/// floor of ids and its retired units are lost; fresh ids begin far above all that are found (`Blocks::open`).
fn superblock_of_blocks<'a>(
    headers: impl Iterator<Item = &'a Header>,
    given: Geometry,
) -> Option<(u128, u64, Superblock, Vec<Place>)> {
    let mut formats: BTreeMap<u128, u64> = BTreeMap::new();
    for header in headers {
        *formats.entry(header.format).or_default() += 1;
    }
    let (format, _) = formats.into_iter().max_by_key(|(_, units)| *units)?;
    let Geometry { lanes, units, unit_bytes, granule_bytes } = given;
    let superblock = Superblock { lanes, units, unit_bytes, granule_bytes, id_floor: 0, retired: Vec::new() };
    Some((format, 0, superblock, Vec::new()))
}

struct Scan {
    layout: Layout,
    first: BTreeMap<Place, Look>,
    looks: BTreeMap<Place, Look>,
}

impl Scan {
    /// Reads what stands at `offset` of each of `places`.
    fn look<D: DataDevice>(&mut self, device: &mut D, places: &[Place], offset: u64) -> Result<(), String> {
        let length = self.layout.header_bytes;
        let most = device.profile().depth.min(READS_PER_LANE * self.layout.lanes) as usize;
        let mut waiting: VecDeque<(Place, u64)> = places.iter().map(|&place| (place, 0)).collect();
        let mut reading: BTreeMap<RequestId, (Place, u64)> = BTreeMap::new();
        let (mut next, mut out) = (0, Vec::new());
        let mut spare: Vec<Buffer> = Vec::new();
        while !waiting.is_empty() || !reading.is_empty() {
            while reading.len() < most
                && let Some((place, attempt)) = waiting.pop_front()
            {
                let at = u64::from(place.unit) * self.layout.unit_bytes + offset;
                let request = Request::read(next, at, length).on(Lane(place.lane));
                next += 1;
                let buffer = spare.pop().unwrap_or_else(|| Buffer::zeroed(length as usize));
                match device.submit_with(request, buffer) {
                    Ok(()) => drop(reading.insert(request.id, (place, attempt))),
                    Err((SubmitError::Full { .. }, _)) if !reading.is_empty() => {
                        waiting.push_front((place, attempt));
                        break;
                    }
                    Err((error, _)) => return Err(error.to_string()),
                }
            }
            device.reap(Instant::FAR, &mut out);
            for completion in out.drain(..) {
                let Some((place, attempt)) = reading.remove(&completion.id) else { continue };
                let buffer = device.take_buffer(completion.id);
                match completion.outcome {
                    Err(Failure::Gone) => return Err(Failure::Gone.to_string()),
                    // Once more: what a read finds may be a fault of the way rather than of the medium.
                    Err(_) if attempt == 0 => waiting.push_back((place, 1)),
                    Err(_) => drop(self.looks.insert(place, Look::Unreadable)),
                    Ok(()) => {
                        let bytes = buffer.as_ref().map_or(&[][..], Buffer::as_slice);
                        let look = match Header::decode(bytes, &self.layout) {
                            Ok(header) => Look::Header(header),
                            // Here too: another place's bytes may look like nothing of ours.
                            Err(_) if attempt == 0 => {
                                waiting.push_back((place, 1));
                                spare.extend(buffer);
                                continue;
                            }
                            Err(HeaderError::Foreign) => Look::Foreign,
                            Err(HeaderError::Newer { found }) => Look::Newer(found),
                            Err(_) => Look::Damaged,
                        };
                        self.looks.insert(place, look);
                        spare.extend(buffer);
                    }
                }
            }
        }
        Ok(())
    }
}
