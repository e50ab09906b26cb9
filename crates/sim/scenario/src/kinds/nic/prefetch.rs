//! Keys of the software prefetches of received packets.

use super::check::BURST;
use crate::contract::inert::Inert;
use crate::text::check::Check;
use crate::text::error::InputError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::app::prefetch::SoftwarePrefetch;
use workload::driver::mempool::MBUF_LINES;

/// The largest packet's lines.
const PACKET_LINES: (u32, u32) = (0, 256);
const MBUF: (u64, u64) = (0, MBUF_LINES);

/// Software prefetches of received packets, for applications that take them in bursts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PrefetchKeys {
    /// Distance of the packet that is prefetched from the one in work, in packets; no more than `burst`. 0
    /// prefetches nothing. By default all packets of a burst are prefetched when it is received.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = BURST.1))]
    pub packets_ahead: Option<u32>,
    /// Number of lines at the head of each packet that are prefetched. 1 by default, the line of the headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = PACKET_LINES.0, max = PACKET_LINES.1))]
    pub packet_lines: Option<u32>,
    /// Number of lines of each mbuf that are prefetched. 0 by default: the driver fills in the first, and the
    /// second is read when the buffer is freed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MBUF.0, max = MBUF.1))]
    pub mbuf_lines: Option<u64>,
}

impl PrefetchKeys {
    /// Whether no key is stated.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The keys as parameters of cores that take bursts of `burst` packets.
    pub(super) fn prefetch(&self, burst: u32) -> SoftwarePrefetch {
        SoftwarePrefetch {
            packets_ahead: self.packets_ahead.unwrap_or(burst) as usize,
            packet_lines: self.packet_lines.unwrap_or(1).into(),
            mbuf_lines: self.mbuf_lines.unwrap_or(0),
        }
    }

    pub(super) fn check(&self, check: &Check<'_>, burst: u32) -> Result<(), InputError> {
        let ahead = self.packets_ahead.unwrap_or(0);
        check.whole("prefetch.packets_ahead", ahead, (0, burst), "packets, those of a burst")?;
        let lines = self.packet_lines.unwrap_or(0);
        check.whole("prefetch.packet_lines", lines, PACKET_LINES, "lines")?;
        check.whole("prefetch.mbuf_lines", self.mbuf_lines.unwrap_or(0), MBUF, "lines of an mbuf")
    }

    /// Keys without effect on cores that prefetch packets, or on others.
    pub(super) fn inert(&self, prefetches: bool) -> Vec<Inert> {
        if !prefetches {
            let because = "the application has a loop of its own, which prefetches nothing";
            return Inert::all(["prefetch"], because).collect();
        }
        if self.packets_ahead == Some(0) {
            let lines = ["prefetch.packet_lines", "prefetch.mbuf_lines"];
            let because = "nothing is prefetched (prefetch.packets_ahead = 0)";
            return Inert::all(lines, because).collect();
        }
        if self.packet_lines == Some(0) && self.mbuf_lines.unwrap_or(0) == 0 {
            let because = "no line is prefetched (prefetch.packet_lines = 0)";
            return Inert::all(["prefetch.packets_ahead"], because).collect();
        }
        Vec::new()
    }
}
