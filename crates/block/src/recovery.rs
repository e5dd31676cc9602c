//! Recovery: finds the newest superblock and the content of every unit, from one header of each written unit.
//!
//! It takes time in proportion to the number of units, not to their bytes, but for copies of the superblock on real
//! devices (`overwritten`), and writes nothing. Where a header is not valid the footer is read. No interrupted put or
//! delete has to be undone: the device distinguishes a unit that was not written to its end from one that was, and a
//! unit that is neither erased nor wholly written only has to be erased.

use crate::error::OpenError;
use crate::header::{Content, Header, Superblock, VERSION};
use crate::layout::{Geometry, Layout, UnitAddress};
use crate::options::BlockOptions;
use crate::overwritten::is_as_written;
use crate::scan::{HeaderRead, read_headers, read_unit};
use crate::status::{DamagedEnd, End};
use flashlane_device::{DataDevice, UnitState};
use std::collections::{BTreeMap, BTreeSet};

/// Content of a unit as found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    Erased {
        erases: u32,
    },
    /// Cut short while it was written or erased.
    Torn,
    /// Bad, as the device reports.
    Bad,
    /// Written, with this valid header.
    Written(Header),
    /// Written by this layer, with unknown content: damaged at both ends, or holding what was written elsewhere or
    /// before the last erase, or a superblock with other data in it. With the id of the block whose header stands
    /// there, which was given out by this formatting.
    Damaged {
        given_out: Option<u64>,
        /// Whether the unit was erased when other data came into it, so that it held no block.
        is_foreign: bool,
    },
}

/// Everything that was found.
pub(crate) struct Survey {
    /// Every unit, lane after lane.
    pub(crate) units: Vec<(UnitAddress, Found)>,
    pub(crate) newest: NewestSuperblock,
    /// Units with a damaged header or footer whose other copy is valid.
    pub(crate) damaged_ends: Vec<DamagedEnd>,
    /// Damaged units of which the device cannot read the header or the footer.
    pub(crate) unreadable: Vec<UnitAddress>,
}

/// The superblock in force.
#[derive(Clone, Debug)]
pub(crate) struct NewestSuperblock {
    pub(crate) format_id: u128,
    pub(crate) sequence: u64,
    pub(crate) superblock: Superblock,
    /// Units of its sound copies.
    pub(crate) copies: Vec<UnitAddress>,
    /// Whether there is no copy, and it follows from the headers of blocks.
    pub(crate) is_rebuilt: bool,
}

/// Headers and footers of the units that are wholly written.
struct Ends {
    /// Each unit and its erase count.
    written: Vec<(UnitAddress, Option<u32>)>,
    headers: BTreeMap<UnitAddress, HeaderRead>,
    /// Footers, where they were read.
    footers: BTreeMap<UnitAddress, HeaderRead>,
}

/// Finds out the content of every unit of `device`.
pub(crate) fn survey<D: DataDevice>(
    device: &mut D,
    layout: &Layout,
    options: &BlockOptions,
) -> Result<Survey, OpenError> {
    let name = device.info().name.clone();
    let ReportedUnits { mut units, written } = reported_units(device, layout);
    let failed = |reason| OpenError::Device { device: name.clone(), reason };
    let ends = read_ends(device, layout, written, options.verify_footers).map_err(failed)?;
    let mut newest = match ends.superblock_in_force(layout.geometry(), options.without_superblock) {
        Some(newest) => newest,
        None => return Err(ends.missing_superblock(name, layout.geometry())),
    };
    let (formatted, given) = (newest.superblock.geometry(), layout.geometry());
    if formatted != given {
        return Err(OpenError::OtherGeometry { device: name, formatted, given });
    }
    let is_checked = !device.info().simulated && !options.replaces_other_data;
    let overwritten =
        if is_checked { ends.overwritten(device, layout).map_err(failed)? } else { BTreeSet::new() };
    let is_foreign = |at: UnitAddress| device.has_foreign_data(at.device_lane(), at.unit.into());
    newest.copies.retain(|&address| !overwritten.contains(&address) && !is_foreign(address));
    let unreadable = ends.unreadable().collect();
    let damaged_ends = ends.classify(newest.format_id, &overwritten, is_foreign, &mut units);
    assert_eq!(units.len() as u64, layout.all_units(), "every unit is found as something");
    units.sort_by_key(|(address, _)| *address);
    Ok(Survey { units, newest, damaged_ends, unreadable })
}

/// The units as the device reports them.
struct ReportedUnits {
    /// Those that are not wholly written.
    units: Vec<(UnitAddress, Found)>,
    /// Those that are, with their erase counts, unit after unit over all lanes, so that reading them keeps all lanes
    /// busy.
    written: Vec<(UnitAddress, Option<u32>)>,
}

/// Asks the device for the state of every unit.
fn reported_units<D: DataDevice>(device: &D, layout: &Layout) -> ReportedUnits {
    let mut units = Vec::with_capacity(layout.all_units() as usize);
    let mut written = Vec::new();
    for unit in 0..layout.units {
        for lane in 0..layout.lanes {
            let address = UnitAddress { lane, unit };
            let reported = device.unit(address.device_lane(), unit.into());
            let erases = reported.and_then(|unit| unit.erases);
            match reported.map(|unit| unit.state) {
                Some(UnitState::Written { bytes: 0 }) => {
                    units.push((address, Found::Erased { erases: erases.unwrap_or(0) }));
                }
                Some(UnitState::Written { bytes }) if bytes == layout.unit_bytes => {
                    written.push((address, erases));
                }
                // Foreign data in a part of the unit.
                Some(UnitState::Written { .. } | UnitState::Torn)
                    if device.has_foreign_data(address.device_lane(), unit.into()) =>
                {
                    units.push((address, Found::Damaged { given_out: None, is_foreign: true }));
                }
                Some(UnitState::Written { .. } | UnitState::Torn) => units.push((address, Found::Torn)),
                Some(UnitState::Bad) | None => units.push((address, Found::Bad)),
            }
        }
    }
    ReportedUnits { units, written }
}

/// Reads the header of each written unit, and the footer where the header is not valid: a block whose header is lost is
/// still a block of this layer.
fn read_ends<D: DataDevice>(
    device: &mut D,
    layout: &Layout,
    written: Vec<(UnitAddress, Option<u32>)>,
    verify_footers: bool,
) -> Result<Ends, String> {
    let all: Vec<UnitAddress> = written.iter().map(|(address, _)| *address).collect();
    let headers = read_headers(device, layout, &all, 0)?;
    let is_doubtful = |address: &UnitAddress| headers.get(address).is_none_or(|read| read.header().is_none());
    let doubtful: Vec<UnitAddress> =
        all.into_iter().filter(|address| verify_footers || is_doubtful(address)).collect();
    let footers = read_headers(device, layout, &doubtful, layout.footer_offset())?;
    Ok(Ends { written, headers, footers })
}

impl Ends {
    /// Returns the valid header or footer of a unit.
    fn valid(&self, address: &UnitAddress) -> Option<&Header> {
        let header = self.headers.get(address).and_then(HeaderRead::header);
        header.or_else(|| self.footers.get(address).and_then(HeaderRead::header))
    }

    /// Returns the units without a valid header or footer of which the device cannot read one: what they hold is not
    /// known.
    fn unreadable(&self) -> impl Iterator<Item = UnitAddress> {
        let is_unreadable = |read: Option<&HeaderRead>| matches!(read, Some(HeaderRead::Unreadable));
        let is_unknown = move |address: &UnitAddress| {
            is_unreadable(self.headers.get(address)) || is_unreadable(self.footers.get(address))
        };
        let all = self.written.iter().map(|(address, _)| *address);
        all.filter(move |address| self.valid(address).is_none() && is_unknown(address))
    }

    fn all_valid(&self) -> impl Iterator<Item = &Header> {
        self.written.iter().filter_map(|(address, _)| self.valid(address))
    }

    /// Returns the headers that stand where they were written, with `is_current` only those written since their unit's
    /// last erase. A device that lost its erase counts may bring back anything that was ever written to it.
    fn in_place(&self, is_current: bool) -> impl Iterator<Item = &Header> {
        self.written.iter().filter_map(move |(address, erases)| {
            let header = self.valid(address)?;
            (header.address == *address && (header.erases == *erases || !is_current)).then_some(header)
        })
    }

    /// Returns the shape of a superblock that was formatted for another device than `given`.
    fn other_geometry(&self, given: Geometry) -> Option<Geometry> {
        self.all_valid().find_map(|header| match &header.content {
            Content::Superblock(superblock) => Some(superblock.geometry()).filter(|other| *other != given),
            Content::Block { .. } => None,
        })
    }

    /// Returns the shape, other than `given`, that two damaged superblocks have: with another shape headers have
    /// another length, so that their checksums are of other bytes.
    fn geometry_of_damaged(&self, given: Geometry) -> Option<Geometry> {
        let damaged = self.headers.values().filter_map(|read| match read {
            HeaderRead::Damaged(found) => found.filter(|found| *found != given),
            _ => None,
        });
        let found: Vec<Geometry> = damaged.collect();
        found.iter().enumerate().find_map(|(at, one)| found[..at].contains(one).then_some(*one))
    }

    /// Returns the layout version of a header that a later program wrote.
    fn newer_version(&self) -> Option<u32> {
        self.headers.values().find_map(|read| match read {
            HeaderRead::Newer(found) => Some(*found),
            _ => None,
        })
    }

    /// Returns the newest superblock. One that is not certain to be written since its unit's last erase counts only if
    /// there is no other and no header belongs to another formatting.
    fn superblock_in_force(&self, given: Geometry, may_rebuild: bool) -> Option<NewestSuperblock> {
        newest_superblock(self.in_place(true)).or_else(|| self.uncertain_superblock()).or_else(|| {
            let may_rebuild =
                may_rebuild && self.newer_version().is_none() && self.other_geometry(given).is_none();
            may_rebuild.then(|| rebuilt_superblock(self.in_place(true), given)).flatten()
        })
    }

    fn uncertain_superblock(&self) -> Option<NewestSuperblock> {
        let current = self.in_place(true).map(|header| header.format_id).next();
        let format_id = current.or_else(|| self.in_place(false).map(|header| header.format_id).next())?;
        if self.in_place(current.is_some()).any(|header| header.format_id != format_id) {
            return None;
        }
        newest_superblock(self.in_place(false).filter(|header| header.format_id == format_id))
    }

    /// Returns why no superblock is in force.
    fn missing_superblock(&self, device: String, given: Geometry) -> OpenError {
        if let Some(found) = self.newer_version() {
            return OpenError::Newer { device, found, known: VERSION };
        }
        // With a lane missing no header stands where it was written.
        if let Some(formatted) = self.other_geometry(given) {
            return OpenError::OtherGeometry { device, formatted, given };
        }
        let (unreadable, written) = (self.unreadable().count() as u64, self.written.len() as u64);
        let mut all = self.headers.values().chain(self.footers.values());
        if all.any(|read| matches!(read, HeaderRead::Valid(_) | HeaderRead::Damaged(_))) {
            let can_rebuild = rebuilt_superblock(self.in_place(true), given).is_some();
            if !can_rebuild && let Some(formatted) = self.geometry_of_damaged(given) {
                return OpenError::OtherGeometry { device, formatted, given };
            }
            return OpenError::NoSuperblock { device, can_rebuild, unreadable };
        }
        if unreadable > 0 {
            return OpenError::Unreadable { device, unreadable, written };
        }
        OpenError::NotFormatted { device, written }
    }

    /// Returns the units with copies of the superblock, in force or earlier ones, that hold other data.
    ///
    /// # Errors
    /// As [`read_headers`].
    fn overwritten<D: DataDevice>(
        &self,
        device: &mut D,
        layout: &Layout,
    ) -> Result<BTreeSet<UnitAddress>, String> {
        let is_copy = |header: &&Header| matches!(header.content, Content::Superblock(_));
        let mut overwritten = BTreeSet::new();
        for header in self.in_place(true).filter(is_copy) {
            let unit = read_unit(device, layout, header.address)?;
            if unit.is_some_and(|unit| !is_as_written(unit.as_slice(), header, layout)) {
                overwritten.insert(header.address);
            }
        }
        Ok(overwritten)
    }

    /// Adds the written units to `units`, those that are `overwritten` as damaged ones. Returns those with a damaged
    /// header or footer whose other copy is valid.
    fn classify(
        mut self,
        format_id: u128,
        overwritten: &BTreeSet<UnitAddress>,
        is_foreign: impl Fn(UnitAddress) -> bool,
        units: &mut Vec<(UnitAddress, Found)>,
    ) -> Vec<DamagedEnd> {
        let mut damaged_ends = Vec::new();
        for (address, erases) in std::mem::take(&mut self.written) {
            let (header, footer) = (self.headers.remove(&address), self.footers.remove(&address));
            let damaged_end = damaged_end(header.as_ref(), footer.as_ref());
            let valid = [header, footer].into_iter().flatten().find_map(|read| match read {
                HeaderRead::Valid(header) => Some(header),
                _ => None,
            });
            let is_foreign = is_foreign(address);
            let Some(header) = valid.filter(|_| !overwritten.contains(&address)) else {
                units.push((address, Found::Damaged { given_out: None, is_foreign }));
                continue;
            };
            let id = match header.content {
                Content::Block { id, .. } => Some(id),
                Content::Superblock(_) => None,
            };
            // Formatting erases everything. A header of another formatting, written elsewhere or before the last erase
            // shows that a later write was lost, or that the device lost its erase counts and the block may have been
            // deleted. So does other data beside a header that a torn write left.
            let is_current =
                (header.format_id, header.address, header.erases) == (format_id, address, erases);
            if is_current && !is_foreign {
                damaged_ends.extend(damaged_end.map(|end| DamagedEnd { address, id, end }));
                units.push((address, Found::Written(header)));
            } else {
                let given_out = id.filter(|_| header.format_id == format_id);
                units.push((address, Found::Damaged { given_out, is_foreign }));
            }
        }
        damaged_ends
    }
}

/// Returns which end is damaged, where just one of them is.
fn damaged_end(header: Option<&HeaderRead>, footer: Option<&HeaderRead>) -> Option<End> {
    match (header.and_then(HeaderRead::header), footer) {
        (Some(_), None) => None,
        (Some(header), Some(footer)) => (footer.header() != Some(header)).then_some(End::Footer),
        (None, _) => Some(End::Header),
    }
}

fn newest_superblock<'a>(headers: impl Iterator<Item = &'a Header>) -> Option<NewestSuperblock> {
    let mut newest: Option<NewestSuperblock> = None;
    for header in headers {
        let Content::Superblock(superblock) = &header.content else { continue };
        match &mut newest {
            Some(found) if (found.format_id, found.sequence) == (header.format_id, header.sequence) => {
                found.copies.push(header.address);
            }
            Some(found) if found.sequence > header.sequence => {}
            _ => {
                newest = Some(NewestSuperblock {
                    format_id: header.format_id,
                    sequence: header.sequence,
                    superblock: superblock.clone(),
                    copies: vec![header.address],
                    is_rebuilt: false,
                });
            }
        }
    }
    newest
}

/// Returns a superblock rebuilt from the headers of blocks: of the formatting that most of them belong to. Its id floor
/// and retired units are lost; fresh ids get a gap above all that are found (`parts`).
fn rebuilt_superblock<'a>(
    headers: impl Iterator<Item = &'a Header>,
    given: Geometry,
) -> Option<NewestSuperblock> {
    let mut formats: BTreeMap<u128, u64> = BTreeMap::new();
    for header in headers {
        *formats.entry(header.format_id).or_default() += 1;
    }
    let (format_id, _) = formats.into_iter().max_by_key(|(_, units)| *units)?;
    let Geometry { lanes, units, unit_bytes, granule_bytes } = given;
    // A log may belong to it: nothing here says that none does.
    let (has_log, retired) = (true, Vec::new());
    let superblock = Superblock { lanes, units, unit_bytes, granule_bytes, id_floor: 0, has_log, retired };
    Some(NewestSuperblock { format_id, sequence: 0, superblock, copies: Vec::new(), is_rebuilt: true })
}
