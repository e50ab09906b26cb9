//! Arrivals at a port: generated traffic and replayed captures.
//!
//! Models: frames on a full-duplex Ethernet link with the RSS hash that a NIC computes for them.
//! Source: IEEE 802.3 for the wire, Microsoft's RSS specification for the hash.
//! Simplifies: a frame is its size, its flow's hash and its arrival; it has no payload.
//!
//! [`FixedRate`], [`Trains`], [`PacketLists`] and [`Mix`] generate frames, [`CaptureReplay`] replays a [`Capture`],
//! [`VaryingLoad`] stretches time, [`PingPongClient`] and [`Initiators`] wait for answers. All are
//! deterministic, and their times have fractions of a picosecond, so that no rate drifts.

mod capture;
mod capture_replay;
mod fixed;
mod flows;
mod initiators;
mod load_profile;
mod mix;
mod packet_list;
mod ping_pong;
mod rss;
mod sizes;
mod trains;
mod wire;
mod zipf;

pub use capture::Capture;
pub use capture_replay::{CaptureReplay, ReplayConfig, ReplaySpeed};
pub use fixed::{FixedRate, FixedRateConfig};
pub use flows::random_udp_flows;
pub use initiators::{Initiators, InitiatorsConfig};
pub use load_profile::{LoadProfile, VaryingLoad};
pub use mix::{ArrivalTimes, Mix, MixConfig};
pub use packet_list::{PacketLists, PacketListsConfig};
pub use ping_pong::{Delay, PingPongClient, PingPongClientConfig};
pub use rss::Toeplitz;
pub use sizes::Sizes;
pub use trains::{Trains, TrainsConfig};
pub use zipf::Zipf;
