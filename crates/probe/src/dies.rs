//! Which chunks share a die, whatever the order of the stripe.
//!
//! A stripe counts through its levels like digits. Of these, the planes of a die do not tell dies apart, and the others
//! do: those that change before the planes, together `inner` dies, and those that change after them, `outer`. So two
//! chunks share a die where their numbers agree modulo `inner`, and the numbers of their turns of inner dies and planes
//! agree modulo `outer`. Every such pattern is tested against chunks that were seen to share a die, and chunks that
//! were seen not to; it is the right one where those that it predicts share a die, and it is far likelier than any
//! other number of dies.

use crate::mapping::Policy;

/// Two chunks, and whether they share a die. The first is given by its number if places follow from addresses, and if
/// they follow from the order of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPair {
    pub(crate) by_address: usize,
    pub(crate) by_turn: usize,
    pub(crate) other: usize,
    pub(crate) is_shared: bool,
}

impl ChunkPair {
    fn first(&self, policy: Policy) -> usize {
        match policy {
            Policy::Lba => self.by_address,
            Policy::WriteOrder => self.by_turn,
        }
    }
}

/// Dies of the stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dies {
    /// Dies that change before the planes.
    pub(crate) inner: usize,
    pub(crate) planes: usize,
    /// Dies that change after the planes.
    pub(crate) outer: usize,
    /// Place of chunk 0 in its turn of inner dies and planes.
    pub(crate) offset: usize,
}

/// Most dies, and planes of a die.
const DIES_MAX: usize = 2048;
pub(crate) const PLANES_MAX: usize = 4;
/// Number of outer dies where so many follow that none recurs.
const NEVER: usize = 1 << 20;
/// Least number of samples that share a die as a pattern predicts, and least share of those it predicts. A drive's own
/// work may answer a read from a cache.
const SHARED_MIN: usize = 8;
const PREDICTED: f64 = 0.9;
/// Most samples that wait for anything else, as a share of all: a drive's own work may delay any read.
const ELSEWHERE: f64 = 0.25;
/// Largest share of samples that an exact pattern does not predict.
const EXACT: f64 = 0.02;
/// A pattern for which samples that share a die are rarer than predicted by this factor is not tried.
const RARE_MAX: usize = 3;
/// Least logarithm of the ratio of a pattern's likelihood to that of any with another number of dies.
const LIKELIER: f64 = 20.0;

impl Dies {
    pub(crate) fn count(self) -> usize {
        self.inner * self.outer
    }

    /// Returns the distance of chunks at which all pairs share a die.
    pub(crate) fn period(self) -> usize {
        self.inner * self.planes * self.outer
    }

    /// Returns whether no planes come between the dies, so that they look alike from each place of the stripe: whether
    /// by address or by turn is not seen.
    pub(crate) fn alternate_only(self) -> bool {
        self.planes == 1 && self.outer == 1
    }

    /// Returns the same dies where chunks are counted from the `first`.
    pub(crate) fn from(self, first: usize) -> Self {
        Self { offset: (self.offset + first) % (self.inner * self.planes), ..self }
    }

    /// Returns a distance of chunks at which no pair shares a die, where there are two dies.
    pub(crate) fn apart(self) -> usize {
        if self.inner > 1 { 1 } else { self.planes }
    }

    /// Returns whether chunks at every multiple of a distance share something that only some of them share a die by.
    pub(crate) fn is_coarser(self, distance: usize) -> bool {
        self.period().is_multiple_of(distance)
            && self.count().is_multiple_of(distance)
            && self.count() > distance
    }

    /// Returns whether two chunks share a die.
    pub(crate) fn shares(self, one: usize, other: usize) -> bool {
        one.abs_diff(other).is_multiple_of(self.inner)
            && self.turn(one).abs_diff(self.turn(other)).is_multiple_of(self.outer)
    }

    /// Returns the most of `count` chunks, at least one, from the `first` on that are on one die.
    pub(crate) fn most_on_one(self, first: usize, count: usize) -> usize {
        let Self { inner, planes, outer, offset } = self;
        let turn = inner * planes;
        let (from, end) = (first + offset, first + offset + count);
        let (first_turn, last_turn) = (from / turn, (end - 1) / turn);
        if outer == 1 || first_turn == last_turn {
            return count.div_ceil(inner);
        }
        // The end of a turn, whole turns, and the start of one.
        let (head, whole, tail) =
            ((first_turn + 1) * turn - from, last_turn - first_turn - 1, end - last_turn * turn);
        let (again, most_whole) = (whole / outer * planes, whole.div_ceil(outer) * planes);
        let ends = match (last_turn - first_turn).is_multiple_of(outer) {
            true => {
                let rest = head % inner + tail % inner;
                head / inner + tail / inner + rest.div_ceil(inner).min(2)
            }
            false => head.max(tail).div_ceil(inner),
        };
        most_whole.max(again + ends)
    }

    /// Returns the number of a chunk's turn of inner dies and planes.
    fn turn(self, chunk: usize) -> usize {
        (chunk + self.offset) / (self.inner * self.planes)
    }

    /// Returns the dies and the mapping that explain the samples best, of which those of `random` are of random chunks.
    pub(crate) fn fit(random: &[ChunkPair], aimed: &[ChunkPair]) -> Option<Fit> {
        let candidates = Self::candidates(random);
        let all = random.len() + aimed.len();
        let shared = random.iter().chain(aimed).filter(|sample| sample.is_shared).count();
        let mut tried: Vec<(f64, Self, Policy, Counts)> = Vec::new();
        let mut most = f64::NEG_INFINITY;
        for (dies, policy, held) in candidates {
            // What is left unexplained bounds the likelihood; of the aimed samples none may be.
            let rest = shared - shared.min(held + aimed.len());
            let bound = Counts { others: all, elsewhere: rest, ..Counts::default() }.likelihood();
            if bound < most - 2.0 * LIKELIER {
                continue;
            }
            let samples = random.iter().chain(aimed);
            let counts = Counts::of(samples, |sample| dies.shares(sample.first(policy), sample.other));
            most = most.max(counts.likelihood());
            tried.push((counts.likelihood(), dies, policy, counts));
        }
        tried.sort_unstable_by(|one, other| {
            other.0.total_cmp(&one.0).then(one.1.period().cmp(&other.1.period()))
        });
        let &(most, dies, best_policy, counts) = tried.first()?;
        // All pairs share the only die, but a drive that does one thing at a time looks the same.
        if dies.count() == 1 || !dies.recurs() || !counts.are_explained() {
            return None;
        }
        tried.retain(|(other, ..)| most - other < LIKELIER);
        // Planes between dies are seen from one place of the stripe only, which depends on the mapping. The likeliest
        // place will do: at those beside it, few chunks are on other dies.
        let is_other = |other: &Self, policy: Policy| match dies.outer {
            1 => other.count() != dies.count(),
            _ => Self { offset: dies.offset, ..*other } != dies || policy != best_policy,
        };
        let rival = tried.iter().find(|(_, other, policy, _)| is_other(other, *policy));
        let may_be_by_turn = tried
            .iter()
            .any(|(_, other, policy, _)| *policy == Policy::WriteOrder && other.count() == dies.count());
        let policy = if may_be_by_turn && dies.outer == 1 { Policy::WriteOrder } else { best_policy };
        Some(Fit { dies, policy, rival: rival.map(|(_, dies, policy, _)| (*dies, *policy)), counts })
    }

    /// Returns the patterns that hold for most of the samples that share a die, and for how many, the most first.
    fn candidates(random: &[ChunkPair]) -> Vec<(Self, Policy, usize)> {
        let mut candidates = Vec::new();
        // Where chunks have one number, there is one policy: the other would rival every pattern.
        let is_numbered_once = random.iter().all(|sample| sample.by_address == sample.by_turn);
        let policies: &[Policy] = match is_numbered_once {
            true => &[Policy::WriteOrder],
            false => &[Policy::Lba, Policy::WriteOrder],
        };
        for &policy in policies {
            let shared: Vec<(usize, usize)> = random
                .iter()
                .filter(|sample| sample.is_shared)
                .map(|sample| (sample.first(policy), sample.other))
                .filter(|(one, other)| one != other)
                .collect();
            let least = SHARED_MIN.max(shared.len() / 3);
            let found = (1..=DIES_MAX).flat_map(|inner| Self::single(inner).with_planes(&shared, least));
            // Of the samples, about as many are predicted to share one of the dies.
            let is_dense =
                |dies: &Self, held: usize| !dies.recurs() || RARE_MAX * held * dies.count() >= random.len();
            candidates.extend(
                found.filter(|(dies, held)| is_dense(dies, *held)).map(|(dies, held)| (dies, policy, held)),
            );
        }
        candidates.sort_by_key(|(.., held)| std::cmp::Reverse(*held));
        candidates
    }

    /// Returns whether dies recur after all others.
    fn recurs(self) -> bool {
        self.outer < NEVER
    }

    /// Dies that no planes come between.
    fn single(inner: usize) -> Self {
        Self { inner, planes: 1, outer: 1, offset: 0 }
    }

    /// Returns the patterns of as many inner dies, without and with planes, that hold for at least so many of the
    /// pairs, and for how many they do. Planes that change last tell nothing apart, as with one plane.
    fn with_planes(self, pairs: &[(usize, usize)], least: usize) -> Vec<(Self, usize)> {
        let held: Vec<(usize, usize)> =
            pairs.iter().copied().filter(|(one, other)| self.shares(*one, *other)).collect();
        if held.len() < least {
            return Vec::new();
        }
        let mut found = vec![(self, held.len())];
        for planes in 2..=PLANES_MAX {
            for offset in 0..self.inner * planes {
                let turns = Self { planes, offset, ..self };
                let apart = |&(one, other): &(usize, usize)| turns.turn(one).abs_diff(turns.turn(other));
                let apart: Vec<usize> = held.iter().map(apart).collect();
                let within = apart.iter().filter(|turns| **turns == 0).count();
                if within >= least {
                    found.push((Self { outer: NEVER, ..turns }, within));
                }
                let most = apart.iter().copied().max().unwrap_or(0).min(DIES_MAX / self.inner);
                found.extend((2..=most).filter_map(|outer| {
                    let held = apart.iter().filter(|turns| turns.is_multiple_of(outer)).count();
                    (held >= least && held > within).then_some((Self { outer, ..turns }, held))
                }));
            }
        }
        found
    }
}

/// Dies that explain samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) dies: Dies,
    /// The order of writes where it may be.
    pub(crate) policy: Policy,
    /// Another number of dies that is not far less likely.
    pub(crate) rival: Option<(Dies, Policy)>,
    counts: Counts,
}

impl Fit {
    /// Returns whether nearly all samples share a die as predicted, and nearly no others do: no drive's own work is in
    /// the way.
    pub(crate) fn is_exact(&self) -> bool {
        let Counts { predicted, shared, others, elsewhere } = self.counts;
        shared as f64 >= (1.0 - EXACT) * predicted as f64 && elsewhere as f64 <= EXACT * others as f64
    }
}

/// Samples that a pattern predicts to share a die, and the others, each with the number of those that do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    predicted: usize,
    shared: usize,
    others: usize,
    elsewhere: usize,
}

impl Counts {
    fn of<'a>(samples: impl Iterator<Item = &'a ChunkPair>, predicts: impl Fn(&ChunkPair) -> bool) -> Self {
        let mut counts = Self::default();
        for sample in samples {
            let (all, shared) = match predicts(sample) {
                true => (&mut counts.predicted, &mut counts.shared),
                false => (&mut counts.others, &mut counts.elsewhere),
            };
            *all += 1;
            *shared += usize::from(sample.is_shared);
        }
        counts
    }

    /// Logarithm of the likelihood of the samples.
    fn likelihood(self) -> f64 {
        let of = |share: f64, all: usize, shared: usize| {
            shared as f64 * share.ln() + (all - shared) as f64 * (1.0 - share).ln()
        };
        let elsewhere = (self.elsewhere as f64 + 0.5) / (self.others as f64 + 1.0);
        of((1.0 + PREDICTED) / 2.0, self.predicted, self.shared) + of(elsewhere, self.others, self.elsewhere)
    }

    fn are_explained(self) -> bool {
        self.shared >= SHARED_MIN
            && self.shared as f64 >= PREDICTED * self.predicted as f64
            && self.elsewhere as f64 <= ELSEWHERE * self.others as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    /// Samples of `chunks` chunks, of which `wrong` of 1000 are wrong.
    fn samples(dies: Dies, chunks: u64, policy: Policy, wrong: u64) -> Vec<ChunkPair> {
        let mut random = Seed(11).source();
        (0..4000)
            .map(|nth| {
                let (by_address, other) = (random.below(chunks) as usize, random.below(chunks) as usize);
                let by_turn = chunks as usize + 7 + nth / 3;
                let sample = ChunkPair { by_address, by_turn, other, is_shared: false };
                let is_wrong = random.below(1000) < wrong;
                ChunkPair { is_shared: dies.shares(sample.first(policy), other) != is_wrong, ..sample }
            })
            .collect()
    }

    /// Dies that no other number of dies rivals.
    fn fit(samples: &[ChunkPair]) -> Option<Dies> {
        Dies::fit(samples, &[]).filter(|fit| fit.rival.is_none()).map(|fit| fit.dies)
    }

    #[test]
    fn chunks_on_the_busiest_die_are_counted() {
        for (inner, planes, outer) in [(1, 1, 1), (5, 1, 1), (3, 2, 2), (2, 4, 3), (4, 3, 5)] {
            for offset in 0..inner * planes {
                let dies = Dies { inner, planes, outer, offset };
                for (first, count) in (0..70).flat_map(|first| (1..90).map(move |count| (first, count))) {
                    let mut on = vec![0; inner * outer];
                    for chunk in first..first + count {
                        on[number_of_die(dies, chunk)] += 1;
                    }
                    let most = on.into_iter().max().unwrap();
                    assert_eq!(dies.most_on_one(first, count), most, "{dies:?}: {first} {count}");
                }
            }
        }
    }

    fn number_of_die(dies: Dies, chunk: usize) -> usize {
        let place = chunk + dies.offset;
        place % dies.inner + place / (dies.inner * dies.planes) % dies.outer * dies.inner
    }

    #[test]
    fn dies_are_found_in_any_order() {
        for (inner, planes, outer, offset) in [(6, 1, 1, 0), (5, 3, 4, 2), (1, 4, 30, 3), (40, 2, 3, 0)] {
            let dies = Dies { inner, planes, outer, offset };
            for policy in [Policy::Lba, Policy::WriteOrder] {
                let found = Dies::fit(&samples(dies, 1200, policy, 0), &[]).unwrap();
                let summary = |dies: Dies| (dies.count(), dies.period());
                assert_eq!((summary(found.dies), found.policy), (summary(dies), policy));
            }
        }
    }

    #[test]
    fn chunks_with_one_number_have_no_policy_that_rivals() {
        let dies = Dies { inner: 8, planes: 2, outer: 16, offset: 9 };
        let mut random = Seed(4).source();
        let samples: Vec<ChunkPair> = (0..6000)
            .map(|_| {
                let [one, other] = [0; 2].map(|_| random.below(1200) as usize);
                ChunkPair { by_address: one, by_turn: one, other, is_shared: dies.shares(one, other) }
            })
            .collect();
        let found = fit(&samples).map(|found| (found.count(), found.period()));
        assert_eq!(found, Some((dies.count(), dies.period())));
    }

    #[test]
    fn dies_that_do_not_recur_are_not_found() {
        let dies = Dies { inner: 8, planes: 2, outer: 40, offset: 0 };
        assert_eq!(fit(&samples(dies, 600, Policy::Lba, 0)), None);
    }

    #[test]
    fn reads_that_wait_at_random_show_no_dies() {
        let dies = Dies::single(40);
        assert!(fit(&samples(dies, 1200, Policy::Lba, 30)).is_some());
        assert_eq!(fit(&samples(dies, 1200, Policy::Lba, 500)), None);
        let all = samples(dies, 1200, Policy::Lba, 0)
            .into_iter()
            .map(|sample| ChunkPair { is_shared: true, ..sample });
        assert_eq!(fit(&all.collect::<Vec<_>>()), None);
    }
}
