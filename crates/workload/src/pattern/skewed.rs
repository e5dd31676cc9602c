//! Skewed: random over the aligned positions, some more often than others.
//!
//! | distribution | means, as in |
//! | --- | --- |
//! | Zipf | the `k`-th most frequent position is visited `k^-exponent` as often as the first: fio's `zipf`, YCSB's `zipfian` (0.99) |
//! | Pareto | self-similar: a share `h` of the space has `1-h` of the accesses, and within it again: fio's `pareto` (Gray et al., SIGMOD 1994) |
//! | hotspot | a share of the space has a share of the accesses, uniformly in both parts: fio's `zoned` with two zones, YCSB's `hotspot` |
//!
//! The frequent positions are scattered over the area by a random one-to-one map, or are at its beginning. fio and YCSB
//! scatter by hashing, where several ranks may collide in one position and others stay unvisited; here the distribution
//! stays exact.

use super::permutation::Bijection;
use super::zipf::Zipf;
use super::{Area, Offsets};
use flashlane_base::Random;

/// How often positions are visited, and the place of the frequent ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skew {
    /// How often positions are visited.
    pub distribution: Distribution,
    /// Whether the frequent positions are scattered over the area, or at its beginning in their order.
    pub scattered: bool,
}

/// How often positions are visited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// The `k`-th most frequent position proportionally to `k^-exponent`.
    Zipf {
        /// Above 0, at most 10.
        exponent: f64,
    },
    /// A share of the space has the rest of the accesses (20%: the space's 20% has 80%), and within it again.
    Pareto {
        /// Above 0%, below 100%; 50% is uniform.
        space: f64,
    },
    /// A share of the space has a share of the accesses.
    Hotspot {
        /// Of the space: above 0%, below 100%.
        space: f64,
        /// Of the accesses: 0% to 100%.
        accesses: f64,
    },
}

impl Distribution {
    /// Its key in the written forms.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Zipf { .. } => "zipf",
            Self::Pareto { .. } => "pareto",
            Self::Hotspot { .. } => "hotspot",
        }
    }

    /// Returns whether its frequent positions are scattered by default; those of a hotspot are one part of the area, as
    /// in fio.
    pub fn scatters(&self) -> bool {
        !matches!(self, Self::Hotspot { .. })
    }

    /// Returns the values allowed, where its own are not.
    pub(crate) fn unfit(&self) -> Option<&'static str> {
        let inside = |share: f64| share > 0.0 && share < 1.0;
        match *self {
            Self::Zipf { exponent } if !(exponent > 0.0 && exponent <= 10.0) => {
                Some("above 0 and at most 10")
            }
            Self::Pareto { space } if !inside(space) => Some("above 0% and below 100%"),
            Self::Hotspot { space, accesses } if !(inside(space) && (0.0..=1.0).contains(&accesses)) => {
                Some("a share of the space above 0% and below 100%, and one of the accesses, as in 20%:80%")
            }
            _ => None,
        }
    }
}

impl Skew {
    pub(super) fn offsets(&self, area: &Area, mut random: Random) -> Box<dyn Offsets> {
        let positions = area.positions();
        let map = self.scattered.then(|| Bijection::new(positions, random.clone()));
        // The map used the first numbers.
        for _ in 0..16 {
            random.bits();
        }
        let align_bytes = area.align_bytes;
        match self.distribution {
            Distribution::Zipf { exponent } => {
                let ranks = Zipf::new(positions, exponent);
                Box::new(Skewed {
                    rank: move |random: &mut Random| ranks.sample(random),
                    map,
                    align_bytes,
                    random,
                })
            }
            Distribution::Pareto { space } => {
                // P(rank < x) = (x / positions)^(1 / power), which is 1 - space where x is space.
                let (power, n) = (space.ln() / (1.0 - space).ln(), positions as f64);
                let rank =
                    move |random: &mut Random| ((n * random.unit().powf(power)) as u64).min(positions - 1);
                Box::new(Skewed { rank, map, align_bytes, random })
            }
            Distribution::Hotspot { space, accesses } => {
                let hot = ((positions as f64 * space).round() as u64).clamp(1, positions.max(2) - 1);
                let cold = positions.saturating_sub(hot);
                let rank = move |random: &mut Random| {
                    if cold == 0 || random.chance(accesses) {
                        random.below(hot)
                    } else {
                        hot + random.below(cold)
                    }
                };
                Box::new(Skewed { rank, map, align_bytes, random })
            }
        }
    }
}

struct Skewed<F> {
    rank: F,
    map: Option<Bijection>,
    align_bytes: u64,
    random: Random,
}

impl<F: Fn(&mut Random) -> u64 + Send> Offsets for Skewed<F> {
    #[inline]
    fn next(&mut self) -> u64 {
        let rank = (self.rank)(&mut self.random);
        self.map.as_ref().map_or(rank, |map| map.of(rank)) * self.align_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use std::collections::BTreeSet;

    /// Counts the visits of each position in a million accesses.
    fn seen(distribution: Distribution, scattered: bool, positions: u64) -> Vec<f64> {
        let area = Area { length_bytes: positions * 4096, size_bytes: 4096, align_bytes: 4096 };
        let mut offsets = Skew { distribution, scattered }.offsets(&area, Seed(5).source());
        let mut seen = vec![0.0; positions as usize];
        for _ in 0..1_000_000 {
            let offset = offsets.next();
            assert!(offset.is_multiple_of(4096) && offset < area.length_bytes);
            seen[(offset / 4096) as usize] += 1.0;
        }
        seen
    }

    /// Within five standard deviations of a binomial draw.
    fn is_about(count: f64, share: f64) -> bool {
        (count - 1e6 * share).abs() <= 5.0 * (1e6 * share * (1.0 - share)).sqrt() + 1e-6
    }

    #[test]
    fn pareto_gives_the_space_its_share_of_accesses() {
        for space in [0.01, 0.2, 0.5, 0.7] {
            let seen = seen(Distribution::Pareto { space }, false, 1000);
            let within = |share: f64| seen[..(1000.0 * share) as usize].iter().sum::<f64>();
            assert!(is_about(within(space), 1.0 - space), "{space}: {}", within(space));
        }
        // And within that share again.
        let twice = seen(Distribution::Pareto { space: 0.2 }, false, 1000)[..40].iter().sum();
        assert!(is_about(twice, 0.64), "{twice}");
    }

    #[test]
    fn hotspot_has_its_share_uniformly() {
        let seen = seen(Distribution::Hotspot { space: 0.2, accesses: 0.8 }, false, 100);
        assert!(seen[..20].iter().all(|&count| is_about(count, 0.8 / 20.0)), "{seen:?}");
        assert!(seen[20..].iter().all(|&count| is_about(count, 0.2 / 80.0)), "{seen:?}");
        for accesses in [0.0, 1.0] {
            let seen = self::seen(Distribution::Hotspot { space: 0.5, accesses }, false, 3);
            assert_eq!(seen.iter().sum::<f64>(), 1e6);
            assert_eq!(seen[..2].iter().sum::<f64>(), 1e6 * accesses, "{seen:?}");
        }
        assert_eq!(self::seen(Distribution::Hotspot { space: 0.5, accesses: 0.5 }, true, 1), [1e6]);
    }

    #[test]
    fn scattering_moves_positions_and_keeps_counts() {
        for distribution in [Distribution::Zipf { exponent: 1.1 }, Distribution::Pareto { space: 0.1 }] {
            let (together, apart) = (seen(distribution, false, 500), seen(distribution, true, 500));
            assert_ne!(together, apart);
            let sorted = |mut counts: Vec<f64>| {
                counts.sort_by(f64::total_cmp);
                counts
            };
            assert_eq!(sorted(together), sorted(apart.clone()));
            // The ten most frequent are in different tenths of the area.
            let mut places: Vec<usize> = (0..500).collect();
            places.sort_by(|&a, &b| apart[b].total_cmp(&apart[a]));
            assert!(places[..10].iter().map(|place| place / 50).collect::<BTreeSet<_>>().len() >= 5);
        }
    }
}
