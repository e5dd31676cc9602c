//! Patterns in rows of measurements: which values stand out, and whether they recur with a period.
//!
//! The rules are strict. A period is reported only where *every* place of the period stands out, and no other place
//! does.

/// A measured value with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The mean of the middle half of the repetitions.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// Returns the mean of the middle half of the repetitions, of which there MUST be at least one, and its standard error
/// from their spread.
///
/// The middle half, so that a few outliers (an interrupt, other load on the machine) change neither the value nor its
/// error; its mean rather than the median, because two reads that finish at nearly the same time delay each other in
/// turn, and the median of such a mixture jumps.
pub fn point(repetitions: &mut [f64]) -> Point {
    repetitions.sort_unstable_by(f64::total_cmp);
    let n = repetitions.len();
    let middle = &repetitions[n / 4..n - n / 4];
    let value = middle.iter().sum::<f64>() / middle.len() as f64;
    // The middle half of a normal distribution is 1.349 standard deviations wide, and the standard error of its mean
    // is 1.09 times that of the overall mean.
    let sigma = (middle[middle.len() - 1] - middle[0]) / 1.349;
    Point { value, error: 1.09 * sigma / (n as f64).sqrt() }
}

/// Returns the median; infinity of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// Returns the time that an eighth of the times, of which there MUST be one, undercut: few others do, however many
/// garbage collection delays, and so it is of one kind where their middle is of none.
pub(crate) fn undelayed(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 8]
}

/// Returns the mean and the variance of all values, of which there MUST be at least one.
pub(crate) fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
}

/// The places of a row that stand out from its floor.
#[derive(Clone, Debug, PartialEq)]
pub struct Standout {
    /// The floor: the value of places that do not stand out.
    pub floor: f64,
    /// A value above this stands out.
    pub threshold: f64,
    /// Indices of the places that stand out.
    pub places: Vec<usize>,
    /// Mean height of the places above the floor.
    pub height: f64,
    /// Gap between the lowest place that stands out and the highest that does not, in units of the height: 1 for exact
    /// values, near 0 where the two groups touch.
    pub clarity: f64,
}

/// A place stands out where its value exceeds the floor by this number of standard errors plus this share of the floor:
/// rounding and small systematic differences are not structure.
const STANDARD_ERRORS: f64 = 6.0;
const SHARE: f64 = 0.004;

/// Returns the least height above the floor at which a place stands out.
pub fn least_height(floor: f64, error: f64) -> f64 {
    STANDARD_ERRORS * error + SHARE * floor
}

/// Finds the places that stand out; `None` where there are none. The floor is the 20th percentile, which lies in the
/// lower group even where every second place stands out.
pub fn standout(row: &[Point]) -> Option<Standout> {
    if row.len() < 4 {
        return None;
    }
    let mut values: Vec<f64> = row.iter().map(|point| point.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let floor = values[values.len() / 5];
    let mut errors: Vec<f64> = row.iter().map(|point| point.error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let error = errors[errors.len() * 3 / 4];
    let least = floor + least_height(floor, error);
    // The threshold is halfway between the floor and the lowest value that clearly exceeds it.
    let lowest = values.iter().copied().find(|value| *value > least)?;
    let threshold = floor + (lowest - floor) / 2.0;
    let places: Vec<usize> = (0..row.len()).filter(|&i| row[i].value > threshold).collect();
    let highest_below = row.iter().map(|p| p.value).filter(|v| *v <= threshold).fold(floor, f64::max);
    let lowest_above = places.iter().map(|&i| row[i].value).fold(f64::INFINITY, f64::min);
    let height = places.iter().map(|&i| row[i].value - floor).sum::<f64>() / places.len() as f64;
    let clarity = ((lowest_above - highest_below) / height).clamp(0.0, 1.0);
    Some(Standout { floor, threshold, places, height, clarity })
}

/// Returns phase and period of places that recur at `phase`, `phase + period`, … and nowhere else among `0..length`.
///
/// There must be at least three places, and none missing up to `length`.
pub fn period(places: &[usize], length: usize) -> Option<(usize, usize)> {
    let [first, second, _, ..] = places else { return None };
    let period = second - first;
    let all = (*first..length).step_by(period);
    (*first < period && all.eq(places.iter().copied())).then_some((*first, period))
}

/// Returns the median standard error of a row's points.
pub fn typical_error(row: &[Point]) -> f64 {
    let mut errors: Vec<f64> = row.iter().map(|point| point.error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().unwrap_or(0.0)
}

/// Confidence after `periods` periods, each of which chance would produce with probability 1/4, scaled by the clarity
/// of the [`Standout`].
pub(crate) fn confidence(clarity: f64, periods: usize) -> f64 {
    let seen = 1.0 - 0.25_f64.powi(periods.min(20) as i32);
    ((0.75 + 0.24 * clarity) * seen * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    fn row(length: usize, noise: f64, high: impl Fn(usize) -> f64) -> Vec<Point> {
        let mut random = Seed(length as u64).source();
        (0..length)
            .map(|i| {
                let value = 100.0 + high(i);
                point(&mut (0..15).map(|_| value + noise * (random.unit() - 0.5)).collect::<Vec<_>>())
            })
            .collect()
    }

    #[test]
    fn period_is_found_at_any_length_and_phase() {
        for every in [2, 3, 10, 31] {
            for phase in [0, 1, every - 1] {
                let row = row(100, 5.0, |i| if i % every == phase { 20.0 } else { 0.0 });
                let standout = standout(&row).unwrap();
                assert_eq!(period(&standout.places, row.len()), Some((phase, every)));
            }
        }
    }

    #[test]
    fn noise_has_no_period() {
        let mut invented = 0;
        for length in 20..220 {
            let row = row(length, 30.0, |_| 0.0);
            invented += usize::from(standout(&row).and_then(|s| period(&s.places, row.len())).is_some());
        }
        assert_eq!(invented, 0);
    }

    #[test]
    fn missing_or_extra_place_prevents_a_period() {
        let missing = row(100, 1.0, |i| if i % 10 == 0 && i != 50 { 20.0 } else { 0.0 });
        assert_eq!(period(&standout(&missing).unwrap().places, 100), None);
        let extra = row(100, 1.0, |i| if i % 10 == 0 || i == 55 { 20.0 } else { 0.0 });
        assert_eq!(period(&standout(&extra).unwrap().places, 100), None);
        assert_eq!(period(&[0, 10], 20), None, "two places are not a period");
        assert_eq!(period(&[12, 22, 32], 40), None, "one is missing before the first");
    }
}
