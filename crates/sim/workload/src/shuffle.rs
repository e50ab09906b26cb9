//! A random order (Fisher and Yates).

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

/// Puts values into a random order.
pub(crate) fn shuffle(values: &mut [u64], rng: &mut ChaCha8Rng) {
    for last in (1..values.len()).rev() {
        let other = (u64::from(rng.next_u32()) * (last as u64 + 1)) >> 32;
        values.swap(last, other as usize);
    }
}
