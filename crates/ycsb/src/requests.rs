//! Which record an operation requests.
//!
//! *Zipfian* is YCSB's scrambled one: a rank among 10^10 by Zipf's law with exponent 0.99, whose hash modulo the number
//! of records is the record. So the shares do not change where records are inserted, and records that are requested
//! often lie apart. Records that will be inserted count as well; one that is not there yet is drawn again. *Latest*
//! draws how many records ago it was inserted.

use crate::records::hash;
use crate::workload::Requests;
use flashlane_base::Random;
use flashlane_workload::Zipf;

/// Exponent of Zipf's law.
const EXPONENT: f64 = 0.99;
/// Ranks of the scrambled distribution.
const RANKS: u64 = 10_000_000_000;

/// Draws records.
pub struct Chooser {
    requests: Requests,
    zipf: Zipf,
    /// Records that are there, or will be.
    records: u64,
}

impl Chooser {
    /// Draws among `stored` records, to which at most `inserts` are added.
    pub fn new(requests: Requests, stored: u64, inserts: u64) -> Self {
        assert!(stored > 0, "a record is requested");
        let ranks = if requests == Requests::Latest { stored } else { RANKS };
        Self { requests, zipf: Zipf::new(ranks, EXPONENT), records: stored + inserts }
    }

    /// Draws one of the first `stored` records.
    pub fn next(&self, stored: u64, random: &mut Random) -> u64 {
        match self.requests {
            Requests::Uniform => random.below(stored),
            Requests::Latest => stored - 1 - self.zipf.sample(random),
            Requests::Zipfian => loop {
                let record = hash(self.zipf.sample(random)) % self.records;
                if record < stored {
                    return record;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    const RECORDS: u64 = 1000;

    fn counts(requests: Requests, stored: u64, inserts: u64) -> Vec<u64> {
        let chooser = Chooser::new(requests, stored, inserts);
        let mut random = Seed(1).source();
        let mut counts = vec![0; stored as usize];
        (0..200_000).for_each(|_| counts[chooser.next(stored, &mut random) as usize] += 1);
        counts
    }

    /// The share of a rank is `rank^-0.99` over the sum of these: 24.2 for 10^10 ranks, 7.73 for 1000.
    #[test]
    fn most_frequent_records_have_the_shares_of_the_law() {
        let sum = |ranks: u64| (1..=ranks).map(|rank| (rank as f64).powf(-EXPONENT)).sum::<f64>();
        let zipfian = counts(Requests::Zipfian, RECORDS, 0);
        // The integral of x^-0.99 is 100 x^0.01: the rest of the sum.
        let all = sum(10_000) + 100.0 * ((RANKS as f64).powf(0.01) - 10_000_f64.powf(0.01));
        let first = 200_000.0 / all;
        let found = zipfian[(hash(0) % RECORDS) as usize] as f64;
        // Other ranks fall on the record too: a thousandth of them.
        assert!((found - first - 200.0).abs() < 5.0 * found.sqrt(), "{found}, expected {first}");
        let latest = counts(Requests::Latest, RECORDS, 0);
        let (found, expected) = (latest[RECORDS as usize - 1] as f64, 200_000.0 / sum(RECORDS));
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found}, expected {expected}");
        let half: u64 = latest[RECORDS as usize / 2..].iter().sum();
        let expected = 200_000.0 * sum(RECORDS / 2) / sum(RECORDS);
        assert!((half as f64 - expected).abs() < 5.0 * expected.sqrt(), "{half}, expected {expected}");
    }

    #[test]
    fn records_to_come_are_not_requested() {
        for requests in [Requests::Zipfian, Requests::Latest, Requests::Uniform] {
            let counts = counts(requests, RECORDS, 500);
            assert_eq!(counts.iter().sum::<u64>(), 200_000);
            assert!(counts.iter().filter(|count| **count > 0).count() > 900, "{requests:?}");
        }
    }
}
