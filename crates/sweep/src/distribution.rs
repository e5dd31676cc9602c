//! The latency distribution of a point, from the figure of its result: the share of requests in each bin of latency,
//! with the same bins in all results.

use flashlane_result::Figure;
use std::collections::BTreeMap;

/// The share of requests of each bin, in percent, by the bits of the bin's middle in us, which have the same order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Distribution(BTreeMap<u64, f64>);

/// The id of the figure in a run or replay.
const FIGURE: &str = "latency-distribution";

/// The name of the curve that is not of accesses.
const FLUSHES: &str = "flushes";

impl Distribution {
    /// Returns the distribution over all accesses (without flushes) from the figures of a point's result; `None`
    /// without such a figure.
    pub(crate) fn of(figures: &[Figure]) -> Option<Self> {
        let figure = figures.iter().find(|figure| figure.id == FIGURE)?;
        let mut bins = BTreeMap::new();
        let accesses = figure.series.iter().filter(|series| series.name != FLUSHES);
        for &(middle_us, percent) in accesses.flat_map(|series| &series.points) {
            if middle_us > 0.0 {
                *bins.entry(middle_us.to_bits()).or_insert(0.0) += percent;
            }
        }
        (!bins.is_empty()).then_some(Self(bins))
    }

    /// Returns the mean of several, equally weighted, as a cumulative curve: latency in us, and the percentage of
    /// requests with at most that latency.
    pub(crate) fn cumulative<'a>(all: impl Iterator<Item = &'a Self>) -> Vec<(f64, f64)> {
        let (mut bins, mut count) = (BTreeMap::new(), 0.0);
        for Self(one) in all {
            count += 1.0;
            one.iter().for_each(|(bin, percent)| *bins.entry(*bin).or_insert(0.0) += percent);
        }
        let mut sum = 0.0;
        let curve = bins.into_iter().map(|(bin, percent)| {
            sum += percent;
            (f64::from_bits(bin), (sum / count).min(100.0))
        });
        curve.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_result::Series;

    fn figure(id: &str, series: &[(&str, &[(f64, f64)])]) -> Figure {
        let series = series.iter().map(|(name, points)| Series {
            name: (*name).into(),
            points: points.to_vec(),
            ..Series::default()
        });
        Figure { id: id.into(), series: series.collect(), ..Figure::default() }
    }

    #[test]
    fn bins_of_all_operations_are_added() {
        let figures = [
            figure("other", &[]),
            figure(
                FIGURE,
                &[
                    ("reads", &[(1.0, 25.0), (10.0, 25.0)]),
                    ("writes", &[(10.0, 0.0), (100.0, 50.0)]),
                    ("flushes", &[(1000.0, 100.0)]),
                ],
            ),
        ];
        let one = Distribution::of(&figures).unwrap();
        assert_eq!(Distribution::cumulative([&one].into_iter()), [(1.0, 25.0), (10.0, 50.0), (100.0, 100.0)]);
        let other = Distribution::of(&[figure(FIGURE, &[("reads", &[(10.0, 100.0)])])]).unwrap();
        let mean = Distribution::cumulative([&one, &other].into_iter());
        assert_eq!(mean, [(1.0, 12.5), (10.0, 75.0), (100.0, 100.0)]);
        assert_eq!(Distribution::of(&[]), None);
    }
}
