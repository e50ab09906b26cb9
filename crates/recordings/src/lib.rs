//! What other tools recorded, read from files: packet captures and address traces.
//!
//! Reading order: [`capture`] (pcap and pcapng, read whole), [`trace`] (din, lackey, champsim and
//! raw64, compressed or not, read batch by batch). Both give the types that the crate `workload`
//! replays; this crate replays nothing, and no other opens such a file.

pub mod capture;
pub mod trace;
