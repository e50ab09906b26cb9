//! Rates and shares of counts.

use units::{Bytes, GbitPerSec, LINE_BYTES, Picos, WIRE_OVERHEAD_BYTES};

/// Hits in percent; not a number, null in JSON, if there were no events.
pub(crate) fn percent(hits: u64, misses: u64) -> f64 {
    100.0 * hits as f64 / (hits + misses) as f64
}

/// A count as a metric; not a number if nothing was counted.
pub(crate) fn counted(count: Option<u64>) -> f64 {
    count.map_or(f64::NAN, |count| count as f64)
}

/// Gbit/s on the wire of `packets` frames of `bytes` bytes in total, including FCS, preamble and gap.
pub(crate) fn wire_gbps(packets: u64, bytes: u64, span: Picos) -> f64 {
    GbitPerSec::from_transfer(Bytes(bytes + packets * WIRE_OVERHEAD_BYTES), span).0
}

/// Events in millions per second: `count` by `span` in microseconds.
pub(crate) fn per_microsecond(count: u64, span: Picos) -> f64 {
    if span == Picos::ZERO { 0.0 } else { count as f64 / (span.as_ns() / 1e3) }
}

/// Bandwidth in GB/s of `lines` moved in `span`.
pub(crate) fn gbytes_per_s(lines: u64, span: Picos) -> f64 {
    if span == Picos::ZERO { 0.0 } else { (lines * LINE_BYTES) as f64 / span.as_ns() }
}
