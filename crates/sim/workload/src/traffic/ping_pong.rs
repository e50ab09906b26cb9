//! Client of a ping-pong test: one message in flight, half of its round trip is the latency.
//!
//! Models: a closed loop: the next request follows the answer to the last; a request without an answer
//! is sent again. The client's host, its card and the wire take a time with a given distribution.
//! Source: sockperf in ping-pong mode: latency is half of the round trip, rate is one message per
//! round trip.
//! Simplifies: the client's host does not depend on the settings of the server's memory system.

use hdrhistogram::Histogram;
use model::latency_histogram::{self, latency_histogram};
use model::traffic::{Arrival, Departure, PacketSource};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use units::{Bytes, Picos};

/// Uniform numbers whose sum has a variance of one about its mean: close enough to normal for what is
/// known of a client's small delays (Irwin-Hall).
const UNIFORMS: u32 = 12;

/// A cause of delays of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// Probability that a round trip is delayed.
    pub probability: f64,
    /// Least length of a delay.
    pub least_ns: f64,
    /// Mean of an exponentially distributed addition to that length.
    pub mean_more_ns: f64,
}

/// Parameters of a ping-pong client: its packets, turnaround and delays.
#[derive(Clone, Debug, PartialEq)]
pub struct PingPongClientConfig {
    /// Size of a request on the wire without FCS.
    pub packet_bytes: u64,
    /// Time of a round trip outside the server, without delays: from the end of the answer's departure
    /// to the client and from there to the end of the next request's arrival.
    pub turnaround_ns: f64,
    /// Standard deviation of the turnaround without delays.
    pub jitter_ns: f64,
    /// Causes of occasional delays.
    pub delays: Vec<Delay>,
    /// Time from the end of a round trip to the beginning of the next.
    pub between_messages_ns: f64,
    /// Time without an answer after which a request is sent again.
    pub resend_after: Picos,
    /// Seed of jitter and delays.
    pub seed: u64,
}

/// The client's side of the loop.
#[derive(Clone, Debug)]
pub struct PingPongClient {
    config: PingPongClientConfig,
    rng: ChaCha8Rng,
    /// When the pending request first arrived at the server; below, when it arrives next.
    first_arrival: Picos,
    next_arrival: Picos,
    /// Time of the pending round trip outside the server.
    turnaround: Picos,
    one_way_ns: Histogram<u64>,
    messages: u64,
}

impl PingPongClient {
    /// A client whose first request arrives one turnaround after time zero.
    #[must_use]
    pub fn new(config: PingPongClientConfig) -> Self {
        let mut client = Self {
            rng: ChaCha8Rng::seed_from_u64(config.seed),
            config,
            first_arrival: Picos::ZERO,
            next_arrival: Picos::ZERO,
            turnaround: Picos::ZERO,
            one_way_ns: latency_histogram(),
            messages: 0,
        };
        client.ask(Picos::ZERO);
        client
    }

    /// Half round trips since the last call, in ns.
    pub fn take_one_way_latencies(&mut self) -> Histogram<u64> {
        latency_histogram::take(&mut self.one_way_ns)
    }

    /// Number of round trips completed.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The next request: it arrives a turnaround after `answered`.
    fn ask(&mut self, answered: Picos) {
        self.turnaround = self.draw();
        let pause = Picos::from_ns(self.config.between_messages_ns);
        self.first_arrival = answered + self.turnaround + pause;
        self.next_arrival = self.first_arrival;
    }

    fn draw(&mut self) -> Picos {
        let sum: f64 = (0..UNIFORMS).map(|_| self.uniform()).sum();
        let normal = sum - f64::from(UNIFORMS) / 2.0;
        let mut ns = self.config.turnaround_ns + self.config.jitter_ns * normal;
        for index in 0..self.config.delays.len() {
            let delay = self.config.delays[index];
            if self.uniform() < delay.probability {
                ns += delay.least_ns - delay.mean_more_ns * (1.0 - self.uniform()).ln();
            }
        }
        Picos::from_ns(ns)
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        f64::from(self.rng.next_u32()) / (f64::from(u32::MAX) + 1.0)
    }
}

impl PacketSource for PingPongClient {
    fn next_arrival(&mut self) -> Option<Arrival> {
        let time = self.next_arrival;
        // Unless an answer comes first, the same request arrives again.
        self.next_arrival = time + self.config.resend_after;
        Some(Arrival { time, bytes: Bytes(self.config.packet_bytes), rss_hash: 0, flow: None })
    }

    fn awaits_answers(&self) -> bool {
        true
    }

    fn answered(&mut self, departure: Departure) {
        // A second answer to a request that was sent twice is ignored.
        if departure.arrival < self.first_arrival {
            return;
        }
        let round_trip = departure.time.saturating_sub(self.first_arrival) + self.turnaround;
        self.one_way_ns.saturating_record(round_trip.0 / 2_000);
        self.messages += 1;
        self.ask(departure.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> PingPongClientConfig {
        PingPongClientConfig {
            packet_bytes: 298,
            turnaround_ns: 2_000.0,
            jitter_ns: 0.0,
            delays: Vec::new(),
            between_messages_ns: 20.0,
            resend_after: Picos::from_ns(1e6),
            seed: 1,
        }
    }

    fn departure(time_ns: f64, arrival: Arrival) -> Departure {
        Departure { time: Picos::from_ns(time_ns), arrival: arrival.time, bytes: arrival.bytes }
    }

    /// Turnarounds of a client whose requests are answered at once.
    fn turnarounds_ns(config: PingPongClientConfig, count: usize) -> Vec<f64> {
        let pause_ns = config.between_messages_ns;
        let mut client = PingPongClient::new(config);
        let mut last_ns = 0.0;
        let mut turnarounds = Vec::new();
        for _ in 0..count {
            let request = client.next_arrival().expect("a client never ends");
            turnarounds.push(request.time.as_ns() - last_ns - pause_ns);
            last_ns = request.time.as_ns();
            client.answered(departure(last_ns, request));
        }
        turnarounds
    }

    #[test]
    fn a_request_follows_each_answer_by_a_turnaround_and_a_pause() {
        let mut client = PingPongClient::new(config());
        let first = client.next_arrival().expect("a client never ends");
        assert_eq!((first.time, first.bytes), (Picos::from_ns(2_020.0), Bytes(298)));
        client.answered(departure(5_000.0, first));
        let second = client.next_arrival().expect("a client never ends");
        assert_eq!(second.time, Picos::from_ns(7_020.0));
    }

    #[test]
    fn latency_is_half_of_the_round_trip_without_the_pause() {
        let mut client = PingPongClient::new(config());
        let request = client.next_arrival().expect("a client never ends");
        // 2000 ns outside the server, 1000 ns in it.
        client.answered(departure(3_020.0, request));
        let latencies = client.take_one_way_latencies();
        assert_eq!((latencies.len(), latencies.max()), (1, 1_500));
        assert_eq!(client.messages(), 1);
        assert!(client.take_one_way_latencies().is_empty(), "they are taken once");
    }

    #[test]
    fn a_request_without_an_answer_is_sent_again_and_counts_from_the_first_time() {
        let mut client = PingPongClient::new(config());
        let first = client.next_arrival().expect("a client never ends");
        let again = client.next_arrival().expect("a client never ends");
        assert_eq!(again.time, first.time + Picos::from_ns(1e6));
        client.answered(departure(again.time.as_ns() + 1_000.0, again));
        let expected_ns = (1_000_000 + 1_000 + 2_000) / 2;
        let latency_ns = client.take_one_way_latencies().max();
        // The histogram keeps three digits.
        assert!(latency_ns.abs_diff(expected_ns) <= expected_ns / 1_000, "{latency_ns}");
    }

    #[test]
    fn the_second_answer_to_a_request_sent_twice_is_ignored() {
        let mut client = PingPongClient::new(config());
        let first = client.next_arrival().expect("a client never ends");
        client.answered(departure(5_000.0, first));
        client.answered(departure(6_000.0, first));
        assert_eq!(client.messages(), 1);
        assert_eq!(client.next_arrival().map(|next| next.time), Some(Picos::from_ns(7_020.0)));
    }

    #[test]
    fn jitter_has_the_stated_deviation() {
        let spread = turnarounds_ns(PingPongClientConfig { jitter_ns: 30.0, ..config() }, 40_000);
        let count = spread.len() as f64;
        let mean = spread.iter().sum::<f64>() / count;
        let variance = spread.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / count;
        // Standard errors of 40000 draws: 0.15 ns of the mean, 0.11 ns of the deviation.
        assert!((mean - 2_000.0).abs() < 0.8, "{mean}");
        assert!((variance.sqrt() - 30.0).abs() < 0.6, "{}", variance.sqrt());
    }

    #[test]
    fn delays_come_as_often_and_last_as_long_as_stated() {
        let delay = Delay { probability: 0.1, least_ns: 500.0, mean_more_ns: 200.0 };
        let all = turnarounds_ns(PingPongClientConfig { delays: vec![delay], ..config() }, 40_000);
        let late: Vec<f64> = all.iter().map(|ns| ns - 2_000.0).filter(|ns| *ns > 1.0).collect();
        let share = late.len() as f64 / all.len() as f64;
        // Standard errors: 0.0015 of the share, 3.2 ns of the mean.
        assert!((share - 0.1).abs() < 0.008, "{share}");
        assert!(late.iter().all(|ns| *ns >= 500.0 - 1e-3));
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean - 700.0).abs() < 16.0, "{mean}");
    }

    #[test]
    fn equal_seeds_give_equal_turnarounds_and_others_do_not() {
        let jittery = PingPongClientConfig { jitter_ns: 30.0, ..config() };
        let other = PingPongClientConfig { seed: 2, ..jittery.clone() };
        let first = turnarounds_ns(jittery.clone(), 100);
        assert_eq!(turnarounds_ns(jittery, 100), first);
        assert_ne!(turnarounds_ns(other, 100), first);
    }
}
