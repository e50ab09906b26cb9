//! Timed kernels beside the chase. Each function does a fixed amount of work and returns its time.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Kind of a stream over memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// Every word is read.
    Read,
    /// Every word is written.
    Write,
    /// The first half is copied into the second.
    Copy,
}

/// Bytes read and written per ns (= GB/s) when the stream runs `rounds` times over `words`.
pub(super) fn stream_gbytes_per_s(words: &mut [u64], stream: StreamKind, rounds: usize) -> f64 {
    let started = Instant::now();
    for round in 0..rounds as u64 {
        match stream {
            StreamKind::Read => _ = black_box(sum(words)),
            StreamKind::Write => fill(words, round),
            StreamKind::Copy => copy(words, round),
        }
        black_box(&mut *words);
    }
    let bytes = size_of_val(words) * rounds;
    bytes as f64 / started.elapsed().as_nanos() as f64
}

fn sum(words: &[u64]) -> u64 {
    let mut sums = [0_u64; 16];
    for chunk in words.as_chunks::<16>().0 {
        for (sum, word) in sums.iter_mut().zip(chunk) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Writes values that differ from word to word, so that the compiler does not use memset.
fn fill(words: &mut [u64], round: u64) {
    for (i, word) in words.iter_mut().enumerate() {
        *word = round.wrapping_add(i as u64);
    }
}

/// Copies values and changes them, so that the compiler does not use memcpy.
fn copy(words: &mut [u64], round: u64) {
    let (from, to) = words.split_at_mut(words.len() / 2);
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.wrapping_add(round);
    }
}

/// Cycles of a multiplication that waits for the one before it: 3 on Intel cores since Nehalem and
/// on AMD cores since Zen (64-bit IMUL: Intel optimization manual; AMD software optimization guides).
const MULTIPLY_CYCLES: f64 = 3.0;

/// Clock of the core in GHz, by a chain of multiplications.
pub(super) fn core_ghz(multiplications: u64) -> f64 {
    let mut value = black_box(3_u64);
    let started = Instant::now();
    for _ in 0..multiplications / 16 {
        for _ in 0..16 {
            value = value.wrapping_mul(value);
        }
    }
    black_box(value);
    let elapsed = started.elapsed();
    (multiplications / 16 * 16) as f64 * MULTIPLY_CYCLES / elapsed.as_nanos() as f64
}

/// A word that is alone in its pair of cache lines.
#[repr(align(128))]
struct PaddedWord(AtomicU64);

/// Time of a line's transfer from one core to another in ns: half of a round trip. `pin` moves the
/// thread that answers to its core. Returns one number for each burst, or none if `pin` failed.
pub(super) fn core_to_core_ns(
    bursts: usize,
    round_trips: u64,
    pin: impl FnOnce() -> bool + Send,
) -> Vec<f64> {
    let (ball, given_up) = (PaddedWord(AtomicU64::new(0)), AtomicBool::new(false));
    let ready = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            given_up.store(!pin(), Ordering::Release);
            ready.store(true, Ordering::Release);
            answer(&ball.0, &given_up);
        });
        while !ready.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        if given_up.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut sent = 0;
        let samples = (0..bursts).map(|_| {
            let started = Instant::now();
            for _ in 0..round_trips {
                ball.0.store(sent + 1, Ordering::Release);
                sent += 2;
                while ball.0.load(Ordering::Acquire) != sent {
                    std::hint::spin_loop();
                }
            }
            started.elapsed().as_nanos() as f64 / (2 * round_trips) as f64
        });
        let samples = samples.collect();
        given_up.store(true, Ordering::Release);
        samples
    })
}

/// Answers every odd number with the next even one, until `given_up` is set.
fn answer(ball: &AtomicU64, given_up: &AtomicBool) {
    while !given_up.load(Ordering::Relaxed) {
        let seen = ball.load(Ordering::Acquire);
        if seen % 2 == 1 {
            ball.store(seen + 1, Ordering::Release);
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_does_its_work_and_takes_time() {
        let mut words = vec![0; 1 << 12];
        for stream in [StreamKind::Read, StreamKind::Write, StreamKind::Copy] {
            assert!(stream_gbytes_per_s(&mut words, stream, 3) > 0.0);
        }
        assert_eq!(words[2048], 4, "the last copy added its round, 2, to the last fill's 2");
        assert!(core_ghz(1 << 12) > 0.0);
        assert_eq!(core_to_core_ns(2, 10, || true).len(), 2);
        assert!(core_to_core_ns(2, 10, || false).is_empty());
    }
}
