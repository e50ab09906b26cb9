//! Every parser of text or JSON; the body is shared with the test that replays the corpus.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/host/host/tests/all/readers.rs"]
mod readers;
#[path = "../../crates/host/host/tests/all/watched.rs"]
mod watched;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::texts::read(bytes));
