//! Traffic in trains: bursts of one flow, several threads at once.
//!
//! Models: a software traffic generator whose threads each own a table of UDP flows and send a train of
//! frames of one flow before the next flow.
//! Source: the generator of the testbed that the DDIO experiments reproduce.
//! Simplifies: the threads take turns, an equal number of frames each; flows are visited in table
//! order.

use model::traffic::{Arrival, PacketSource};
use units::Bytes;
use units::narrow::fit;

use super::flows::random_udp_flows;
use super::rss::Toeplitz;
use super::wire::FrameSpacing;

/// Parameters of [`Trains`]. The default is the testbed's generator with the smallest frames.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainsConfig {
    /// Size of each frame without FCS.
    pub packet_bytes: u64,
    /// Offered load on the wire of all threads together, including FCS, preamble and gap.
    pub offered_gbps: f64,
    /// Number of threads of the generator.
    pub threads: usize,
    /// UDP flows of each thread; no two threads share one.
    pub flows_per_thread: usize,
    /// Number of frames of one flow that a thread sends in a row.
    pub train_packets: u64,
    /// Number of frames that a thread sends before the next thread's turn.
    pub turn_packets: u64,
    /// Seed of the flows' addresses and ports.
    pub seed: u64,
}

impl Default for TrainsConfig {
    fn default() -> Self {
        Self {
            packet_bytes: 60,
            offered_gbps: 100.0,
            threads: 4,
            flows_per_thread: 4096,
            train_packets: 128,
            turn_packets: 1,
            seed: 1,
        }
    }
}

/// One thread of the generator, with its position in its flow table.
#[derive(Clone, Debug)]
struct Thread {
    rss_hashes: Vec<u32>,
    /// Number of its first flow among those of all threads.
    first_flow: u32,
    flow: usize,
    sent_of_train: u64,
}

impl Thread {
    /// RSS hash and number of the next frame's flow.
    #[inline]
    fn next_flow(&mut self, train_packets: u64) -> (u32, u32) {
        if self.sent_of_train == train_packets {
            self.sent_of_train = 0;
            self.flow = if self.flow + 1 == self.rss_hashes.len() { 0 } else { self.flow + 1 };
        }
        self.sent_of_train += 1;
        (self.rss_hashes[self.flow], self.first_flow + fit::<u32, _>(self.flow))
    }
}

/// Equally spaced frames in trains; endless. The first arrives one spacing after time zero.
#[derive(Clone, Debug)]
pub struct Trains {
    packet_bytes: Bytes,
    train_packets: u64,
    turn_packets: u64,
    pace: FrameSpacing,
    threads: Vec<Thread>,
    next_thread: usize,
    sent_of_turn: u64,
}

impl Trains {
    /// Builds the threads' flow tables and hashes them with `rss`.
    ///
    /// # Panics
    /// If there are no threads, no flows or no frames in a train, or the rate is not a positive
    /// number.
    #[must_use]
    pub fn new(config: &TrainsConfig, rss: &Toeplitz) -> Self {
        assert!(config.threads > 0, "trains need at least one thread");
        assert!(config.flows_per_thread > 0, "trains need at least one flow per thread");
        assert!(config.train_packets > 0, "a train needs at least one frame");
        assert!(config.turn_packets > 0, "a turn needs at least one frame");
        let flows = random_udp_flows(config.threads * config.flows_per_thread, config.seed);
        let threads = flows
            .chunks(config.flows_per_thread)
            .zip((0..).step_by(config.flows_per_thread))
            .map(|(own, first_flow)| Thread {
                first_flow,
                rss_hashes: own.iter().map(|flow| rss.hash_flow(flow)).collect(),
                flow: 0,
                sent_of_train: 0,
            })
            .collect();
        Self {
            packet_bytes: Bytes(config.packet_bytes),
            train_packets: config.train_packets,
            turn_packets: config.turn_packets,
            pace: FrameSpacing::of_frames(config.packet_bytes, config.offered_gbps),
            threads,
            next_thread: 0,
            sent_of_turn: 0,
        }
    }
}

impl PacketSource for Trains {
    #[inline]
    fn next_arrival(&mut self) -> Option<Arrival> {
        let (rss_hash, flow) = self.threads[self.next_thread].next_flow(self.train_packets);
        self.sent_of_turn += 1;
        if self.sent_of_turn == self.turn_packets {
            self.sent_of_turn = 0;
            let next = self.next_thread + 1;
            self.next_thread = if next == self.threads.len() { 0 } else { next };
        }
        let (time, flow) = (self.pace.next_time(), Some(flow));
        Some(Arrival { time, bytes: self.packet_bytes, rss_hash, flow })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use units::Picos;

    fn start(config: &TrainsConfig) -> impl Iterator<Item = Arrival> {
        let mut source = Trains::new(config, &Toeplitz::default());
        std::iter::from_fn(move || source.next_arrival())
    }

    /// The lengths of runs of equal hashes.
    fn run_lengths(hashes: impl Iterator<Item = u32>) -> Vec<usize> {
        let hashes: Vec<_> = hashes.collect();
        hashes.chunk_by(|a, b| a == b).map(<[u32]>::len).collect()
    }

    #[test]
    fn each_thread_sends_trains_of_128_frames_of_one_flow() {
        let arrivals: Vec<_> = start(&TrainsConfig::default()).take(4 * 128 * 50).collect();
        for thread in 0..4 {
            let of_thread = arrivals.iter().skip(thread).step_by(4).map(|a| a.rss_hash);
            assert_eq!(run_lengths(of_thread), [128; 50], "thread {thread}");
        }
    }

    #[test]
    fn threads_take_turns_frame_by_frame_with_flows_of_their_own() {
        let arrivals: Vec<_> = start(&TrainsConfig::default()).take(4 * 128).collect();
        let first: Vec<_> = arrivals[..4].iter().map(|a| a.rss_hash).collect();
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 4);
        for turn in arrivals.chunks(4) {
            assert!(turn.iter().map(|a| a.rss_hash).eq(first.iter().copied()));
        }
    }

    #[test]
    fn a_longer_turn_sends_bursts_of_one_thread() {
        let config = TrainsConfig { turn_packets: 32, ..TrainsConfig::default() };
        let hashes = start(&config).take(4 * 128).map(|a| a.rss_hash);
        assert_eq!(run_lengths(hashes), [32; 16]);
    }

    #[test]
    fn after_its_last_flow_a_thread_starts_again_with_its_first() {
        let config = TrainsConfig {
            threads: 2,
            flows_per_thread: 3,
            train_packets: 5,
            ..TrainsConfig::default()
        };
        let hashes: Vec<_> = start(&config).take(60).map(|a| a.rss_hash).collect();
        assert_eq!(hashes[..30], hashes[30..]);
        assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), 6);
    }

    #[test]
    fn threads_together_are_equally_spaced_at_the_offered_rate() {
        let config = TrainsConfig { packet_bytes: 1_514, ..TrainsConfig::default() };
        for (k, arrival) in start(&config).take(100_000).enumerate() {
            // 1538 B at 100 Gbit/s.
            assert_eq!(arrival.time, Picos((k as u64 + 1) * 123_040));
        }
    }

    #[test]
    fn the_mean_rate_over_a_million_frames_is_within_1_ppm() {
        let config = TrainsConfig { offered_gbps: 98.7, ..TrainsConfig::default() };
        let last = start(&config).nth(999_999).unwrap();
        let gbps = 1e6 * 84.0 * 8.0 / last.time.as_ns();
        assert!((gbps / 98.7 - 1.0).abs() < 1e-6, "{gbps}");
    }

    #[test]
    fn equal_seeds_give_equal_sequences_and_others_do_not() {
        let one = TrainsConfig::default();
        let other = TrainsConfig { seed: 2, ..TrainsConfig::default() };
        let first: Vec<_> = start(&one).take(10_000).collect();
        assert!(start(&one).take(10_000).eq(first.iter().copied()));
        assert!(!start(&other).take(10_000).eq(first));
    }
}
