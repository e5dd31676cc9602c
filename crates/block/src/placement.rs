//! Which lane a block goes to.

use crate::lane::Lane;

/// How lanes are chosen for blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The id modulo the number of lanes, so that consecutive ids go round (sdf14, section 2.4); the next lane with room
    /// where that one is full.
    RoundRobin,
    /// The lane with the least left to do, which the paper leaves to its future work (sdf14, sections 2.4 and 3.3.1): all
    /// lanes are busy as soon as there are as many requests as lanes, whatever else they do.
    #[default]
    LeastLoaded,
}

impl Placement {
    /// Every placement and its name.
    pub const ALL: &[(&str, Self)] =
        &[("round-robin", Self::RoundRobin), ("least-loaded", Self::LeastLoaded)];

    /// The lane for block `id`, among those that have room for a write.
    pub(crate) fn lane(self, id: u64, lanes: &[Lane]) -> Option<u32> {
        let count = lanes.len() as u64;
        let in_turn = (0..count).map(|step| ((id % count + step) % count) as u32);
        let mut with_room = in_turn.filter(|&lane| lanes[lane as usize].room() > 0);
        match self {
            Self::RoundRobin => with_room.next(),
            // A lane that has to erase first comes after one that need not.
            Self::LeastLoaded => with_room.min_by_key(|&lane| {
                let lane = &lanes[lane as usize];
                (lane.load_bytes, lane.erased() == 0)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(rooms: [u32; 4]) -> Vec<Lane> {
        rooms
            .iter()
            .map(|&room| {
                let mut lane = Lane::default();
                (0..room).for_each(|unit| lane.add_erased(unit, 0));
                lane
            })
            .collect()
    }

    #[test]
    fn consecutive_ids_go_round_the_lanes_that_have_room() {
        let lanes = lanes([1, 1, 0, 1]);
        let chosen: Vec<_> = (8..13).map(|id| Placement::RoundRobin.lane(id, &lanes)).collect();
        assert_eq!(chosen, [Some(0), Some(1), Some(3), Some(3), Some(0)]);
        assert_eq!(Placement::RoundRobin.lane(1, &[Lane::default()]), None);
    }

    #[test]
    fn the_lane_with_the_least_to_do_takes_the_block() {
        let mut lanes = lanes([1, 1, 1, 1]);
        for (lane, load) in lanes.iter_mut().zip([3, 1, 2, 1]) {
            lane.load_bytes = load;
        }
        assert_eq!(Placement::LeastLoaded.lane(0, &lanes), Some(1));
        // Of two alike the one that the id comes to first.
        assert_eq!(Placement::LeastLoaded.lane(2, &lanes), Some(3));
        lanes[1].take_erased();
        assert_eq!(Placement::LeastLoaded.lane(0, &lanes), Some(3));
    }
}
