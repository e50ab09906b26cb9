//! From a tenant's traffic keys to what arrives at its NIC.

use crate::input::builtin;
use crate::input::error::InputError;
use crate::platform::{PacketServer, PingPongFacts};
use crate::scenario::{ArrivalProcess, Pattern, SizeMix, Tenant};
use hdrhistogram::Histogram;
use model::traffic::{Arrival, Departure, PacketSource};
use units::Picos;
use workload::traffic::{
    Arrivals, Capture, CaptureReplay, Delay, FixedRate, FixedRateConfig, Mix, MixConfig,
    PingPongClient, PingPongClientConfig, ReplayConfig, ReplaySpeed, Sizes, Toeplitz, Trains,
    TrainsConfig,
};

/// What arrives, whatever its kind.
#[derive(Debug)]
pub enum Traffic {
    /// One packet of each flow in turn.
    Fixed(FixedRate),
    /// Trains of flows.
    Trains(Trains),
    /// Sizes, arrivals and flows at random.
    Random(Box<Mix>),
    /// A capture.
    Replay(CaptureReplay),
    /// Nothing.
    Silence,
    /// A client that waits for answers.
    PingPong(Box<PingPongClient>),
}

impl Traffic {
    /// Latencies that a client has measured since the last call, in ns; none if there is no client.
    pub fn take_one_way_latencies(&mut self) -> Option<Histogram<u64>> {
        match self {
            Self::PingPong(client) => Some(client.take_one_way_latencies()),
            _ => None,
        }
    }
}

impl PacketSource for Traffic {
    // Inlined, an arrival is built where it is kept: as a copy, its fields wait for one another.
    #[inline(always)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        match self {
            Self::Fixed(source) => source.next_arrival(),
            Self::Trains(source) => source.next_arrival(),
            Self::Random(source) => source.next_arrival(),
            Self::Replay(source) => source.next_arrival(),
            Self::PingPong(source) => source.next_arrival(),
            Self::Silence => None,
        }
    }

    fn awaits_answers(&self) -> bool {
        match self {
            Self::Fixed(source) => source.awaits_answers(),
            Self::Trains(source) => source.awaits_answers(),
            Self::Random(source) => source.awaits_answers(),
            Self::Replay(source) => source.awaits_answers(),
            Self::PingPong(source) => source.awaits_answers(),
            Self::Silence => false,
        }
    }

    fn answered(&mut self, departure: Departure) {
        match self {
            Self::Fixed(source) => source.answered(departure),
            Self::Trains(source) => source.answered(departure),
            Self::Random(source) => source.answered(departure),
            Self::Replay(source) => source.answered(departure),
            Self::PingPong(source) => source.answered(departure),
            Self::Silence => {}
        }
    }
}

/// Reads the capture of a tenant, if it has one; `file` is the scenario that names it.
///
/// # Errors
/// If the capture cannot be read, or holds a packet larger than a buffer.
pub fn read_capture(
    file: &str,
    tenant: &Tenant,
    server: &PacketServer<'_>,
) -> Result<Option<Capture>, InputError> {
    let Some(path) = &tenant.traffic.pcap else { return Ok(None) };
    let capture = recordings::capture::read(builtin::beside(file, path))
        .map_err(|fault| InputError::Capture { file: file.into(), fault })?;
    let largest = capture.largest_frame_bytes().0;
    let fits = server.software.buffer_data_bytes.value;
    if largest > fits {
        return Err(InputError::OutOfRange {
            file: file.into(),
            key: "traffic.pcap".into(),
            value: path.clone(),
            allowed: format!(
                "its largest packet has {largest} bytes, a buffer holds {fits}: capture with \
                 segmentation offload off, or filter larger packets out"
            ),
        });
    }
    Ok(Some(capture))
}

/// What arrives at a tenant's NIC.
#[must_use]
pub fn source(
    tenant: &Tenant,
    server: &PacketServer<'_>,
    capture: Option<&Capture>,
    seed: u64,
) -> Traffic {
    if !tenant.application.receives() {
        return Traffic::Silence;
    }
    let rss = Toeplitz::default();
    let keys = &tenant.traffic;
    if let Some(capture) = capture {
        let config = ReplayConfig {
            speed: keys.scale_to_gbps.map_or(ReplaySpeed::AsCaptured, ReplaySpeed::ScaledToGbps),
            line_rate_gbps: server.nic.line_rate_gbps.value,
            loops: keys.loops,
        };
        return Traffic::Replay(CaptureReplay::new(capture, &config, &rss));
    }
    match keys.pattern {
        Pattern::Fixed => Traffic::Fixed(FixedRate::new(
            &FixedRateConfig {
                packet_bytes: tenant.packet_bytes,
                offered_gbps: tenant.offered_gbps,
                flows: keys.flows as usize,
                seed,
            },
            &rss,
        )),
        Pattern::Trains => Traffic::Trains(Trains::new(
            &TrainsConfig {
                packet_bytes: tenant.packet_bytes,
                offered_gbps: tenant.offered_gbps,
                threads: keys.generator_threads as usize,
                flows_per_thread: keys.flows as usize,
                train_packets: u64::from(keys.train_packets),
                turn_packets: u64::from(keys.turn_packets),
                seed,
            },
            &rss,
        )),
        Pattern::Random => Traffic::Random(Box::new(Mix::new(&mix(tenant, server, seed), &rss))),
    }
}

fn mix(tenant: &Tenant, server: &PacketServer<'_>, seed: u64) -> MixConfig {
    let keys = &tenant.traffic;
    MixConfig {
        sizes: match keys.sizes.unwrap_or_default() {
            SizeMix::Fixed => Sizes::Fixed(tenant.packet_bytes),
            SizeMix::Imix => Sizes::Imix,
            SizeMix::Campus => Sizes::Campus,
        },
        arrivals: match keys.arrivals.unwrap_or_default() {
            ArrivalProcess::Even => Arrivals::Even,
            ArrivalProcess::Poisson => Arrivals::Poisson,
            ArrivalProcess::OnOff => {
                Arrivals::OnOff { burst_packets: u64::from(keys.burst_packets.unwrap_or(32)) }
            }
            ArrivalProcess::BackToBack => Arrivals::BackToBack,
        },
        offered_gbps: tenant.offered_gbps,
        line_rate_gbps: server.nic.line_rate_gbps.value,
        flows: keys.flows as usize,
        flow_zipf: keys.flow_zipf.unwrap_or(0.0),
        seed,
    }
}

/// The client of a tenant whose application is a ping-pong test.
#[must_use]
pub fn client(tenant: &Tenant, facts: &PingPongFacts, seed: u64) -> Traffic {
    let delays = facts.client_delays.value.iter();
    let delay = |&(probability, least_ns, mean_more_ns): &(f64, f64, f64)| Delay {
        probability,
        least_ns,
        mean_more_ns,
    };
    Traffic::PingPong(Box::new(PingPongClient::new(PingPongClientConfig {
        packet_bytes: tenant.packet_bytes,
        turnaround_ns: facts.client_turnaround_ns.value,
        jitter_ns: facts.client_jitter_ns.value,
        delays: delays.map(delay).collect(),
        between_messages_ns: facts.client_pause_ns.value,
        resend_after: Picos::from_ns(facts.client_resend_ms.value * 1e6),
        seed,
    })))
}
