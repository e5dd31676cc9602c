//! Numbers of dies and channels, in words and by their divisors.

/// Returns whether no number of channels but one and all divides as many dies.
pub(crate) fn is_prime(dies: usize) -> bool {
    dies > 1 && (2..dies).all(|divisor| !dies.is_multiple_of(divisor))
}

/// Returns the greatest common divisor; the other number where one is 0.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the different prime factors, the least first.
pub(crate) fn prime_factors(of: u64) -> impl Iterator<Item = u64> {
    (2..=of)
        .filter(move |factor| of.is_multiple_of(*factor) && (2..*factor).all(|n| !factor.is_multiple_of(n)))
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
