//! Patterns in rows of measurements: which values stand out, and whether they recur with a period.
//!
//! The rules are strict on purpose. A period is reported only where *every* place that should stand out does,
//! and no other; one exception, and nothing is reported.

/// A measured value with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The mean of the middle half of the repetitions.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// The mean of the middle half of the repetitions, and its standard error from their spread.
///
/// The middle half, so that a few stray values (an interrupt, a neighbour on the machine) neither move the value nor
/// blow up its error; its mean rather than the median, because two reads that finish at nearly the same moment take
/// turns in delaying each other, and the median of such a mixture jumps. Requires: at least one repetition.
pub fn point(repetitions: &mut [f64]) -> Point {
    repetitions.sort_unstable_by(f64::total_cmp);
    let n = repetitions.len();
    let middle = &repetitions[n / 4..n - n / 4];
    let value = middle.iter().sum::<f64>() / middle.len() as f64;
    // The middle half of a normal distribution is 1.349 standard deviations wide, and the standard error of its mean
    // is 1.09 times that of the mean of all.
    let sigma = (middle[middle.len() - 1] - middle[0]) / 1.349;
    Point { value, error: 1.09 * sigma / (n as f64).sqrt() }
}

/// Where a row stands out from its floor.
#[derive(Clone, Debug, PartialEq)]
pub struct Standout {
    /// The floor: the value of places that do not stand out.
    pub floor: f64,
    /// A value above this stands out.
    pub threshold: f64,
    /// The indices that do.
    pub places: Vec<usize>,
    /// Mean height of the places above the floor.
    pub height: f64,
    /// How clear it is: the gap between the lowest place that stands out and the highest that does not, in units of
    /// the height. 1 where everything is exact, near 0 where the two groups touch.
    pub clarity: f64,
}

/// Standard errors by which a value has to exceed the floor, and the share of the floor by which it has to do so
/// beyond them: rounding and small systematic differences are no structure.
const ERRORS: f64 = 6.0;
const SHARE: f64 = 0.004;

/// The height above the floor from which on a place stands out.
pub fn least_height(floor: f64, error: f64) -> f64 {
    ERRORS * error + SHARE * floor
}

/// Finds the places that stand out above the floor, which is taken as the 20th percentile: also where every second
/// place stands out it lies within the lower group. `None` where none does.
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
    // Between floor and the clear cases: half way up to the lowest value that is clear of the floor.
    let lowest = values.iter().copied().find(|value| *value > least)?;
    let threshold = floor + (lowest - floor) / 2.0;
    let places: Vec<usize> = (0..row.len()).filter(|&i| row[i].value > threshold).collect();
    let highest_below = row.iter().map(|p| p.value).filter(|v| *v <= threshold).fold(floor, f64::max);
    let lowest_above = places.iter().map(|&i| row[i].value).fold(f64::INFINITY, f64::min);
    let height = places.iter().map(|&i| row[i].value - floor).sum::<f64>() / places.len() as f64;
    let clarity = ((lowest_above - highest_below) / height).clamp(0.0, 1.0);
    Some(Standout { floor, threshold, places, height, clarity })
}

/// The period of places that recur at `phase`, `phase + period`, … and nowhere else among `0..length`.
///
/// At least three have to be seen, and no further one may be missing before the end.
pub fn period(places: &[usize], length: usize) -> Option<(usize, usize)> {
    let [first, second, _, ..] = places else { return None };
    let period = second - first;
    let all = (*first..length).step_by(period);
    (*first < period && all.eq(places.iter().copied())).then_some((*first, period))
}

/// The standard error of a whole row: what a typical point carries.
pub fn typical_error(row: &[Point]) -> f64 {
    let mut errors: Vec<f64> = row.iter().map(|point| point.error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().unwrap_or(0.0)
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
    fn a_period_is_found_whatever_its_length_and_phase() {
        for every in [2, 3, 10, 31] {
            for phase in [0, 1, every - 1] {
                let row = row(100, 5.0, |i| if i % every == phase { 20.0 } else { 0.0 });
                let standout = standout(&row).unwrap();
                assert_eq!(period(&standout.places, row.len()), Some((phase, every)));
            }
        }
    }

    #[test]
    fn noise_alone_has_no_period() {
        let mut invented = 0;
        for length in 20..220 {
            let row = row(length, 30.0, |_| 0.0);
            invented += usize::from(standout(&row).and_then(|s| period(&s.places, row.len())).is_some());
        }
        assert_eq!(invented, 0);
    }

    #[test]
    fn one_exception_and_nothing_is_reported() {
        let missing = row(100, 1.0, |i| if i % 10 == 0 && i != 50 { 20.0 } else { 0.0 });
        assert_eq!(period(&standout(&missing).unwrap().places, 100), None);
        let extra = row(100, 1.0, |i| if i % 10 == 0 || i == 55 { 20.0 } else { 0.0 });
        assert_eq!(period(&standout(&extra).unwrap().places, 100), None);
        assert_eq!(period(&[0, 10], 20), None, "two places are no period");
        assert_eq!(period(&[12, 22, 32], 40), None, "one is missing before the first");
    }
}
