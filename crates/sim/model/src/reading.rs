//! Readings of a machine's counters, and the difference of two.
//!
//! A *count* only grows: the difference of two readings is the count between them. A *level* can fall:
//! it has no difference, so the later reading stands for the span. [`reading!`](crate::reading!) makes
//! a struct of counts and levels a reading; it names every field, so that a struct with a forgotten
//! field does not compile:
//!
//! ```
//! struct Doors { opened: u64, closed: u64, people_inside: u32 }
//! model::reading!(Doors { opened, closed }, levels { people_inside });
//! ```
//! ```compile_fail,E0027
//! struct Doors { opened: u64, closed: u64, people_inside: u32 }
//! model::reading!(Doors { opened }, levels { people_inside });
//! ```

use units::Picos;

/// A reading, or the difference of two.
pub trait Reading {
    /// The counts between `earlier` and this reading.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// The sum of both, this one first: the counts of several devices, or the reading from which
    /// [`Reading::since`] subtracted.
    #[must_use]
    fn plus(&self, later: &Self) -> Self;
}

/// Implements [`Reading`](crate::reading::Reading) for a struct, given all its counts and, after
/// `levels`, all its levels.
#[macro_export]
macro_rules! reading {
    ($type:ident { $($count:ident),+ $(,)? } $(, levels { $($level:ident),+ $(,)? })?) => {
        impl $crate::reading::Reading for $type {
            fn since(&self, earlier: &Self) -> Self {
                let Self { $($count,)+ $($($level,)+)? } = self;
                Self {
                    $($count: $crate::reading::Reading::since($count, &earlier.$count),)+
                    $($($level: ::core::clone::Clone::clone($level),)+)?
                }
            }

            fn plus(&self, later: &Self) -> Self {
                let Self { $($count,)+ $($($level,)+)? } = later;
                Self {
                    $($count: $crate::reading::Reading::plus(&self.$count, $count),)+
                    $($($level: ::core::clone::Clone::clone($level),)+)?
                }
            }
        }
    };
}

macro_rules! reading_of_numbers {
    ($($number:ty),+) => {
        $(impl Reading for $number {
            fn since(&self, earlier: &Self) -> Self {
                *self - *earlier
            }

            fn plus(&self, later: &Self) -> Self {
                *self + *later
            }
        })+
    };
}

reading_of_numbers!(u64, Picos);

impl<T: Reading, const N: usize> Reading for [T; N] {
    fn since(&self, earlier: &Self) -> Self {
        std::array::from_fn(|i| self[i].since(&earlier[i]))
    }

    fn plus(&self, later: &Self) -> Self {
        std::array::from_fn(|i| self[i].plus(&later[i]))
    }
}

impl<A: Reading, B: Reading> Reading for (A, B) {
    fn since(&self, earlier: &Self) -> Self {
        (self.0.since(&earlier.0), self.1.since(&earlier.1))
    }

    fn plus(&self, later: &Self) -> Self {
        (self.0.plus(&later.0), self.1.plus(&later.1))
    }
}

/// An unknown reading makes differences and sums unknown.
impl<T: Reading> Reading for Option<T> {
    fn since(&self, earlier: &Self) -> Self {
        Some(self.as_ref()?.since(earlier.as_ref()?))
    }

    fn plus(&self, later: &Self) -> Self {
        Some(self.as_ref()?.plus(later.as_ref()?))
    }
}

/// Readings of equal length, in the same order.
impl<T: Reading> Reading for Vec<T> {
    fn since(&self, earlier: &Self) -> Self {
        debug_assert_eq!(self.len(), earlier.len());
        self.iter().zip(earlier).map(|(now, then)| now.since(then)).collect()
    }

    fn plus(&self, later: &Self) -> Self {
        debug_assert_eq!(self.len(), later.len());
        self.iter().zip(later).map(|(now, more)| now.plus(more)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct InnerReading {
        lines: u64,
        busy: Picos,
    }
    reading!(InnerReading { lines, busy });

    #[derive(Clone, Debug, PartialEq)]
    struct OuterReading {
        inner: InnerReading,
        each: Vec<InnerReading>,
        both_ways: (u64, Picos),
        known: Option<u64>,
        unknown: Option<u64>,
        held: Vec<u32>,
    }
    reading!(OuterReading { inner, each, both_ways, known, unknown }, levels { held });

    fn inner() -> impl Strategy<Value = InnerReading> {
        let numbers = (0..u64::MAX / 2, 0..u64::MAX / 2);
        numbers.prop_map(|(lines, busy)| InnerReading { lines, busy: Picos(busy) })
    }

    fn outer() -> impl Strategy<Value = OuterReading> {
        let each = proptest::collection::vec(inner(), 3);
        let held = proptest::collection::vec(any::<u32>(), 2);
        (inner(), each, inner(), 0..u64::MAX / 2, held).prop_map(
            |(inner, each, both, known, held)| OuterReading {
                inner,
                each,
                both_ways: (both.lines, both.busy),
                known: Some(known),
                unknown: None,
                held,
            },
        )
    }

    proptest! {
        #[test]
        fn what_happened_since_is_what_was_added(earlier in outer(), happened in outer()) {
            let now = earlier.plus(&happened);
            prop_assert_eq!(now.since(&earlier), happened.clone());
            prop_assert_eq!(earlier.plus(&now.since(&earlier)), now);
        }
    }

    #[test]
    fn each_field_is_taken_off_by_itself_and_a_level_is_the_later_one() {
        let reading = |lines, busy, held| OuterReading {
            inner: InnerReading { lines, busy: Picos(busy) },
            each: vec![InnerReading { lines: 2 * lines, busy: Picos(3 * busy) }],
            both_ways: (4 * lines, Picos(5 * busy)),
            known: Some(6 * lines),
            unknown: None,
            held: vec![held],
        };
        assert_eq!(reading(7, 11, 1).since(&reading(3, 5, 2)), reading(4, 6, 1));
    }
}
