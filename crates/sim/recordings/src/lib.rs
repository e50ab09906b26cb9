//! Readers of recordings by other tools: packet captures, address traces and logs of descriptors.
//!
//! Reading order: [`capture`] (pcap and pcapng, read completely), [`trace`] (din, lackey, champsim and
//! raw64, read batch by batch), [`descriptor_log`] (lines of JSON, read completely). Captures and traces
//! may be compressed: `compression` unpacks them. Traces are read where there is a Unix: their readers wait
//! for silent pipes.
//! The memory and time of a few packed bytes are bounded: windows, packets, flows, interfaces, and bytes without
//! a packet or a reference. `cargo +nightly fuzz run -s none TARGET`, with `captures`, `segments`,
//! `traces` or `descriptor_logs`, reads any bytes; `cargo test` replays the archives in `fuzz/kept`.
//! Packets, references and descriptors are plain values, of this crate or of `units`: the simulator is above
//! this crate, and programs that only read recordings do not link it. No other crate opens such a file.

pub mod capture;
mod compression;
pub mod descriptor_log;
#[cfg(unix)]
pub mod trace;
