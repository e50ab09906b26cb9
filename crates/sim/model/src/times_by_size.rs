//! Durations of transfers, by their size.
//!
//! Models: a table of a rate's time for each packet size, which saves every transfer a floating-point
//! product or quotient and its conversions.
//! Source: sizes of Ethernet frames and of what they become on a PCIe link.
//!
//! Times of larger sizes are computed.

use units::Picos;
use units::narrow::usize_from;

/// Sizes below this are tabulated: frames of 1514 B with the headers of their PCIe packets.
const KNOWN_BYTES: u64 = 2048;

/// Times at a rate that does not change.
#[derive(Clone, Debug)]
pub(crate) struct TimesBySize {
    known: Box<[Picos]>,
}

impl TimesBySize {
    /// The table of `time_for` for each size.
    pub(crate) fn new(time_for: impl Fn(u64) -> Picos) -> Self {
        Self { known: (0..KNOWN_BYTES).map(time_for).collect() }
    }

    /// The time for `bytes`; `time_for` is the function of [`Self::new`].
    #[inline]
    pub(crate) fn look_up(&self, bytes: u64, time_for: impl FnOnce(u64) -> Picos) -> Picos {
        match self.known.get(usize_from(bytes)) {
            Some(&time) => time,
            None => time_for(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::narrow::whole;

    #[test]
    fn times_are_those_of_the_function_whatever_the_size() {
        let time_for = |bytes: u64| Picos(whole(bytes as f64 * 70.3));
        let times = TimesBySize::new(time_for);
        for bytes in 0..3 * KNOWN_BYTES {
            assert_eq!(times.look_up(bytes, time_for), time_for(bytes), "{bytes} B");
        }
    }
}
