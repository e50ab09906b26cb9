//! Keys of the packets that arrive at a NIC.

use crate::input::check::Check;
use crate::input::error::InputError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The packets that arrive at a NIC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrafficKeys {
    /// Order of synthetic packets.
    pub pattern: Pattern,
    /// Trains: threads of the generator.
    pub generator_threads: u32,
    /// Flows, per thread for trains.
    pub flows: u32,
    /// Exact-match rules in the NIC: this number of flows, from the first on, go to the queues in turn;
    /// RSS distributes the others.
    pub flow_rules: u32,
    /// Trains: packets of a flow one after another.
    pub train_packets: u32,
    /// Trains: packets that a thread sends before the next thread's turn.
    pub turn_packets: u32,
    /// Random: sizes of packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeMix>,
    /// Random: arrival times of packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalProcess>,
    /// Random, arrivals on and off: packets of a burst. 32 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_packets: Option<u32>,
    /// Random: popularity of flows, the exponent of Zipf's law. By default 0: all are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_zipf: Option<f64>,
    /// A pcap or pcapng file to replay instead, relative to the scenario's folder if it exists there.
    pub pcap: Option<String>,
    /// Scale the capture's times to this rate on the wire.
    pub scale_to_gbps: Option<f64>,
    /// End after the capture has been replayed this many times, instead of at a narrow interval.
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
            sizes: None,
            arrivals: None,
            burst_packets: None,
            flow_zipf: None,
            pcap: None,
            scale_to_gbps: None,
            loops: None,
        }
    }
}

/// Order of synthetic packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Trains of one flow each from several threads, as from the measured testbed's generator.
    #[default]
    Trains,
    /// One packet of each flow in turn.
    Fixed,
    /// Packets of flows drawn at random, with random sizes and arrivals.
    Random,
}

/// Sizes of random packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeMix {
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
pub enum ArrivalProcess {
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
        check.whole("traffic.generator_threads", self.generator_threads, (1, 256), "threads")?;
        check.whole("traffic.flows", self.flows, (1, 1 << 20), "flows")?;
        check.whole("traffic.flow_rules", self.flow_rules, (0, 1 << 20), "rules")?;
        check.whole("traffic.train_packets", self.train_packets, (1, 1 << 20), "packets")?;
        check.whole("traffic.turn_packets", self.turn_packets, (1, 1 << 20), "packets")?;
        self.check_random(check)?;
        if let Some(gbps) = self.scale_to_gbps {
            if self.pcap.is_none() {
                let allowed =
                    "only together with traffic.pcap; set offered_gbps for synthetic traffic";
                return Err(check.refuse("traffic.scale_to_gbps", &gbps, allowed.into()));
            }
            check.number("traffic.scale_to_gbps", gbps, (1e-3, line_rate_gbps))?;
        }
        match self.loops {
            Some(loops) if self.pcap.is_none() => {
                let allowed = "only together with traffic.pcap";
                Err(check.refuse("traffic.loops", &loops, allowed.into()))
            }
            Some(loops) => check.whole("traffic.loops", loops, (1, 1_000_000), "loops"),
            None => Ok(()),
        }
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
            check.whole("traffic.burst_packets", packets, (1, 1 << 20), "packets")?;
        }
        check.number("traffic.flow_zipf", self.flow_zipf.unwrap_or(0.0), (0.0, 4.0))
    }
}

/// A value as a scenario file states it.
fn as_toml(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|error| error.to_string(), |value| value.to_string())
}
