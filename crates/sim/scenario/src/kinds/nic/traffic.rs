//! Keys of the packets that arrive at a NIC.

use super::generator::{self, PATH_US};
use crate::facts::platform::MOST_LINE_RATE_GBPS;
use crate::text::check::Check;
use crate::text::error::InputError;
use recordings::capture::CaptureOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;
use workload::traffic::LoadProfile;

/// Smallest offered load in Gbit/s.
pub(super) const LEAST_GBPS: f64 = 1e-3;
const THREADS: (u32, u32) = (1, 256);
const FLOWS: (u32, u32) = (1, 1 << 20);
const FLOW_RULES: (u32, u32) = (0, 1 << 20);
/// Packets of a train, a turn or a burst.
const PACKETS: (u32, u32) = (1, 1 << 20);
/// Packets of the generator's own queue, and of its batch.
pub(super) const QUEUE_PACKETS: (u32, u32) = (0, PACKETS.1);
const ZIPF: (f64, f64) = (0.0, 4.0);
/// Packets of a list.
const LIST_PACKETS: (u64, u64) = (1, 1 << 24);
pub(super) const DEFAULT_LIST_PACKETS: u64 = 524_288;
pub(super) const DEFAULT_FLOW_PACKETS: u32 = 128;
/// Slots of all lists: what they take in memory is bounded.
const MOST_SLOTS: u64 = 1 << 22;
/// From a microsecond to a day.
const LONGEST_GAP_S: (f64, f64) = (1e-6, 86_400.0);
const LOOPS: (u64, u64) = (1, 1_000_000);
const SHARE: (f64, f64) = (0.0, 1.0);
const MOST_STEPS: usize = 10_000;
const STEP_US: (f64, f64) = (0.1, 1e9);
const DEFAULT_STEP_US: f64 = 100.0;

/// The packets that arrive at a NIC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct TrafficKeys {
    /// Order of synthetic packets.
    pub pattern: Pattern,
    /// Trains and lists: threads of the generator.
    #[schemars(range(min = THREADS.0, max = THREADS.1))]
    pub generator_threads: u32,
    /// Flows, per thread for trains; of a list at a time.
    #[schemars(range(min = FLOWS.0, max = FLOWS.1))]
    pub flows: u32,
    /// Exact-match rules in the NIC: this number of flows, from the first on, go to the queues in turn;
    /// RSS distributes the others.
    #[schemars(range(min = FLOW_RULES.0, max = FLOW_RULES.1))]
    pub flow_rules: u32,
    /// Trains: packets of a flow one after another.
    #[schemars(range(min = PACKETS.0, max = PACKETS.1))]
    pub train_packets: u32,
    /// Trains and lists: packets that a thread sends before the next thread's turn.
    #[schemars(range(min = PACKETS.0, max = PACKETS.1))]
    pub turn_packets: u32,
    /// Lists: packets that a thread draws once and replays. 524288 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = LIST_PACKETS.0, max = LIST_PACKETS.1))]
    pub list_packets: Option<u64>,
    /// Lists: packets of a flow, after which another takes its place in the list. 128 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = PACKETS.0, max = PACKETS.1))]
    pub flow_packets: Option<u32>,
    /// Lists: whether all threads replay one list in step, so that packets come in groups of one flow. False by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_list: Option<bool>,
    /// Packets that wait in the generator's own queue, before which it stamps the time of each: results have
    /// generator_latency_ns too. Only for packets of one size that come evenly. No such latency by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = QUEUE_PACKETS.0, max = QUEUE_PACKETS.1))]
    pub generator_queue_packets: Option<u32>,
    /// Packets that each of the generator's threads stamps together: they wait for one another, and for those of
    /// the other threads. 0 is one by one, the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = QUEUE_PACKETS.0, max = QUEUE_PACKETS.1))]
    pub generator_batch_packets: Option<u32>,
    /// All other time from a packet's stamp to its receipt by the generator, outside of this server: cards,
    /// cables, the generator's software. None by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = PATH_US.0, max = PATH_US.1))]
    pub generator_path_us: Option<f64>,
    /// Random: sizes of packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeMix>,
    /// Random: arrival times of packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalProcess>,
    /// Random, arrivals on and off: packets of a burst. 32 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = PACKETS.0, max = PACKETS.1))]
    pub burst_packets: Option<u32>,
    /// Random: popularity of flows, the exponent of Zipf's law. By default 0: all are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = ZIPF.0, max = ZIPF.1))]
    pub flow_zipf: Option<f64>,
    /// Shares of offered_gbps, each for load_step_us, over and over: a load that changes. Always all of it
    /// by default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = SHARE.0, max = SHARE.1)))]
    pub load: Vec<f64>,
    /// How long each share of load holds. 100 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = STEP_US.0, max = STEP_US.1))]
    pub load_step_us: Option<f64>,
    /// A pcap or pcapng file to replay instead, relative to the scenario's folder if it exists there.
    pub pcap: Option<String>,
    /// Replay a capture that ends within a packet, as one of an interrupted tool does, up to there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// Scale the capture's times to this rate on the wire.
    #[schemars(range(min = LEAST_GBPS, max = MOST_LINE_RATE_GBPS))]
    pub scale_to_gbps: Option<f64>,
    /// The longest time without a packet in the replay, in seconds: a capture's longer ones are shortened to it,
    /// after they have been scaled. 600 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = LONGEST_GAP_S.0, max = LONGEST_GAP_S.1))]
    pub longest_gap_s: Option<f64>,
    /// End after the capture has been replayed this many times, instead of at a narrow interval.
    #[schemars(range(min = LOOPS.0, max = LOOPS.1))]
    pub loops: Option<u64>,
}

impl Default for TrafficKeys {
    fn default() -> Self {
        Self {
            pattern: Pattern::default(),
            generator_threads: 4,
            flows: 4096,
            flow_rules: 0,
            train_packets: 128,
            turn_packets: 1,
            list_packets: None,
            flow_packets: None,
            shared_list: None,
            generator_queue_packets: None,
            generator_batch_packets: None,
            generator_path_us: None,
            sizes: None,
            arrivals: None,
            burst_packets: None,
            flow_zipf: None,
            load: Vec::new(),
            load_step_us: None,
            pcap: None,
            cut_short: false,
            scale_to_gbps: None,
            longest_gap_s: None,
            loops: None,
        }
    }
}

/// Order of synthetic packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pattern {
    /// Trains of one flow each from several threads, as from the measured testbed's generator.
    #[default]
    Trains,
    /// One packet of each flow in turn.
    Fixed,
    /// Lists of packets that several threads each draw once, flow by flow at random, and replay.
    List,
    /// Packets of flows drawn at random, with random sizes and arrivals.
    Random,
}

/// Sizes of random packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SizeMix {
    /// All of packet_bytes.
    #[default]
    Fixed,
    /// 60, 590 and 1514 B as 7 : 4 : 1.
    Imix,
    /// As on a campus: 26.9 % under 100 B, 11.8 % from 100 to 500 B, the rest full-sized.
    Campus,
}

/// Arrival times of random packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArrivalProcess {
    /// Evenly spaced.
    #[default]
    Even,
    /// With independent exponential gaps.
    Poisson,
    /// In bursts of burst_packets at line rate.
    OnOff,
    /// At line rate, for any offered load.
    BackToBack,
}

impl TrafficKeys {
    /// Checks the keys for a card of this line rate.
    pub(super) fn check(&self, check: &Check<'_>, line_rate_gbps: f64) -> Result<(), InputError> {
        check.whole("traffic.generator_threads", self.generator_threads, THREADS, "threads")?;
        check.whole("traffic.flows", self.flows, FLOWS, "flows")?;
        check.whole("traffic.flow_rules", self.flow_rules, FLOW_RULES, "rules")?;
        check.whole("traffic.train_packets", self.train_packets, PACKETS, "packets")?;
        check.whole("traffic.turn_packets", self.turn_packets, PACKETS, "packets")?;
        self.check_lists(check)?;
        generator::check(self, check)?;
        self.check_random(check)?;
        self.check_load(check)?;
        if let Some(gbps) = self.scale_to_gbps {
            if self.pcap.is_none() {
                let allowed =
                    "only together with traffic.pcap; set offered_gbps for synthetic traffic";
                return Err(check.refuse("traffic.scale_to_gbps", &gbps, allowed.into()));
            }
            let (allowed, why) = ((LEAST_GBPS, line_rate_gbps), "the card's line rate");
            check.number_because("traffic.scale_to_gbps", gbps, allowed, why)?;
        }
        if self.cut_short && self.pcap.is_none() {
            let allowed = "only together with traffic.pcap";
            return Err(check.refuse("traffic.cut_short", &true, allowed.into()));
        }
        if let Some(seconds) = self.longest_gap_s {
            if self.pcap.is_none() {
                let allowed = "only together with traffic.pcap";
                return Err(check.refuse("traffic.longest_gap_s", &seconds, allowed.into()));
            }
            check.number("traffic.longest_gap_s", seconds, LONGEST_GAP_S)?;
        }
        match self.loops {
            Some(loops) if self.pcap.is_none() => {
                let allowed = "only together with traffic.pcap";
                Err(check.refuse("traffic.loops", &loops, allowed.into()))
            }
            Some(loops) => check.whole("traffic.loops", loops, LOOPS, "loops"),
            None => Ok(()),
        }
    }

    /// The longest time without a packet of a capture in its replay, in seconds.
    pub(super) fn longest_gap_s(&self) -> f64 {
        self.longest_gap_s.unwrap_or(CaptureOptions::LONGEST_GAP_S)
    }

    /// The profile of a load that changes; `None` if it is constant.
    pub(super) fn load(&self) -> Option<LoadProfile> {
        let step = Picos::from_ns(1e3 * self.load_step_us.unwrap_or(DEFAULT_STEP_US));
        (!self.load.is_empty()).then(|| LoadProfile::new(self.load.clone(), step))
    }

    fn check_load(&self, check: &Check<'_>) -> Result<(), InputError> {
        if let Some(step_us) = self.load_step_us {
            if self.load.is_empty() {
                let allowed = "only together with traffic.load".into();
                return Err(check.refuse("traffic.load_step_us", &step_us, allowed));
            }
            check.number("traffic.load_step_us", step_us, STEP_US)?;
        }
        let shown = format!("{:?}", self.load);
        if self.load.len() > MOST_STEPS {
            let allowed = format!("allowed: up to {MOST_STEPS} shares");
            return Err(check.refuse("traffic.load", &self.load.len(), allowed));
        }
        if self.load.iter().any(|share| !(SHARE.0..=SHARE.1).contains(share)) {
            let allowed = "allowed: shares of offered_gbps from 0 to 1".into();
            return Err(check.refuse("traffic.load", &shown, allowed));
        }
        if !self.load.is_empty() && self.load.iter().all(|share| *share == 0.0) {
            let allowed = "one share at least is above 0".into();
            return Err(check.refuse("traffic.load", &shown, allowed));
        }
        Ok(())
    }

    /// Whether packets of one size come evenly: only then what waits in the generator takes one time.
    pub(super) fn is_even(&self) -> bool {
        self.pcap.is_none()
            && self.load.is_empty()
            && self.sizes.unwrap_or_default() == SizeMix::Fixed
            && self.arrivals.unwrap_or_default() == ArrivalProcess::Even
    }

    /// Checks the keys of lists.
    fn check_lists(&self, check: &Check<'_>) -> Result<(), InputError> {
        let stated = [
            ("traffic.list_packets", self.list_packets.as_ref().map(as_toml)),
            ("traffic.flow_packets", self.flow_packets.as_ref().map(as_toml)),
            ("traffic.shared_list", self.shared_list.as_ref().map(as_toml)),
        ];
        for (key, value) in stated {
            if let Some(value) = value
                && self.pattern != Pattern::List
            {
                let allowed = "only with traffic.pattern = \"list\"";
                return Err(check.refuse(key, &value, allowed.into()));
            }
        }
        let packets = self.list_packets.unwrap_or(DEFAULT_LIST_PACKETS);
        check.whole("traffic.list_packets", packets, LIST_PACKETS, "packets")?;
        let packets = self.flow_packets.unwrap_or(DEFAULT_FLOW_PACKETS);
        check.whole("traffic.flow_packets", packets, PACKETS, "packets")?;
        let slots = u64::from(self.flows) * u64::from(self.generator_threads);
        if self.pattern == Pattern::List && slots > MOST_SLOTS {
            let allowed = format!(
                "allowed with traffic.pattern = \"list\": at most {MOST_SLOTS} in all threads"
            );
            return Err(check.refuse("traffic.flows", &self.flows, allowed));
        }
        Ok(())
    }

    /// Checks the keys of random traffic.
    fn check_random(&self, check: &Check<'_>) -> Result<(), InputError> {
        let stated = [
            ("traffic.sizes", self.sizes.as_ref().map(as_toml)),
            ("traffic.arrivals", self.arrivals.as_ref().map(as_toml)),
            ("traffic.burst_packets", self.burst_packets.as_ref().map(as_toml)),
            ("traffic.flow_zipf", self.flow_zipf.as_ref().map(as_toml)),
        ];
        for (key, value) in stated {
            if let Some(value) = value
                && self.pattern != Pattern::Random
            {
                let allowed = "only with traffic.pattern = \"random\"";
                return Err(check.refuse(key, &value, allowed.into()));
            }
        }
        if let Some(packets) = self.burst_packets {
            if self.arrivals != Some(ArrivalProcess::OnOff) {
                let allowed = "only with traffic.arrivals = \"on-off\"";
                return Err(check.refuse("traffic.burst_packets", &packets, allowed.into()));
            }
            check.whole("traffic.burst_packets", packets, PACKETS, "packets")?;
        }
        check.number("traffic.flow_zipf", self.flow_zipf.unwrap_or(0.0), ZIPF)
    }
}

/// Formats a value as a scenario file would state it, in TOML.
fn as_toml(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|error| error.to_string(), |value| value.to_string())
}
