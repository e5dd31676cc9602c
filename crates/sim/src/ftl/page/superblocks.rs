//! Superblocks: blocks of several planes that are filled in step and garbage-collected as one.
//!
//! The *planes of a die* go together so that GC moves and erases on all of them in one array time, as writes are
//! programmed. *Channels* go together for the sake of parity (RAID 5 over flash; sdf14, section 2.2): a page on each of
//! `n` channels and the parity page on another make a row, and from row to row the parity moves by a channel, so that
//! all serve reads. A row stays complete until the superblock is erased: its invalid pages keep protecting the valid
//! ones, so that no parity page is ever read to be updated.
//!
//! To the translation layer a superblock is a block of one plane, with the data units of all of its planes; this file
//! maps a unit to its plane. The price of parity: of `n + 1` pages one is parity, for moved pages too, and the least
//! that can be erased grows by as much.
//!
//! Not modelled: the parity of an incomplete row is in the controller, which is assumed to keep it over a power cut.

use crate::ftl::GcWork;
use crate::ids::{PlaneId, PlaneOfDie, ids};
use crate::nand::Geometry;

/// Where the units of superblocks lie.
pub(super) struct Superblocks {
    /// Data pages of a row; 1 without parity.
    data_pages_per_row: u32,
    /// Channels of a row.
    channels_per_row: u32,
    /// Planes of a die that go together.
    joined_planes: u32,
    /// Mapping units of a flash page, which stay together.
    units_per_page: u32,
    /// Of a channel, the planes, and what of them counts as one.
    channel_planes: u32,
    channel_groups: u32,
    /// Units that the GC in progress has written to each plane, parity included.
    moved: Vec<u32>,
}

/// Where a unit of a superblock lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    channel: ChannelOfRow,
    plane: PlaneOfDie,
    /// The channel that has the row's parity, where the page is the last of its row.
    parity: Option<ChannelOfRow>,
}

ids! {
    /// A channel, counted on its row.
    ChannelOfRow;
}

impl Superblocks {
    /// Those of an array, if it has any. `geometry` counts single planes.
    pub(super) fn new(geometry: &Geometry) -> Option<Self> {
        let channels_per_row = geometry.parity.map_or(1, |protected| protected + 1);
        let joined_planes = geometry.joined_planes;
        let channel_planes = geometry.planes / geometry.channels;
        (channels_per_row * joined_planes > 1).then(|| Self {
            data_pages_per_row: geometry.parity.unwrap_or(1),
            channels_per_row,
            joined_planes,
            units_per_page: geometry.units_per_page,
            channel_planes,
            channel_groups: channel_planes / joined_planes,
            moved: vec![0; (channels_per_row * joined_planes) as usize],
        })
    }

    /// Blocks of a superblock.
    pub(super) fn blocks(&self) -> u32 {
        self.channels_per_row * self.joined_planes
    }

    /// The plane on a channel and place in the die of the superblocks that `plane` stands for.
    fn plane(&self, plane: PlaneId, channel: ChannelOfRow, of_die: PlaneOfDie) -> PlaneId {
        let (row, place) = (plane.0 / self.channel_groups, plane.0 % self.channel_groups);
        PlaneId(
            (row * self.channels_per_row + channel.0) * self.channel_planes
                + place * self.joined_planes
                + of_die.0,
        )
    }

    /// Where the unit with this number in its superblock lies.
    fn spot(&self, unit: u32) -> Spot {
        let flash_page = unit / self.units_per_page;
        let (row, place) = (flash_page / self.data_pages_per_row, flash_page % self.data_pages_per_row);
        let plane = PlaneOfDie(row % self.joined_planes);
        if self.channels_per_row == 1 {
            return Spot { channel: ChannelOfRow(0), plane, parity: None };
        }
        let parity = row / self.joined_planes % self.channels_per_row;
        let channel = (parity + 1 + place) % self.channels_per_row;
        let parity_is_due = place + 1 == self.data_pages_per_row;
        Spot { channel: ChannelOfRow(channel), plane, parity: parity_is_due.then_some(ChannelOfRow(parity)) }
    }

    /// The plane of a unit, and that of its row's parity if it is the last of its row.
    pub(super) fn place(&self, plane: PlaneId, unit: u32) -> (PlaneId, Option<PlaneId>) {
        let spot = self.spot(unit);
        let parity = spot.parity.map(|channel| self.plane(plane, channel, spot.plane));
        (self.plane(plane, spot.channel, spot.plane), parity)
    }

    /// Appends the planes from which the unit with this number can be rebuilt, where the first `written` units of its
    /// superblock are written: those of the other units of its row. The parity of an incomplete row is in the
    /// controller.
    pub(super) fn rest_of_row(&self, plane: PlaneId, unit: u32, written: u32, planes: &mut Vec<PlaneId>) {
        if self.channels_per_row == 1 {
            return;
        }
        debug_assert!(
            self.units_per_page == 1 && unit < written,
            "with parity a flash page is one written unit"
        );
        let first = unit - unit % self.data_pages_per_row;
        for other in first..(first + self.data_pages_per_row).min(written) {
            let (data, parity) = self.place(plane, other);
            planes.extend((other != unit).then_some(data));
            planes.extend(parity);
        }
    }

    /// Whether the unit with this number, and the parity of its row, are programmed along with pages of higher
    /// numbers: the rest of its flash page, and those beside it on further planes of the die.
    pub(super) fn waits_for_others(&self, unit: u32) -> bool {
        self.spot(unit).plane.0 + 1 < self.joined_planes
            || unit % self.units_per_page + 1 < self.units_per_page
    }

    /// Notes that GC moved a unit to this place. Returns whether a parity unit goes with it.
    pub(super) fn moved_to(&mut self, unit: u32) -> bool {
        let spot = self.spot(unit);
        for channel in [Some(spot.channel), spot.parity].into_iter().flatten() {
            self.moved[(channel.0 * self.joined_planes + spot.plane.0) as usize] += 1;
        }
        spot.parity.is_some()
    }

    /// Splits GC, whose moves were noted, into the work of each die, which reads its share of the flash pages. A parity
    /// page costs what a moved one does: it is computed from pages that cross the bus.
    pub(super) fn spread(&mut self, gc: GcWork, due: &mut Vec<GcWork>) {
        let all = gc.moves.max(1);
        for channel in 0..self.channels_per_row {
            let first = (channel * self.joined_planes) as usize;
            let of_planes = &mut self.moved[first..first + self.joined_planes as usize];
            let moves = of_planes.iter().copied().max().unwrap_or(0);
            of_planes.fill(0);
            if moves == 0 && gc.erases == 0 {
                continue;
            }
            let plane = self.plane(gc.plane, ChannelOfRow(channel), PlaneOfDie(0));
            let pages_read = (moves * gc.pages_read).div_ceil(all);
            due.push(GcWork { plane, planes: self.joined_planes, moves, pages_read, ..gc });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::PageType;

    /// Channels of two dies with two planes; three channels and one with parity.
    fn superblocks() -> Superblocks {
        Superblocks {
            data_pages_per_row: 3,
            channels_per_row: 4,
            joined_planes: 2,
            units_per_page: 1,
            channel_planes: 4,
            channel_groups: 2,
            moved: vec![0; 8],
        }
    }

    #[test]
    fn row_has_a_page_per_channel_and_parity_rotates() {
        let superblocks = superblocks();
        let mut parity_of = [0; 4];
        for row in 0..16 {
            // The second dies of channels 4 to 7.
            let places: Vec<_> = (0..3).map(|place| superblocks.place(PlaneId(3), row * 3 + place)).collect();
            assert!(places[..2].iter().all(|(_, parity)| parity.is_none()));
            let parity = places[2].1.expect("the third page is the last");
            let mut planes: Vec<u32> =
                places.iter().map(|&(plane, _)| plane).chain([parity]).map(|plane| plane.0).collect();
            planes.sort_unstable();
            let expected = if row % 2 == 0 { [18, 22, 26, 30] } else { [19, 23, 27, 31] };
            assert_eq!(planes, expected, "row {row}");
            parity_of[(parity.index() - 18) / 4] += 1;
        }
        assert_eq!(parity_of, [4; 4]);
    }

    #[test]
    fn page_is_rebuilt_from_the_rest_of_its_row() {
        let superblocks = superblocks();
        for written in 1..=24 {
            // The plain model: the planes of each row, in the order of writing.
            let mut rows = vec![Vec::new(); 8];
            for unit in 0..written {
                let (data, parity) = superblocks.place(PlaneId(1), unit);
                rows[unit as usize / 3].push(data);
                rows[unit as usize / 3].extend(parity);
            }
            for unit in 0..written {
                let mut rest = Vec::new();
                superblocks.rest_of_row(PlaneId(1), unit, written, &mut rest);
                let own = superblocks.place(PlaneId(1), unit).0;
                let mut expected = rows[unit as usize / 3].clone();
                expected.retain(|plane| *plane != own);
                assert_eq!(rest, expected, "unit {unit} of {written}");
            }
        }
    }

    #[test]
    fn a_cleaning_is_spread_over_its_dies_as_its_pages_went() {
        let mut superblocks = Superblocks {
            data_pages_per_row: 2,
            channels_per_row: 3,
            joined_planes: 2,
            units_per_page: 1,
            channel_planes: 2,
            channel_groups: 1,
            moved: vec![0; 6],
        };
        // Two rows and a page of the third, which lies on plane 0 behind the parity, now of channel 1.
        let parities = (0..5).filter(|&unit| superblocks.moved_to(unit)).count();
        assert_eq!(parities, 2);
        let mut due = Vec::new();
        let gc = GcWork {
            plane: PlaneId(1),
            planes: 1,
            moves: 5,
            pages_read: 3,
            summaries: 0,
            erases: 1,
            precedes_write: false,
            moved_from: PageType::MEAN,
            is_paced_step: false,
        };
        superblocks.spread(gc, &mut due);
        let moves: Vec<_> = due.iter().map(|gc| (gc.plane.0, gc.planes, gc.moves, gc.pages_read)).collect();
        assert_eq!(moves, [(6, 2, 1, 1), (8, 2, 1, 1), (10, 2, 2, 2)]);
        superblocks.spread(gc, &mut due);
        assert!(due[3..].iter().all(|gc| gc.moves == 0), "each cleaning begins anew");
    }
}
