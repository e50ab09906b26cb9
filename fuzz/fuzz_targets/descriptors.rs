//! Executes any descriptors; the body is shared with the test that replays the corpus.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/dsa/device/tests/all/arena.rs"]
mod arena;
#[path = "../../crates/dsa/device/tests/all/fuzzed.rs"]
mod fuzzed;
#[path = "../../crates/dsa/device/tests/all/reference/mod.rs"]
mod reference;
#[path = "../../crates/dsa/device/tests/all/settings.rs"]
mod settings;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzzed::check(bytes);
});
