//! Traffic of one frame size at a constant rate.
//!
//! Models: a hardware traffic generator. Source: RFC 2544, section 26.1 (constant frame rate).
//! Simplifies: no jitter; the flows take turns, one frame each.

use model::traffic::{Arrival, PacketSource};
use units::Bytes;
use units::narrow::fit;

use super::flows::random_udp_flows;
use super::rss::Toeplitz;
use super::wire::FrameSpacing;

/// Parameters of [`FixedRate`].
#[derive(Clone, Debug, PartialEq)]
pub struct FixedRateConfig {
    /// Size of each frame without FCS.
    pub packet_bytes: u64,
    /// Offered load on the wire, including FCS, preamble and gap.
    pub offered_gbps: f64,
    /// Number of UDP flows that take turns.
    pub flows: usize,
    /// Seed of the flows' addresses and ports.
    pub seed: u64,
}

/// Equally spaced frames of one size; endless. The first arrives one spacing after time zero.
#[derive(Clone, Debug)]
pub struct FixedRate {
    packet_bytes: Bytes,
    pace: FrameSpacing,
    rss_hashes: Vec<u32>,
    next_flow: usize,
}

impl FixedRate {
    /// Builds the flow table and hashes it with `rss`.
    ///
    /// # Panics
    /// If there are no flows or the rate is not a positive number.
    #[must_use]
    pub fn new(config: &FixedRateConfig, rss: &Toeplitz) -> Self {
        assert!(config.flows > 0, "fixed-rate traffic needs at least one flow");
        let flows = random_udp_flows(config.flows, config.seed);
        Self {
            packet_bytes: Bytes(config.packet_bytes),
            pace: FrameSpacing::of_frames(config.packet_bytes, config.offered_gbps),
            rss_hashes: flows.iter().map(|flow| rss.hash_flow(flow)).collect(),
            next_flow: 0,
        }
    }
}

impl PacketSource for FixedRate {
    fn next_arrival(&mut self) -> Option<Arrival> {
        let rss_hash = self.rss_hashes[self.next_flow];
        let flow = Some(fit(self.next_flow));
        let next = self.next_flow + 1;
        self.next_flow = if next == self.rss_hashes.len() { 0 } else { next };
        Some(Arrival { time: self.pace.next_time(), bytes: self.packet_bytes, rss_hash, flow })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Picos;

    const SMALLEST_AT_100G: FixedRateConfig =
        FixedRateConfig { packet_bytes: 60, offered_gbps: 100.0, flows: 3, seed: 1 };

    fn start(config: &FixedRateConfig) -> impl Iterator<Item = Arrival> {
        let mut source = FixedRate::new(config, &Toeplitz::default());
        std::iter::from_fn(move || source.next_arrival())
    }

    #[test]
    fn smallest_frames_at_100_gbps_are_exactly_6720_ps_apart() {
        for (k, arrival) in start(&SMALLEST_AT_100G).take(1_000_000).enumerate() {
            assert_eq!(arrival.time, Picos((k as u64 + 1) * 6_720));
        }
    }

    #[test]
    fn a_spacing_with_a_fraction_of_a_picosecond_does_not_drift() {
        // 84 B at 96 Gbit/s are 7000 ps; at 99 Gbit/s they are 6787.878... ps.
        let config = FixedRateConfig { offered_gbps: 99.0, ..SMALLEST_AT_100G };
        let last = start(&config).nth(999_999).unwrap();
        assert_eq!(last.time, Picos(6_787_878_788));
    }

    #[test]
    fn the_mean_rate_over_a_million_frames_is_within_1_ppm() {
        for offered_gbps in [0.1, 9.7, 25.0, 77.7, 399.0] {
            let config = FixedRateConfig { packet_bytes: 1_514, offered_gbps, ..SMALLEST_AT_100G };
            let last = start(&config).nth(999_999).unwrap();
            let gbps = 1e6 * 1_538.0 * 8.0 / last.time.as_ns();
            assert!((gbps / offered_gbps - 1.0).abs() < 1e-6, "{gbps} for {offered_gbps}");
        }
    }

    #[test]
    fn flows_take_turns() {
        let hashes: Vec<_> = start(&SMALLEST_AT_100G).take(9).map(|a| a.rss_hash).collect();
        assert_eq!(hashes[..3], hashes[3..6]);
        assert_eq!(hashes[..3], hashes[6..]);
        assert_ne!(hashes[0], hashes[1]);
    }

    #[test]
    fn equal_seeds_give_equal_sequences_and_others_do_not() {
        let other = FixedRateConfig { seed: 2, ..SMALLEST_AT_100G };
        let first: Vec<_> = start(&SMALLEST_AT_100G).take(1_000).collect();
        assert!(start(&SMALLEST_AT_100G).take(1_000).eq(first.iter().copied()));
        assert!(!start(&other).take(1_000).eq(first));
    }
}
