//! Comparison of a sweep's points.
//!
//! The points are compared with the point of the best mean, repetition by repetition: repetitions of one seed have the
//! same accesses, so that their difference varies less than either (common random numbers: Law, Simulation Modeling and
//! Analysis, section 10.2.1). A point is *worse* where the confidence interval of its mean difference (Student's t)
//! lies wholly on the worse side of zero, and the mean difference is more than [`NOTICEABLE`] of the best. Otherwise
//! there is *no difference*, unless the half-width exceeds [`RESOLUTION`]: then there are too few repetitions. The best
//! point is chosen from the same values, so any of the k (k - 1) / 2 pairs may be compared: each interval has the level
//! 1 - 0.05 / pairs, so that all hold together with 95% (Bonferroni; the same source, section 10.4). Cost: one pass
//! over all repetitions.

use flashlane_measure::statistics::student_t;
use flashlane_result::sweep::{Compared, Standing};

/// Differences up to this share of the best count as none: three digits hardly show them.
const NOTICEABLE: f64 = 0.005;
/// A half-width above this share of the best may hide a relevant difference.
const RESOLUTION: f64 = 0.1;
/// Upper bound of the probability that any interval misses its difference.
const ERROR: f64 = 0.05;

/// Compares points, each with the values of its repetitions in order; a point without values gives `None`.
/// `larger_is_better` is the direction of the metric; with `is_exact` the values are not random.
pub(crate) fn compare(
    points: &[Vec<Option<f64>>],
    larger_is_better: bool,
    is_exact: bool,
) -> Vec<Option<Compared>> {
    let count = points.iter().filter(|values| values.iter().any(Option::is_some)).count();
    compare_among(count, points, larger_is_better, is_exact)
}

/// Compares points as [`compare`] does; they are some of `count` points, the intervals of all of which hold jointly.
pub(crate) fn compare_among(
    count: usize,
    points: &[Vec<Option<f64>>],
    larger_is_better: bool,
    is_exact: bool,
) -> Vec<Option<Compared>> {
    let means: Vec<Option<f64>> = points.iter().map(|values| mean(values.iter().flatten())).collect();
    let sign = if larger_is_better { -1.0 } else { 1.0 };
    let known = means.iter().enumerate().filter_map(|(at, mean)| Some((at, sign * (*mean)?)));
    // The first of equal ones.
    let Some((best, _)) = known.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return vec![None; points.len()];
    };
    let count = count as f64;
    let level = 1.0 - ERROR / (count * (count - 1.0) / 2.0).max(1.0);
    let scale = means[best].unwrap_or(0.0).abs();
    let share = |difference: f64| if scale > 0.0 { difference / scale } else { difference };
    let compared = |at: usize| {
        means[at]?;
        if at == best {
            return Some(Compared { standing: Standing::Best, difference: 0.0, half_width: None });
        }
        let pairs = points[at].iter().zip(&points[best]);
        let differences: Vec<f64> =
            pairs.filter_map(|(value, best)| Some(sign * ((*value)? - (*best)?))).collect();
        let difference = mean(differences.iter())?;
        let half_width = half_width(&differences, level);
        let is_noticeable = share(difference) > NOTICEABLE;
        let standing = match half_width {
            Some(half_width) if is_noticeable && difference > half_width => Standing::Worse,
            Some(half_width) if share(half_width) > RESOLUTION => Standing::TooFewRepetitions,
            _ if !is_noticeable => Standing::NoDifference,
            Some(_) => Standing::NoDifference,
            None if is_exact => Standing::Worse,
            None => Standing::Unknown,
        };
        Some(Compared { standing, difference: share(difference), half_width: half_width.map(share) })
    };
    (0..points.len()).map(compared).collect()
}

fn mean<'a>(values: impl Iterator<Item = &'a f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

/// Returns half the confidence interval of the mean of independent `values`; `None` for fewer than two.
pub(crate) fn half_width(values: &[f64], level: f64) -> Option<f64> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    // Relative to the first value, so that equal values have exactly zero variance.
    let first = values[0];
    let shifted = || values.iter().map(|value| value - first);
    let mean = shifted().sum::<f64>() / count;
    let variance = shifted().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some(student_t(level, values.len() as u64 - 1) * (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    fn standings(points: &[&[f64]], larger_is_better: bool, is_exact: bool) -> Vec<Standing> {
        let points: Vec<Vec<Option<f64>>> =
            points.iter().map(|values| values.iter().copied().map(Some).collect()).collect();
        let compared = compare(&points, larger_is_better, is_exact);
        compared.into_iter().map(|compared| compared.expect("all have values").standing).collect()
    }

    #[test]
    fn equal_points_have_no_winner() {
        use Standing::{Best, NoDifference};
        let same: &[f64] = &[1.0, 2.0, 3.0];
        assert_eq!(standings(&[same; 6], false, false)[1..], [NoDifference; 5]);
        assert_eq!(standings(&[&[2.0][..]; 3], false, true), [Best, NoDifference, NoDifference]);
        assert_eq!(standings(&[&[0.0, 0.0][..]; 2], true, false), [Best, NoDifference]);
    }

    #[test]
    fn significant_difference_is_worse() {
        use Standing::{Best, NoDifference, TooFewRepetitions, Unknown, Worse};
        let base: &[f64] = &[100.0, 140.0, 80.0, 120.0, 90.0];
        // The seeds differ more than the points, but the difference is the same for each seed.
        let paired: &[f64] = &[110.0, 149.0, 91.0, 130.0, 99.0];
        let unpaired: &[f64] = &[140.0, 80.0, 120.0, 90.0, 150.0];
        assert_eq!(standings(&[base, paired, unpaired], false, false), [Best, Worse, TooFewRepetitions]);
        // Nearly equal differences for all seeds exclude a relevant one.
        assert_eq!(
            standings(&[base, &[101.0, 139.0, 82.0, 119.0, 92.0]], false, false),
            [Best, NoDifference]
        );
        assert_eq!(standings(&[base, paired], true, false), [Worse, Best]);
        assert_eq!(standings(&[&[100.0], &[110.0]], false, false), [Best, Unknown]);
        assert_eq!(standings(&[&[100.0], &[110.0]], false, true), [Best, Worse]);
        // A certain difference that is too small to notice.
        assert_eq!(standings(&[&[100.0; 5], &[100.4; 5]], false, false), [Best, NoDifference]);
    }

    #[test]
    fn point_without_values_is_not_compared() {
        let points = vec![vec![None, None], vec![Some(2.0), Some(2.0)], vec![Some(3.0), None]];
        let compared = compare(&points, false, false);
        assert_eq!(compared[0], None);
        assert_eq!(compared[1].unwrap().standing, Standing::Best);
        let once = compared[2].unwrap();
        assert_eq!((once.standing, once.half_width), (Standing::Unknown, None));
        assert_eq!(compare(&[vec![None]], false, false), [None]);
    }

    #[test]
    fn points_of_one_distribution_rarely_have_a_winner() {
        // Of 2,000 sweeps over six points of one distribution, at most 5% may call any point worse: 100, and 3 times
        // the standard deviation of 10 more.
        let mut random = Seed(1).source();
        let mut value = || Some(100.0 + (0..12).map(|_| random.unit()).sum::<f64>());
        let mut wrong = 0;
        for _ in 0..2000 {
            let points: Vec<Vec<Option<f64>>> = (0..6).map(|_| (0..5).map(|_| value()).collect()).collect();
            let compared = compare(&points, false, false);
            wrong += usize::from(compared.iter().flatten().any(|c| c.standing == Standing::Worse));
        }
        assert!(wrong <= 130, "{wrong}");
    }
}
