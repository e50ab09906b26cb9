//! Finds the levels in latencies over working-set sizes: the latency of a hit and the capacity of a
//! level.
//!
//! Three edges divide the sizes into four plateaus (L1D, L2, LLC, memory) so that latencies on a
//! plateau differ least. Within half an octave of an edge a latency belongs to no plateau. An edge
//! lies where the latency is half way between its plateaus.

use super::measurement::quantile;
use units::narrow::{fit, whole};

/// Least distance of a size from an edge in octaves (a half): nearer sizes belong to no level.
pub const EDGE_OCTAVES: f64 = 0.5;
/// Least ratio of a level's latency to that of the level before it.
const LEAST_RATIO: f64 = 1.3;
/// Fewest sizes on the plateau of a level.
const LEAST_SIZES: usize = 2;
/// At this multiple of a cache's capacity every set misses always: random victims leave e^-8 of the
/// cycle.
const FULL_EVERYWHERE: f64 = 8.0;
/// Steps in which the last level's capacity is searched, per octave.
const CAPACITY_STEPS: i32 = 32;

/// The levels of a curve of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Latencies of L1D, L2, LLC and memory, in ns.
    pub latency_ns: [f64; 4],
    /// Largest working sets of which L1D, L2 and LLC, with the levels before them, contain all lines.
    pub edge_bytes: [f64; 3],
    /// Largest relative difference of a size outside the edges from its plateau.
    pub spread: f64,
}

/// Error of a curve without the expected levels.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum CurveError {
    /// Too few sizes for four plateaus.
    #[error("{sizes} working-set sizes are too few to find L1D, L2, LLC and memory")]
    TooFewSizes {
        /// Number of sizes.
        sizes: usize,
    },
    /// Four plateaus do not show.
    #[error(
        "the latencies do not show four levels (L1D, L2, LLC, memory), each at least 1.3 times as \
         slow as the one before: other programs or other virtual machines take the caches; \
         measure longer, or when it is quieter"
    )]
    NoLevels,
}

/// Choice of victims of a last level, as far as a curve distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victims {
    /// The oldest line: a cycle larger than the cache always misses.
    Lru,
    /// A random line: part of a cycle survives.
    Random,
}

/// Edge and victim choice of the last level that fit its part of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedLastLevel {
    /// Working set in bytes at which the last level, with the levels before it, is full.
    pub edge_bytes: f64,
    /// Choice of victims of the last level.
    pub victims: Victims,
}

/// Finds the levels in pairs of working set (bytes) and latency (ns), in ascending order.
///
/// # Errors
/// If four levels do not show.
pub fn find(points: &[(u64, f64)]) -> Result<Curve, CurveError> {
    let sizes = points.len();
    if sizes < 4 * LEAST_SIZES {
        return Err(CurveError::TooFewSizes { sizes });
    }
    let mut best: Option<([usize; 3], Plateaus)> = None;
    for first in 0..sizes {
        for second in first + LEAST_SIZES..sizes {
            for third in second + LEAST_SIZES..sizes - 1 {
                let cuts = [first, second, third];
                let Some(found) = plateaus(points, cuts) else { continue };
                if best.as_ref().is_none_or(|best| found.difference < best.1.difference) {
                    best = Some((cuts, found));
                }
            }
        }
    }
    let (cuts, found) = best.ok_or(CurveError::NoLevels)?;
    let latency_ns = found.latency_ns;
    let edge =
        |level: usize| crossing(points, cuts[level], latency_ns[level], latency_ns[level + 1]);
    Ok(Curve { latency_ns, edge_bytes: [edge(0), edge(1), edge(2)], spread: found.spread })
}

#[derive(Clone, Copy, Debug)]
struct Plateaus {
    latency_ns: [f64; 4],
    /// Mean difference of logarithms.
    difference: f64,
    spread: f64,
}

/// The plateaus between cuts (behind which sizes they lie), if there are four that ascend.
fn plateaus(points: &[(u64, f64)], cuts: [usize; 3]) -> Option<Plateaus> {
    let edges = cuts.map(|cut| (octave(points[cut].0) + octave(points[cut + 1].0)) / 2.0);
    let begins = [0, cuts[0] + 1, cuts[1] + 1, cuts[2] + 1];
    let ends = [cuts[0] + 1, cuts[1] + 1, cuts[2] + 1, points.len()];
    let (mut latency_ns, mut total, mut count, mut spread) = ([0.0; 4], 0.0, 0, 0.0_f64);
    for level in 0..4 {
        let on_plateau: Vec<f64> = points[begins[level]..ends[level]]
            .iter()
            .filter(|point| edges.iter().all(|e| (octave(point.0) - e).abs() >= EDGE_OCTAVES))
            .map(|point| point.1)
            .collect();
        if on_plateau.len() < LEAST_SIZES {
            return None;
        }
        latency_ns[level] = quantile(&on_plateau, 0.5);
        for latency in &on_plateau {
            let difference = (latency / latency_ns[level]).ln().abs();
            total += difference;
            spread = spread.max(difference);
        }
        count += on_plateau.len();
    }
    let ascending = latency_ns.windows(2).all(|two| two[1] >= LEAST_RATIO * two[0]);
    let difference = total / count as f64;
    ascending.then_some(Plateaus { latency_ns, difference, spread: spread.exp_m1() })
}

/// Size in bytes at which the latency is half way between two plateaus, nearest to a cut.
fn crossing(points: &[(u64, f64)], cut: usize, below_ns: f64, above_ns: f64) -> f64 {
    let middle = below_ns.midpoint(above_ns);
    let crosses = |i: &usize| points[*i].1 < middle && points[i + 1].1 >= middle;
    let nearest = (0..points.len() - 1).filter(crosses).min_by_key(|i| i.abs_diff(cut));
    let (low, high) = (points[nearest.unwrap_or(cut)], points[nearest.unwrap_or(cut) + 1]);
    let part = if nearest.is_some() { (middle - low.1) / (high.1 - low.1) } else { 0.5 };
    (octave(low.0) + part * (octave(high.0) - octave(low.0))).exp2()
}

fn octave(bytes: u64) -> f64 {
    (bytes as f64).log2()
}

/// Fits edge and victim choice of a last level of `ways` ways to the sizes beyond L2.
#[must_use]
pub fn last_level(points: &[(u64, f64)], curve: &Curve, ways: u32) -> FittedLastLevel {
    let [_, _, hit_ns, miss_ns] = curve.latency_ns;
    let begin = curve.edge_bytes[1] * EDGE_OCTAVES.exp2();
    let beyond: Vec<_> = points.iter().filter(|point| point.0 as f64 >= begin).collect();
    let difference = |level: &FittedLastLevel| -> f64 {
        let of = |&&(bytes, latency): &&(u64, f64)| {
            let full = bytes as f64 / level.edge_bytes;
            let expected = hit_ns + (miss_ns - hit_ns) * miss_share(full, ways, level.victims);
            (latency / expected).ln().abs()
        };
        beyond.iter().map(of).sum()
    };
    let candidates = [Victims::Lru, Victims::Random].into_iter().flat_map(|victims| {
        // With random victims half of a cycle still hits at 1.4 times the capacity.
        (-CAPACITY_STEPS..=CAPACITY_STEPS / 2).map(move |step| FittedLastLevel {
            edge_bytes: curve.edge_bytes[2] * (f64::from(step) / f64::from(CAPACITY_STEPS)).exp2(),
            victims,
        })
    });
    let unfitted = FittedLastLevel { edge_bytes: curve.edge_bytes[2], victims: Victims::Lru };
    candidates
        .min_by(|one, other| difference(one).total_cmp(&difference(other)))
        .unwrap_or(unfitted)
}

/// Miss rate, 0 to 1, of an endless cycle that is `full` times as large as a cache whose sets are filled
/// at random (a hashed index, or scattered pages).
#[must_use]
pub fn miss_share(full: f64, ways: u32, victims: Victims) -> f64 {
    if full > FULL_EVERYWHERE {
        return 1.0;
    }
    let mean = full * f64::from(ways);
    let most = fit(whole(mean + 12.0 * mean.sqrt() + 12.0));
    // Weight of a set with n lines: Poisson, times the lines that are in it.
    let mut probability = (-mean).exp();
    let mut missed = 0.0;
    for lines in 1..=most {
        probability *= mean / f64::from(lines);
        let overfull = lines > ways;
        let share = match victims {
            Victims::Lru => f64::from(u8::from(overfull)),
            Victims::Random if overfull => random_misses(f64::from(lines) / f64::from(ways)),
            Victims::Random => 0.0,
        };
        missed += probability * f64::from(lines) * share;
    }
    (missed / mean).clamp(0.0, 1.0)
}

/// Miss rate of a cycle `full` > 1 times as large as a set with random victims: a line survives each
/// miss of the others with the same probability.
fn random_misses(full: f64) -> f64 {
    let mut hits = 0.5;
    for _ in 0..64 {
        hits = (-(1.0 - hits) * full).exp();
    }
    1.0 - hits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sizes every half octave from 1 KiB to 256 MiB.
    fn sizes() -> impl Iterator<Item = u64> {
        (0..=36).map(|step| whole(1024.0 * (f64::from(step) / 2.0).exp2()))
    }

    fn synthetic(latency_ns: [f64; 4], edges: [f64; 3], victims: Victims) -> Vec<(u64, f64)> {
        let ways = [8, 8, 16];
        sizes()
            .map(|bytes| {
                let full = |level: usize| bytes as f64 / edges[level];
                let miss = |level: usize| {
                    let victims = if level == 2 { victims } else { Victims::Lru };
                    miss_share(full(level), ways[level], victims)
                };
                let steps = (0..3).map(|l| (latency_ns[l + 1] - latency_ns[l]) * miss(l));
                (bytes, latency_ns[0] + steps.sum::<f64>())
            })
            .collect()
    }

    #[test]
    fn a_cycle_that_fits_never_misses_and_a_large_one_does() {
        for victims in [Victims::Lru, Victims::Random] {
            assert!(miss_share(0.3, 16, victims) < 1e-3);
            assert!(miss_share(8.0, 16, victims) > 0.99);
            assert_eq!(miss_share(1e6, 16, victims), 1.0);
        }
    }

    #[test]
    fn with_random_victims_a_part_of_a_cycle_survives() {
        // The root of h = exp(-2 (1 - h)), for sets that are all twice as full as they can be.
        assert!((random_misses(2.0) - 0.797).abs() < 0.001);
        assert!(miss_share(2.0, 16, Victims::Lru) > 0.99);
    }

    #[test]
    fn a_curve_without_a_last_level_is_refused() {
        let points: Vec<_> =
            sizes().map(|bytes| (bytes, if bytes < 1 << 20 { 1.0 } else { 100.0 })).collect();
        assert_eq!(find(&points), Err(CurveError::NoLevels));
        assert_eq!(find(&points[..5]), Err(CurveError::TooFewSizes { sizes: 5 }));
    }

    fn machines() -> impl Strategy<Value = ([f64; 4], [f64; 3])> {
        let latencies = (0.8..1.8_f64, 2.5..4.5_f64, 2.5..5.0_f64, 2.5..9.0_f64);
        // Edges at least two octaves apart, as those of all known processors but for smallest LLCs.
        let edges = (14.5..16.0_f64, 3.0..5.5_f64, 2.5..4.5_f64);
        (latencies, edges).prop_map(|((l1, l2, llc, memory), (e1, e2, e3))| {
            let latency_ns = [l1, l1 * l2, l1 * l2 * llc, l1 * l2 * llc * memory];
            (latency_ns, [e1.exp2(), (e1 + e2).exp2(), (e1 + e2 + e3).exp2()])
        })
    }

    proptest! {
        // Each case tries some thousand divisions of the curve.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn edges_and_latencies_of_a_curve_are_found_again(
            (latency_ns, edges) in machines(),
            noise in prop::collection::vec(0.97..1.03_f64, 37),
        ) {
            let mut points = synthetic(latency_ns, edges, Victims::Lru);
            for (point, noise) in points.iter_mut().zip(noise) {
                point.1 *= noise;
            }
            let found = find(&points).unwrap();
            for (found, true_ns) in found.latency_ns.iter().zip(latency_ns) {
                prop_assert!((0.93..1.08).contains(&(found / true_ns)), "{found} for {true_ns}");
            }
            for (found, true_bytes) in found.edge_bytes.iter().zip(edges) {
                let octaves = (found / true_bytes).log2().abs();
                prop_assert!(octaves < 0.3, "{found} for {true_bytes}");
            }
        }

        #[test]
        fn victim_choice_and_capacity_of_the_last_level_are_found_again(
            (latency_ns, edges) in machines(),
            random: bool,
        ) {
            let victims = if random { Victims::Random } else { Victims::Lru };
            let points = synthetic(latency_ns, edges, victims);
            let chosen = last_level(&points, &find(&points).unwrap(), 16);
            prop_assert_eq!(chosen.victims, victims);
            let octaves = (chosen.edge_bytes / edges[2]).log2().abs();
            prop_assert!(octaves < 0.15, "{octaves}");
        }
    }
}
