//! Traffic from lists: each thread of a generator draws its packets once and replays them.
//!
//! Models: a software traffic generator whose threads each have a table of slots. The slot of each packet is
//! drawn at random; after a number of packets a slot gets another UDP flow. The list that comes of it is
//! replayed over and over, so that the share of each queue is the same in every pass.
//! Source: FastClick's `FastUDPFlows` and `ReplayUnqueue`, the generator of the ATC'20 measurements.
//! Simplifies: a list is drawn again in each pass, from the same seed, and not kept; frames are equally spaced.

use model::traffic::{Arrival, PacketSource};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use units::Bytes;
use units::narrow::fit;

use super::flows::random_flow;
use super::rss::Toeplitz;
use super::wire::FrameSpacing;

/// Parameters of [`PacketLists`]. The default is the generator of the ATC'20 measurements with the smallest
/// frames.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketListsConfig {
    /// Size of each frame without FCS.
    pub packet_bytes: u64,
    /// Offered load on the wire of all threads together, including FCS, preamble and gap.
    pub offered_gbps: f64,
    /// Number of threads of the generator.
    pub threads: usize,
    /// Number of slots of a list, each with one flow at a time.
    pub slots: usize,
    /// Number of packets of a list.
    pub list_packets: u64,
    /// Number of packets of a slot after which it gets another flow.
    pub flow_packets: u32,
    /// Number of frames that a thread sends before the next thread's turn.
    pub turn_packets: u64,
    /// Whether all threads replay one list, each frame by all of them in turn.
    pub is_shared: bool,
    /// Seed of flows and draws.
    pub seed: u64,
}

impl Default for PacketListsConfig {
    fn default() -> Self {
        Self {
            packet_bytes: 60,
            offered_gbps: 100.0,
            threads: 4,
            slots: 4096,
            list_packets: 524_288,
            flow_packets: 128,
            turn_packets: 32,
            is_shared: false,
            seed: 1,
        }
    }
}

/// A slot of a list, with its present flow.
#[derive(Clone, Copy, Debug)]
struct Slot {
    rss_hash: u32,
    flow: u32,
    /// Packets until it gets another flow, in the pass in which it got this one.
    left: u32,
    pass: u32,
}

/// A list and the position in it.
#[derive(Clone, Debug)]
struct PacketList {
    seed: u64,
    /// Number of its first flow among those of all lists.
    first_flow: u32,
    random: ChaCha8Rng,
    slots: Vec<Slot>,
    /// Flows of this pass, and packets sent of it.
    flows: u32,
    sent: u64,
    pass: u32,
}

impl PacketList {
    fn new(seed: u64, first_flow: u32, slots: usize) -> Self {
        let unused = Slot { rss_hash: 0, flow: 0, left: 0, pass: 0 };
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { seed, first_flow, random, slots: vec![unused; slots], flows: 0, sent: 0, pass: 0 }
    }

    /// RSS hash and number of the next frame's flow.
    fn next_flow(&mut self, config: &PacketListsConfig, rss: &Toeplitz) -> (u32, u32) {
        if self.sent == config.list_packets {
            // Slots with flows of the former pass are as good as unused ones.
            self.random = ChaCha8Rng::seed_from_u64(self.seed);
            (self.flows, self.sent, self.pass) = (0, 0, self.pass.wrapping_add(1));
        }
        self.sent += 1;
        let slots = self.slots.len() as u64;
        // The upper half of a product of 32 bits each: all slots are equally probable.
        let drawn: u32 = fit((u64::from(self.random.next_u32()) * slots) >> 32);
        let slot = &mut self.slots[drawn as usize];
        if slot.left == 0 || slot.pass != self.pass {
            let rss_hash = rss.hash_flow(&random_flow(&mut self.random));
            let (flow, left, pass) = (self.flows, config.flow_packets, self.pass);
            *slot = Slot { rss_hash, flow, left, pass };
            self.flows += 1;
        }
        slot.left -= 1;
        (slot.rss_hash, self.first_flow + slot.flow)
    }
}

/// Equally spaced frames of lists that are replayed; endless. The first arrives one spacing after time zero.
#[derive(Clone, Debug)]
pub struct PacketLists {
    config: PacketListsConfig,
    rss: Toeplitz,
    pace: FrameSpacing,
    lists: Vec<PacketList>,
    /// The thread whose turn it is, and what it has sent of it.
    thread: usize,
    sent_of_turn: u64,
    /// Flow of the frame that all threads send, if they share a list.
    shared: (u32, u32),
}

impl PacketLists {
    /// Starts all lists; flows are hashed with `rss`.
    ///
    /// # Panics
    /// If there are no threads, no slots or no frames in a list, a turn or a flow, or the rate is not a
    /// positive number.
    #[must_use]
    pub fn new(config: &PacketListsConfig, rss: &Toeplitz) -> Self {
        assert!(config.threads > 0, "a generator needs at least one thread");
        assert!(config.slots > 0, "a list needs at least one slot");
        assert!(config.list_packets > 0, "a list needs at least one frame");
        assert!(config.flow_packets > 0, "a flow needs at least one frame");
        assert!(config.turn_packets > 0, "a turn needs at least one frame");
        // A slot gets a flow at its first packet and after each flow_packets of the list.
        let renewed = config.list_packets / u64::from(config.flow_packets);
        let most_flows = (config.slots as u64 + renewed).min(config.list_packets);
        let lists = if config.is_shared { 1 } else { config.threads as u64 };
        let lists = (0..lists)
            .map(|list| {
                let first_flow = fit(list * most_flows);
                PacketList::new(config.seed.wrapping_add(list << 32), first_flow, config.slots)
            })
            .collect();
        Self {
            config: config.clone(),
            rss: rss.clone(),
            pace: FrameSpacing::of_frames(config.packet_bytes, config.offered_gbps),
            lists,
            thread: 0,
            sent_of_turn: 0,
            shared: (0, 0),
        }
    }

    fn next_flow(&mut self) -> (u32, u32) {
        if self.config.is_shared {
            if self.thread == 0 {
                self.shared = self.lists[0].next_flow(&self.config, &self.rss);
            }
            self.pass_turn();
            return self.shared;
        }
        let next = self.lists[self.thread].next_flow(&self.config, &self.rss);
        self.sent_of_turn += 1;
        if self.sent_of_turn == self.config.turn_packets {
            self.sent_of_turn = 0;
            self.pass_turn();
        }
        next
    }

    fn pass_turn(&mut self) {
        self.thread = if self.thread + 1 == self.config.threads { 0 } else { self.thread + 1 };
    }
}

impl PacketSource for PacketLists {
    fn next_arrival(&mut self) -> Option<Arrival> {
        let (rss_hash, flow) = self.next_flow();
        let (time, bytes) = (self.pace.next_time(), Bytes(self.config.packet_bytes));
        Some(Arrival { time, bytes, rss_hash, flow: Some(flow) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use units::Picos;

    fn start(config: &PacketListsConfig) -> impl Iterator<Item = Arrival> {
        let mut source = PacketLists::new(config, &Toeplitz::default());
        std::iter::from_fn(move || source.next_arrival())
    }

    /// Share of the first of two queues in one pass of all lists, in percent.
    fn share_percent(config: &PacketListsConfig) -> f64 {
        let packets = config.list_packets * config.threads as u64;
        let first = start(config)
            .take(fit::<u32, _>(packets) as usize)
            .filter(|a| a.rss_hash & 1 == 0)
            .count();
        100.0 * first as f64 / packets as f64
    }

    #[test]
    fn a_pass_has_the_flows_that_were_counted_for_the_generator() {
        let config = PacketListsConfig::default();
        let mut packets = BTreeMap::<u32, u64>::new();
        for arrival in start(&config).take(4 * 524_288) {
            *packets.entry(arrival.flow.unwrap()).or_default() += 1;
        }
        // 4096 slots of 4 lists; 47.7 % of them exceed 128 packets once.
        let expected = 16_384.0 * 1.477;
        assert!((packets.len() as f64 / expected - 1.0).abs() < 0.01, "{}", packets.len());
        assert_eq!(packets.values().max(), Some(&128));
    }

    #[test]
    fn shares_of_two_queues_differ_from_run_to_run_as_they_should() {
        let spread = |config: &PacketListsConfig| {
            let shares =
                (1..=60).map(|seed| share_percent(&PacketListsConfig { seed, ..config.clone() }));
            (shares.map(|share| (share - 50.0).powi(2)).sum::<f64>() / 60.0).sqrt()
        };
        // A list of a sixteenth has flows of full length, and sixteen times fewer of them.
        let small =
            PacketListsConfig { list_packets: 32_768, slots: 256, ..PacketListsConfig::default() };
        // 0.38 points with 16384 slots, 0.76 if each flow is sent by four threads.
        assert!((spread(&small) / (4.0 * 0.38) - 1.0).abs() < 0.3, "{}", spread(&small));
        let shared = PacketListsConfig { is_shared: true, ..small };
        assert!((spread(&shared) / (4.0 * 0.76) - 1.0).abs() < 0.3, "{}", spread(&shared));
    }

    #[test]
    fn each_pass_is_the_first_one_again() {
        let config =
            PacketListsConfig { list_packets: 1_000, slots: 8, ..PacketListsConfig::default() };
        let flows: Vec<_> = start(&config).take(12_000).map(|a| (a.rss_hash, a.flow)).collect();
        // Turns of 32 packets of four threads: after 1000 each, thread 0 is on turn again at 4 x 1000 only if
        // 32 divides 1000; so each thread is looked at alone.
        let mut by_thread = vec![Vec::new(); 4];
        for (k, flow) in flows.into_iter().enumerate() {
            by_thread[k / 32 % 4].push(flow);
        }
        for own in by_thread {
            assert_eq!(own[..1_000], own[1_000..2_000]);
        }
    }

    #[test]
    fn a_shared_list_comes_in_groups_of_one_flow() {
        let config = PacketListsConfig { is_shared: true, ..PacketListsConfig::default() };
        let arrivals: Vec<_> = start(&config).take(4 * 1_000).collect();
        assert!(arrivals.chunks(4).all(|group| group.iter().all(|a| a.flow == group[0].flow)));
        let flows: BTreeSet<_> = arrivals.iter().map(|arrival| arrival.flow).collect();
        assert!(flows.len() > 800, "{}", flows.len());
    }

    #[test]
    fn frames_are_equally_spaced_at_the_offered_rate() {
        let config = PacketListsConfig { packet_bytes: 1_514, ..PacketListsConfig::default() };
        for (k, arrival) in start(&config).take(10_000).enumerate() {
            // 1538 B at 100 Gbit/s.
            assert_eq!(arrival.time, Picos((k as u64 + 1) * 123_040));
        }
    }

    #[test]
    fn a_list_of_one_packet_is_replayed_whatever_its_slots() {
        let config =
            PacketListsConfig { list_packets: 1, slots: 1 << 20, ..PacketListsConfig::default() };
        let flows: BTreeSet<_> =
            start(&config).take(100_000).map(|a| (a.rss_hash, a.flow)).collect();
        assert_eq!(flows.len(), 4, "one packet of each thread");
    }

    #[test]
    fn flows_of_the_longest_lists_of_all_threads_have_numbers_of_their_own() {
        let config = PacketListsConfig {
            threads: 256,
            slots: 16,
            list_packets: 1 << 24,
            flow_packets: 1,
            turn_packets: 1,
            ..PacketListsConfig::default()
        };
        let flows: BTreeSet<_> = start(&config).take(4 * 256).map(|a| a.flow.unwrap()).collect();
        assert_eq!(flows.len(), 4 * 256);
    }

    #[test]
    fn lists_of_threads_differ_and_equal_seeds_give_equal_sequences() {
        let config = PacketListsConfig { turn_packets: 1, ..PacketListsConfig::default() };
        let first: Vec<_> = start(&config).take(10_000).collect();
        assert!(start(&config).take(10_000).eq(first.iter().copied()));
        assert!(!start(&PacketListsConfig { seed: 2, ..config }).take(10_000).eq(first.clone()));
        assert_eq!(first[..4].iter().map(|a| a.rss_hash).collect::<BTreeSet<_>>().len(), 4);
    }
}
