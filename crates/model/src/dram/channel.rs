//! One channel of memory: its banks, ranks, data bus and write queue.
//!
//! Models: the way of a read through bank, bank group and data bus, and batches of writes with the
//! turn-around of the bus.
//! Source: JEDEC JESD79-4; read and write phases as in gem5's memory controller.
//! Simplifies: reads that were called before a batch keep their place on the bus, and reads may use
//! slots that the batch's banks leave free; both turn-arounds lie behind the batch.

use super::bank::{Bank, Opened, Row};
use super::interleave::BankRow;
use super::rank::Rank;
use super::time_slots::TimeSlots;
use super::timing::Timing;
use super::write_queue::WriteQueue;
use super::{DramConfig, DramCounters};
use units::Picos;

/// What the channels of a socket have in common: kept once, so that a host's cache holds it.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    timing: Timing,
    burst: Picos,
    /// A transfer and the idle time behind it.
    slot: Picos,
    /// For how long a row stays open behind its last use.
    keep: Picos,
    turnaround: Picos,
}

impl Rules {
    pub(super) fn new(config: &DramConfig) -> Self {
        let timing = &config.timing;
        Self {
            timing: timing.clone(),
            burst: timing.burst(),
            slot: timing.burst() + config.burst_gap,
            keep: config.row_policy.keep(),
            turnaround: timing.turnaround(),
        }
    }
}

/// One channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
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
    pub(super) fn new(config: &DramConfig, rules: &Rules, index: u32) -> Self {
        let (geometry, timing) = (&config.geometry, &config.timing);
        let first_refresh = |rank: u32| {
            let turn = u64::from(index + rank * geometry.channels) + 1;
            Picos(timing.trefi.0 * turn / u64::from(geometry.channels * geometry.ranks))
        };
        let groups = geometry.ranks * geometry.bank_groups;
        let bank = |bank: u32| {
            let rank = bank / (geometry.bank_groups * geometry.banks_per_group);
            Bank::idle(rank, rank * geometry.bank_groups + bank % geometry.bank_groups)
        };
        Self {
            banks: (0..geometry.banks_per_channel()).map(bank).collect(),
            ranks: (0..geometry.ranks).map(|rank| Rank::new(timing, first_refresh(rank))).collect(),
            groups: vec![TimeSlots::new(timing.tccd_l); groups as usize],
            bus: TimeSlots::new(rules.slot),
            writes: WriteQueue::new(config.writes),
            owed: Picos::ZERO,
        }
    }

    /// Reads a line for a request that arrived at `arrival`; returns when its last data is on the bus.
    #[inline]
    pub(super) fn read(
        &mut self,
        place: BankRow,
        arrival: Picos,
        rules: &Rules,
        counters: &mut DramCounters,
    ) -> Picos {
        let timing = &rules.timing;
        self.transfer(place, arrival, timing.tcl, timing.trtp, rules, counters) + rules.burst
    }

    /// Takes a write that arrived at `arrival`; returns when it is in the queue.
    #[inline]
    pub(super) fn write(
        &mut self,
        place: BankRow,
        arrival: Picos,
        rules: &Rules,
        counters: &mut DramCounters,
    ) -> Picos {
        let taken = arrival.max(self.writes.room_from());
        if self.writes.push(place) {
            self.drain(taken, rules, counters);
        }
        taken
    }

    /// Writes a batch from `now` on.
    fn drain(&mut self, now: Picos, rules: &Rules, counters: &mut DramCounters) {
        let timing = &rules.timing;
        let recovery = timing.tcwl + rules.burst + timing.twr;
        let mut end = now;
        for i in 0..self.writes.batch_lines() {
            let place = self.writes.waiting(i);
            let data = self.transfer(place, now, timing.tcwl, recovery, rules, counters);
            let data_end = data + rules.burst;
            self.writes.leaves(data_end);
            end = end.max(data_end);
        }
        self.writes.end_batch();
        self.turn_around(end, rules);
        counters.write_batches += 1;
    }

    /// Keeps the bus idle for the turn from reads to writes and back.
    fn turn_around(&mut self, from: Picos, rules: &Rules) {
        self.owed += rules.turnaround;
        while self.owed >= rules.slot {
            self.owed = self.owed - rules.slot;
            self.bus.claim(from);
        }
    }

    /// Opens a row and finds room for its column command and for the data `latency` behind it;
    /// returns when the data begins. The row may be closed `recovery` behind the command.
    ///
    /// A call of its own: inlined into the loop over a batch, its selects become branches, which a
    /// host cannot predict.
    #[inline(never)]
    fn transfer(
        &mut self,
        place: BankRow,
        arrival: Picos,
        latency: Picos,
        recovery: Picos,
        rules: &Rules,
        counters: &mut DramCounters,
    ) -> Picos {
        let bank = &mut self.banks[place.bank as usize];
        let rank = &mut self.ranks[bank.rank()];
        let opened = bank.open(place.row, arrival, rank, &rules.timing);
        count(opened, counters);
        let column = self.groups[bank.group()].claim(opened.column_from);
        let data = self.bus.claim(column + latency);
        let column = data - latency;
        bank.used(opened, column, column + recovery, rules.keep);
        data
    }
}

/// Counts what a transfer found.
#[inline]
fn count(opened: Opened, counters: &mut DramCounters) {
    if opened.row == Row::Hit {
        counters.row_hits += 1;
    } else {
        // A sum, because nobody can predict which of the two it is.
        let conflict = u64::from(opened.row == Row::Conflict);
        counters.row_conflicts += conflict;
        counters.row_empties += 1 - conflict;
    }
    if opened.refresh_wait > Picos::ZERO {
        counters.refresh_waits += 1;
        counters.refresh_wait += opened.refresh_wait;
    }
}
