//! The stripe: which plane the n-th mapping unit goes to, and how many went there before.
//!
//! Chunks go round the planes in the order of the allocation. Where planes are pooled, the chunk names the pool, whose
//! planes take the units in turns.

use crate::divisor::Divisor;
use crate::ids::PlaneId;
use crate::nand::Geometry;

pub(in crate::ftl::page) struct Stripe {
    /// By chunk of a round its pool, and its number among those of the pool.
    chunks: Vec<(u32, u32)>,
    /// By pool and that number, the chunk of the round.
    chunk_at: Vec<u32>,
    planes: u32,
    pool_planes: u32,
    chunk_units: u32,
    per_round: Divisor,
    per_pool: Divisor,
    per_chunk: Divisor,
}

impl Stripe {
    /// The stripe whose chunks go to `planes` in turn. Requires: each plane is there once.
    pub(in crate::ftl::page) fn new(planes: &[u32], geometry: &Geometry) -> Self {
        let (count, pool_planes) = (geometry.planes, geometry.pool_planes);
        assert_eq!(planes.len(), count as usize, "a stripe has every plane once");
        let mut of_pool = vec![0; (count / pool_planes) as usize];
        let mut chunk_at = vec![u32::MAX; count as usize];
        let mut chunks = Vec::with_capacity(planes.len());
        for (chunk, &plane) in planes.iter().enumerate() {
            let pool = plane / pool_planes;
            let number = &mut of_pool[pool as usize];
            assert!(*number < pool_planes, "a stripe has every plane once");
            chunks.push((pool, *number));
            chunk_at[(pool * pool_planes + *number) as usize] = chunk as u32;
            *number += 1;
        }
        Self {
            chunks,
            chunk_at,
            planes: count,
            pool_planes,
            chunk_units: geometry.chunk_units,
            per_round: Divisor::new(count),
            per_pool: Divisor::new(pool_planes),
            per_chunk: Divisor::new(geometry.chunk_units),
        }
    }

    /// The pool of the unit with a number, and its number there.
    #[inline]
    pub(super) fn in_pool(&self, number: u32) -> (u32, u32) {
        let chunk = self.per_chunk.of(number);
        let round = self.per_round.of(chunk);
        let (pool, of_pool) = self.chunks[(chunk - round * self.planes) as usize];
        (pool, (round * self.pool_planes + of_pool) * self.chunk_units + number - chunk * self.chunk_units)
    }

    /// The unit with a number in its pool; the other way round.
    #[inline]
    pub(super) fn number(&self, pool: u32, of_pool: u32) -> u32 {
        let chunk = self.per_chunk.of(of_pool);
        let round = self.per_pool.of(chunk);
        let of_round = self.chunk_at[(pool * self.pool_planes + chunk - round * self.pool_planes) as usize];
        (round * self.planes + of_round) * self.chunk_units + of_pool - chunk * self.chunk_units
    }

    /// The plane that takes a unit of a pool, and its index on the plane.
    #[inline]
    pub(super) fn spot(&self, pool: u32, of_pool: u32) -> (PlaneId, u32) {
        let index = self.per_pool.of(of_pool);
        (PlaneId(pool * self.pool_planes + of_pool - index * self.pool_planes), index)
    }

    /// The unit of a pool at an index of a plane; the other way round.
    #[inline]
    pub(super) fn of_pool(&self, plane: PlaneId, index: u32) -> (u32, u32) {
        let pool = self.per_pool.of(plane.0);
        (pool, index * self.pool_planes + plane.0 - pool * self.pool_planes)
    }

    /// How many of the first `units` each pool gets.
    pub(in crate::ftl::page) fn units_of_pools(&self, units: u32) -> Vec<u32> {
        let round = u64::from(self.planes) * u64::from(self.chunk_units);
        let rounds = (u64::from(units) / round) as u32;
        let rest = (u64::from(units) % round) as u32;
        let whole = rounds * self.pool_planes * self.chunk_units;
        let mut pools = vec![whole; (self.planes / self.pool_planes) as usize];
        for (chunk, (pool, _)) in self.chunks.iter().enumerate() {
            let before = (chunk as u32).saturating_mul(self.chunk_units);
            pools[*pool as usize] += rest.saturating_sub(before).min(self.chunk_units);
        }
        pools
    }

    /// How many of the first `units` each plane gets.
    pub(in crate::ftl::page) fn units_of_planes(&self, units: u32) -> Vec<u32> {
        let of_pool = |units: u32| (0..self.pool_planes).map(move |plane| (units, plane));
        let pools = self.units_of_pools(units).into_iter().flat_map(of_pool);
        pools.map(|(units, plane)| (units + self.pool_planes - 1 - plane) / self.pool_planes).collect()
    }
}
