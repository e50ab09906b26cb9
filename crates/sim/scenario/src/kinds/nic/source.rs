//! Builds the arrivals at a NIC from a tenant's traffic keys.

use super::capture::CapturePlan;
use super::check::check_is_chained;
use super::traffic::{DEFAULT_FLOW_PACKETS, DEFAULT_LIST_PACKETS, LEAST_GBPS};
use super::{ArrivalProcess, Card, NicKeys, Pattern, SizeMix};
use crate::contract::input::TenantInput;
use crate::contract::traffic::Traffic;
use crate::text::error::InputError;
use workload::traffic::{
    ArrivalTimes, CaptureReplay, FixedRate, FixedRateConfig, Initiators, InitiatorsConfig,
    LoadProfile, Mix, MixConfig, PacketLists, PacketListsConfig, PingPongClient,
    PingPongClientConfig, Sizes, Toeplitz, Trains, TrainsConfig, VaryingLoad,
};

/// Seeds of runs are neighbours, those of ports are not: no port of one run repeats that of another.
const SEED_OF_NEXT_PORT: u64 = 0x9E37_79B9_7F4A_7C15;

/// A source of arrivals, fully resolved.
#[derive(Clone, Debug)]
pub(crate) enum SourcePlan {
    /// One packet of each flow in turn.
    Fixed(FixedRateConfig),
    /// Trains of flows.
    Trains(TrainsConfig),
    /// Lists of packets that are replayed.
    Lists(PacketListsConfig),
    /// Sizes, arrivals and flows at random.
    Random(MixConfig),
    /// One of the sources above, at a load that changes.
    Varying(Box<SourcePlan>, LoadProfile),
    /// Packets of a capture, at its times or scaled to a rate.
    Replay(CapturePlan),
    /// No packets.
    Silence,
    /// A client that waits for answers.
    PingPong(PingPongClientConfig),
    /// Initiators that keep requests in flight.
    Initiators(InitiatorsConfig),
}

impl SourcePlan {
    /// Resolves the source that the tenant's keys describe.
    ///
    /// # Errors
    /// If the offered load is out of range, the capture cannot be read, or it contains a packet larger than a
    /// buffer.
    pub(crate) fn from_keys(input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError> {
        let keys = input.table::<NicKeys>();
        let line_rate_gbps = card.nic.line_rate_gbps.value;
        let traffic = &keys.traffic;
        if let Some(path) = &traffic.pcap {
            return CapturePlan::from_keys(input, path, card).map(Self::Replay);
        }
        if traffic.arrivals != Some(ArrivalProcess::BackToBack) {
            let allowed = (LEAST_GBPS, line_rate_gbps);
            let why = "the card's line rate";
            input.check.number_because("offered_gbps", keys.offered_gbps, allowed, why)?;
        }
        if traffic.pattern != Pattern::Random {
            check_is_chained(input, card, keys.packet_bytes)?;
        }
        let (packet_bytes, offered_gbps) = (keys.packet_bytes, keys.offered_gbps);
        let (flows, seed) = (traffic.flows as usize, input.seed);
        let source = match traffic.pattern {
            Pattern::Fixed => {
                Self::Fixed(FixedRateConfig { packet_bytes, offered_gbps, flows, seed })
            }
            Pattern::Trains => Self::Trains(TrainsConfig {
                packet_bytes,
                offered_gbps,
                threads: traffic.generator_threads as usize,
                flows_per_thread: flows,
                train_packets: u64::from(traffic.train_packets),
                turn_packets: u64::from(traffic.turn_packets),
                seed,
            }),
            Pattern::List => Self::Lists(PacketListsConfig {
                packet_bytes,
                offered_gbps,
                threads: traffic.generator_threads as usize,
                slots: flows,
                list_packets: traffic.list_packets.unwrap_or(DEFAULT_LIST_PACKETS),
                flow_packets: traffic.flow_packets.unwrap_or(DEFAULT_FLOW_PACKETS),
                turn_packets: u64::from(traffic.turn_packets),
                is_shared: traffic.shared_list.unwrap_or(false),
                seed,
            }),
            Pattern::Random => {
                let mix = mix(keys, line_rate_gbps, seed);
                check_fits(&mix, input, card)?;
                Self::Random(mix)
            }
        };
        Ok(match traffic.load() {
            Some(load) => Self::Varying(Box::new(source), load),
            None => source,
        })
    }

    /// The source of one of the card's ports: packets of other flows at other times than at the first, as
    /// often. `None` if there can be no second one.
    pub(super) fn for_port(&self, port: u32) -> Option<Self> {
        let mut source = self.clone();
        let seed = match &mut source {
            _ if port == 0 => return Some(source),
            Self::Fixed(config) => &mut config.seed,
            Self::Trains(config) => &mut config.seed,
            Self::Lists(config) => &mut config.seed,
            Self::Random(config) => &mut config.seed,
            Self::Varying(inner, load) => {
                let inner = Box::new(inner.for_port(port)?);
                return Some(Self::Varying(inner, load.clone()));
            }
            Self::Replay(_) | Self::Silence | Self::PingPong(_) | Self::Initiators(_) => {
                return None;
            }
        };
        *seed = seed.wrapping_add(u64::from(port).wrapping_mul(SEED_OF_NEXT_PORT));
        Some(source)
    }

    /// Builds the source of arrivals at time zero.
    pub(super) fn build(&self) -> Traffic {
        let rss = Toeplitz::default();
        match self {
            Self::Fixed(config) => Traffic::Fixed(FixedRate::new(config, &rss)),
            Self::Trains(config) => Traffic::Trains(Trains::new(config, &rss)),
            Self::Lists(config) => Traffic::Lists(Box::new(PacketLists::new(config, &rss))),
            Self::Random(config) => Traffic::Random(Box::new(Mix::new(config, &rss))),
            Self::Varying(source, load) => {
                Traffic::Varying(Box::new(VaryingLoad::new(source.build(), load.clone())))
            }
            Self::Replay(plan) => {
                Traffic::Replay(CaptureReplay::new(&plan.capture, &plan.config, &rss))
            }
            Self::Silence => Traffic::Silence,
            Self::PingPong(config) => {
                Traffic::PingPong(Box::new(PingPongClient::new(config.clone())))
            }
            Self::Initiators(config) => Traffic::Initiators(Box::new(Initiators::new(*config))),
        }
    }

    /// Number of packets in all loops of a capture; `None` for other sources, and if loops have no limit.
    pub(super) fn packets_to_replay(&self) -> Option<u64> {
        match self {
            Self::Replay(plan) => plan.packets_to_replay(),
            _ => None,
        }
    }

    /// A remark for the result on a capture that is replayed.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::Replay(plan) => plan.note(),
            _ => None,
        }
    }
}

/// Checks that a buffer holds the largest packet of a mix, or several do.
fn check_fits(mix: &MixConfig, input: &TenantInput<'_>, card: &Card<'_>) -> Result<(), InputError> {
    let largest = mix.sizes.largest_bytes();
    if largest <= card.most_packet_bytes(input.table::<NicKeys>()) {
        return check_is_chained(input, card, largest);
    }
    let allowed = format!(
        "the largest packet of traffic.sizes has {largest} bytes: raise it, or set scatter"
    );
    Err(input.check.refuse("buffer_bytes", &card.buffer_bytes, allowed))
}

fn mix(keys: &NicKeys, line_rate_gbps: f64, seed: u64) -> MixConfig {
    let traffic = &keys.traffic;
    MixConfig {
        sizes: match traffic.sizes.unwrap_or_default() {
            SizeMix::Fixed => Sizes::Fixed(keys.packet_bytes),
            SizeMix::Imix => Sizes::Imix,
            SizeMix::Campus => Sizes::Campus,
        },
        arrivals: match traffic.arrivals.unwrap_or_default() {
            ArrivalProcess::Even => ArrivalTimes::Even,
            ArrivalProcess::Poisson => ArrivalTimes::Poisson,
            ArrivalProcess::OnOff => ArrivalTimes::OnOff {
                burst_packets: u64::from(traffic.burst_packets.unwrap_or(32)),
            },
            ArrivalProcess::BackToBack => ArrivalTimes::BackToBack,
        },
        offered_gbps: keys.offered_gbps,
        line_rate_gbps,
        flows: traffic.flows as usize,
        flow_zipf: traffic.flow_zipf.unwrap_or(0.0),
        seed,
    }
}
