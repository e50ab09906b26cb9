//! Contention: how limited bandwidth and limited concurrency delay timed calls.
//!
//! Models: any link, port or channel ([`Meter`]) and any pool of entries ([`Slots`]).
//! Source: occupancy simulation as in zsim and Sniper.
//! Simplifies: order inside one window of a meter is not kept, so contention is exact in throughput and
//! approximate below the window (DEVIATIONS.md, 1).

use crate::divisor::Divisor;
use units::Picos;
use units::narrow::usize_from;

/// Length of a window. Requests may come out of time order by about this much.
const WINDOW_PS: u64 = 64_000;
/// Windows kept: a backlog of up to 0.5 ms can be reserved ahead.
const WINDOWS: u64 = 8192;

/// Limited bandwidth: serves reservations at a fixed rate, in any order of their times.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Busy picoseconds of each window; the entry of window w is w modulo the length.
    busy_ps: Box<[u64; usize_from(WINDOWS)]>,
    /// The earliest window that may still have free time.
    first_free: u64,
    /// A run of full windows, so that a backlog is not searched repeatedly.
    full: (u64, u64),
    /// Windows at or after this index are still zero.
    end: u64,
    total_busy_ps: u64,
}

impl Default for Meter {
    fn default() -> Self {
        let busy_ps = Box::new([0; usize_from(WINDOWS)]);
        Self { busy_ps, first_free: 0, full: (0, 0), end: 0, total_busy_ps: 0 }
    }
}

impl Meter {
    /// Reserves `span` of the resource from `now` on; returns when the reservation ends.
    #[inline]
    pub fn reserve(&mut self, now: Picos, span: Picos) -> Picos {
        self.total_busy_ps += span.0;
        let mut left = span.0;
        let mut window = (now.0 / WINDOW_PS).max(self.first_free);
        loop {
            self.open(window);
            let entry = &mut self.busy_ps[(window % WINDOWS) as usize];
            let taken = left.min(WINDOW_PS - *entry);
            *entry += taken;
            left -= taken;
            if left == 0 {
                let served = Picos(window * WINDOW_PS + *entry);
                return served.max(now + span);
            }
            let next = self.behind_full(window);
            if window == self.first_free {
                self.first_free = next;
            }
            window = next;
        }
    }

    /// The first window after a full one that may have free time.
    #[inline]
    fn behind_full(&mut self, window: u64) -> u64 {
        let (start, end) = self.full;
        if !(start..=end).contains(&window) {
            self.full = (window, window + 1);
            return window + 1;
        }
        self.full.1 = end.max(window + 1);
        self.full.1
    }

    /// When a reservation made at `now` would be served.
    #[inline]
    #[must_use]
    pub fn free_from(&self, now: Picos) -> Picos {
        let own = now.0 / WINDOW_PS;
        let mut window = own.max(self.first_free);
        while window < self.end {
            if self.full.0 <= window && window < self.full.1 {
                window = self.full.1;
                continue;
            }
            let busy_ps = self.busy_ps[(window % WINDOWS) as usize];
            if busy_ps < WINDOW_PS {
                let from_ps = if window == own { 0 } else { window * WINDOW_PS + busy_ps };
                return now.max(Picos(from_ps));
            }
            window += 1;
        }
        now.max(Picos(window * WINDOW_PS))
    }

    /// Uses `span` of the resource without queueing: for small requests that an arbiter passes between
    /// large transfers. The used capacity delays other requests.
    #[inline]
    pub fn slip_in(&mut self, now: Picos, span: Picos) -> Picos {
        self.reserve(now, span);
        now + span
    }

    /// Busy time reserved since time zero.
    #[must_use]
    pub fn total_busy(&self) -> Picos {
        Picos(self.total_busy_ps)
    }

    /// Busy time up to `now`: a window's reservations are served from its start on.
    #[must_use]
    pub fn busy_until(&self, now: Picos) -> Picos {
        let (own, passed_ps) = (now.0 / WINDOW_PS, now.0 % WINDOW_PS);
        let oldest = self.end.saturating_sub(WINDOWS);
        let busy_ps = |window: u64| self.busy_ps[(window % WINDOWS) as usize];
        let of_own_ps = match own {
            _ if own >= self.end => 0,
            _ if own >= oldest => busy_ps(own).saturating_sub(passed_ps),
            // A backlog has filled the windows that are not kept any more.
            _ => (oldest - own) * WINDOW_PS - passed_ps,
        };
        let later_ps: u64 = ((own + 1).max(oldest)..self.end).map(busy_ps).sum();
        Picos(self.total_busy_ps.saturating_sub(of_own_ps + later_ps))
    }

    /// Share of the window before the one of `now` that was busy, 0 to 1.
    #[inline]
    #[must_use]
    pub fn utilisation_before(&self, now: Picos) -> f64 {
        let window = now.0 / WINDOW_PS;
        if window == 0 || window > self.end || window + WINDOWS <= self.end + 1 {
            return 0.0;
        }
        self.busy_ps[((window - 1) % WINDOWS) as usize] as f64 / WINDOW_PS as f64
    }

    /// Zeroes the windows up to `window` inclusive, and drops those that are too old.
    #[inline]
    fn open(&mut self, window: u64) {
        if window < self.end {
            return;
        }
        for fresh in self.end.max(window.saturating_sub(WINDOWS - 1))..=window {
            self.busy_ps[(fresh % WINDOWS) as usize] = 0;
        }
        self.end = window + 1;
        self.first_free = self.first_free.max(self.end.saturating_sub(WINDOWS));
    }
}

/// Limited concurrency of one agent: operation k starts no earlier than operation k - capacity ended.
/// For operations that begin in time order; [`Entries`] is for others.
#[derive(Clone, Debug)]
pub struct Slots {
    ends: Vec<Picos>,
    next: usize,
}

impl Slots {
    /// # Panics
    /// If `capacity` is zero. Platforms are checked before they get here.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        assert!(capacity > 0);
        Self { ends: vec![Picos::ZERO; capacity as usize], next: 0 }
    }

    /// When an operation that wants to start at `now` can start.
    #[inline]
    #[must_use]
    pub fn ready(&self, now: Picos) -> Picos {
        now.max(self.ends[self.next])
    }

    /// Occupies the next entry until `end`.
    #[inline]
    pub fn occupy(&mut self, end: Picos) {
        self.ends[self.next] = end;
        self.next = if self.next + 1 == self.ends.len() { 0 } else { self.next + 1 };
    }
}

/// Limited concurrency shared by agents whose operations come slightly out of time order: a pool
/// of entries whose entry-time is metered, so that throughput never exceeds entries / hold time.
#[derive(Clone, Debug)]
pub struct Entries {
    count: Divisor,
    meter: Meter,
}

impl Entries {
    /// # Panics
    /// If `count` is zero. Platforms are checked before they get here.
    #[must_use]
    pub fn new(count: u32) -> Self {
        assert!(count > 0);
        Self { count: Divisor::new(u64::from(count)), meter: Meter::default() }
    }

    /// When an operation of `now` would find a free entry.
    #[inline]
    #[must_use]
    pub fn free_from(&self, now: Picos) -> Picos {
        self.meter.free_from(now)
    }

    /// Admits operations that hold entries for `entry_time` in total; returns how long the last of them
    /// waits for one.
    #[inline]
    pub fn admit(&mut self, now: Picos, entry_time: Picos) -> Picos {
        let share = Picos(self.count.quotient(entry_time.0));
        self.meter.reserve(now, share).saturating_sub(now + share)
    }

    /// Time until `now` for which the entries were busy, all of them together counting as one.
    #[must_use]
    pub fn busy_until(&self, now: Picos) -> Picos {
        self.meter.busy_until(now)
    }

    /// Entry-time used since time zero; divided by a span it gives the mean occupancy.
    #[must_use]
    pub fn total_occupied(&self) -> Picos {
        Picos(self.meter.total_busy().0 * self.count.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_idle_meter_serves_at_once() {
        let mut meter = Meter::default();
        assert_eq!(meter.reserve(Picos(1_000_000), Picos(500)), Picos(1_000_500));
    }

    #[test]
    fn a_saturated_meter_serves_at_its_rate() {
        let mut meter = Meter::default();
        let last = (0..10_000).map(|_| meter.reserve(Picos::ZERO, Picos(1_000))).max();
        assert_eq!(last, Some(Picos(10_000_000)));
    }

    #[test]
    fn a_backlog_makes_a_meter_busy_from_now_on_and_no_longer() {
        // A millisecond of work at once: twice what the windows hold.
        let mut meter = Meter::default();
        for _ in 0..10_000 {
            meter.reserve(Picos::ZERO, Picos(100_000));
        }
        for now in [0, 1, 63_999, 64_000, 100_001, 400_000_000, 700_000_000, 1_000_000_000] {
            assert_eq!(meter.busy_until(Picos(now)), Picos(now));
        }
        assert_eq!(meter.busy_until(Picos(2_000_000_000)), Picos(1_000_000_000));
    }

    #[test]
    fn operation_k_waits_for_operation_k_minus_capacity() {
        let mut slots = Slots::new(2);
        slots.occupy(Picos(100));
        slots.occupy(Picos(50));
        assert_eq!(slots.ready(Picos(10)), Picos(100));
        slots.occupy(Picos(120));
        assert_eq!(slots.ready(Picos(10)), Picos(50));
    }

    #[test]
    fn a_pool_of_entries_serves_entries_over_hold_time() {
        let mut pool = Entries::new(92);
        // Lines that hold an entry for 300 ns: 92 / 300 ns, so 10,000 of them take 32.6 us.
        let hold = Picos(300_000);
        let waited = (0..10_000).map(|_| pool.admit(Picos::ZERO, hold)).max();
        let expected_ps = 10_000 * 300_000 / 92;
        assert!(waited.is_some_and(|waited| waited.0.abs_diff(expected_ps) < 100_000));
    }

    #[test]
    fn an_operation_far_ahead_does_not_hold_back_the_present() {
        let mut pool = Entries::new(4);
        pool.admit(Picos(10_000_000), Picos(100_000));
        assert_eq!(pool.admit(Picos::ZERO, Picos(100_000)), Picos::ZERO);
    }

    proptest! {
        #[test]
        fn a_meter_serves_from_when_it_says(
            requests in prop::collection::vec((0u64..2_000_000, 1u64..20_000), 1..300),
            now in 0u64..2_000_000,
        ) {
            let mut meter = Meter::default();
            for &(at, span) in &requests {
                meter.reserve(Picos(at), Picos(span));
            }
            let from = meter.free_from(Picos(now));
            // The smallest reservation ends there: just after it or, where the window of `now` itself
            // has free time (its order is not kept), up to a window later.
            let served = meter.reserve(Picos(now), Picos(1));
            prop_assert!(from.0 >= now && served.0 > from.0, "{from:?}, {served:?}");
            prop_assert!(served.0 <= from.0 + WINDOW_PS, "{from:?}, {served:?}");
        }

        #[test]
        fn a_meter_is_busy_for_no_longer_than_time_passes(
            requests in prop::collection::vec((0u64..2_000_000, 1u64..20_000), 1..300),
            mut times in prop::collection::vec(0u64..4_000_000, 2..20),
        ) {
            let mut meter = Meter::default();
            for &(at, span) in &requests {
                meter.reserve(Picos(at), Picos(span));
            }
            times.sort_unstable();
            for pair in times.windows(2) {
                let busy = [0, 1].map(|at| meter.busy_until(Picos(pair[at])).0);
                prop_assert!(busy[0] <= busy[1] && busy[1] - busy[0] <= pair[1] - pair[0]);
            }
        }

        #[test]
        fn a_meter_never_serves_more_than_its_capacity(
            requests in prop::collection::vec((0u64..2_000_000, 1u64..20_000), 1..300),
        ) {
            let mut meter = Meter::default();
            let mut served: Vec<(u64, u64)> = requests
                .iter()
                .map(|&(now, span)| {
                    let end = meter.reserve(Picos(now), Picos(span));
                    assert!(end.0 >= now + span);
                    (end.0, span)
                })
                .collect();
            served.sort_unstable();
            let mut total = 0;
            for (end, span) in served {
                total += span;
                // Order inside a window is not kept: a reservation may end up to a window early.
                prop_assert!(total <= end + WINDOW_PS);
            }
        }
    }
}
