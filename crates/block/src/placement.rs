//! The choice of a lane for a block.

/// How lanes are chosen for blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The id modulo the number of lanes, so that consecutive ids go round (sdf14, section 2.4); the next lane with
    /// room where that one is full.
    RoundRobin,
    /// The lane with the least load, which the paper leaves to future work (sdf14, sections 2.4 and 3.3.1): all lanes
    /// are busy as soon as there are as many requests as lanes. Of lanes with the same load one that has an erased
    /// unit, and of those the one with the fewest blocks: gets go where their blocks are, so an uneven spread would
    /// slow them for as long as the blocks live.
    #[default]
    LeastLoaded,
}

/// What the choice depends on, of one lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LaneLoad {
    /// Units that are erased or will be, less the writes that wait.
    pub(crate) room: u64,
    /// Bytes that wait or are in flight, in units, rounded: a short read that happens to be in flight counts as
    /// nothing.
    pub(crate) load_units: u64,
    /// Blocks that are stored and stay, or will be stored when the writes that wait have ended.
    pub(crate) blocks: u64,
    /// Units that can be written without an erase.
    pub(crate) erased: usize,
}

impl Placement {
    /// Every placement and its name.
    pub const ALL: &[(&str, Self)] =
        &[("round-robin", Self::RoundRobin), ("least-loaded", Self::LeastLoaded)];

    /// Returns the lane for block `id` among `lanes` lanes with room for a write.
    pub(crate) fn lane(self, id: u64, lanes: u32, load: impl Fn(u32) -> LaneLoad) -> Option<u32> {
        let count = u64::from(lanes);
        let in_turn = (0..count).map(|step| ((id % count + step) % count) as u32);
        let loads = in_turn.map(|lane| (lane, load(lane)));
        let mut with_room = loads.filter(|(_, load)| load.room > 0);
        let chosen = match self {
            Self::RoundRobin => with_room.next(),
            // Of lanes with the same load those that need not erase first.
            Self::LeastLoaded => {
                with_room.min_by_key(|(_, load)| (load.load_units, load.erased == 0, load.blocks))
            }
        };
        chosen.map(|(lane, _)| lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(rooms: [u64; 4]) -> [LaneLoad; 4] {
        rooms.map(|room| LaneLoad { room, load_units: 0, blocks: 0, erased: room as usize })
    }

    #[test]
    fn round_robin_skips_lanes_without_room() {
        let lanes = lanes([1, 1, 0, 1]);
        let lane = |id| Placement::RoundRobin.lane(id, 4, |lane| lanes[lane as usize]);
        assert_eq!((8..13).map(lane).collect::<Vec<_>>(), [Some(0), Some(1), Some(3), Some(3), Some(0)]);
        let full = LaneLoad { room: 0, load_units: 0, blocks: 0, erased: 0 };
        assert_eq!(Placement::RoundRobin.lane(1, 1, |_| full), None);
    }

    #[test]
    fn least_loaded_lane_takes_the_block() {
        let mut lanes = lanes([1, 1, 1, 1]);
        for (lane, load) in lanes.iter_mut().zip([3, 1, 2, 1]) {
            lane.load_units = load;
        }
        let lane = |lanes: [LaneLoad; 4], id| Placement::LeastLoaded.lane(id, 4, |lane| lanes[lane as usize]);
        assert_eq!(lane(lanes, 0), Some(1));
        // Of two with the same load the first one in the order that the id gives.
        assert_eq!(lane(lanes, 2), Some(3));
        // Of two with the same load the one with fewer blocks.
        lanes[3].blocks = 1;
        assert_eq!(lane(lanes, 2), Some(1));
        lanes[1].room = 0;
        assert_eq!(lane(lanes, 0), Some(3));
    }
}
