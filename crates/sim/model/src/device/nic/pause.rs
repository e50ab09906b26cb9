//! PAUSE: a port with a full buffer stops the sender at the other end of its wire.
//!
//! Models: IEEE 802.3x: a frame stops the sender for at most 65,535 quanta when the buffer passes a
//! threshold, and is repeated while the sender must stay stopped; another frame lets the sender resume
//! below a lower threshold.
//! Source: IEEE 802.3, annex 31B (a quantum is 512 bit times).
//! Simplifies: PAUSE frames take no time on the sending wire; a stopped sender loses no packets and
//! then sends the delayed ones at line rate.

use crate::traffic::Arrival;
use units::{Bytes, GbitPerSec, Picos, WIRE_OVERHEAD_BYTES};

/// Longest time that one frame can stop a sender, as the bytes that its wire could carry meanwhile.
const LONGEST_PAUSE: Bytes = Bytes(65_535 * 512 / 8);

/// When a port sends PAUSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseConfig {
    /// Level of the internal buffer at which the sender is stopped.
    pub xoff_bytes: u64,
    /// Level at which it may resume.
    pub xon_bytes: u64,
    /// Time from the decision until the wire falls silent, or carries frames again.
    pub response: Picos,
}

/// The sender at the other end, and the frames sent to it.
#[derive(Clone, Debug)]
pub(super) struct Pause {
    config: PauseConfig,
    line_rate: GbitPerSec,
    /// While stopped: since when the wire is silent, and when the last PAUSE frame was sent.
    stopped: Option<(Picos, Picos)>,
    /// The last arrival from a sender with a backlog: others follow it at line rate.
    late: Option<Picos>,
    /// PAUSE frames sent, including those that end a pause.
    pub(super) frames: u64,
    /// Time for which PAUSE kept the wire silent, over pauses that have ended.
    pub(super) silent: Picos,
}

impl Pause {
    pub(super) fn new(config: PauseConfig, line_rate: GbitPerSec) -> Self {
        Self { config, line_rate, stopped: None, late: None, frames: 0, silent: Picos::ZERO }
    }

    /// When a frame arrives that its source scheduled for `arrival.time`, given the present pause.
    pub(super) fn time_of(&self, arrival: &Arrival) -> Picos {
        let on_wire = Bytes(arrival.bytes.0 + WIRE_OVERHEAD_BYTES);
        let time = match self.late {
            Some(last) => arrival.time.max(last + self.line_rate.time_for(on_wire)),
            None => arrival.time,
        };
        match self.stopped {
            Some((silent, _)) if time > silent => Picos::NEVER,
            _ => time,
        }
    }

    /// Notes that a frame scheduled for `meant` arrived at `time`.
    pub(super) fn arrived(&mut self, meant: Picos, time: Picos) {
        self.late = (time > meant).then_some(time);
    }

    /// Checks the buffer's level; sends a frame if one is due.
    pub(super) fn watch(&mut self, level_bytes: u64, now: Picos) {
        match self.stopped {
            None if level_bytes > self.config.xoff_bytes => {
                self.frames += 1;
                self.stopped = Some((now + self.config.response, now));
            }
            Some((silent, _)) if level_bytes <= self.config.xon_bytes => {
                self.frames += 1;
                let resumes = now + self.config.response;
                self.silent += resumes.saturating_sub(silent);
                self.late = Some(resumes.max(silent));
                self.stopped = None;
            }
            Some((silent, told)) if now >= told + self.repeat_after() => {
                self.frames += 1;
                self.stopped = Some((silent, now));
            }
            _ => {}
        }
    }

    /// Whether the sender is stopped.
    pub(super) fn is_on(&self) -> bool {
        self.stopped.is_some()
    }

    /// When PAUSE must be sent again.
    pub(super) fn next_repeat(&self) -> Picos {
        self.stopped.map_or(Picos::NEVER, |(_, told)| told + self.repeat_after())
    }

    /// Half of the time in a frame, so that a pause never expires.
    fn repeat_after(&self) -> Picos {
        Picos(self.line_rate.time_for(LONGEST_PAUSE).0 / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: PauseConfig =
        PauseConfig { xoff_bytes: 1_000, xon_bytes: 500, response: Picos(1_000_000) };

    fn at(ps: u64) -> Arrival {
        Arrival { time: Picos(ps), bytes: Bytes(60), rss_hash: 0, flow: None }
    }

    #[test]
    fn what_is_in_flight_still_arrives_and_the_rest_waits_for_xon() {
        let mut pause = Pause::new(CONFIG, GbitPerSec(100.0));
        pause.watch(1_001, Picos(0));
        assert_eq!(pause.time_of(&at(1_000_000)), Picos(1_000_000));
        assert_eq!(pause.time_of(&at(1_000_001)), Picos::NEVER);
        pause.watch(501, Picos(5_000_000));
        assert!(pause.is_on());
        pause.watch(500, Picos(6_000_000));
        // 84 B at 100 Gbit/s after the sender received the frame.
        assert_eq!(pause.time_of(&at(1_000_001)), Picos(7_006_720));
        assert_eq!((pause.frames, pause.silent), (2, Picos(6_000_000)));
    }

    #[test]
    fn a_late_sender_catches_up_at_line_rate_and_is_then_on_time() {
        let mut pause = Pause::new(CONFIG, GbitPerSec(100.0));
        pause.watch(1_001, Picos(0));
        pause.watch(0, Picos(10_000_000));
        let mut meant = 1_000_001;
        let mut arrivals = Vec::new();
        for _ in 0..2_000 {
            let time = pause.time_of(&at(meant));
            pause.arrived(Picos(meant), time);
            arrivals.push((meant, time.0));
            meant += 13_440;
        }
        assert!(arrivals[..100].windows(2).all(|pair| pair[1].1 - pair[0].1 == 6_720));
        assert!(arrivals[1_600..].iter().all(|&(meant, time)| meant == time));
    }

    #[test]
    fn a_long_pause_is_repeated_before_it_runs_out() {
        let mut pause = Pause::new(CONFIG, GbitPerSec(100.0));
        pause.watch(2_000, Picos(0));
        let mut repeats = 0;
        while pause.next_repeat() < Picos(1_000_000_000) {
            let now = pause.next_repeat();
            pause.watch(2_000, now);
            repeats += 1;
        }
        // 65,535 quanta are 335.5 us at 100 Gbit/s; half of it goes 5 times into 1 ms.
        assert_eq!(repeats, 5);
        assert_eq!(pause.frames, 6);
    }
}
