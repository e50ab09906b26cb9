//! Memory behind the caches of a socket.
//!
//! Models: channels, ranks, bank groups, banks with an open row, refresh, write queues drained in
//! batches with the turn-around of the bus, address interleave; a constant latency between core and
//! controller. Each call finds its slot in the schedule of banks and buses at once and returns.
//! Source: JEDEC JESD79-4 (DDR4) and JESD79-5 (DDR5) for the rules; the platform file for the values.
//! Simplifies: the controller's re-ordering (first-ready first-come-first-served) is approximated:
//! calls are scheduled in the order in which they come, but fill the gaps that others leave on the bus,
//! and a row hit overtakes an earlier conflict while its row is still open. The queue for reads has no
//! limit; a read does not search the write queue; rank switches are a mean gap.

mod bank;
mod channel;
mod interleave;
mod rank;
mod time_slots;
mod timing;
mod write_queue;

pub use bank::RowPolicy;
pub use interleave::{BankHash, ChannelHash, Geometry};
pub use timing::Timing;
pub use write_queue::WriteQueueConfig;

use crate::reading;
use channel::{ChannelTiming, DramChannel};
use interleave::Interleave;
use units::{LineAddr, Picos};

/// Parameters of a socket's memory: DRAM channels and their controllers.
#[derive(Clone, Debug)]
pub struct DramConfig {
    /// Number of channels, ranks, banks and rows, and how addresses are interleaved over them.
    pub geometry: Geometry,
    /// Times between commands of the DRAM devices.
    pub timing: Timing,
    /// When the controller closes open rows.
    pub row_policy: RowPolicy,
    /// Write queue of each channel.
    pub writes: WriteQueueConfig,
    /// Mean idle time of the data bus after each transfer: rank switches, and commands that are not
    /// scheduled one by one.
    pub burst_gap: Picos,
    /// Time from a core through caches and mesh to the controller and back, without DRAM.
    pub path: Picos,
}

impl DramConfig {
    /// Bandwidth of all channels with their data buses always busy, in GB/s.
    #[must_use]
    pub fn peak_gbytes_per_s(&self) -> f64 {
        f64::from(self.geometry.channels) * self.timing.peak_gbytes_per_s()
    }

    /// Latency of a read that waits for nothing and hits an open row.
    #[must_use]
    pub fn least_read_latency(&self) -> Picos {
        self.path + self.timing.tcl + self.timing.burst()
    }
}

/// Counters of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DramCounters {
    /// Number of lines read.
    pub lines_read: u64,
    /// Number of lines written, including those that wait in a queue.
    pub lines_written: u64,
    /// Number of transfers that found their row open.
    pub row_hits: u64,
    /// Number of transfers that found no row open.
    pub row_empties: u64,
    /// Number of transfers that found another row open.
    pub row_conflicts: u64,
    /// Number of transfers that a refresh delayed.
    pub refresh_waits: u64,
    /// Total delay of transfers by refreshes.
    pub refresh_wait: Picos,
    /// Number of batches in which queued writes were sent to the devices.
    pub write_batches: u64,
}

reading!(DramCounters {
    lines_read,
    lines_written,
    row_hits,
    row_empties,
    row_conflicts,
    refresh_waits,
    refresh_wait,
    write_batches
});

/// The DRAM channels of a socket with their controllers.
#[derive(Clone, Debug)]
pub struct Dram {
    /// Boxed, because serving a line does not need it.
    config: Box<DramConfig>,
    /// From a core to the controller, and back.
    there: Picos,
    back: Picos,
    interleave: Interleave,
    rules: ChannelTiming,
    channels: Vec<DramChannel>,
    lines_read: u64,
    lines_written: u64,
}

impl Dram {
    /// Idle memory.
    ///
    /// # Panics
    /// If a number that must be a power of two is not, or watermarks are out of order. Platforms are
    /// checked before they get here.
    #[must_use]
    pub fn new(config: DramConfig) -> Self {
        let rules = ChannelTiming::new(&config);
        let there = Picos(config.path.0 / 2);
        let channel = |index| DramChannel::new(&config, &rules, index);
        Self {
            interleave: Interleave::new(&config.geometry),
            channels: (0..config.geometry.channels).map(channel).collect(),
            rules,
            lines_read: 0,
            lines_written: 0,
            there,
            back: config.path - there,
            config: Box::new(config),
        }
    }

    /// Reads a line; returns when its data arrives.
    #[inline]
    pub fn read(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.lines_read += 1;
        let place = self.interleave.place(line);
        let channel = &mut self.channels[place.channel as usize];
        channel.read(place.in_channel, now + self.there, &self.rules) + self.back
    }

    /// Writes a line that has reached the controller; returns when the queue has taken it, which is
    /// later than `now` if the write queue is full. The write is posted: the sender does not wait for
    /// the array.
    #[inline]
    pub fn write(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.lines_written += 1;
        let place = self.interleave.place(line);
        let channel = &mut self.channels[place.channel as usize];
        channel.write(place.in_channel, now, &self.rules)
    }

    /// When every channel has a free entry for a write of `now`.
    #[must_use]
    pub fn writes_free_from(&self, now: Picos) -> Picos {
        let channels = self.channels.iter();
        channels.fold(now, |latest, channel| latest.max(channel.writes_free_from(now)))
    }

    /// Time for which the busiest channel has transferred data.
    #[must_use]
    pub fn busy(&self) -> Picos {
        let channels = self.channels.iter();
        channels.map(|channel| channel.busy(&self.rules)).max().unwrap_or_default()
    }

    /// Forgets all traffic so far: queues are empty, no row is open.
    pub fn forget(&mut self) {
        *self = Self::new((*self.config).clone());
    }

    /// Lines read and written since time zero.
    #[must_use]
    pub fn lines_moved(&self) -> (u64, u64) {
        (self.lines_read, self.lines_written)
    }

    /// Counters since time zero.
    #[must_use]
    pub fn counters(&self) -> DramCounters {
        let mut sum = DramCounters {
            lines_read: self.lines_read,
            lines_written: self.lines_written,
            ..DramCounters::default()
        };
        self.channels.iter().for_each(|channel| channel.count(&mut sum));
        sum
    }

    /// Geometry, timing and policies of the memory.
    #[must_use]
    pub fn config(&self) -> &DramConfig {
        &self.config
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::narrow::usize_from;

    fn ns(ns: f64) -> Picos {
        Picos::from_ns(ns)
    }

    /// gem5 DRAMInterface.py@1db206b, DDR4_2400_8x8; write latency as read latency.
    pub(super) fn ddr4_2400() -> Timing {
        Timing {
            mega_transfers_per_s: 2400.0,
            bus_bytes: 8,
            tcl: ns(14.16),
            tcwl: ns(14.16),
            trcd: ns(14.16),
            trp: ns(14.16),
            tras: ns(32.0),
            trrd: ns(3.332),
            tfaw: ns(21.0),
            tccd_l: ns(5.0),
            trfc: ns(350.0),
            trefi: ns(7800.0),
            twr: ns(15.0),
            twtr: ns(5.0),
            trtp: ns(7.5),
        }
    }

    fn config(channels: u32) -> DramConfig {
        DramConfig {
            geometry: Geometry {
                channels,
                ranks: 2,
                bank_groups: 4,
                banks_per_group: 4,
                row_bytes: 8192,
                channel_granularity_lines: 4,
                neighbouring_bank_groups: 2,
                channel_hash: ChannelHash::Rotated,
                bank_hash: BankHash::RowXor,
            },
            timing: ddr4_2400(),
            row_policy: RowPolicy::Open,
            writes: WriteQueueConfig { entries: 48, high_watermark: 40, low_watermark: 24 },
            burst_gap: Picos::ZERO,
            path: ns(50.0),
        }
    }

    const NOW: Picos = Picos(1_000_000);
    /// Two lines further is the same row: neighbours alternate between two bank groups.
    const SAME_ROW: LineAddr = LineAddr(2);

    /// A line in the same bank of a single channel, in another row, without the bank hash.
    fn other_row(config: &DramConfig) -> LineAddr {
        let geometry = &config.geometry;
        LineAddr::of_byte(u64::from(geometry.row_bytes * geometry.banks_per_channel()))
    }

    #[test]
    fn an_idle_read_pays_way_activation_column_and_burst() {
        let config = config(6);
        let activation = config.timing.trcd;
        let done = Dram::new(config.clone()).read(LineAddr(12_345), NOW);
        assert_eq!(done, NOW + config.least_read_latency() + activation);
    }

    #[test]
    fn an_open_row_is_read_without_activation() {
        let config = config(1);
        let mut dram = Dram::new(config.clone());
        let later = dram.read(LineAddr(0), NOW) + NOW;
        assert_eq!(dram.read(SAME_ROW, later), later + config.least_read_latency());
        assert_eq!((dram.counters().row_empties, dram.counters().row_hits), (1, 1));
    }

    #[test]
    fn another_row_of_the_bank_pays_precharge_and_activation() {
        let mut config = config(1);
        config.geometry.bank_hash = BankHash::Plain;
        let mut dram = Dram::new(config.clone());
        let later = dram.read(LineAddr(0), NOW) + NOW;
        let expected = config.least_read_latency() + config.timing.trp + config.timing.trcd;
        assert_eq!(dram.read(other_row(&config), later), later + expected);
        assert_eq!(dram.counters().row_conflicts, 1);
    }

    #[test]
    fn a_closed_page_policy_makes_every_isolated_access_an_activation() {
        let mut config = config(1);
        config.row_policy = RowPolicy::Closed;
        let mut dram = Dram::new(config);
        let later = dram.read(LineAddr(0), NOW) + NOW;
        dram.read(SAME_ROW, later);
        assert_eq!((dram.counters().row_empties, dram.counters().row_hits), (2, 0));
    }

    #[test]
    fn a_refresh_holds_back_a_read_for_trfc_at_most() {
        let config = config(1);
        let mut dram = Dram::new(config.clone());
        // Two ranks take turns: the first is refreshed in the middle of each period.
        let begins = Picos(config.timing.trefi.0 / 2);
        let asked = begins - Picos(config.path.0 / 2);
        let idle = config.least_read_latency() + config.timing.trcd;
        let done = dram.read(LineAddr(0), asked);
        assert_eq!(done, asked + config.timing.trfc + idle);
        let counters = dram.counters();
        assert_eq!((counters.refresh_waits, counters.refresh_wait), (1, config.timing.trfc));
    }

    #[test]
    fn neighbouring_lines_in_one_bank_group_are_a_long_column_delay_apart() {
        let config = config(1);
        let mut dram = Dram::new(config.clone());
        // At a multiple of the column path's slots.
        let opened = dram.read(LineAddr(0), NOW);
        let way = config.path.0 / 2;
        let command = opened.0.next_multiple_of(config.timing.tccd_l.0) + config.timing.tccd_l.0;
        let asked = Picos(command - way);
        let first = dram.read(LineAddr(2), asked);
        let second = dram.read(LineAddr(4), asked);
        assert_eq!(first, asked + config.least_read_latency());
        assert!(second - first >= config.timing.tccd_l);
        assert!(second - first <= config.timing.tccd_l + config.timing.burst());
    }

    #[test]
    fn writes_are_posted_until_the_queue_is_full() {
        let config = config(1);
        let mut dram = Dram::new(config.clone());
        let entries = u64::from(config.writes.entries);
        let taken: Vec<Picos> = (0..4 * entries).map(|i| dram.write(LineAddr(i), NOW)).collect();
        assert!(taken[..usize_from(entries)].iter().all(|&at| at == NOW));
        assert!(taken[usize_from(entries)] > NOW);
        assert!(taken.windows(2).all(|two| two[0] <= two[1]));
    }

    #[test]
    fn a_batch_of_writes_pays_the_turn_around_once() {
        let config = config(1);
        let mut dram = Dram::new(config.clone());
        let batch = u64::from(config.writes.high_watermark - config.writes.low_watermark);
        let batches = 200;
        let writes = u64::from(config.writes.low_watermark) + batches * batch;
        // Neighbouring lines: rows stay open, so the bus is the limit.
        let last = (0..writes).map(|i| dram.write(LineAddr(i), Picos::ZERO)).max();
        assert_eq!(dram.counters().write_batches, batches);
        let expected_ps =
            batches * (batch * config.timing.burst().0 + config.timing.turnaround().0);
        let ratio = last.map_or(0.0, |last| last.0 as f64 / expected_ps as f64);
        // Refreshes of both ranks add at most their share of time.
        let refresh = config.timing.trfc.0 as f64 / config.timing.trefi.0 as f64;
        assert!((0.97..1.03 + 2.0 * refresh).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_read_waits_for_a_batch_of_writes() {
        let config = config(1);
        let mut dram = Dram::new(config.clone());
        for i in 0..u64::from(config.writes.high_watermark) {
            dram.write(LineAddr(i), NOW);
        }
        let idle = config.least_read_latency() + config.timing.trcd;
        let waited = dram.read(LineAddr(1 << 20), NOW) - (NOW + idle);
        let batch = u64::from(config.writes.high_watermark - config.writes.low_watermark);
        assert!(waited.0 > batch / 2 * config.timing.burst().0, "{waited:?}");
    }

    #[test]
    fn a_row_that_was_written_is_closed_after_write_recovery() {
        let mut config = config(1);
        config.geometry.bank_hash = BankHash::Plain;
        config.writes = WriteQueueConfig { entries: 1, high_watermark: 1, low_watermark: 0 };
        let mut dram = Dram::new(config.clone());
        dram.write(LineAddr(0), NOW);
        let timing = &config.timing;
        let written = NOW + timing.trcd + timing.tcwl + timing.burst();
        let read = timing.trp + timing.trcd + timing.tcl + timing.burst();
        let back = Picos(config.path.0 / 2);
        let done = dram.read(other_row(&config), NOW);
        assert_eq!(done, written + timing.twr + read + back);
    }

    #[test]
    fn sustained_traffic_comes_near_the_peak_and_never_exceeds_it() {
        let config = config(6);
        let mut dram = Dram::new(config.clone());
        let lines = 200_000;
        let last = (0..lines).map(|i| dram.read(LineAddr(i), Picos::ZERO)).max();
        let gbytes_per_s = last.map_or(0.0, |last| lines as f64 * 64.0 / last.as_ns());
        let share = gbytes_per_s / config.peak_gbytes_per_s();
        let refresh = config.timing.trfc.0 as f64 / config.timing.trefi.0 as f64;
        assert!(share <= 1.0 && share > 1.0 - 2.0 * refresh - 0.03, "{share}");
    }

    #[test]
    fn an_idle_time_behind_each_transfer_lowers_sustained_traffic_by_its_share() {
        let sustained = |config: DramConfig| {
            let mut dram = Dram::new(config);
            (0..100_000).map(|i| dram.read(LineAddr(i), Picos::ZERO)).max().unwrap_or_default()
        };
        let mut with_gap = config(1);
        with_gap.burst_gap = ns(1.0);
        let burst = with_gap.timing.burst().as_ns();
        let ratio = sustained(with_gap).as_ns() / sustained(config(1)).as_ns();
        assert!((ratio / ((burst + 1.0) / burst) - 1.0).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn a_read_far_ahead_does_not_hold_back_the_present() {
        let mut config = config(1);
        config.geometry.bank_hash = BankHash::Plain;
        let mut dram = Dram::new(config.clone());
        dram.read(LineAddr(0), NOW + NOW);
        let idle = config.least_read_latency() + config.timing.trcd;
        assert_eq!(dram.read(other_row(&config), NOW), NOW + idle);
    }

    #[test]
    fn forgotten_traffic_leaves_no_trace() {
        let mut dram = Dram::new(config(2));
        let fresh = dram.read(LineAddr(7), NOW);
        for i in 0..1_000 {
            dram.write(LineAddr(i), NOW);
        }
        dram.forget();
        assert_eq!(dram.lines_moved(), (0, 0));
        assert_eq!(dram.read(LineAddr(7), NOW), fresh);
    }

    proptest! {
        #[test]
        fn in_any_order_every_line_is_moved_within_the_capacity_of_the_bus(
            calls in prop::collection::vec((0u64..1 << 20, 0u64..3_000_000, any::<bool>()), 1..600),
        ) {
            let config = DramConfig { row_policy: RowPolicy::OpenFor(ns(500.0)), ..config(1) };
            let mut dram = Dram::new(config.clone());
            let (mut data_ends, mut writes) = (Vec::new(), 0);
            for &(line, now, write) in &calls {
                let now = Picos(now);
                if write {
                    writes += 1;
                    prop_assert!(dram.write(LineAddr(line), now) >= now);
                } else {
                    let done = dram.read(LineAddr(line), now);
                    prop_assert!(done >= now + config.least_read_latency());
                    data_ends.push(done.0);
                }
            }
            let reads = data_ends.len() as u64;
            prop_assert_eq!(dram.lines_moved(), (reads, writes));
            let counters = dram.counters();
            let batch = u64::from(config.writes.high_watermark - config.writes.low_watermark);
            let moved = counters.row_hits + counters.row_empties + counters.row_conflicts;
            prop_assert_eq!(moved, reads + counters.write_batches * batch);
            prop_assert!(writes - counters.write_batches * batch
                < u64::from(config.writes.high_watermark));
            // Each transfer has a slot of its own; neighbours overlap by less than one.
            data_ends.sort_unstable();
            let burst = config.timing.burst().0;
            for (k, end) in data_ends.iter().enumerate().skip(1) {
                prop_assert!(end - data_ends[0] >= (k as u64 - 1) * burst);
            }
        }

        #[test]
        fn calls_out_of_order_wait_about_as_long_as_in_order(seed in 0u64..1_000) {
            let run = |disorder_ps: u64| {
                let mut dram = Dram::new(config(2));
                let mut state = seed;
                let mut total_ps = 0;
                for i in 0..4_000u64 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let ahead = ((state >> 33) * disorder_ps) >> 31;
                    let line = LineAddr(state >> 40);
                    let now = Picos(1_000_000 + i * 4_000 + ahead);
                    total_ps += (dram.read(line, now) - now).0;
                }
                total_ps as f64 / 4_000e3
            };
            // Calls up to a microsecond out of time order: the mean latency is within a tenth.
            let (ordered, disordered) = (run(0), run(1_000_000));
            prop_assert!((disordered / ordered - 1.0).abs() < 0.1, "{} {}", ordered, disordered);
        }
    }
}
