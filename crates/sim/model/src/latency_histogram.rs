//! Histograms of latencies, for devices and applications that measure them.

use hdrhistogram::Histogram;

/// Longest latency that is distinguished; longer ones count as this.
const MAX_LATENCY_NS: u64 = 1_000_000_000;

/// An empty histogram of latencies in ns, three digits exact.
///
/// # Panics
/// Never: the bounds are constants that it accepts.
#[must_use]
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_max(MAX_LATENCY_NS, 3).expect("constant bounds are accepted")
}

/// The latencies recorded since the last call.
pub fn take(histogram: &mut Histogram<u64>) -> Histogram<u64> {
    std::mem::replace(histogram, latency_histogram())
}

/// An empty histogram for a phase of a request, two digits exact: there are many of them.
///
/// # Panics
/// Never: the bounds are constants that it accepts.
#[must_use]
pub fn phase_histogram() -> Histogram<u64> {
    Histogram::new_with_max(MAX_LATENCY_NS, 2).expect("constant bounds are accepted")
}
