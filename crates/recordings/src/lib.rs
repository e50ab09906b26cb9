//! Readers of recordings by other tools: packet captures and address traces.
//!
//! Reading order: [`capture`] (pcap and pcapng, read completely), [`trace`] (din, lackey, champsim and
//! raw64, compressed or not, read batch by batch). Both return the types that the crate `workload`
//! replays; this crate replays nothing, and no other crate opens such a file.

pub mod capture;
pub mod trace;
