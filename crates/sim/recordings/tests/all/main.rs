//! The crate through its public interface, on files of other tools and on files of any bytes.

mod fuzz_corpus;
mod odd_captures;
mod readers;
