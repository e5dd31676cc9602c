//! The autocorrelation of a series, by way of its spectrum (Wiener and Khinchin).
//!
//! Cost: two transforms of the next power of two above twice the length.

use realfft::RealFftPlanner;

/// Returns the autocorrelation of `series` at every shift up to three quarters of its length, corrected for the number
/// of pairs, and the effective number of values that make up its variance (all where they deviate equally, few where
/// few deviate much). Empty for a constant series.
pub(super) fn correlation(series: &[f64]) -> (Vec<f64>, f64) {
    let m = series.len();
    let lags = m * 3 / 4;
    let mean = series.iter().sum::<f64>() / m.max(1) as f64;
    let mut padded: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let squares: f64 = padded.iter().map(|z| z * z).sum();
    let fourths: f64 = padded.iter().map(|z| z.powi(4)).sum();
    // A constant series leaves only rounding errors.
    if squares <= 1e-18 * m as f64 * (1.0 + mean * mean) {
        return (Vec::new(), 0.0);
    }
    padded.resize((m + lags).next_power_of_two(), 0.0);
    let mut planner = RealFftPlanner::new();
    let (forward, backward) =
        (planner.plan_fft_forward(padded.len()), planner.plan_fft_inverse(padded.len()));
    let mut spectrum = forward.make_output_vec();
    let fits = "the lengths are the planner's";
    forward.process(&mut padded, &mut spectrum).expect(fits);
    spectrum.iter_mut().for_each(|value| *value = value.norm_sqr().into());
    backward.process(&mut spectrum, &mut padded).expect(fits);
    let none = padded[0];
    padded.truncate(lags);
    let pairs = |lag: usize| (m - lag) as f64 / m as f64;
    padded.iter_mut().enumerate().for_each(|(lag, value)| *value /= none * pairs(lag));
    (padded, squares * squares / fourths)
}
