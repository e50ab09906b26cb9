//! How much a long test does: a slice of it in `cargo test` and `make test`, all of it in `make soak`.
//!
//! A test states both amounts where it is written, so that none is left out of either.

use std::env;

/// Set by `make soak` and `make soak-long`.
const WHOLE: &str = "SKIPLINE_SOAK";
/// Random tests without configuration of their own take their seed from it as well.
const SEED: &str = "PROPTEST_RNG_SEED";

/// The `slice` of an amount that each run of the tests covers, or the `whole` of it.
pub fn amount<T>(slice: T, whole: T) -> T {
    if env::var_os(WHOLE).is_some() { whole } else { slice }
}

/// The seed of a test that is random but repeatable: `usual`, or that of a soak.
pub fn seed(usual: u64) -> u64 {
    let asked = env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    if env::var_os(WHOLE).is_some() { asked.unwrap_or(usual) } else { usual }
}
