//! Numbers of dies and channels, in words and by their divisors.

/// Returns whether no number of channels but one and all divides as many dies.
pub(crate) fn is_prime(dies: usize) -> bool {
    dies > 1 && (2..dies).all(|divisor| !dies.is_multiple_of(divisor))
}

/// Returns `32nd` for 32.
pub(crate) fn ordinal(number: usize) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}
