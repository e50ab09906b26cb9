//! Requests of clients: keys by their popularity, reads and writes.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::narrow::usize_from;

/// The popularity of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyPopularity {
    /// All keys are equally popular.
    Uniform,
    /// Requests for the k-th most popular key are in proportion to 1 / k^skew.
    Zipf(f64),
}

/// A request for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRequest {
    pub key: u64,
    pub writes: bool,
}

/// Draws requests for keys 0 to `keys` - 1.
pub struct RequestLoad {
    /// Share of requests up to each rank.
    cumulative: Vec<f64>,
    /// The key of each rank: popular keys are not neighbours.
    key_of_rank: Vec<u64>,
    write_share: f64,
    random: Xoshiro256PlusPlus,
}

impl RequestLoad {
    pub fn new(keys: usize, popularity: KeyPopularity, write_share: f64, seed: u64) -> Self {
        let skew = match popularity {
            KeyPopularity::Uniform => 0.0,
            KeyPopularity::Zipf(skew) => skew,
        };
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=keys)
            .map(|rank| {
                sum += (rank as f64).powf(-skew);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|share| *share /= sum);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut key_of_rank: Vec<u64> = (0..keys as u64).collect();
        for last in (1..keys).rev() {
            key_of_rank.swap(last, usize_from(random.next_u64()) % (last + 1));
        }
        Self { cumulative, key_of_rank, write_share, random }
    }

    pub fn draw(&mut self) -> KeyRequest {
        let drawn = self.unit();
        let rank = self.cumulative.partition_point(|&share| share < drawn);
        let key = self.key_of_rank[rank.min(self.key_of_rank.len() - 1)];
        KeyRequest { key, writes: self.unit() < self.write_share }
    }

    /// A uniform number from 0 up to 1.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The `wanted` keys with most requests, the most popular first; lower keys first among equals.
pub fn hottest(requests: &[KeyRequest], keys: usize, wanted: usize) -> Vec<u64> {
    let mut counts = vec![0u32; keys];
    requests.iter().for_each(|request| counts[usize_from(request.key)] += 1);
    let mut order: Vec<u64> = (0..keys as u64).collect();
    order.sort_by_key(|&key| std::cmp::Reverse(counts[usize_from(key)]));
    order.truncate(wanted);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(popularity: KeyPopularity) -> Vec<f64> {
        let mut load = RequestLoad::new(1000, popularity, 0.05, 1);
        let mut asked = vec![0.0; 1000];
        for _ in 0..1_000_000 {
            asked[usize_from(load.draw().key)] += 1e-6;
        }
        asked.sort_by(|one, other| f64::total_cmp(other, one));
        asked
    }

    /// Shares of a million draws stray by 0.0005 at most (one in 20 asks for the first key).
    #[test]
    fn zipf_shares_are_one_over_rank_to_the_skew() {
        let of_rank = |rank: f64| rank.powf(-0.99);
        let sum: f64 = (1..=1000).map(|rank| of_rank(f64::from(rank))).sum();
        let asked = asked(KeyPopularity::Zipf(0.99));
        for rank in [1_u8, 2, 10] {
            let expected = of_rank(f64::from(rank)) / sum;
            let share = asked[usize::from(rank) - 1];
            assert!((share - expected).abs() < 0.003, "rank {rank}: {share} not {expected}");
        }
    }

    #[test]
    fn uniform_keys_are_all_alike() {
        let asked = asked(KeyPopularity::Uniform);
        // 1000 each with a deviation of 32: five of them.
        assert!(asked[0] < 0.00117 && asked[999] > 0.00083, "{} {}", asked[0], asked[999]);
    }

    #[test]
    fn the_hottest_keys_are_those_asked_for_most() {
        let request = |key| KeyRequest { key, writes: false };
        let requests = [3, 1, 3, 0, 1, 3].map(request);
        assert_eq!(hottest(&requests, 4, 3), [3, 1, 0]);
    }
}
