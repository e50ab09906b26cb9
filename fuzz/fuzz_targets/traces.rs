//! A trace of any bytes, in every format; the body is shared with the test that replays the corpus.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/sim/recordings/tests/all/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::traces::read(bytes));
