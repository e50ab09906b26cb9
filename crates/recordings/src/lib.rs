//! Readers of recordings by other tools: packet captures, address traces and logs of descriptors.
//!
//! Reading order: [`capture`] (pcap and pcapng, read completely), [`trace`] (din, lackey, champsim and
//! raw64, read batch by batch), [`descriptor_log`] (lines of JSON, read completely). Captures and traces
//! may be compressed: `compression` unpacks them.
//! All return the types that the crate `workload` replays; this crate replays nothing, and no other crate
//! opens such a file.

pub mod capture;
mod compression;
pub mod descriptor_log;
pub mod trace;
