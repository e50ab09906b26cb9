//! One channel of memory: its banks, ranks, data bus and write queue.
//!
//! Models: a read through bank, bank group and data bus, and batches of writes with the turn-around of
//! the bus.
//! Source: JEDEC JESD79-4; read and write phases as in gem5's memory controller.
//! Simplifies: reads that were called before a batch keep their slot on the bus, and reads may use
//! slots that the batch's banks leave free; both turn-arounds follow the batch.

use super::bank::{Bank, Row};
use super::interleave::BankRow;
use super::rank::Rank;
use super::time_slots::TimeSlots;
use super::timing::Timing;
use super::write_queue::WriteQueue;
use super::{DramConfig, DramCounters};
use units::Picos;

/// Timing that the channels of a socket share: stored once, so that it stays in a host's cache.
#[derive(Clone, Debug)]
pub(super) struct ChannelTiming {
    timing: Timing,
    burst: Picos,
    /// A transfer and the idle time after it.
    slot: Picos,
    /// How long a row stays open after its last use.
    keep: Picos,
    turnaround: Picos,
    read: ColumnCommand,
    write: ColumnCommand,
}

/// A column command.
#[derive(Clone, Debug)]
struct ColumnCommand {
    /// Delay from the command to its data.
    latency: Picos,
    /// Delay from the command until the row may be closed.
    recovery: Picos,
}

impl ChannelTiming {
    pub(super) fn new(config: &DramConfig) -> Self {
        let timing = &config.timing;
        let burst = timing.burst();
        Self {
            timing: timing.clone(),
            burst,
            slot: burst + config.burst_gap,
            keep: config.row_policy.keep(),
            turnaround: timing.turnaround(),
            read: ColumnCommand { latency: timing.tcl, recovery: timing.trtp },
            write: ColumnCommand {
                latency: timing.tcwl,
                recovery: timing.tcwl + burst + timing.twr,
            },
        }
    }
}

/// One channel: its memory devices and its write queue.
#[derive(Clone, Debug)]
pub(super) struct DramChannel {
    devices: ChannelDevices,
    writes: WriteQueue,
    write_batches: u64,
    /// Turn-around time not yet taken from the bus, because it is less than a slot.
    owed: Picos,
}

/// The memory devices of a channel and their data bus.
#[derive(Clone, Debug)]
struct ChannelDevices {
    banks: Vec<Bank>,
    ranks: Vec<Rank>,
    /// Column path of each bank group of each rank: a command every tCCD_L.
    groups: Vec<TimeSlots>,
    bus: TimeSlots,
    /// Transfers by the state of their bank, in the order of [`Row`].
    found: [u64; Row::KINDS],
    /// Transfers that a refresh delayed, and the total delay.
    refresh_waits: u64,
    refresh_wait: Picos,
}

impl DramChannel {
    /// Channel `index` of a socket's memory, idle.
    pub(super) fn new(config: &DramConfig, rules: &ChannelTiming, index: u32) -> Self {
        Self {
            devices: ChannelDevices::new(config, rules, index),
            writes: WriteQueue::new(config.writes),
            write_batches: 0,
            owed: Picos::ZERO,
        }
    }

    /// Reads a line for a request that arrived at `arrival`; returns when its last data is on the bus.
    #[inline]
    pub(super) fn read(&mut self, place: BankRow, arrival: Picos, rules: &ChannelTiming) -> Picos {
        self.devices.transfer(place, arrival, &rules.read, rules) + rules.burst
    }

    /// Takes a write that arrived at `arrival`; returns when it enters the queue.
    #[inline]
    pub(super) fn write(&mut self, place: BankRow, arrival: Picos, rules: &ChannelTiming) -> Picos {
        let taken = arrival.max(self.writes.room_from());
        if self.writes.push(place) {
            return self.drain(taken, rules);
        }
        taken
    }

    /// When the queue has a free entry for a write of `now`.
    pub(super) fn writes_free_from(&self, now: Picos) -> Picos {
        self.writes.room_from().max(now)
    }

    /// Writes a batch from `now` on and returns `now`, so that the path of a write keeps no value
    /// across the call.
    #[inline(never)]
    fn drain(&mut self, now: Picos, rules: &ChannelTiming) -> Picos {
        let devices = &mut self.devices;
        let mut end = now;
        self.writes.write_batch(|place| {
            let data = devices.transfer(place, now, &rules.write, rules);
            let data_end = data + rules.burst;
            end = end.max(data_end);
            data_end
        });
        self.turn_around(end, rules);
        self.write_batches += 1;
        now
    }

    /// Keeps the bus idle for the turn from reads to writes and back.
    fn turn_around(&mut self, from: Picos, rules: &ChannelTiming) {
        let owed = self.owed + rules.turnaround;
        self.devices.bus.claim_several(from, owed.0 / rules.slot.0);
        self.owed = Picos(owed.0 % rules.slot.0);
    }

    /// Time for which its bus has transferred data, with the idle time that each transfer leaves.
    pub(super) fn busy(&self, rules: &ChannelTiming) -> Picos {
        Picos(self.devices.found.iter().sum::<u64>() * rules.slot.0)
    }

    /// Adds its counters to `sum`.
    pub(super) fn count(&self, sum: &mut DramCounters) {
        let ChannelDevices { found, refresh_waits, refresh_wait, .. } = &self.devices;
        sum.row_hits += found[Row::Hit as usize];
        sum.row_empties += found[Row::Empty as usize];
        sum.row_conflicts += found[Row::Conflict as usize];
        sum.refresh_waits += refresh_waits;
        sum.refresh_wait += *refresh_wait;
        sum.write_batches += self.write_batches;
    }
}

impl ChannelDevices {
    fn new(config: &DramConfig, rules: &ChannelTiming, index: u32) -> Self {
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
            found: [0; Row::KINDS],
            refresh_waits: 0,
            refresh_wait: Picos::ZERO,
        }
    }

    /// Opens a row and finds slots for its column command and its data; returns when the data begins.
    ///
    /// Not inlined: in the loop over a batch its selects would become branches, which a host cannot
    /// predict. Its arguments fit into the host's registers.
    #[inline(never)]
    fn transfer(
        &mut self,
        place: BankRow,
        arrival: Picos,
        command: &ColumnCommand,
        rules: &ChannelTiming,
    ) -> Picos {
        let bank = &mut self.banks[place.bank as usize];
        let rank = &mut self.ranks[bank.rank()];
        let refresh = rank.refresh(arrival);
        if refresh.left > Picos::ZERO {
            self.refresh_waits += 1;
            self.refresh_wait += refresh.left;
        }
        let opened = bank.open(place.row, arrival, refresh, rank, &rules.timing);
        self.found[opened.row as usize] += 1;
        let column = self.groups[bank.group()].claim(opened.column_from);
        let data = self.bus.claim(column + command.latency);
        let column = data - command.latency;
        bank.used(opened, column, column + command.recovery, rules.keep);
        data
    }
}
