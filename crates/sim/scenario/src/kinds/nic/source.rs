//! Builds the arrivals at a NIC from a tenant's traffic keys.

use super::check::BUFFER_BYTES;
use super::traffic::LEAST_GBPS;
use super::{ArrivalProcess, Card, NicKeys, Pattern, SizeMix, TrafficKeys};
use crate::contract::input::TenantInput;
use crate::contract::traffic::{LONGEST_BATCH, Traffic};
use crate::text::error::InputError;
use crate::text::files;
use recordings::capture::{CaptureError, CaptureOptions, CutShort, Recording};
use units::Picos;
use workload::traffic::{
    ArrivalTimes, CaptureReplay, FixedRate, FixedRateConfig, Initiators, InitiatorsConfig,
    LoadProfile, Mix, MixConfig, PingPongClient, PingPongClientConfig, ReplayConfig, ReplaySpeed,
    Sizes, Toeplitz, Trains, TrainsConfig, VaryingLoad,
};

/// Hint of a refusal: how to replay a capture whose last record is not whole.
const CUT_SHORT_HINT: &str = "; traffic.cut_short = true replays the packets before it";

/// A source of arrivals, fully resolved.
#[derive(Clone, Debug)]
pub(crate) enum SourcePlan {
    /// One packet of each flow in turn.
    Fixed(FixedRateConfig),
    /// Trains of flows.
    Trains(TrainsConfig),
    /// Sizes, arrivals and flows at random.
    Random(MixConfig),
    /// One of the sources above, at a load that changes.
    Varying(Box<SourcePlan>, LoadProfile),
    /// Packets of a capture, at its times or scaled to a rate.
    Replay(Recording, ReplayConfig),
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
            let recording = capture(input.file, path, traffic, card)?;
            let config = ReplayConfig {
                speed: match (recording.paced.stretch, traffic.scale_to_gbps) {
                    (Some(stretch), _) => ReplaySpeed::Stretched(stretch),
                    (None, Some(gbps)) => ReplaySpeed::ScaledToGbps(gbps),
                    (None, None) => ReplaySpeed::AsCaptured,
                },
                line_rate_gbps,
                loops: traffic.loops,
            };
            check_duration(&recording, &config, input)?;
            return Ok(Self::Replay(recording, config));
        }
        if traffic.arrivals != Some(ArrivalProcess::BackToBack) {
            input.check.number("offered_gbps", keys.offered_gbps, (LEAST_GBPS, line_rate_gbps))?;
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

    /// Builds the source of arrivals at time zero.
    pub(super) fn build(&self) -> Traffic {
        let rss = Toeplitz::default();
        match self {
            Self::Fixed(config) => Traffic::Fixed(FixedRate::new(config, &rss)),
            Self::Trains(config) => Traffic::Trains(Trains::new(config, &rss)),
            Self::Random(config) => Traffic::Random(Box::new(Mix::new(config, &rss))),
            Self::Varying(source, load) => {
                Traffic::Varying(Box::new(VaryingLoad::new(source.build(), load.clone())))
            }
            Self::Replay(Recording { capture, .. }, config) => {
                Traffic::Replay(CaptureReplay::new(capture, config, &rss))
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
            Self::Replay(Recording { capture, .. }, ReplayConfig { loops: Some(loops), .. }) => {
                Some((capture.packet_count() * loops).max(1))
            }
            _ => None,
        }
    }

    /// A remark for the result on the input: a capture that is cut short or deviates from its format, packets
    /// out of order, or idle times that are left out.
    pub(super) fn note(&self) -> Option<String> {
        let Self::Replay(Recording { capture, options, cut_in, oddities, paced }, config) = self
        else {
            return None;
        };
        let (reordered, all) = (capture.reordered(), capture.packet_count());
        let cut = cut_in.map(|position| {
            format!(
                "The capture is cut short in {position}; the {all} packets before it are replayed"
            )
        });
        let reordered = (reordered > 0).then(|| {
            format!(
                "{reordered} of the capture's {all} packets are stamped earlier than one before them; \
                 they are replayed in the order of their times"
            )
        });
        let odd = (!oddities.is_empty()).then(|| oddities.to_string());
        let idle = (paced.shortened > 0).then(|| {
            let times = if paced.shortened == 1 { "time" } else { "times" };
            let are = if paced.shortened == 1 { "is" } else { "are" };
            format!(
                "{} {times} without a packet {are} shortened to {} s (traffic.longest_gap_s)",
                paced.shortened,
                options.longest_gap.as_ns() / 1e9
            )
        });
        let unending = (config.loops.is_none() && paced.longest > LONGEST_BATCH).then(|| {
            format!(
                "The replay is up to {} s without a packet, and the run may end within such a time: \
                 traffic.loops = 1 replays all of the capture, traffic.longest_gap_s shortens the time",
                paced.longest.as_ns() / 1e9
            )
        });
        let notes: Vec<String> =
            [cut, reordered, odd, idle, unending].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join(". "))
    }
}

/// Reads the capture at `path`, which `file`, the scenario, names, as the keys of its traffic say.
///
/// # Errors
/// If the capture cannot be read, or has a packet larger than a buffer.
fn capture(
    file: &str,
    path: &str,
    traffic: &TrafficKeys,
    card: &Card<'_>,
) -> Result<Recording, InputError> {
    let cut_short = traffic.cut_short;
    let options = CaptureOptions {
        cut_short: if cut_short { CutShort::Read } else { CutShort::Refused },
        scale_to_gbps: traffic.scale_to_gbps,
        longest_gap: Picos::from_ns(1e9 * traffic.longest_gap_s()),
    };
    let refused = |fault: CaptureError| {
        let is_way = fault.fault.is_cut_short() && !cut_short;
        let hint = if is_way { CUT_SHORT_HINT } else { "" };
        InputError::Capture { file: file.into(), fault, hint }
    };
    let recording =
        recordings::capture::read(files::beside(file, path), &options).map_err(refused)?;
    let largest = recording.capture.largest_frame_bytes().0;
    let fits = card.buffer_bytes;
    if largest > fits {
        return Err(InputError::OutOfRange {
            file: file.into(),
            key: "traffic.pcap".into(),
            value: path.into(),
            allowed: format!(
                "its largest packet has {largest} bytes, a buffer holds {fits}: raise buffer_bytes \
                 (up to {}), capture with segmentation offload off, or filter larger \
                 packets out",
                BUFFER_BYTES.1
            ),
        });
    }
    Ok(recording)
}

/// Checks that all loops end before simulated time does.
fn check_duration(
    recording: &Recording,
    config: &ReplayConfig,
    input: &TenantInput<'_>,
) -> Result<(), InputError> {
    let loop_ps = config.loop_ps(&recording.capture);
    match config.loops {
        Some(loops) if loops as f64 * loop_ps >= ReplayConfig::MOST_PS => {
            let allowed = format!(
                "allowed: up to {:.0}, as a loop takes {:.3} s and simulated time ends after 106 days; a \
                 smaller traffic.longest_gap_s shortens it",
                (ReplayConfig::MOST_PS / loop_ps).floor(),
                loop_ps / 1e12
            );
            Err(input.check.refuse("traffic.loops", &loops, allowed))
        }
        _ => Ok(()),
    }
}

/// Checks that a buffer holds the largest packet of a mix.
fn check_fits(mix: &MixConfig, input: &TenantInput<'_>, card: &Card<'_>) -> Result<(), InputError> {
    let (largest, fits) = (mix.sizes.largest_bytes(), card.buffer_bytes);
    if largest <= fits {
        return Ok(());
    }
    let allowed = format!("the largest packet of traffic.sizes has {largest} bytes: raise it");
    Err(input.check.refuse("buffer_bytes", &fits, allowed))
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
