//! Where the bytes of a unit lie on the lanes that it is striped over.

use flashlane_device::Request;
use std::ops::Range;

/// Units of several lanes as one, in stripes that go to the lanes in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stripes {
    /// Lanes that a unit lies on.
    pub lanes: u32,
    /// Bytes on a lane before the next lane follows.
    pub stripe_bytes: u64,
    /// Bytes of a unit on one of its lanes.
    pub part_bytes: u64,
    /// The lane of a unit's first stripe.
    pub first_lane: u32,
}

impl Stripes {
    /// Bytes of a striped unit.
    pub fn unit_bytes(self) -> u64 {
        self.part_bytes * u64::from(self.lanes)
    }

    /// The bytes of its unit that a request has.
    pub fn range_of(self, request: &Request) -> Range<u64> {
        let start = request.offset_bytes % self.unit_bytes();
        start..start + request.length_bytes
    }

    /// The place of lane `at` in the turn of stripes.
    fn turn(self, at: u32) -> u64 {
        u64::from((at + self.lanes - self.first_lane) % self.lanes)
    }

    /// How many of the first `bytes` of a unit lie on lane `at` of it.
    fn before(self, bytes: u64, at: u32) -> u64 {
        let row = self.stripe_bytes * u64::from(self.lanes);
        let in_row = (bytes % row).saturating_sub(self.turn(at) * self.stripe_bytes);
        bytes / row * self.stripe_bytes + in_row.min(self.stripe_bytes)
    }

    /// The bytes of its part of the unit where lane `at` has those of `range`; empty where it has none of them.
    pub fn on_lane(self, range: &Range<u64>, at: u32) -> Range<u64> {
        self.before(range.start, at)..self.before(range.end, at)
    }

    /// How many bytes of a unit are written, in order and from its start, where its parts have these; `None` where no
    /// number of bytes leaves the parts so.
    pub fn written(self, parts: impl Iterator<Item = u64> + Clone) -> Option<u64> {
        let bytes = parts.clone().sum();
        (0..).zip(parts).all(|(at, part)| self.before(bytes, at) == part).then_some(bytes)
    }

    /// The pieces of `range` that lie on lane `at`, as ranges from the start of `range`. In this order they follow each
    /// other on the lane.
    pub fn pieces(self, range: &Range<u64>, at: u32) -> impl Iterator<Item = Range<usize>> {
        let row = self.stripe_bytes * u64::from(self.lanes);
        let Range { start, end } = *range;
        let first = start / row * row + self.turn(at) * self.stripe_bytes;
        (first..end).step_by(row as usize).filter_map(move |stripe| {
            let (from, to) = (stripe.max(start), (stripe + self.stripe_bytes).min(end));
            (from < to).then(|| (from - start) as usize..(to - start) as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the plain definition: byte after byte.
        #[test]
        fn bytes_lie_in_stripes_on_the_lanes_in_turn(
            lanes in 1_u32..6,
            stripe_bytes in 1_u64..9,
            rows in 1_u64..5,
            from in 0_u64..200,
            length in 1_u64..200,
            first_lane in 0_u32..6,
        ) {
            let first_lane = first_lane % lanes;
            let stripes = Stripes { lanes, stripe_bytes, part_bytes: rows * stripe_bytes, first_lane };
            let unit = stripes.unit_bytes();
            let range = from % unit..(from % unit + length).min(unit);
            let lane_of = |byte: u64| ((byte / stripe_bytes + u64::from(first_lane)) % u64::from(lanes)) as u32;
            let place_of = |byte: u64| byte / (stripe_bytes * u64::from(lanes)) * stripe_bytes + byte % stripe_bytes;
            for at in 0..lanes {
                let there: Vec<u64> = range.clone().filter(|&byte| lane_of(byte) == at).collect();
                let places: Vec<u64> = there.iter().map(|&byte| place_of(byte)).collect();
                prop_assert_eq!(stripes.on_lane(&range, at).collect::<Vec<_>>(), places);
                let pieces: Vec<u64> = stripes.pieces(&range, at).flatten().map(|byte| byte as u64 + range.start).collect();
                prop_assert_eq!(pieces, there);
            }
            let parts = (0..lanes).map(|at| stripes.on_lane(&(0..range.end), at).end);
            prop_assert_eq!(stripes.written(parts.clone()), Some(range.end));
            // One byte more on the first lane is what the order of writing leaves only where that lane has the next
            // byte.
            let more = parts.enumerate().map(|(at, part)| part + u64::from(at == 0));
            prop_assert_eq!(stripes.written(more), (lane_of(range.end) == 0).then_some(range.end + 1));
        }
    }
}
