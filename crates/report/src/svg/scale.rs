//! Scales from values to pixels, linear or logarithmic, with ticks at 1, 2 and 5 or at powers of two.

use flashlane_result::Axis;

/// Limits beyond which a sum or product of two values could overflow.
const LARGEST: f64 = 1e100;
const SMALLEST_ON_LOG: f64 = 1e-100;

/// Range of values of an axis, and its pixels.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub log: bool,
    /// The least and greatest value shown; above zero on a logarithmic axis.
    pub low: f64,
    pub high: f64,
    /// Pixels of `low` and `high`.
    pub from: f64,
    pub to: f64,
}

/// Spacing of the values of an axis, which determines its ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spacing {
    /// At 1, 2 and 5 times a power of ten.
    Decimal,
    /// At powers of two or their multiples: sizes, sectors, queue depths.
    Binary,
}

/// A tick with its value and label; minor ticks have an empty label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: String,
}

/// Returns whether a value can be drawn on such an axis.
pub(crate) fn drawable(value: f64, log: bool) -> bool {
    value.abs() <= LARGEST && (!log || value >= SMALLEST_ON_LOG)
}

impl Scale {
    /// Creates a scale over `values`, which may be empty or equal; `roomy` leaves space around the curve and begins at
    /// zero unless that flattens the curve.
    pub fn over(values: impl Iterator<Item = f64>, log: bool, roomy: bool) -> Self {
        let (mut low, mut high) = values
            .filter(|value| drawable(*value, log))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if log {
            (low, high) = around_log(low, high, roomy)
        } else {
            (low, high) = around(low, high, roomy)
        }
        Self { log, low, high, from: 0.0, to: 1.0 }
    }

    /// Sets the pixels of both ends.
    pub fn between(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Returns the pixel of `value`; `None` where it cannot be drawn.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !drawable(value, self.log) {
            return None;
        }
        let share = if self.log {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        Some(self.from + share * (self.to - self.from))
    }

    /// Returns ticks at least `apart` pixels from each other; on a logarithmic axis with minor ones between.
    pub fn ticks(&self, axis: &Axis, spacing: Spacing, apart: f64) -> Vec<Tick> {
        let most = ((self.to - self.from).abs() / apart).clamp(1.0, 40.0);
        // Evenly spaced ticks share one suffix; others have their own.
        let largest = self.low.abs().max(self.high.abs());
        let name = |value: f64, step: f64| {
            let like = if step == 0.0 { value.abs() } else { largest };
            Tick { value, label: label(value, step, like, is_bytes(axis) && spacing == Spacing::Binary) }
        };
        match (self.log, spacing) {
            (false, _) => {
                let step = step(self.high - self.low, most, spacing);
                multiples(self.low, self.high, step).into_iter().map(|value| name(value, step)).collect()
            }
            (true, Spacing::Binary) => {
                let exponents =
                    (self.low.log2() - 1e-9).ceil() as i32..=(self.high.log2() + 1e-9).floor() as i32;
                let every = (exponents.clone().count() as f64 / most).ceil().max(1.0) as usize;
                exponents.step_by(every).map(|exponent| name(2_f64.powi(exponent), 0.0)).collect()
            }
            (true, Spacing::Decimal) => self.log_ticks(most, name),
        }
    }

    /// Returns ticks at decades over a wide range, at 1, 2 and 5 over some decades, and in even steps within one.
    fn log_ticks(&self, most: f64, name: impl Fn(f64, f64) -> Tick) -> Vec<Tick> {
        let decades = self.high.log10() - self.low.log10();
        if decades < 0.7 {
            let step = step(self.high - self.low, most, Spacing::Decimal);
            return multiples(self.low, self.high, step).into_iter().map(|value| name(value, step)).collect();
        }
        let every = (decades / most).ceil().max(1.0) as i32;
        let labelled: &[i32] = match most / decades {
            room if room >= 3.0 => &[1, 2, 5],
            room if room >= 2.0 => &[1, 3],
            _ => &[1],
        };
        let mut ticks = Vec::new();
        for exponent in (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32) {
            for digit in 1..10 {
                let value = f64::from(digit) * 10_f64.powi(exponent);
                let inside = value >= self.low * (1.0 - 1e-9) && value <= self.high * (1.0 + 1e-9);
                if inside && labelled.contains(&digit) && exponent % every == 0 {
                    ticks.push(name(value, 0.0));
                } else if inside && (digit == 1 || decades <= 4.0) {
                    ticks.push(Tick { value, label: String::new() });
                }
            }
        }
        ticks
    }
}

fn around(low: f64, high: f64, roomy: bool) -> (f64, f64) {
    // Smaller values count as zero, because their span could underflow.
    let (low, high) = if low.abs().max(high.abs()) < 1e-100 { (0.0, 0.0) } else { (low, high) };
    let span = high - low;
    // Differences in the last digits are rounding errors.
    if span <= 1e-9 * low.abs().max(high.abs()) {
        return match low {
            0.0 => (0.0, 1.0),
            value if !roomy => (value - 0.5 * value.abs(), value + 0.5 * value.abs()),
            value if value > 0.0 => (0.0, 1.25 * value),
            value => (1.25 * value, 0.0),
        };
    }
    if !roomy {
        return (low, high);
    }
    let to_zero =
        |end: f64, other: f64| if end * other >= 0.0 && end.abs() <= 0.55 * other.abs() { 0.0 } else { end };
    let (from, to) = (to_zero(low, high), to_zero(high, low));
    let space = 0.06 * (to - from);
    (if from == 0.0 { 0.0 } else { from - space }, if to == 0.0 { 0.0 } else { to + space })
}

fn around_log(low: f64, high: f64, roomy: bool) -> (f64, f64) {
    if high / low < 1.0 + 1e-9 {
        return (low / 2.0, high * 2.0);
    }
    let space = if roomy { (high / low).powf(0.05) } else { 1.0 };
    (low / space, high * space)
}

/// Returns the least round step that gives at most `most` ticks over `span`.
fn step(span: f64, most: f64, spacing: Spacing) -> f64 {
    let least = span / most;
    if spacing == Spacing::Binary && least > 0.5 {
        return 2_f64.powi(least.log2().ceil() as i32);
    }
    let decade = 10_f64.powi(least.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * decade)
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(10.0 * decade)
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-6).ceil();
    let count = ((high / step + 1e-6).floor() - first).clamp(-1.0, 100.0) as i64 + 1;
    // Adding zero turns a negative zero into zero.
    (0..count).map(|n| (first + n as f64) * step + 0.0).collect()
}

/// Formats the label of a tick; `step` is the distance to the next one, zero where distances differ; the suffix is that
/// of a value as large as `like`.
fn label(value: f64, step: f64, like: f64, bytes: bool) -> String {
    if bytes && (1.0..=1e15).contains(&value) {
        return flashlane_base::units::format_bytes(value as u64);
    }
    let size = value.abs().max(step);
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:e}");
    }
    let (scale, suffix) = match like {
        large if large >= 1e9 => (1e9, "G"),
        large if large >= 1e6 => (1e6, "M"),
        large if large >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let step = if step == 0.0 { value.abs() } else { step } / scale;
    // One more digit than the step's first, for steps such as 2.5 or 15.
    let digits = (1.0 - step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.digits$}", value / scale);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

/// Returns whether the unit of an axis is the byte.
pub(crate) fn is_bytes(axis: &Axis) -> bool {
    matches!(axis.unit.as_str(), "B" | "byte" | "bytes")
}

/// Returns the spacing of values: binary where they are powers of two, whole numbers from zero up to one, or bytes.
pub(crate) fn spacing(axis: &Axis, values: impl Iterator<Item = f64>) -> Spacing {
    let power = |value: f64| {
        (1.0..=1e15).contains(&value) && value.fract() == 0.0 && (value as u64).is_power_of_two()
    };
    let (mut all, mut whole, mut least, mut greatest, mut count) = (true, true, f64::INFINITY, 0.0_f64, 0);
    for value in values.filter(|value| drawable(*value, axis.log)) {
        all &= power(value);
        whole &= value.fract() == 0.0;
        least = least.min(value);
        greatest = greatest.max(value);
        count += 1;
    }
    let runs_to_one = !axis.log && least == 0.0 && whole && greatest >= 16.0 && power(greatest);
    if count > 1 && (all || is_bytes(axis) || runs_to_one) { Spacing::Binary } else { Spacing::Decimal }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, axis: &Axis, spacing: Spacing, apart: f64) -> Vec<String> {
        let ticks = scale.ticks(axis, spacing, apart);
        ticks.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    fn over(low: f64, high: f64, log: bool) -> Scale {
        Scale::over([low, high].into_iter(), log, false).between(0.0, 600.0)
    }

    #[test]
    fn linear_ticks_are_at_one_two_and_five() {
        let axis = Axis::linear("x", "us");
        assert_eq!(
            labels(&over(0.0, 40.0, false), &axis, Spacing::Decimal, 60.0),
            ["0", "5", "10", "15", "20", "25", "30", "35", "40"]
        );
        assert_eq!(
            labels(&over(-0.2, 0.2, false), &axis, Spacing::Decimal, 140.0),
            ["-0.2", "-0.1", "0", "0.1", "0.2"]
        );
        assert_eq!(
            labels(&over(0.0, 1.5e6, false), &axis, Spacing::Decimal, 200.0),
            ["0", "0.5M", "1M", "1.5M"]
        );
    }

    #[test]
    fn sectors_and_jobs_have_ticks_at_powers_of_two() {
        let sectors = Axis::linear("offset", "sectors");
        assert_eq!(spacing(&sectors, (0..=64).map(f64::from)), Spacing::Binary);
        assert_eq!(
            labels(&over(0.0, 64.0, false), &sectors, Spacing::Binary, 60.0),
            ["0", "8", "16", "24", "32", "40", "48", "56", "64"]
        );
        let jobs = Axis::log("jobs", "");
        assert_eq!(spacing(&jobs, [1.0, 2.0, 4.0, 32.0].into_iter()), Spacing::Binary);
        assert_eq!(
            labels(&over(1.0, 32.0, true), &jobs, Spacing::Binary, 60.0),
            ["1", "2", "4", "8", "16", "32"]
        );
        let size = Axis::log("size", "B");
        assert_eq!(
            labels(&over(512.0, 2097152.0, true), &size, Spacing::Binary, 120.0),
            ["512 B", "4 KiB", "32 KiB", "256 KiB", "2 MiB"]
        );
        assert_eq!(spacing(&Axis::linear("stride", "chunks"), (1..=40).map(f64::from)), Spacing::Decimal);
    }

    #[test]
    fn logarithmic_ticks_depend_on_range_and_distance() {
        let axis = Axis::log("latency", "us");
        assert_eq!(
            labels(&over(1.0, 100.0, true), &axis, Spacing::Decimal, 80.0),
            ["1", "2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(
            labels(&over(1.0, 1e8, true), &axis, Spacing::Decimal, 80.0),
            ["1", "100", "10k", "1M", "100M"]
        );
        assert_eq!(
            labels(&over(100.0, 200.0, true), &axis, Spacing::Decimal, 120.0),
            ["100", "120", "140", "160", "180", "200"]
        );
    }

    #[test]
    fn scale_starts_at_zero_unless_that_flattens_the_curve() {
        assert_eq!(Scale::over([50.0, 130.0].into_iter(), false, true).low, 0.0);
        assert!(Scale::over([33.0, 40.0].into_iter(), false, true).low > 30.0);
        assert_eq!(Scale::over([5.0].into_iter(), false, true).low, 0.0);
        let nothing = Scale::over(std::iter::empty(), true, true).between(0.0, 100.0);
        assert_eq!((nothing.place(0.0), nothing.place(-1.0), nothing.place(f64::NAN)), (None, None, None));
    }
}
