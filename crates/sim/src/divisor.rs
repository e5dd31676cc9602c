//! Division by a number that is known when the drive is made and then used for every page: a multiplication instead.

/// Divides 32-bit numbers by a fixed one (Lemire, Kaser, Kurz: "Faster remainder by direct computation", 2019).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    /// 2^64 / divisor, rounded up; 0 where that does not fit, which is for 1 only.
    inverse: u64,
}

impl Divisor {
    /// Requires: `divisor > 0`.
    pub(crate) fn new(divisor: u32) -> Self {
        Self { inverse: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    #[inline]
    pub(crate) fn of(self, number: u32) -> u32 {
        if self.inverse == 0 {
            number
        } else {
            ((u128::from(self.inverse) * u128::from(number)) >> 64) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_divides() {
        let ends = [0, 1, 2, 3, 62, 63, 64, 65, 4095, 4096, 1 << 31, u32::MAX - 1, u32::MAX];
        for divisor in ends.into_iter().filter(|&divisor| divisor > 0) {
            for number in ends.into_iter().chain((0..64).map(|i| divisor.wrapping_mul(i))) {
                for number in [number.wrapping_sub(1), number, number.wrapping_add(1)] {
                    assert_eq!(Divisor::new(divisor).of(number), number / divisor, "{number} / {divisor}");
                }
            }
        }
    }
}
