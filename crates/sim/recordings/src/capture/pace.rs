//! The times at which the packets of a capture are to be replayed.
//!
//! A capture may begin with a time of 1970 or be idle for a night. Idle times are shortened to the longest
//! that is wanted, which is a time of the replay: it is compared when all times have been scaled.

use units::{Picos, WIRE_OVERHEAD_BYTES};

use super::CaptureOptions;
use super::error::CaptureFault;

const PICOS_PER_DAY: u128 = 86_400 * 1_000_000_000_000;

/// How the times of a capture were changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Paced {
    /// Idle times that were longer than the longest wanted.
    pub shortened: u64,
    /// The longest time without a packet in the replay.
    pub longest: Picos,
    /// Replayed time per time of the capture; `None` if the rate that was asked for decides on it.
    pub stretch: Option<f64>,
}

/// Makes times in order relative to the first of them, and shortens idle times. `frame_bytes` is the sum of
/// the frames without FCS.
///
/// Times that are to be scaled and are too long for 64 bits are divided by a power of two, which the stretch
/// makes up for.
///
/// # Errors
/// If there are no times, or if the replay would be longer than simulated time can last.
pub(super) fn pace(
    mut times: Vec<&mut i128>,
    frame_bytes: u64,
    options: &CaptureOptions,
) -> Result<Paced, CaptureFault> {
    let start_ps = **times.first().ok_or(CaptureFault::NoPackets)?;
    times.iter_mut().for_each(|time| **time -= start_ps);
    let stretch = options.scale_to_gbps.and_then(|gbps| stretch(&times, frame_bytes, gbps));
    let shortened = shorten(&mut times, options.longest_gap.0 as f64 / stretch.unwrap_or(1.0));
    let span_ps = times.last().map_or(0, |last| **last);
    if span_ps as f64 * stretch.unwrap_or(1.0) >= Picos::LATEST.0 as f64 {
        let days = u64::try_from(span_ps.unsigned_abs() / PICOS_PER_DAY).unwrap_or(u64::MAX);
        return Err(CaptureFault::TooLong { days });
    }
    let gaps = times.windows(2).map(|pair| (*pair[1] - *pair[0]) as f64);
    let longest = Picos::from_ns(gaps.fold(0.0, f64::max) * stretch.unwrap_or(1.0) / 1e3);
    let shift = (128 - span_ps.leading_zeros()).saturating_sub(64);
    times.iter_mut().for_each(|time| **time >>= shift);
    let is_changed = shortened > 0 || shift > 0;
    let divided_by = 2.0_f64.powi(shift.cast_signed());
    Ok(Paced {
        shortened,
        longest,
        stretch: stretch.filter(|_| is_changed).map(|stretch| stretch * divided_by),
    })
}

/// Replayed time per captured time at a mean rate; `None` if all times are the same.
///
/// The gap behind the last packet is a mean one, as a replay in loops has it.
fn stretch(times: &[&mut i128], frame_bytes: u64, gbps: f64) -> Option<f64> {
    let packets = times.len() as f64;
    let span_ps = times.last().map_or(0, |last| **last) as f64;
    let wire_bytes = (frame_bytes + times.len() as u64 * WIRE_OVERHEAD_BYTES) as f64;
    let loop_ps = span_ps * packets / (packets - 1.0);
    (span_ps > 0.0).then(|| wire_bytes * 8e3 / gbps / loop_ps)
}

/// Shortens what is longer than `longest_ps` between two times; returns how many there were.
fn shorten(times: &mut [&mut i128], longest_ps: f64) -> u64 {
    let mut shortened = 0;
    let mut removed_ps = 0;
    let mut previous_ps = 0;
    for time in times {
        let gap_ps = **time - previous_ps;
        previous_ps = **time;
        if gap_ps as f64 > longest_ps {
            shortened += 1;
            #[expect(clippy::cast_possible_truncation, reason = "it is less than the gap")]
            let kept_ps = longest_ps as i128;
            removed_ps += gap_ps - kept_ps;
        }
        **time -= removed_ps;
    }
    shortened
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CutShort;
    const SECOND_PS: i128 = 1_000_000_000_000;

    fn paced(
        times: &[i128],
        scale_to_gbps: Option<f64>,
        longest_gap: Picos,
    ) -> (Vec<i128>, Result<Paced, CaptureFault>) {
        let mut times = times.to_vec();
        let options = CaptureOptions { cut_short: CutShort::Refused, scale_to_gbps, longest_gap };
        let frames = 100 * times.len() as u64;
        let result = pace(times.iter_mut().collect(), frames, &options);
        (times, result)
    }

    #[test]
    fn times_without_idle_ones_begin_at_zero_and_are_else_as_captured() {
        let (times, result) = paced(&[5, 7, 7, 20], None, Picos(13));
        assert_eq!(times, [0, 2, 2, 15]);
        assert_eq!(result.unwrap(), Paced { longest: Picos(13), ..Paced::default() });
    }

    #[test]
    fn each_idle_time_is_shortened_to_the_longest_wanted() {
        let (times, result) = paced(&[0, 100, 110, 500], None, Picos(30));
        assert_eq!(times, [0, 30, 40, 70]);
        assert_eq!(result.unwrap(), Paced { shortened: 2, longest: Picos(30), stretch: None });
    }

    #[test]
    fn an_idle_time_is_compared_when_it_has_been_scaled() {
        // 4 x 124 B at 1 Gbit/s take 3968 ns; a loop is 4/3 of 3 s. So 2 s become 1984 ns.
        let seconds = [0, SECOND_PS / 2, SECOND_PS, 3 * SECOND_PS];
        let kept = paced(&seconds, Some(1.0), Picos(1_984_001));
        assert_eq!(kept.0, seconds);
        let unchanged = Paced { longest: Picos(1_984_000), ..Paced::default() };
        assert_eq!(kept.1.unwrap(), unchanged);
        let (times, result) = paced(&seconds, Some(1.0), Picos(992_000));
        assert_eq!(times[3], 2 * SECOND_PS);
        let Paced { shortened, stretch, .. } = result.unwrap();
        assert_eq!(shortened, 1);
        assert!((stretch.unwrap() / 992e-9 - 1.0).abs() < 1e-12, "{stretch:?}");
    }

    #[test]
    fn years_can_be_scaled_to_a_rate_and_are_refused_otherwise() {
        let years = 320_000_000 * SECOND_PS;
        let longest = Picos(u64::MAX / 2);
        let (times, result) = paced(&[0, years, years + SECOND_PS], Some(1.0), longest);
        let Paced { shortened, stretch, .. } = result.unwrap();
        assert_eq!(shortened, 0);
        // A loop of three gaps, of which two are between packets, takes 3 x 124 B.
        let span_ps = times[2] as f64 * stretch.unwrap();
        assert!((span_ps / 1_984_000.0 - 1.0).abs() < 1e-9, "{span_ps}");
        let (_, refused) = paced(&[0, years, 2 * years, 3 * years], None, longest);
        assert!(matches!(refused, Err(CaptureFault::TooLong { days: 320 })), "{refused:?}");
    }
}
