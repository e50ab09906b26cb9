//! The event log: a ring in memory that the driver gives, for errors that no completion record could
//! take [S 5.9].
//!
//! An entry of 64 bytes has the layout of the software error register in its first half, bits 0 and 1 left
//! out, and in its second the completion record that could not be written. The device writes entries and
//! moves the tail, the driver reads them and moves the head. The log is full when one entry is free.
//!
//! The ring, the status register and the word of its writer may be memory that processes share: each has
//! engines of its own, and any of them may be killed at any time. So a tail moves only over a written
//! entry, and who writes is named, to be taken back by a supervisor.

use super::SoftwareError;
use crate::engine::{Ended, Outcome};
use crate::hardware::flags;
use crate::hardware::status::{self, Operand};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// Words of an entry.
pub const EVENT_WORDS: usize = 8;
/// Entries of the smallest log.
pub const LEAST_EVENTS: usize = 64;
/// Entries of the largest: numbers have 16 bits.
pub const MOST_EVENTS: usize = 0xffff;

/// Bits of the first word that the software error register has and an entry has not: valid, overflow.
const OF_REGISTER: u64 = 0b11;
const BATCH_SHIFT: u32 = 24;
const MEMBER: u64 = 1 << 4;
const INFO_VALID: u64 = 1 << 7;
/// Bits of the second word, whose upper half has information.
const RECORD_REQUESTED: u64 = 1 << (32 + 18);
const OPERAND_SHIFT: u32 = 32 + 29;
const PASID_SHIFT: u32 = 40;
const PASID: u64 = 0xf_ffff << PASID_SHIFT;
/// Bits of the status register [recalled: EVLSTATUS]: head 15:0, tail 47:32, interrupt pending 62.
const NUMBER: u64 = 0xffff;
const TAIL_SHIFT: u32 = 32;
const INTERRUPT_PENDING: u64 = 1 << 62;
/// How often a full log is looked at until the driver has moved its head.
const LOOK: Duration = Duration::from_micros(50);

/// Memory of an entry.
pub type EventSlot = [AtomicU64; EVENT_WORDS];

/// An entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event(pub [u64; EVENT_WORDS]);

impl Event {
    /// The entry of a descriptor that ended without a record that could say so.
    #[must_use]
    pub fn of(queue: usize, ended: &Ended<'_>) -> Self {
        let [head, info, address, reserved] = SoftwareError::of(queue, ended).0;
        let batch = u64::from(ended.batch.unwrap_or(0)) << BATCH_SHIFT;
        let mut event = [0; EVENT_WORDS];
        event[..4].copy_from_slice(&[head & !OF_REGISTER | batch, info, address, reserved]);
        if let Outcome::Held { record, .. } = ended.outcome {
            event[2] = ended.descriptor.record();
            event[0] |= INFO_VALID;
            if ended.descriptor.has(flags::REQUEST_RECORD) {
                event[1] |= RECORD_REQUESTED;
            }
            if head.to_le_bytes()[1] == status::RECORD_FAULT {
                event[1] |= (Operand::Record as u64) << OPERAND_SHIFT;
            }
            let words = record.0.chunks_exact(8);
            for (word, bytes) in event[4..].iter_mut().zip(words) {
                *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            }
        }
        Self(event)
    }

    /// The error code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.0[0].to_le_bytes()[1]
    }

    /// The queue's number in its device.
    #[must_use]
    pub fn queue(&self) -> u8 {
        self.0[0].to_le_bytes()[2]
    }

    /// The number of the batch, if the entry is a batch's or a member's.
    #[must_use]
    pub fn batch(&self) -> u8 {
        self.0[0].to_le_bytes()[3]
    }

    /// Whether it is a member's of a batch.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.0[0] & MEMBER != 0
    }

    /// The PASID of the descriptor.
    #[must_use]
    pub fn pasid(&self) -> u32 {
        units::narrow::fit((self.0[0] & PASID) >> PASID_SHIFT)
    }

    /// The address of a fault or, where there is a record, that at which it has to be written.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.0[2]
    }

    /// The completion record that the driver has to write; its status is 0 if there is none.
    #[must_use]
    pub fn record(&self) -> [u8; 32] {
        let mut record = [0; 32];
        for (bytes, word) in record.chunks_exact_mut(8).zip(&self.0[4..]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        record
    }
}

/// Where a log is.
#[derive(Clone, Copy, Debug)]
pub struct EventLogPlace {
    /// Its entries.
    pub ring: &'static [EventSlot],
    /// Its status register: both numbers 0 before the device is enabled.
    pub status: &'static AtomicU64,
    /// The client that is writing an entry; 0 if there is none. A supervisor sets it to 0 when that
    /// process was killed.
    pub writer: &'static AtomicU32,
    /// The number of this process among the clients.
    pub client: NonZeroU32,
    /// The number of its first queue in the device of the log: a process may have engines for some of the
    /// queues only.
    pub first_queue: usize,
    /// The PASID of its descriptors if that is its queues' to say: what they say themselves is ignored.
    pub pasid: Option<u32>,
}

/// A log that is no log [command status 0x19].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event log has {LEAST_EVENTS} to {MOST_EVENTS} entries, not {asked}")]
pub struct BadEventLog {
    /// Entries that are asked for.
    pub asked: usize,
}

/// An enabled log.
#[derive(Debug)]
pub struct EventLog {
    place: EventLogPlace,
    /// Engines of this process take turns.
    turn: Mutex<()>,
    is_closed: AtomicBool,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appended {
    /// It is there; the driver has an interrupt to come already.
    Quietly,
    /// It is there, and raises an interrupt.
    WithInterrupt,
    /// The log is full, or was closed while it was.
    Dropped,
}

impl EventLog {
    /// A log at a place.
    ///
    /// # Errors
    /// If it has too few or too many entries.
    pub fn new(place: EventLogPlace) -> Result<Self, BadEventLog> {
        let asked = place.ring.len();
        if !(LEAST_EVENTS..=MOST_EVENTS).contains(&asked) {
            return Err(BadEventLog { asked });
        }
        Ok(Self { place, turn: Mutex::new(()), is_closed: AtomicBool::new(false) })
    }

    /// The number of the oldest entry that the driver has not read.
    #[must_use]
    pub fn head(&self) -> u16 {
        units::narrow::fit(self.place.status.load(Ordering::Acquire) & NUMBER)
    }

    /// The number of the entry that is written next.
    #[must_use]
    pub fn tail(&self) -> u16 {
        units::narrow::fit(self.place.status.load(Ordering::Acquire) >> TAIL_SHIFT & NUMBER)
    }

    /// Takes the oldest entry, as the driver's handler does: reads it and moves the head. The interrupt is
    /// no longer pending. One reader at a time.
    pub fn take(&self) -> Option<Event> {
        let status = self.place.status.fetch_and(!INTERRUPT_PENDING, Ordering::AcqRel);
        let (head, tail) = (status & NUMBER, status >> TAIL_SHIFT & NUMBER);
        if head == tail {
            return None;
        }
        let slot = self.place.ring.get(units::narrow::usize_from(head))?;
        let event = Event(std::array::from_fn(|word| slot[word].load(Ordering::Acquire)));
        self.change(|status| status & !NUMBER | self.after(head));
        Some(event)
    }

    /// The entry of a descriptor of a queue that has this number in its process.
    pub(super) fn event(&self, queue: usize, ended: &Ended<'_>) -> Event {
        let EventLogPlace { first_queue, pasid, .. } = self.place;
        let mut event = Event::of(first_queue + queue, ended);
        if let Some(pasid) = pasid {
            event.0[0] = event.0[0] & !PASID | u64::from(pasid) << PASID_SHIFT & PASID;
        }
        event
    }

    /// Appends an entry. If the log is full, either drops it or waits for the driver.
    pub(super) fn append(&self, event: &Event, drops: bool) -> Appended {
        loop {
            let status = self.write(event);
            match status {
                Some(status) if status & INTERRUPT_PENDING == 0 => return Appended::WithInterrupt,
                Some(_) => return Appended::Quietly,
                None if drops || self.is_closed.load(Ordering::Acquire) => {
                    return Appended::Dropped;
                }
                // The head may be another process's to move, which cannot wake a thread of this one.
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Lets engines wait for the driver, or lets none wait any more.
    pub(super) fn set_closed(&self, is_closed: bool) {
        self.is_closed.store(is_closed, Ordering::Release);
    }

    /// Empties it, as a reset of the device does.
    pub(super) fn clear(&self) {
        self.place.status.store(0, Ordering::Release);
    }

    /// Writes an entry, if there is room; returns the status before it.
    fn write(&self, event: &Event) -> Option<u64> {
        let EventLogPlace { ring, status, writer, client, .. } = self.place;
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while writer
            .compare_exchange_weak(0, client.get(), Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            std::thread::yield_now();
        }
        let before = status.load(Ordering::Acquire);
        let (head, tail) = (before & NUMBER, before >> TAIL_SHIFT & NUMBER);
        let slot = ring.get(units::narrow::usize_from(tail));
        let written = slot.filter(|_| self.after(tail) != head).map(|slot| {
            for (word, value) in slot.iter().zip(event.0) {
                word.store(value, Ordering::Relaxed);
            }
            let after = self.after(tail) << TAIL_SHIFT | INTERRUPT_PENDING;
            self.change(|status| status & NUMBER | after)
        });
        writer.store(0, Ordering::Release);
        drop(turn);
        written
    }

    fn after(&self, number: u64) -> u64 {
        (number + 1) % self.place.ring.len() as u64
    }

    /// Changes the status register; returns what it was.
    fn change(&self, to: impl Fn(u64) -> u64) -> u64 {
        let changed =
            self.place
                .status
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |status| Some(to(status)));
        changed.unwrap_or_else(|status| status)
    }
}
