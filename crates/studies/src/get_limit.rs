//! The highest utilization of a device with lanes under random gets, limited by queueing alone: each value lies on a
//! lane chosen at random, or is divided over several, and a lane serves reads in their order of arrival, each part in
//! the same time. Lanes idle while others have a queue.
//!
//! It is a closed queueing model: each client keeps a fixed number of gets in flight, or waits for a whole batch, so
//! that the lane with the longest queue delays all of them. It has no costs of a store, so no store can exceed it on
//! lanes that it does not choose.

use crate::store_load::GetClient;
use flashlane_base::{Random, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Gets that are served for each one in flight.
const ROUNDS: u64 = 200;
/// Ticks in which a lane reads a value: it divides evenly into parts.
const READ_TICKS: u64 = 1 << 20;

/// Clients of a device with lanes.
#[derive(Clone, Copy, Debug)]
pub struct RandomGets {
    /// Lanes of the device.
    pub lanes: u64,
    /// Lanes over which a value is divided, 1 to `lanes`, at equal distances.
    pub lanes_of_value: u64,
    /// Number of clients.
    pub clients: u64,
    /// Gets of a batch, or those that a client has in flight.
    pub in_flight: u64,
    /// When a client submits its next gets.
    pub client: GetClient,
}

impl RandomGets {
    /// Returns the share of all lanes' time in which they read, 0 to 1.
    pub fn share_of_lanes(self) -> f64 {
        let mut state = State {
            gets: self,
            random: Seed(1).derive("gets").source(),
            free_at: vec![0; self.lanes as usize],
            ends: BinaryHeap::new(),
        };
        let mut left = vec![self.in_flight; self.clients as usize];
        (0..self.clients).for_each(|client| state.submit(client, 0, self.in_flight));
        let all = self.clients * self.in_flight * ROUNDS;
        // The first ones find all lanes idle.
        let (skipped, mut begin, mut now) = (all / 10, 0, 0);
        for nth in 0..all {
            let Reverse((end, client)) = state.ends.pop().expect("clients have gets in flight");
            now = end;
            if nth == skipped {
                begin = end;
            }
            let left = &mut left[client as usize];
            *left -= 1;
            match self.client {
                GetClient::Continuous => {
                    *left += 1;
                    state.submit(client, end, 1);
                }
                GetClient::Batches if *left == 0 => {
                    *left = self.in_flight;
                    state.submit(client, end, self.in_flight);
                }
                GetClient::Batches => {}
            }
        }
        ((all - skipped - 1) * READ_TICKS) as f64 / ((now - begin) * self.lanes) as f64
    }
}

struct State {
    gets: RandomGets,
    random: Random,
    /// When each lane has read all that was queued.
    free_at: Vec<u64>,
    /// The end of each get in flight, and its client.
    ends: BinaryHeap<Reverse<(u64, u64)>>,
}

impl State {
    fn submit(&mut self, client: u64, now: u64, gets: u64) {
        let RandomGets { lanes, lanes_of_value: parts, .. } = self.gets;
        for _ in 0..gets {
            let first = self.random.below(lanes);
            let mut end = now;
            for part in 0..parts {
                let lane = ((first + part * lanes / parts) % lanes) as usize;
                self.free_at[lane] = self.free_at[lane].max(now) + READ_TICKS / parts;
                end = end.max(self.free_at[lane]);
            }
            self.ends.push(Reverse((end, client)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(lanes: u64, lanes_of_value: u64, clients: u64, in_flight: u64, client: GetClient) -> f64 {
        RandomGets { lanes, lanes_of_value, clients, in_flight, client }.share_of_lanes()
    }

    #[test]
    fn lanes_that_share_each_value_never_idle() {
        for client in [GetClient::Batches, GetClient::Continuous] {
            assert!(share(1, 1, 1, 4, client) > 0.999);
            assert!(share(8, 8, 2, 4, client) > 0.999);
        }
        // One get at a time uses one lane.
        assert!((share(8, 1, 1, 1, GetClient::Continuous) - 1.0 / 8.0).abs() < 1e-9);
    }

    #[test]
    fn two_gets_on_two_lanes_have_the_share_worked_out_by_hand() {
        // A batch takes one read where the lanes differ, else two: 1.5 on average for two reads of two lanes.
        let batches = share(2, 1, 1, 2, GetClient::Batches);
        assert!((batches - 2.0 / 3.0).abs() < 0.05, "{batches}");
        // With both on one lane, or one on each, by turns at random: three quarters.
        let continuous = share(2, 1, 1, 2, GetClient::Continuous);
        assert!((continuous - 0.75).abs() < 0.05, "{continuous}");
    }

    #[test]
    fn more_lanes_of_a_value_leave_fewer_idle() {
        let of = |parts| share(44, parts, 8, 44, GetClient::Batches);
        let shares = [1, 2, 4, 11].map(of);
        assert!(shares.is_sorted(), "{shares:?}");
    }
}
