//! Random traffic: sizes, arrivals and flows drawn independently.
//!
//! Models: frames of mixed sizes, evenly spaced, as a Poisson process, in bursts, or back to back;
//! each belongs to a flow drawn by its popularity.
//! Source: RFC 2544 for the rate; Poisson and on-off processes as in the teletraffic literature.
//! Simplifies: frames of a flow have no order of their own; bursts are equally long.

use model::traffic::{Arrival, PacketSource};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use units::Bytes;
use units::narrow::fit;

use super::flows::random_udp_flows;
use super::rss::Toeplitz;
use super::sizes::Sizes;
use super::wire::{Wire, picos_per_byte, wire_bytes};
use super::zipf::{Zipf, unit};

/// How the arrival times of frames are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalTimes {
    /// Spaced evenly, by their sizes.
    Even,
    /// With independent exponential gaps, as far as the wire allows.
    Poisson,
    /// This number of frames back to back, then a pause that gives the mean rate.
    OnOff {
        /// Frames of a burst.
        burst_packets: u64,
    },
    /// At the rate of the wire, for any offered load.
    BackToBack,
}

/// Parameters of [`Mix`].
#[derive(Clone, Debug, PartialEq)]
pub struct MixConfig {
    /// Distribution of the sizes of frames.
    pub sizes: Sizes,
    /// How the arrival times of frames are spread.
    pub arrivals: ArrivalTimes,
    /// Offered load on the wire, including FCS, preamble and gap.
    pub offered_gbps: f64,
    /// Rate of the wire, which is never exceeded.
    pub line_rate_gbps: f64,
    /// Number of UDP flows.
    pub flows: usize,
    /// Popularity of flows: exponent of Zipf's law, 0 makes them equal.
    pub flow_zipf: f64,
    /// Seed of flows and draws.
    pub seed: u64,
}

/// An endless source of frames whose sizes, flows and arrival times follow its parameters.
#[derive(Clone, Debug)]
pub struct Mix {
    sizes: Sizes,
    arrivals: ArrivalTimes,
    picos_per_byte: f64,
    /// Mean gap of a Poisson process.
    mean_gap_ps: f64,
    wire: Wire,
    rss_hashes: Vec<u32>,
    popularity: Zipf,
    random: ChaCha8Rng,
    sent: u64,
    sent_bytes: u64,
    /// When the next frame of a Poisson process, or the current burst, is due.
    wanted_ps: f64,
}

impl Mix {
    /// Builds the flow table and hashes it with `rss`.
    ///
    /// # Panics
    /// If there are no flows, no frames in a burst, or a rate is not a positive number.
    #[must_use]
    pub fn new(config: &MixConfig, rss: &Toeplitz) -> Self {
        assert!(
            config.arrivals != ArrivalTimes::OnOff { burst_packets: 0 },
            "a burst needs a frame"
        );
        let offered_gbps = match config.arrivals {
            ArrivalTimes::BackToBack => config.line_rate_gbps,
            _ => config.offered_gbps,
        };
        let picos_per_byte = picos_per_byte(offered_gbps);
        let mean_wire_bytes = config.sizes.mean_bytes() + wire_bytes(0) as f64;
        let flows = random_udp_flows(config.flows, config.seed);
        Self {
            sizes: config.sizes,
            arrivals: config.arrivals,
            picos_per_byte,
            mean_gap_ps: mean_wire_bytes * picos_per_byte,
            wire: Wire::new(config.line_rate_gbps),
            rss_hashes: flows.iter().map(|flow| rss.hash_flow(flow)).collect(),
            popularity: Zipf::new(config.flows, config.flow_zipf),
            // A stream other than that of the flows.
            random: ChaCha8Rng::seed_from_u64(config.seed ^ 0x5EED_0FA3_0014_7E57),
            sent: 0,
            sent_bytes: 0,
            wanted_ps: 0.0,
        }
    }

    /// When the next frame is due; times are products of bytes where possible, so that rounding errors
    /// do not add up.
    fn next_wanted_ps(&mut self, bytes: u64) -> f64 {
        let before_ps = self.sent_bytes as f64 * self.picos_per_byte;
        self.sent_bytes += wire_bytes(bytes);
        match self.arrivals {
            ArrivalTimes::Even | ArrivalTimes::BackToBack => {
                self.sent_bytes as f64 * self.picos_per_byte
            }
            ArrivalTimes::Poisson => {
                self.wanted_ps -= (1.0 - unit(&mut self.random)).ln() * self.mean_gap_ps;
                self.wanted_ps
            }
            ArrivalTimes::OnOff { burst_packets } => {
                if self.sent.is_multiple_of(burst_packets) {
                    self.wanted_ps = before_ps;
                }
                self.wanted_ps
            }
        }
    }
}

impl PacketSource for Mix {
    fn next_arrival(&mut self) -> Option<Arrival> {
        let bytes = self.sizes.draw(&mut self.random);
        let wanted_ps = self.next_wanted_ps(bytes);
        self.sent += 1;
        let flow = self.popularity.draw(&mut self.random);
        Some(Arrival {
            time: self.wire.arrival(wanted_ps, bytes),
            bytes: Bytes(bytes),
            rss_hash: self.rss_hashes[flow],
            flow: Some(fit(flow)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use units::Picos;

    const EVEN: MixConfig = MixConfig {
        sizes: Sizes::Campus,
        arrivals: ArrivalTimes::Even,
        offered_gbps: 40.0,
        line_rate_gbps: 100.0,
        flows: 1_000,
        flow_zipf: 0.0,
        seed: 1,
    };

    fn start(config: &MixConfig) -> impl Iterator<Item = Arrival> {
        let mut source = Mix::new(config, &Toeplitz::default());
        std::iter::from_fn(move || source.next_arrival())
    }

    fn gbps(arrivals: &[Arrival]) -> f64 {
        let bytes: u64 = arrivals.iter().map(|arrival| wire_bytes(arrival.bytes.0)).sum();
        bytes as f64 * 8.0 / arrivals[arrivals.len() - 1].time.as_ns()
    }

    #[test]
    fn the_mean_rate_over_a_million_frames_is_the_offered_one() {
        let bursts = ArrivalTimes::OnOff { burst_packets: 64 };
        // Independent gaps: a million of them are off by 0.1 % (one standard deviation).
        let cases = [
            (ArrivalTimes::Even, 40.0, 1e-6),
            (bursts, 40.0, 1e-4),
            (ArrivalTimes::BackToBack, 100.0, 1e-6),
            (ArrivalTimes::Poisson, 40.0, 5e-3),
        ];
        for (arrivals, expected, tolerance) in cases {
            for sizes in [Sizes::Fixed(1514), Sizes::Imix, Sizes::Campus] {
                let config = MixConfig { sizes, arrivals, ..EVEN };
                let frames: Vec<Arrival> = start(&config).take(1_000_000).collect();
                let rate = gbps(&frames);
                assert!((rate / expected - 1.0).abs() < tolerance, "{config:?}: {rate}");
            }
        }
    }

    #[test]
    fn no_frame_comes_sooner_than_the_wire_allows() {
        for arrivals in [ArrivalTimes::Poisson, ArrivalTimes::OnOff { burst_packets: 32 }] {
            let config = MixConfig { arrivals, offered_gbps: 90.0, ..EVEN };
            let frames: Vec<Arrival> = start(&config).take(100_000).collect();
            for pair in frames.windows(2) {
                let least_ps = wire_bytes(pair[1].bytes.0) * 80;
                let gap = pair[1].time - pair[0].time;
                // Both times are rounded to picoseconds.
                assert!(gap.0 + 1 >= least_ps, "{gap:?} for {least_ps} ps");
            }
        }
    }

    #[test]
    fn gaps_of_a_poisson_process_vary_as_much_as_they_are_long() {
        let config = MixConfig {
            sizes: Sizes::Fixed(60),
            arrivals: ArrivalTimes::Poisson,
            offered_gbps: 0.1,
            ..EVEN
        };
        let times: Vec<f64> = start(&config).take(100_000).map(|a| a.time.as_ns()).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
        let deviation = (squares / gaps.len() as f64).sqrt();
        assert!((deviation / mean - 1.0).abs() < 0.03, "{deviation} around {mean}");
    }

    #[test]
    fn a_burst_is_back_to_back_and_silence_follows() {
        let arrivals = ArrivalTimes::OnOff { burst_packets: 4 };
        let config = MixConfig { sizes: Sizes::Fixed(1_226), arrivals, ..EVEN };
        // 1250 B on the wire are 100 ns at 100 Gbit/s; four of them every 1000 ns are 40 Gbit/s.
        let times: Vec<Picos> = start(&config).skip(4).take(8).map(|a| a.time).collect();
        let expected = [1_000, 1_100, 1_200, 1_300, 2_000, 2_100, 2_200, 2_300];
        assert_eq!(times, expected.map(|ns| Picos(ns * 1_000)));
    }

    #[test]
    fn popular_flows_have_more_frames() {
        let most = |flow_zipf| {
            let mut frames = BTreeMap::<u32, u32>::new();
            for arrival in start(&MixConfig { flow_zipf, ..EVEN }).take(100_000) {
                *frames.entry(arrival.rss_hash).or_default() += 1;
            }
            frames.into_values().max().unwrap_or_default()
        };
        assert!(most(0.0) < 200, "a thousandth of all frames is 100");
        // The most popular of 1000 flows has 1 / (1 + 1/2 + ... + 1/1000) of all frames.
        assert!((f64::from(most(1.0)) / 1e5 - 0.1336).abs() < 0.005);
    }

    #[test]
    fn equal_seeds_give_equal_sequences_and_others_do_not() {
        let config = MixConfig { arrivals: ArrivalTimes::Poisson, flow_zipf: 0.9, ..EVEN };
        let first: Vec<_> = start(&config).take(1_000).collect();
        assert!(start(&config).take(1_000).eq(first.iter().copied()));
        assert!(!start(&MixConfig { seed: 2, ..config }).take(1_000).eq(first));
    }
}
