//! Replays a capture, once or in a loop.
//!
//! Models: the frames of a capture on a link of a given rate, at their own times or at times stretched
//! to a given mean rate.
//! Source: the capture; the gap between loops is its mean inter-arrival time.
//! Simplifies: frames that come sooner than the link allows queue before it without loss.

use std::sync::Arc;

use model::traffic::{Arrival, PacketSource};

use super::capture::Capture;
use super::rss::Toeplitz;
use super::wire::{Wire, picos_per_byte};
use units::CapturedPacket;
use units::narrow::fit;

/// When the frames of a replay arrive: at the capture's times, or at another rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReplaySpeed {
    /// With the inter-arrival times of the capture.
    AsCaptured,
    /// With all inter-arrival times multiplied so that the mean rate on the wire is this many
    /// Gbit/s. Packets of a capture without duration are sent back to back at this rate.
    ScaledToGbps(f64),
    /// With all inter-arrival times multiplied by this number.
    Stretched(f64),
}

/// Parameters of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayConfig {
    /// Speed of the replay.
    pub speed: ReplaySpeed,
    /// Rate of the link. It is never exceeded, at any speed.
    pub line_rate_gbps: f64,
    /// Ends after this many loops; `None` never ends.
    pub loops: Option<u64>,
}

impl ReplayConfig {
    /// Time that one pass over a capture takes, in picoseconds.
    #[must_use]
    pub fn loop_ps(&self, capture: &Capture) -> f64 {
        let replay = CaptureReplay::new(capture, self, &Toeplitz::default());
        // Frames that are all due at once leave the wire one after another.
        let on_wire_ps = capture.wire_bytes().0 as f64 * picos_per_byte(self.line_rate_gbps);
        replay.loop_ps.max(on_wire_ps)
    }
}

/// The frames of a capture, repeated.
#[derive(Clone, Debug)]
pub struct CaptureReplay {
    packets: Arc<[CapturedPacket]>,
    /// Hashes by flow.
    rss_hashes: Vec<u32>,
    /// Replayed time per captured time.
    stretch: f64,
    /// Length of a loop, stretched.
    loop_ps: f64,
    wire: Wire,
    loops_left: Option<u64>,
    loops_done: u64,
    next_packet: usize,
}

impl CaptureReplay {
    /// Starts at time zero; flows are hashed with `rss`, packets without a flow hash to zero.
    ///
    /// # Panics
    /// If a rate is not a positive number.
    #[must_use]
    pub fn new(capture: &Capture, config: &ReplayConfig, rss: &Toeplitz) -> Self {
        let loop_ps = capture.loop_ps();
        let (stretch, wire_gbps) = match config.speed {
            ReplaySpeed::AsCaptured => (1.0, config.line_rate_gbps),
            ReplaySpeed::ScaledToGbps(gbps) if loop_ps > 0.0 => {
                let wanted_ps = capture.wire_bytes().0 as f64 * picos_per_byte(gbps);
                (wanted_ps / loop_ps, config.line_rate_gbps)
            }
            ReplaySpeed::Stretched(stretch) => (stretch, config.line_rate_gbps),
            // There are no times to scale: all frames are due at once, the wire spreads them.
            ReplaySpeed::ScaledToGbps(gbps) => (1.0, gbps.min(config.line_rate_gbps)),
        };
        Self {
            packets: Arc::clone(&capture.packets),
            rss_hashes: capture.flows().iter().map(|flow| rss.hash_flow(flow)).collect(),
            stretch,
            loop_ps: loop_ps * stretch,
            wire: Wire::new(wire_gbps),
            loops_left: config.loops,
            loops_done: 0,
            next_packet: 0,
        }
    }

    /// Number of frames in one pass over the capture.
    #[must_use]
    pub fn packets_per_loop(&self) -> u64 {
        self.packets.len() as u64
    }

    fn end_loop(&mut self) {
        self.next_packet = 0;
        self.loops_done += 1;
        self.loops_left = self.loops_left.map(|left| left - 1);
    }
}

impl PacketSource for CaptureReplay {
    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.loops_left == Some(0) {
            return None;
        }
        let packet = self.packets[self.next_packet];
        let wanted_ps =
            self.loops_done as f64 * self.loop_ps + packet.since_start.0 as f64 * self.stretch;
        self.next_packet += 1;
        if self.next_packet == self.packets.len() {
            self.end_loop();
        }
        Some(Arrival {
            time: self.wire.arrival(wanted_ps, packet.frame_bytes.0),
            bytes: packet.frame_bytes,
            rss_hash: packet.flow.map_or(0, |flow| self.rss_hashes[flow]),
            flow: packet.flow.map(fit),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::random_udp_flows;
    use super::*;
    use proptest::prelude::*;
    use units::{Bytes, Picos};

    const LINE_RATE_GBPS: f64 = 100.0;

    /// Frames of a flow each, at times in nanoseconds.
    fn capture(frames: &[(u64, u64)]) -> Capture {
        let (start_ns, _) = frames[0];
        let packets = frames.iter().enumerate().map(|(number, &(time_ns, frame_bytes))| {
            let since_start = Picos((time_ns - start_ns) * 1_000);
            CapturedPacket { since_start, frame_bytes: Bytes(frame_bytes), flow: Some(number) }
        });
        Capture::new(packets.collect(), random_udp_flows(frames.len(), 1), 0)
    }

    fn play(
        capture: &Capture,
        speed: ReplaySpeed,
        loops: Option<u64>,
    ) -> impl Iterator<Item = Arrival> {
        let config = ReplayConfig { speed, line_rate_gbps: LINE_RATE_GBPS, loops };
        let mut replay = CaptureReplay::new(capture, &config, &Toeplitz::default());
        std::iter::from_fn(move || replay.next_arrival())
    }

    fn times_ps(arrivals: impl Iterator<Item = Arrival>) -> Vec<u64> {
        arrivals.map(|arrival| arrival.time.0).collect()
    }

    #[test]
    fn times_are_those_of_the_capture_and_loops_are_one_mean_gap_apart() {
        let capture = capture(&[(5_000, 100), (6_000, 200), (9_000, 300)]);
        let times = times_ps(play(&capture, ReplaySpeed::AsCaptured, Some(2)));
        // The first frame needs its own 124 B at 100 Gbit/s.
        assert_eq!(times, [9_920, 1_000_000, 4_000_000, 6_000_000, 7_000_000, 10_000_000]);
    }

    #[test]
    fn sizes_and_flows_are_those_of_the_capture() {
        let capture = capture(&[(0, 100), (1_000, 200), (2_000, 300)]);
        let arrivals: Vec<_> = play(&capture, ReplaySpeed::AsCaptured, Some(2)).collect();
        let sizes: Vec<_> = arrivals.iter().map(|arrival| arrival.bytes).collect();
        assert_eq!(sizes, [100, 200, 300, 100, 200, 300].map(Bytes));
        for (arrival, flow) in arrivals.iter().zip(capture.flows().iter().cycle()) {
            assert_eq!(arrival.rss_hash, Toeplitz::default().hash_flow(flow));
        }
    }

    #[test]
    fn without_a_limit_it_never_ends_and_with_zero_loops_it_never_starts() {
        let capture = capture(&[(0, 100), (1_000, 200)]);
        assert!(play(&capture, ReplaySpeed::AsCaptured, None).nth(100_000).is_some());
        assert_eq!(play(&capture, ReplaySpeed::AsCaptured, Some(0)).next(), None);
    }

    #[test]
    fn scaling_multiplies_every_gap_by_the_same_factor() {
        // A loop of 1500 ns carries 3 x 124 B: 1.984 Gbit/s. A tenth takes ten times as long.
        let capture = capture(&[(0, 100), (700, 100), (1_000, 100)]);
        let rate = capture.mean_wire_rate().unwrap();
        assert!((rate.0 - 1.984).abs() < 1e-12, "{rate:?}");
        let times = times_ps(play(&capture, ReplaySpeed::ScaledToGbps(0.1984), Some(2)));
        assert_eq!(times[1..], [7_000_000, 10_000_000, 15_000_000, 22_000_000, 25_000_000]);
    }

    #[test]
    fn the_mean_rate_of_a_million_scaled_frames_is_within_1_ppm_of_the_asked() {
        let capture = capture(&[(0, 61), (333, 1_514), (1_000, 777)]);
        for gbps in [0.37, 1.0, 40.0, 99.0] {
            // The same packet of the first and of a late loop: the distance is a number of whole loops.
            let mut arrivals = play(&capture, ReplaySpeed::ScaledToGbps(gbps), None).skip(2);
            let first = arrivals.next().unwrap();
            let loops = 333_334;
            let last = arrivals.nth(3 * loops - 1).unwrap();
            let bits = loops as f64 * capture.wire_bytes().0 as f64 * 8.0;
            let mean_gbps = bits / (last.time - first.time).as_ns();
            assert!((mean_gbps / gbps - 1.0).abs() < 1e-6, "{mean_gbps} for {gbps}");
        }
    }

    #[test]
    fn no_frame_arrives_sooner_than_the_wire_allows() {
        let capture = capture(&[(0, 1_514), (1, 60), (2, 1_514), (400, 60), (5_000, 60)]);
        for speed in [ReplaySpeed::AsCaptured, ReplaySpeed::ScaledToGbps(99.0)] {
            let mut previous = Picos::ZERO;
            for arrival in play(&capture, speed, Some(100)) {
                let least_ps = (arrival.bytes.0 + 24) * 80;
                let gap_ps = (arrival.time - previous).0;
                assert!(gap_ps + 1 >= least_ps, "{gap_ps} ps for {:?}", arrival.bytes);
                previous = arrival.time;
            }
        }
    }

    #[test]
    fn more_than_the_line_rate_is_the_line_rate() {
        let capture = capture(&[(0, 100), (700, 100), (1_000, 100)]);
        let last = play(&capture, ReplaySpeed::ScaledToGbps(400.0), Some(1_000)).last().unwrap();
        assert_eq!(last.time, Picos(3_000 * 9_920));
    }

    #[test]
    fn a_single_packet_is_replayed_back_to_back_at_the_asked_rate() {
        let capture = capture(&[(1_000, 100)]);
        assert_eq!(capture.mean_wire_rate(), None);
        let times = times_ps(play(&capture, ReplaySpeed::ScaledToGbps(10.0), Some(3)));
        assert_eq!(times, [99_200, 198_400, 297_600]);
        let times = times_ps(play(&capture, ReplaySpeed::AsCaptured, Some(2)));
        assert_eq!(times, [9_920, 19_840]);
    }

    #[test]
    fn two_replays_of_a_capture_are_equal() {
        let capture = capture(&[(0, 61), (333, 1_514), (1_000, 777)]);
        let replay = || play(&capture, ReplaySpeed::ScaledToGbps(33.3), Some(1_000));
        assert!(replay().eq(replay()));
    }

    /// Captures with any gaps, some of which last for hours, and frames from the least to the longest that
    /// a length of 32 bits can state.
    fn captures() -> impl Strategy<Value = Capture> {
        let gap_ps = (0_u32..56, any::<u64>()).prop_map(|(bits, gap)| gap & ((1 << bits) - 1));
        let frame_bytes = prop_oneof![60_u64..1_515, 60..=u64::from(u32::MAX) + 14];
        let packet = (gap_ps, frame_bytes, prop::option::of(0_usize..3));
        prop::collection::vec(packet, 1..60).prop_map(|packets| {
            let mut since_start = Picos::ZERO;
            let packets = packets.into_iter().enumerate();
            let packets = packets.map(|(number, (gap_ps, frame_bytes, flow))| {
                since_start.0 += if number == 0 { 0 } else { gap_ps };
                CapturedPacket { since_start, frame_bytes: Bytes(frame_bytes), flow }
            });
            Capture::new(packets.collect(), random_udp_flows(3, 1), 0)
        })
    }

    proptest! {
        #[test]
        fn every_frame_of_any_capture_arrives_and_none_before_its_predecessor(
            capture in captures(),
            speed in prop::sample::select(vec![
                ReplaySpeed::AsCaptured,
                ReplaySpeed::ScaledToGbps(0.001),
                ReplaySpeed::ScaledToGbps(40.0),
                ReplaySpeed::Stretched(0.5),
            ]),
            loops in 0_u64..3,
        ) {
            let times = times_ps(play(&capture, speed, Some(loops)));
            prop_assert_eq!(times.len() as u64, loops * capture.packet_count());
            prop_assert!(times.is_sorted());
        }
    }
}
