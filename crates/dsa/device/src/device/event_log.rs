//! The event log: a ring in memory of the driver, for errors that could not be written to a completion
//! record [S 5.9].
//!
//! An entry of 64 bytes has the layout of the software error register in its first half, bits 0 and 1 left
//! out, and in its second the completion record that could not be written. The device writes entries and
//! moves the tail, the driver reads them and moves the head. The log is full when one entry is free.
//!
//! The ring, the status register and the word of its writer may be memory that processes share: each has
//! engines of its own, and any of them may be killed at any time. So a tail moves only over a written
//! entry, and the process that writes is named, so that a supervisor can release the word after a kill.

use super::SoftwareError;
use crate::engine::{EndedDescriptor, Outcome};
use crate::hardware::flags;
use crate::hardware::status::{self, FaultOperand};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// Words of 64 bits in an entry.
pub const EVENT_WORDS: usize = 8;
/// Least number of entries of a log.
pub const LEAST_EVENTS: usize = 64;
/// Largest number of entries of a log: entry numbers have 16 bits.
pub const MOST_EVENTS: usize = 0xffff;

/// Bits of the first word that only the software error register has: valid, overflow.
const REGISTER_BITS: u64 = 0b11;
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
/// Time between two looks at a full log, until the driver has moved its head.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// Memory of an entry in the ring.
pub type EventSlot = [AtomicU64; EVENT_WORDS];

/// An entry of the event log, as eight words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggedEvent(pub [u64; EVENT_WORDS]);

impl LoggedEvent {
    /// The entry for a descriptor whose error could not be written to a completion record. `queue` is the
    /// number of its queue in the device.
    #[must_use]
    pub fn from_ended(queue: usize, ended: &EndedDescriptor<'_>) -> Self {
        let [head, info, address, reserved] = SoftwareError::from_ended(queue, ended).0;
        let batch = u64::from(ended.batch.unwrap_or(0)) << BATCH_SHIFT;
        let mut event = [0; EVENT_WORDS];
        event[..4].copy_from_slice(&[head & !REGISTER_BITS | batch, info, address, reserved]);
        if let Outcome::Held { record, .. } = ended.outcome {
            event[2] = ended.descriptor.record();
            event[0] |= INFO_VALID;
            if ended.descriptor.has(flags::REQUEST_RECORD) {
                event[1] |= RECORD_REQUESTED;
            }
            if head.to_le_bytes()[1] == status::RECORD_FAULT {
                event[1] |= (FaultOperand::Record as u64) << OPERAND_SHIFT;
            }
            let words = record.0.chunks_exact(8);
            for (word, bytes) in event[4..].iter_mut().zip(words) {
                *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            }
        }
        Self(event)
    }

    /// The error code, a status code of the specification.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.0[0].to_le_bytes()[1]
    }

    /// Number of the queue in its device.
    #[must_use]
    pub fn queue(&self) -> u8 {
        self.0[0].to_le_bytes()[2]
    }

    /// Number of the batch, if the entry is about a batch or a member of one; 0 otherwise.
    #[must_use]
    pub fn batch(&self) -> u8 {
        self.0[0].to_le_bytes()[3]
    }

    /// Whether the entry is about a member of a batch.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.0[0] & MEMBER != 0
    }

    /// PASID of the descriptor that the entry is about.
    #[must_use]
    pub fn pasid(&self) -> u32 {
        units::narrow::fit((self.0[0] & PASID) >> PASID_SHIFT)
    }

    /// Address of the fault or, if the entry has a completion record, the address to write the record to.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.0[2]
    }

    /// The completion record that the driver has to write. Its status is 0 if the entry has no record.
    #[must_use]
    pub fn record(&self) -> [u8; 32] {
        let mut record = [0; 32];
        for (bytes, word) in record.chunks_exact_mut(8).zip(&self.0[4..]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        record
    }
}

/// Memory and owner of an event log.
#[derive(Clone, Copy, Debug)]
pub struct EventLogPlace {
    /// Memory of the entries.
    pub ring: &'static [EventSlot],
    /// Status register (EVLSTATUS). Head and tail have to be 0 when the device is enabled.
    pub status: &'static AtomicU64,
    /// Number of the client that is writing an entry; 0 if no client is. A supervisor sets it to 0 when that
    /// process was killed.
    pub writer: &'static AtomicU32,
    /// The number of this process among the clients.
    pub client: NonZeroU32,
    /// Number of this process's first queue in the device of the log. A process may have engines for only
    /// some of the queues.
    pub first_queue: usize,
    /// PASID of all descriptors, if the queues set it. The PASID in the descriptors is then ignored. `None`:
    /// the PASID in each descriptor counts.
    pub pasid: Option<u32>,
}

/// An event log of a size that is not allowed [command status 0x19].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event log has {LEAST_EVENTS} to {MOST_EVENTS} entries, not {asked}")]
pub struct BadEventLog {
    /// Number of entries that the log should have.
    pub asked: usize,
}

/// An enabled event log.
#[derive(Debug)]
pub struct EventLog {
    place: EventLogPlace,
    /// Held by the engine of this process that writes an entry.
    turn: Mutex<()>,
    is_closed: AtomicBool,
}

/// Result of appending an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Appended {
    /// Written. An interrupt is pending already.
    Quietly,
    /// Written, and an interrupt is raised.
    WithInterrupt,
    /// Dropped: the log is full, or it was closed while it was full.
    Dropped,
}

impl EventLog {
    /// Enables a log.
    ///
    /// # Errors
    /// If the ring has fewer than [`LEAST_EVENTS`] or more than [`MOST_EVENTS`] entries.
    pub fn new(place: EventLogPlace) -> Result<Self, BadEventLog> {
        let asked = place.ring.len();
        if !(LEAST_EVENTS..=MOST_EVENTS).contains(&asked) {
            return Err(BadEventLog { asked });
        }
        Ok(Self { place, turn: Mutex::new(()), is_closed: AtomicBool::new(false) })
    }

    /// Number of the oldest entry that the driver has not read.
    #[must_use]
    pub fn head(&self) -> u16 {
        units::narrow::fit(self.place.status.load(Ordering::Acquire) & NUMBER)
    }

    /// Number of the entry that is written next.
    #[must_use]
    pub fn tail(&self) -> u16 {
        units::narrow::fit(self.place.status.load(Ordering::Acquire) >> TAIL_SHIFT & NUMBER)
    }

    /// Takes the oldest entry, as the driver's handler does: reads it, moves the head, and clears the pending
    /// interrupt. `None` if the log is empty. Only one thread may call it at a time.
    pub fn take(&self) -> Option<LoggedEvent> {
        let status = self.place.status.fetch_and(!INTERRUPT_PENDING, Ordering::AcqRel);
        let (head, tail) = (status & NUMBER, status >> TAIL_SHIFT & NUMBER);
        if head == tail {
            return None;
        }
        let slot = self.place.ring.get(units::narrow::usize_from(head))?;
        let event = LoggedEvent(std::array::from_fn(|word| slot[word].load(Ordering::Acquire)));
        self.change(|status| status & !NUMBER | self.after(head));
        Some(event)
    }

    /// The entry for a descriptor. `queue` is the number of its queue in this process.
    pub(super) fn event(&self, queue: usize, ended: &EndedDescriptor<'_>) -> LoggedEvent {
        let EventLogPlace { first_queue, pasid, .. } = self.place;
        let mut event = LoggedEvent::from_ended(first_queue + queue, ended);
        if let Some(pasid) = pasid {
            event.0[0] = event.0[0] & !PASID | u64::from(pasid) << PASID_SHIFT & PASID;
        }
        event
    }

    /// Appends an entry. If the log is full, drops the entry (`drops`) or waits for the driver.
    pub(super) fn append(&self, event: &LoggedEvent, drops: bool) -> Appended {
        loop {
            let status = self.write(event);
            match status {
                Some(status) if status & INTERRUPT_PENDING == 0 => return Appended::WithInterrupt,
                Some(_) => return Appended::Quietly,
                None if drops || self.is_closed.load(Ordering::Acquire) => {
                    return Appended::Dropped;
                }
                // The head may be another process's to move, which cannot wake a thread of this one.
                None => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Opens or closes the log. No engine waits for the driver while the log is closed.
    pub(super) fn set_closed(&self, is_closed: bool) {
        self.is_closed.store(is_closed, Ordering::Release);
    }

    /// Empties the log, as a reset of the device does.
    pub(super) fn clear(&self) {
        self.place.status.store(0, Ordering::Release);
    }

    /// Writes an entry and returns the status register before it; `None` if the log is full.
    fn write(&self, event: &LoggedEvent) -> Option<u64> {
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

    /// Changes the status register and returns its value before.
    fn change(&self, to: impl Fn(u64) -> u64) -> u64 {
        let changed =
            self.place
                .status
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |status| Some(to(status)));
        changed.unwrap_or_else(|status| status)
    }
}
