//! Popularity by rank: Zipf's law.
//!
//! Models: item k of n (from 1) is chosen with a probability proportional to 1 / k^s.
//! Source: Zipf; YCSB uses s = 0.99.
//!
//! With s = 0 all items are equally likely.

use rand_core::RngCore;

/// Draws items by popularity.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Probability that an item or one more popular is chosen.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// `items` items, with `exponent` s.
    ///
    /// # Panics
    /// If there are no items or the exponent is not a number from 0. Scenarios are checked before they
    /// get here.
    #[must_use]
    pub fn new(items: usize, exponent: f64) -> Self {
        assert!(items > 0 && exponent >= 0.0 && exponent.is_finite());
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=items)
            .map(|rank| {
                sum += (rank as f64).powf(-exponent);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|share| *share /= sum);
        Self { cumulative }
    }

    /// An item, by its popularity rank: 0 is the most popular.
    pub fn draw(&self, random: &mut impl RngCore) -> usize {
        let point = unit(random);
        let place = self.cumulative.partition_point(|&share| share <= point);
        place.min(self.cumulative.len() - 1)
    }
}

/// A uniform number in 0..1.
pub(super) fn unit(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    const DRAWS: usize = 1_000_000;

    fn counts(items: usize, exponent: f64) -> Vec<f64> {
        let (zipf, mut random) = (Zipf::new(items, exponent), ChaCha8Rng::seed_from_u64(1));
        let mut counts = vec![0.0; items];
        for _ in 0..DRAWS {
            counts[zipf.draw(&mut random)] += 1.0;
        }
        counts
    }

    #[test]
    fn the_second_item_is_chosen_half_as_often_as_the_first_and_the_tenth_a_tenth_as_often() {
        let counts = counts(1_000, 1.0);
        assert!((counts[0] / counts[1] - 2.0).abs() < 0.05, "{} {}", counts[0], counts[1]);
        assert!((counts[0] / counts[9] - 10.0).abs() < 0.3, "{} {}", counts[0], counts[9]);
    }

    #[test]
    fn without_skew_all_items_are_alike() {
        let expected = DRAWS as f64 / 100.0;
        for (item, count) in counts(100, 0.0).iter().enumerate() {
            // Five standard deviations.
            assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{item}: {count}");
        }
    }

    #[test]
    fn a_single_item_is_always_chosen() {
        assert_eq!(counts(1, 0.99), [DRAWS as f64]);
    }
}
