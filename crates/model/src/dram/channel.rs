//! One channel of memory: its banks, ranks, data bus and write queue.
//!
//! Models: the way of a read through bank, bank group and data bus, and batches of writes with the
//! turn-around of the bus.
//! Source: JEDEC JESD79-4; read and write phases as in gem5's memory controller.
//! Simplifies: reads that were called before a batch keep their place on the bus, and reads may use
//! slots that the batch's banks leave free; both turn-arounds lie behind the batch.

use super::bank::{Bank, Opened, Row};
use super::interleave::Place;
use super::rank::Rank;
use super::time_slots::TimeSlots;
use super::timing::Timing;
use super::write_queue::WriteQueue;
use super::{DramConfig, DramCounters};
use units::Picos;

/// One channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    timing: Timing,
    burst: Picos,
    /// A transfer and the idle time behind it.
    slot: Picos,
    /// For how long a row stays open behind its last use.
    keep: Picos,
    group_mask: u32,
    group_bits: u32,
    rank_shift: u32,
    banks: Vec<Bank>,
    ranks: Vec<Rank>,
    /// Column path of each bank group of each rank: a command every tCCD_L.
    groups: Vec<TimeSlots>,
    bus: TimeSlots,
    writes: WriteQueue,
    /// Turn-around time that has not been taken from the bus yet, because it is no whole slot.
    owed: Picos,
}

impl Channel {
    /// Channel `index` of a socket's memory, idle.
    pub(super) fn new(config: &DramConfig, index: u32) -> Self {
        let (geometry, timing) = (&config.geometry, &config.timing);
        let slot = timing.burst() + config.burst_gap;
        let first_refresh = |rank: u32| {
            let turn = u64::from(index + rank * geometry.channels) + 1;
            Picos(timing.trefi.0 * turn / u64::from(geometry.channels * geometry.ranks))
        };
        let groups = geometry.ranks * geometry.bank_groups;
        Self {
            timing: timing.clone(),
            burst: timing.burst(),
            slot,
            keep: config.row_policy.keep(),
            group_mask: geometry.bank_groups - 1,
            group_bits: geometry.bank_groups.trailing_zeros(),
            rank_shift: (geometry.bank_groups * geometry.banks_per_group).trailing_zeros(),
            banks: vec![Bank::IDLE; geometry.banks_per_channel() as usize],
            ranks: (0..geometry.ranks).map(|rank| Rank::new(timing, first_refresh(rank))).collect(),
            groups: vec![TimeSlots::new(timing.tccd_l); groups as usize],
            bus: TimeSlots::new(slot),
            writes: WriteQueue::new(config.writes),
            owed: Picos::ZERO,
        }
    }

    /// Reads a line for a request that arrived at `arrival`; returns when its last data is on the bus.
    #[inline]
    pub(super) fn read(
        &mut self,
        place: Place,
        arrival: Picos,
        counters: &mut DramCounters,
    ) -> Picos {
        let (opened, column) = self.column(place, arrival, counters);
        let data = self.bus.claim(column + self.timing.tcl);
        let column = data - self.timing.tcl;
        let close_from = column + self.timing.trtp;
        self.banks[place.bank as usize].used(opened, column, close_from, self.keep);
        data + self.burst
    }

    /// Takes a write that arrived at `arrival`; returns when it is in the queue.
    #[inline]
    pub(super) fn write(
        &mut self,
        place: Place,
        arrival: Picos,
        counters: &mut DramCounters,
    ) -> Picos {
        let taken = arrival.max(self.writes.room_from());
        if self.writes.push(place) {
            self.drain(taken, counters);
        }
        taken
    }

    /// Writes a batch from `now` on.
    fn drain(&mut self, now: Picos, counters: &mut DramCounters) {
        let mut end = now;
        for i in 0..self.writes.batch_lines() {
            let place = self.writes.waiting(i);
            let (opened, column) = self.column(place, now, counters);
            let data = self.bus.claim(column + self.timing.tcwl);
            let (column, data_end) = (data - self.timing.tcwl, data + self.burst);
            let close_from = data_end + self.timing.twr;
            self.banks[place.bank as usize].used(opened, column, close_from, self.keep);
            self.writes.leaves(data_end);
            end = end.max(data_end);
        }
        self.writes.end_batch();
        self.turn_around(end);
        counters.write_batches += 1;
    }

    /// Keeps the bus idle for the turn from reads to writes and back.
    fn turn_around(&mut self, from: Picos) {
        self.owed += self.timing.turnaround();
        while self.owed >= self.slot {
            self.owed = self.owed - self.slot;
            self.bus.claim(from);
        }
    }

    /// Opens the row of `place` and finds room for its column command.
    #[inline]
    fn column(
        &mut self,
        place: Place,
        arrival: Picos,
        counters: &mut DramCounters,
    ) -> (Opened, Picos) {
        let rank = (place.bank >> self.rank_shift) as usize;
        let bank = &mut self.banks[place.bank as usize];
        let opened = bank.open(place.row, arrival, &mut self.ranks[rank], &self.timing);
        match opened.row {
            Row::Hit => counters.row_hits += 1,
            Row::Empty => counters.row_empties += 1,
            Row::Conflict => counters.row_conflicts += 1,
        }
        if opened.refresh_wait > Picos::ZERO {
            counters.refresh_waits += 1;
            counters.refresh_wait += opened.refresh_wait;
        }
        let group = rank << self.group_bits | (place.bank & self.group_mask) as usize;
        (opened, self.groups[group].claim(opened.column_from))
    }
}
