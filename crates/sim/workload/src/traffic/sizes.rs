//! Frame sizes of generated traffic.
//!
//! Models: one size; the Internet mix (IMIX); the mix of a university campus.
//! Source: IMIX, "simple" variant: IP packets of 40, 576 and 1500 B as 7 : 4 : 1 (RFC 6985 names such
//! mixes); ATC'20 on its campus trace: 26.9 % of the frames under 100 B, 11.8 % from 100 to 500 B, the
//! rest above.
//! Simplifies: sizes are drawn independently; within a class of the campus mix all are equal, and its
//! largest class is full-sized frames, which gives the mean of 981 B that is recalled for the trace.

use super::zipf::unit;
use rand_core::RngCore;

/// Sizes of frames without FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All equal.
    Fixed(u64),
    /// 60, 590 and 1514 B as 7 : 4 : 1.
    Imix,
    /// Small, middle and full-sized frames of a campus.
    Campus,
}

/// Frames of equal size, and their share.
type SizeClass = (f64, u64, u64);

const IMIX: [SizeClass; 3] =
    [(7.0 / 12.0, 60, 60), (4.0 / 12.0, 590, 590), (1.0 / 12.0, 1514, 1514)];
const CAMPUS: [SizeClass; 3] = [(0.269, 60, 99), (0.118, 100, 500), (0.613, 1500, 1514)];

impl Sizes {
    fn classes(self) -> Vec<SizeClass> {
        match self {
            Self::Fixed(bytes) => vec![(1.0, bytes, bytes)],
            Self::Imix => IMIX.to_vec(),
            Self::Campus => CAMPUS.to_vec(),
        }
    }

    /// The size of the next frame.
    pub(super) fn draw(self, random: &mut impl RngCore) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Imix => draw_of(&IMIX, random),
            Self::Campus => draw_of(&CAMPUS, random),
        }
    }

    /// Mean size of a frame without FCS, in bytes.
    #[must_use]
    pub fn mean_bytes(self) -> f64 {
        let middle = |(share, low, high): SizeClass| share * (low + high) as f64 / 2.0;
        self.classes().into_iter().map(middle).sum()
    }

    /// Size of the largest frame without FCS, in bytes.
    #[must_use]
    pub fn largest_bytes(self) -> u64 {
        self.classes().into_iter().map(|(_, _, high)| high).max().unwrap_or_default()
    }
}

fn draw_of(classes: &[SizeClass], random: &mut impl RngCore) -> u64 {
    let mut point = unit(random);
    let last = classes[classes.len() - 1];
    let &(_, low, high) = classes
        .iter()
        .find(|(share, _, _)| {
            point -= share;
            point < 0.0
        })
        .unwrap_or(&last);
    low + random.next_u64() % (high - low + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    fn drawn(sizes: Sizes) -> Vec<u64> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        (0..1_000_000).map(|_| sizes.draw(&mut random)).collect()
    }

    fn percent(sizes: &[u64], belongs: impl Fn(u64) -> bool) -> f64 {
        let count = sizes.iter().filter(|&&bytes| belongs(bytes)).count();
        100.0 * count as f64 / sizes.len() as f64
    }

    #[test]
    fn the_campus_mix_has_the_published_shares() {
        let sizes = drawn(Sizes::Campus);
        // Five standard deviations of a million draws are 0.25 points.
        assert!((percent(&sizes, |bytes| bytes < 100) - 26.9).abs() < 0.25);
        assert!((percent(&sizes, |bytes| (100..=500).contains(&bytes)) - 11.8).abs() < 0.25);
        assert!((Sizes::Campus.mean_bytes() - 981.0).abs() < 1.0);
    }

    #[test]
    fn imix_has_twelve_frames_of_three_sizes() {
        let sizes = drawn(Sizes::Imix);
        for (bytes, frames) in [(60, 7.0), (590, 4.0), (1514, 1.0)] {
            let share = percent(&sizes, |size| size == bytes);
            assert!((share - 100.0 * frames / 12.0).abs() < 0.25, "{bytes}: {share}");
        }
    }

    #[test]
    fn the_mean_is_that_of_the_draws() {
        for sizes in [Sizes::Fixed(700), Sizes::Imix, Sizes::Campus] {
            let sum: u64 = drawn(sizes).iter().sum();
            let mean = sum as f64 / 1e6;
            assert!((mean / sizes.mean_bytes() - 1.0).abs() < 5e-3, "{sizes:?}: {mean}");
        }
    }
}
