//! Departure times of frames on a wire.
//!
//! Models: serialisation of frames, each with FCS, preamble and gap, on one direction of a link.
//! Source: IEEE 802.3; the overhead is [`WIRE_OVERHEAD_BYTES`].
//!
//! Times are products, not running sums, so that rounding errors do not add up.

use units::{Picos, WIRE_OVERHEAD_BYTES};

/// Bytes on the wire of a frame of `frame_bytes` without FCS.
pub(super) fn wire_bytes(frame_bytes: u64) -> u64 {
    frame_bytes + WIRE_OVERHEAD_BYTES
}

/// Picoseconds that a byte takes at `gbps`.
///
/// # Panics
/// If the rate is not a positive number. Scenarios are checked before they get here.
pub(super) fn picos_per_byte(gbps: f64) -> f64 {
    assert!(gbps > 0.0 && gbps.is_finite(), "a rate must be a positive number, not {gbps} Gbit/s");
    8e3 / gbps
}

/// The nearest picosecond, halves upwards: the result of `f64::round` for times, without a call of the
/// C library for every frame.
fn rounded(time_ps: f64) -> Picos {
    // Signed, which a host converts in one instruction.
    #[expect(clippy::cast_possible_truncation, reason = "the fraction is looked at below")]
    let whole = time_ps as i64;
    // Exact: a time with a fraction is below 2^52, where no bit of it is lost.
    let up = time_ps - whole as f64 >= 0.5;
    Picos(whole.cast_unsigned() + u64::from(up))
}

/// Equal spacing: frame k (from 1) arrives at k times the spacing.
#[derive(Clone, Debug)]
pub(super) struct FrameSpacing {
    spacing_ps: f64,
    sent: u64,
}

impl FrameSpacing {
    /// Spacing of frames of one size that together offer `offered_gbps` on the wire.
    pub(super) fn of_frames(frame_bytes: u64, offered_gbps: f64) -> Self {
        Self { spacing_ps: wire_bytes(frame_bytes) as f64 * picos_per_byte(offered_gbps), sent: 0 }
    }

    /// The arrival of the next frame.
    pub(super) fn next_time(&mut self) -> Picos {
        self.sent += 1;
        rounded(self.sent as f64 * self.spacing_ps)
    }
}

/// A wire that serialises frames: none arrives earlier than its predecessor and its own bytes allow.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    picos_per_byte: f64,
    /// When the wire last went from idle to busy, or delivered a frame it had not delayed.
    busy_since_ps: f64,
    /// Bytes that it has delivered since then.
    delivered_bytes: u64,
}

impl Wire {
    /// An idle wire of the given rate, at time zero.
    pub(super) fn new(line_rate_gbps: f64) -> Self {
        Self {
            picos_per_byte: picos_per_byte(line_rate_gbps),
            busy_since_ps: 0.0,
            delivered_bytes: 0,
        }
    }

    /// When a frame arrives that is due at `wanted_ps`.
    pub(super) fn arrival(&mut self, wanted_ps: f64, frame_bytes: u64) -> Picos {
        self.delivered_bytes += wire_bytes(frame_bytes);
        let earliest_ps = self.busy_since_ps + self.delivered_bytes as f64 * self.picos_per_byte;
        if wanted_ps >= earliest_ps {
            self.busy_since_ps = wanted_ps;
            self.delivered_bytes = 0;
        }
        rounded(wanted_ps.max(earliest_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::narrow::whole;

    proptest! {
        #[test]
        fn times_are_rounded_as_f64_rounds(picos in 0u64..1 << 52, part in 0.0f64..1.0) {
            for time in [picos as f64 + part, part, (picos >> 20) as f64 + part, picos as f64 + 0.5] {
                prop_assert_eq!(rounded(time), Picos(whole(time.round())));
            }
        }
    }

    #[test]
    fn the_largest_number_below_a_half_is_nothing() {
        for time in [0.5f64.next_down(), 0.5, 1.5f64.next_down(), 4_503_599_627_370_495.5] {
            assert_eq!(rounded(time), Picos(whole(time.round())));
        }
    }

    #[test]
    fn the_first_frame_needs_its_own_time_on_the_wire() {
        assert_eq!(Wire::new(100.0).arrival(0.0, 60), Picos(6_720));
    }

    #[test]
    fn frames_wanted_too_soon_arrive_back_to_back() {
        let mut wire = Wire::new(10.0);
        wire.arrival(1e6, 60);
        assert_eq!(wire.arrival(1e6 + 1.0, 60), Picos(1_067_200));
        assert_eq!(wire.arrival(1e6 + 2.0, 126), Picos(1_067_200 + 120_000));
    }

    #[test]
    fn a_frame_wanted_later_than_the_wire_needs_is_not_moved() {
        let mut wire = Wire::new(10.0);
        wire.arrival(1e6, 60);
        assert_eq!(wire.arrival(2e6, 60), Picos(2_000_000));
    }

    #[test]
    fn a_frame_that_just_fits_is_not_delayed() {
        let mut wire = Wire::new(100.0);
        wire.arrival(1e6, 60);
        assert_eq!(wire.arrival(1e6 + 6_720.0, 60), Picos(1_006_720));
    }

    #[test]
    #[should_panic(expected = "positive number")]
    fn a_rate_of_zero_is_our_own_bug() {
        let _ = picos_per_byte(0.0);
    }
}
