//! Division by a number that is known only at run time, as a multiplication.
//!
//! Models: divisions that every line or request needs: address interleave, slots of time, entries.
//! Source: Granlund and Montgomery, "Division by invariant integers using multiplication" (PLDI'94).
//!
//! The quotient is exact while (dividend + 1) x divisor stays below 2^64, which is an hour of slots of 5 ns.
//! For larger dividends it may be one too small.

/// A divisor that is known in advance, so that division by it needs no divide instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    value: u64,
    /// (2^64 - 1) / value, rounded down. It multiplies the dividend plus one, so that a value of one
    /// fits.
    reciprocal: u64,
}

impl Divisor {
    /// # Panics
    /// If `value` is zero. Platforms are checked before they get here.
    pub(crate) fn new(value: u64) -> Self {
        assert!(value > 0);
        Self { value, reciprocal: u64::MAX / value }
    }

    /// The divisor itself.
    #[inline]
    pub(crate) fn value(self) -> u64 {
        self.value
    }

    /// `dividend` / divisor, rounded down; one less for some dividends beyond 2^64 / divisor.
    #[inline]
    pub(crate) fn quotient(self, dividend: u64) -> u64 {
        ((u128::from(dividend + 1) * u128::from(self.reciprocal)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quotient_is_that_of_the_division(
            divisor in 1u64..20_000,
            dividend in 0u64..(1 << 49),
        ) {
            prop_assert_eq!(Divisor::new(divisor).quotient(dividend), dividend / divisor);
        }
    }

    proptest! {
        #[test]
        fn a_quotient_of_a_time_after_hours_is_at_most_one_too_small(
            divisor in 1u64..20_000,
            dividend in (1u64 << 49)..(u64::MAX - 1),
        ) {
            let too_small = dividend / divisor - Divisor::new(divisor).quotient(dividend);
            prop_assert!(too_small <= 1, "{too_small}");
        }
    }

    #[test]
    fn multiples_and_their_neighbours_are_exact() {
        for divisor in [1, 2, 3, 6, 12, 3_751, 5_000] {
            let fixed = Divisor::new(divisor);
            for multiple in [1, 1 << 20, 1 << 36] {
                assert_eq!(fixed.quotient(multiple * divisor), multiple);
                assert_eq!(fixed.quotient(multiple * divisor - 1), multiple - 1);
            }
        }
    }
}
