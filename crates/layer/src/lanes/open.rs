//! Finding lanes on a device, or making them: the device is driven, one request at a time, until that is done.

use super::disk::{Flaw, Record, Superblock, TableSector, decode_table};
use super::error::LanesError;
use super::layout::{Layout, SECTOR_BYTES, Shape};
use super::search::{self, Sought};
use super::table::Found;
use flashlane_base::{Instant, Seed};
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Profile, Request, RequestId};

/// What a device must be so that it can be divided.
fn check_below(below: &Profile) -> Result<(), LanesError> {
    let refuse = |reason: String| Err(LanesError::Below { device: below.name.clone(), reason });
    if below.lanes != 1 {
        return refuse(format!("it has {} lanes already", below.lanes));
    }
    if below.erase_unit_bytes > 0 {
        return refuse("it has erase units already".into());
    }
    if !SECTOR_BYTES.is_multiple_of(below.write_unit_bytes) {
        return refuse(format!(
            "it is written in units of {} bytes, the table of units in sectors of {SECTOR_BYTES}",
            below.write_unit_bytes
        ));
    }
    if below.depth < 2 {
        return refuse("it takes one request at a time, and the table of units needs a second".into());
    }
    Ok(())
}

/// Bytes that are moved at once.
pub(super) const PORTION_BYTES: u64 = 1 << 20;

/// A device that is driven from one request to the next. Requests get ids from `next` on.
pub(super) struct Driven<'a, D> {
    pub device: &'a mut D,
    pub next: &'a mut u64,
}

impl<D: DataDevice> Driven<'_, D> {
    fn carry_out(
        &mut self,
        action: &'static str,
        request: Request,
        buffer: Buffer,
    ) -> Result<Buffer, LanesError> {
        let id = RequestId(*self.next);
        *self.next += 1;
        let refused = |(error, _)| LanesError::Refused { action, error };
        self.device.submit_with(Request { id, ..request }, buffer).map_err(refused)?;
        let mut out: Vec<Completion> = Vec::new();
        while out.is_empty() {
            self.device.reap(Instant::FAR, &mut out);
        }
        let buffer = self.device.take_buffer(id);
        out[0].outcome.map_err(|failure| LanesError::Failed { action, failure })?;
        Ok(buffer.expect("a completed request gives its buffer back"))
    }

    /// Nothing where the device cannot read it, though it is there.
    fn read(&mut self, action: &'static str, at: u64, length: u64) -> Result<Option<Buffer>, LanesError> {
        match self.carry_out(action, Request::read(0, at, length), Buffer::zeroed(length as usize)) {
            Err(LanesError::Failed { failure, .. }) if failure != Failure::Gone => Ok(None),
            result => result.map(Some),
        }
    }

    /// Sectors one after the other; those that cannot be read are nothing.
    pub(super) fn read_sectors(
        &mut self,
        action: &'static str,
        at: u64,
        count: u64,
    ) -> Result<Vec<Option<Vec<u8>>>, LanesError> {
        if let Some(all) = self.read(action, at, count * SECTOR_BYTES)? {
            return Ok(all
                .as_slice()
                .chunks(SECTOR_BYTES as usize)
                .map(|sector| Some(sector.to_vec()))
                .collect());
        }
        // One that cannot be read takes none of the others with it.
        let one = |nth| {
            let sector = self.read(action, at + nth * SECTOR_BYTES, SECTOR_BYTES)?;
            Ok(sector.map(|sector| sector.as_slice().to_vec()))
        };
        (0..count).map(one).collect()
    }

    fn write(&mut self, action: &'static str, at: u64, buffer: Buffer) -> Result<Buffer, LanesError> {
        self.carry_out(action, Request::write(0, at, buffer.len() as u64).durable(), buffer)
    }
}

/// What opening mended or missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Superblocks, of the two, that were damaged and are read from the other.
    pub superblocks: u32,
    /// Sectors of the table with one damaged slot: the other has them.
    pub sectors: u64,
    /// Sectors of the table with both slots damaged: their units are taken for written, as somebody's data may be there, and
    /// how often they were erased is not known any more.
    pub lost_sectors: u64,
}

/// The lanes found on a device.
pub(super) struct Opened {
    pub superblock: Superblock,
    pub layout: Layout,
    pub mended: Mended,
}

/// The superblock that stands somewhere, or why none does.
fn superblock_at<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    at: u64,
) -> Result<Result<Superblock, Flaw>, LanesError> {
    let block = driven.read("read the superblock of the lanes", at, SECTOR_BYTES)?;
    Ok(block.map_or(Err(Flaw::Unreadable), |block| Superblock::decode(block.as_slice())))
}

/// Finds the superblock. One that is damaged is written anew where the device can be written, and `accept` has nothing
/// against the shape.
pub(super) fn superblock<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    accept: impl FnOnce(&Shape) -> Result<(), LanesError>,
) -> Result<Opened, LanesError> {
    let below = driven.device.profile().clone();
    check_below(&below)?;
    let device = || below.name.clone();
    let device_bytes = below.capacity_bytes / SECTOR_BYTES * SECTOR_BYTES;
    if device_bytes < 2 * SECTOR_BYTES {
        return Err(LanesError::TooSmall { device_bytes, needed_bytes: 2 * SECTOR_BYTES });
    }
    let first = superblock_at(driven, 0)?;
    // The copy lies at the end that the device had then.
    let recorded = first.map_or(device_bytes, |found| found.device_bytes);
    if recorded > device_bytes {
        return Err(LanesError::Shorter {
            device: device(),
            recorded_bytes: recorded,
            found_bytes: device_bytes,
        });
    }
    let mut copy_at = recorded - SECTOR_BYTES;
    // One that names another end than where it stands is not this device's.
    let mut last = superblock_at(driven, copy_at)?.and_then(|found| match found.device_bytes {
        bytes if bytes == recorded => Ok(found),
        _ => Err(Flaw::Nonsense),
    });
    let is_flawed = |found| !matches!(found, Ok(_) | Err(Flaw::Newer(_)));
    // Nor is one that a longer device kept here, which was shortened, divided anew and made as long again.
    if is_flawed(first)
        && let Ok(found) = last
        && search::table_id(driven, device_bytes)?.is_some_and(|id| id != found.id)
    {
        last = Err(Flaw::Nonsense);
    }
    let mut has_table = false;
    if is_flawed(first) && is_flawed(last) {
        match search::copy(driven, device_bytes)? {
            Sought::Copy(found) => (copy_at, last) = (found.device_bytes - SECTOR_BYTES, Ok(found)),
            Sought::TableOnly => has_table = true,
            Sought::Nothing => {}
        }
    }
    let superblock = match (first, last) {
        (Ok(found), _) => found,
        (Err(Flaw::Newer(version)), _) | (Err(_), Err(Flaw::Newer(version))) => {
            return Err(LanesError::Newer { device: device(), version });
        }
        (Err(_), Ok(found)) => found,
        (Err(Flaw::Foreign), Err(Flaw::Foreign)) if has_table => {
            return Err(LanesError::NoSuperblock { device: device() });
        }
        (Err(Flaw::Foreign), Err(Flaw::Foreign)) => {
            return Err(LanesError::NotFormatted { device: device() });
        }
        (Err(first), Err(last)) => return Err(LanesError::Damaged { device: device(), first, last }),
    };
    superblock.shape.fits(&below)?;
    accept(&superblock.shape)?;
    let layout = Layout::new(superblock.shape, superblock.device_bytes)?;
    let mut mended = Mended::default();
    for (at, found) in [(0, first), (copy_at, last)] {
        if found != Ok(superblock) {
            mended.superblocks += 1;
            if !below.read_only {
                let block = Buffer::from_slice(&superblock.encode());
                driven.write("mend the superblock of the lanes", at, block)?;
            }
        }
    }
    Ok(Opened { superblock, layout, mended })
}

/// Reads the table: a record for each unit, and how each sector was found.
pub(super) fn table<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    opened: &mut Opened,
) -> Result<(Vec<Record>, Vec<Found>), LanesError> {
    const ACTION: &str = "read the table of units";
    let (layout, superblock) = (opened.layout, opened.superblock);
    let mut records = Vec::with_capacity(layout.units() as usize);
    let mut found = Vec::with_capacity(layout.sectors() as usize);
    let portion = PORTION_BYTES / SECTOR_BYTES;
    for first in (0..layout.sectors()).step_by(portion as usize) {
        let count = portion.min(layout.sectors() - first);
        let slots_0 = driven.read_sectors(ACTION, layout.slot(first, 0), count)?;
        let slots_1 = driven.read_sectors(ACTION, layout.slot(first, 1), count)?;
        for ((slot_0, slot_1), sector) in slots_0.iter().zip(&slots_1).zip(first..) {
            let of = layout.records_of(sector);
            let decoded = [slot_0, slot_1]
                .map(|block| block.as_ref().and_then(|block| decode_table(block, &superblock, sector, of)));
            let flawed = decoded.iter().filter(|slot| slot.is_none()).count();
            match flawed {
                0 => {}
                1 => opened.mended.sectors += 1,
                _ => opened.mended.lost_sectors += 1,
            }
            let settled = decoded[0].as_ref().map(|slot| &slot.1) == decoded[1].as_ref().map(|slot| &slot.1);
            let newest = u64::from(sequence(&decoded[1]) > sequence(&decoded[0]));
            let [slot_0, slot_1] = decoded;
            let (sequence, these) = (if newest == 1 { slot_1 } else { slot_0 })
                .unwrap_or_else(|| (0, vec![Record::lost(&layout.shape); of as usize]));
            records.extend(these);
            found.push(Found { sequence, newest, settled: settled && flawed == 0 });
        }
    }
    Ok((records, found))
}

/// Of no slot less than of any.
fn sequence(slot: &Option<(u64, Vec<Record>)>) -> Option<u64> {
    slot.as_ref().map(|(sequence, _)| *sequence)
}

/// Where everything comes to lie on a device that is divided into `shape`. Nothing is asked of it.
pub(super) fn planned(below: &Profile, shape: Shape) -> Result<Layout, LanesError> {
    check_below(below)?;
    shape.check()?;
    shape.fits(below)?;
    Layout::new(shape, below.capacity_bytes)
}

/// Divides a device: its table first, the superblock at its beginning last, so that what is cut short is no device with
/// lanes, or a whole one.
pub(super) fn format<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    shape: Shape,
    seed: Seed,
) -> Result<(), LanesError> {
    const ACTION: &str = "write the table of units";
    let layout = planned(driven.device.profile(), shape)?;
    let mut random = seed.derive("id of lanes").source();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random.bits().to_le_bytes());
    id[8..].copy_from_slice(&random.bits().to_le_bytes());
    let superblock = Superblock { id, shape, device_bytes: layout.device_bytes };
    // A copy at an earlier end goes first, while it is known of: it would be found again as long as the table is the old
    // one, or has its id.
    let earlier = superblock_at(driven, 0)?.ok().filter(|old| old.device_bytes < layout.device_bytes);
    let earlier = earlier.map(|old| old.device_bytes - SECTOR_BYTES);
    for at in earlier.into_iter().chain([0, layout.last_superblock()]) {
        driven.write("clear the superblock of the lanes", at, Buffer::zeroed(SECTOR_BYTES as usize))?;
    }
    let portion = PORTION_BYTES / SECTOR_BYTES;
    for slot in [0, 1] {
        for first in (0..layout.sectors()).step_by(portion as usize) {
            let count = portion.min(layout.sectors() - first);
            let mut blocks = Buffer::zeroed((count * SECTOR_BYTES) as usize);
            for (block, sector) in blocks.as_mut_slice().chunks_exact_mut(SECTOR_BYTES as usize).zip(first..)
            {
                let records = vec![Record::NEW; layout.records_of(sector) as usize];
                TableSector { sector, sequence: 1, records: &records }.encode(&id, block);
            }
            driven.write(ACTION, layout.slot(first, slot), blocks)?;
        }
    }
    for at in [layout.last_superblock(), 0] {
        let block = Buffer::from_slice(&superblock.encode());
        driven.write("write the superblock of the lanes", at, block)?;
    }
    Ok(())
}
