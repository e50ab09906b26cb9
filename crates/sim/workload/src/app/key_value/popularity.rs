//! Popularity of many items: Zipf's law without a table.
//!
//! Models: item k of n (from 1) is chosen with a probability close to proportional to 1 / k^s, s < 1.
//! Source: Gray et al., Quickly generating billion-record synthetic databases (SIGMOD'94), as in
//! YCSB's ZipfianGenerator, whose exponent is 0.99.
//! Simplifies: exact for the two most popular items and for s = 0, an approximation for the others;
//! the sum of n terms is an integral beyond the first ten thousand.

use rand_core::RngCore;
use units::narrow::whole;

/// Terms of the sum that are added one by one.
const EXACT_TERMS: u64 = 10_000;

/// Draws items by popularity.
#[derive(Clone, Debug)]
pub struct Popularity {
    items: u64,
    exponent: f64,
    /// Sum of 1 / k^s over all items.
    sum: f64,
    eta: f64,
}

impl Popularity {
    /// `items` items, with `exponent` s.
    ///
    /// # Panics
    /// If there are no items or the exponent is not in 0..1. Scenarios are checked before they get
    /// here.
    #[must_use]
    pub fn new(items: u64, exponent: f64) -> Self {
        assert!(items > 0 && (0.0..1.0).contains(&exponent));
        let sum = zeta(items, exponent);
        let rest = (2.0 / items as f64).powf(1.0 - exponent);
        let eta = (1.0 - rest) / (1.0 - zeta(2, exponent) / sum);
        Self { items, exponent, sum, eta }
    }

    /// Number of items.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// An item, by its popularity rank: 0 is the most popular.
    pub fn draw(&self, random: &mut impl RngCore) -> u64 {
        let point = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let share = point * self.sum;
        if share < 1.0 {
            return 0;
        }
        if share < 1.0 + 0.5f64.powf(self.exponent) {
            return 1;
        }
        let place = (self.eta * point - self.eta + 1.0).powf(1.0 / (1.0 - self.exponent));
        whole(self.items as f64 * place).min(self.items - 1)
    }
}

/// Sum of 1 / k^s for k from 1 to n.
fn zeta(items: u64, exponent: f64) -> f64 {
    let term = |k: u64| (k as f64).powf(-exponent);
    let last = items.min(EXACT_TERMS);
    let sum: f64 = (1..=last).map(term).sum();
    let power = 1.0 - exponent;
    let integral = ((items as f64).powf(power) - (last as f64).powf(power)) / power;
    // Euler and Maclaurin: the sum of the rest is its integral and half of the difference of its ends.
    sum + integral + (term(items) - term(last)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;
    use units::narrow::usize_from;

    const DRAWS: usize = 1_000_000;

    fn shares(items: u64, exponent: f64) -> Vec<f64> {
        let popularity = Popularity::new(items, exponent);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut shares = vec![0.0; usize_from(items)];
        for _ in 0..DRAWS {
            shares[usize_from(popularity.draw(&mut random))] += 1.0 / DRAWS as f64;
        }
        shares
    }

    #[test]
    fn the_sum_of_many_terms_is_that_of_adding_them() {
        let added: f64 = (1..=100_000u64).map(|k| (k as f64).powf(-0.99)).sum();
        assert!((zeta(100_000, 0.99) / added - 1.0).abs() < 1e-9);
    }

    #[test]
    fn items_are_chosen_as_zipf_says() {
        let (shares, sum) = (shares(10_000, 0.99), zeta(10_000, 0.99));
        assert!((shares[0] * sum - 1.0).abs() < 0.02, "{}", shares[0]);
        // Groups of ranks: the approximation is within 6 % where few items receive many requests.
        for (first, last) in [(0, 9), (10, 99), (100, 999), (1_000, 9_999)] {
            let got: f64 = shares[first..=last].iter().sum();
            let wanted = (first..=last).map(|k| ((k + 1) as f64).powf(-0.99)).sum::<f64>() / sum;
            assert!((got / wanted - 1.0).abs() < 0.06, "{first}: {got} of {wanted}");
        }
    }

    #[test]
    fn without_skew_all_items_are_alike() {
        let expected = DRAWS as f64 / 100.0;
        for (item, share) in shares(100, 0.0).iter().enumerate() {
            let count = share * DRAWS as f64;
            // Five standard deviations.
            assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{item}: {count}");
        }
    }

    #[test]
    fn few_items_are_possible() {
        assert!((shares(1, 0.99)[0] - 1.0).abs() < 1e-6);
        assert!((shares(2, 0.0)[1] - 0.5).abs() < 0.01);
    }
}
