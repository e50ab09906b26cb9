//! Memory of a machine as facts.

use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use model::cxl::CxlConfig;
use model::upi::UpiConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

/// Links between the two sockets of a machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UpiFacts {
    /// Data rate in each direction when memory of the other socket is read.
    pub read_gbytes_per_s: Sourced<f64>,
    /// Size of the header of each line of data, and of a message without data.
    pub header_bytes: Sourced<u64>,
    /// Additional latency of an idle read of the other socket's memory, compared with a local one.
    pub round_trip_extra_ns: Sourced<f64>,
    /// Load-to-use latency of a line that a core of the other socket holds modified.
    pub core_to_core_ns: Sourced<f64>,
}

impl UpiFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.number("upi.read_gbytes_per_s", self.read_gbytes_per_s.value, (0.1, 1e4))?;
        check.whole("upi.header_bytes", self.header_bytes.value, (1, 64), "bytes")?;
        check.delay("upi.round_trip_extra_ns", self.round_trip_extra_ns.value)?;
        check.delay("upi.core_to_core_ns", self.core_to_core_ns.value)
    }

    /// Configuration of the links of two sockets.
    #[must_use]
    pub(crate) fn config(&self) -> UpiConfig {
        UpiConfig {
            sockets: 2,
            read_gbytes_per_s: self.read_gbytes_per_s.value,
            header_bytes: self.header_bytes.value,
            round_trip_extra: Picos::from_ns(self.round_trip_extra_ns.value),
        }
    }
}

/// A CXL memory card: latencies and bandwidths of its memory and link.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CxlFacts {
    /// Latency of a load, idle.
    pub read_ns: Sourced<f64>,
    /// Time from sending a line until its completion, idle.
    pub write_ns: Sourced<f64>,
    /// Bandwidth of the card's memory with reads only.
    pub read_gbytes_per_s: Sourced<f64>,
    /// Bandwidth of the card's memory with writes only.
    pub write_gbytes_per_s: Sourced<f64>,
    /// Bandwidth of the link per direction, including headers.
    pub link_gbytes_per_s: Sourced<f64>,
}

impl CxlFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.delay("cxl.read_ns", self.read_ns.value)?;
        check.delay("cxl.write_ns", self.write_ns.value)?;
        check.number("cxl.read_gbytes_per_s", self.read_gbytes_per_s.value, (0.1, 1e4))?;
        check.number("cxl.write_gbytes_per_s", self.write_gbytes_per_s.value, (0.1, 1e4))?;
        check.number("cxl.link_gbytes_per_s", self.link_gbytes_per_s.value, (0.1, 1e4))
    }

    /// Configuration of the card.
    #[must_use]
    pub(crate) fn config(&self) -> CxlConfig {
        CxlConfig {
            read_latency: Picos::from_ns(self.read_ns.value),
            write_latency: Picos::from_ns(self.write_ns.value),
            read_gbytes_per_s: self.read_gbytes_per_s.value,
            write_gbytes_per_s: self.write_gbytes_per_s.value,
            link_gbytes_per_s: self.link_gbytes_per_s.value,
        }
    }
}
