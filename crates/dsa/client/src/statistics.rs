//! Counts of operations, by device, CPU, and reason for the CPU.

use dsa::hardware::Opcode;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why the CPU executed an operation, or a piece of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Reason {
    /// The caller chose the CPU.
    Asked,
    /// The operation was smaller than its threshold.
    Small,
    /// No work queue is open.
    NoQueue,
    /// No open queue takes the operation.
    Unsupported,
    /// The device refused the descriptor.
    Refused,
    /// Source and destination overlap: a copy that failed on a device could not be repeated.
    Overlap,
    /// All queues were full.
    Full,
    /// The process is a child of the one that opened the client.
    Forked,
    /// The device reported a page absent again and again, although it is present.
    Fault,
    /// The device reported a hardware error.
    Hardware,
    /// The descriptor was lost: its queue or device was disabled, or had no room for it.
    Lost,
}

impl Reason {
    /// All reasons, in the order of [`Statistics::reasons`].
    pub const ALL: [Self; 11] = [
        Self::Asked,
        Self::Small,
        Self::NoQueue,
        Self::Unsupported,
        Self::Refused,
        Self::Overlap,
        Self::Full,
        Self::Forked,
        Self::Fault,
        Self::Hardware,
        Self::Lost,
    ];

    /// The reason in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Asked => "the caller asked for the CPU",
            Self::Small => "below the threshold",
            Self::NoQueue => "no queue",
            Self::Unsupported => "no queue takes the operation",
            Self::Refused => "refused by the device",
            Self::Overlap => "ranges overlap",
            Self::Full => "queues full",
            Self::Forked => "child of a fork",
            Self::Fault => "page faults without end",
            Self::Hardware => "hardware errors",
            Self::Lost => "descriptors lost",
        }
    }
}

/// A number of operations, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of operations, or of pieces of them.
    pub count: u64,
    /// Number of bytes of these operations or pieces.
    pub bytes: u64,
}

/// Counts since a client was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Pieces that devices executed, by operation in the order of [`Opcode::ALL`].
    pub device: [Amount; 19],
    /// Pieces that the CPU executed, by operation in the order of [`Opcode::ALL`].
    pub cpu: [Amount; 19],
    /// Pieces that the CPU executed, by reason in the order of [`Reason::ALL`].
    pub reasons: [Amount; 11],
    /// Number of times that all queues were full, and a submission was tried again.
    pub retries: u64,
    /// Number of pages that were brought in for a device.
    pub pages: u64,
    /// Number of descriptors that had not ended when their job was dropped.
    pub abandoned: u64,
}

impl Statistics {
    /// Number and bytes of the pieces of an operation that devices executed.
    #[must_use]
    pub fn by_device(&self, opcode: Opcode) -> Amount {
        self.device[index(opcode)]
    }

    /// Number and bytes of the pieces of an operation that the CPU executed.
    #[must_use]
    pub fn by_cpu(&self, opcode: Opcode) -> Amount {
        self.cpu[index(opcode)]
    }

    /// Number and bytes of the pieces that the CPU executed for a reason.
    #[must_use]
    pub fn by_reason(&self, reason: Reason) -> Amount {
        self.reasons[reason as usize]
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for opcode in Opcode::ALL {
            let (device, cpu) = (self.by_device(opcode), self.by_cpu(opcode));
            if device.count + cpu.count > 0 {
                writeln!(
                    out,
                    "{}: device {} ({} B), CPU {} ({} B)",
                    opcode.name(),
                    device.count,
                    device.bytes,
                    cpu.count,
                    cpu.bytes
                )?;
            }
        }
        for reason in Reason::ALL {
            let amount = self.by_reason(reason);
            if amount.count > 0 {
                let words = reason.words();
                writeln!(out, "CPU, {words}: {} ({} B)", amount.count, amount.bytes)?;
            }
        }
        write!(out, "retries {}, pages brought in {}", self.retries, self.pages)
    }
}

#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    #[inline]
    fn add(&self, bytes: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn read(&self) -> Amount {
        Amount {
            count: self.count.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// The counters of a client, to which all threads add.
#[derive(Debug, Default)]
pub(crate) struct ClientCounters {
    device: [Counter; 19],
    cpu: [Counter; 19],
    reasons: [Counter; 11],
    retries: AtomicU64,
    pages: AtomicU64,
    abandoned: AtomicU64,
}

impl ClientCounters {
    #[inline]
    pub fn device(&self, opcode: Opcode, bytes: u64) {
        self.device[index(opcode)].add(bytes);
    }

    #[inline]
    pub fn cpu(&self, opcode: Opcode, bytes: u64, reason: Reason) {
        self.cpu[index(opcode)].add(bytes);
        self.reasons[reason as usize].add(bytes);
    }

    pub fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub fn page(&self) {
        self.pages.fetch_add(1, Ordering::Relaxed);
    }

    pub fn abandon(&self) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    pub fn read(&self) -> Statistics {
        Statistics {
            device: std::array::from_fn(|at| self.device[at].read()),
            cpu: std::array::from_fn(|at| self.cpu[at].read()),
            reasons: std::array::from_fn(|at| self.reasons[at].read()),
            retries: self.retries.load(Ordering::Relaxed),
            pages: self.pages.load(Ordering::Relaxed),
            abandoned: self.abandoned.load(Ordering::Relaxed),
        }
    }
}

/// The index of an operation in [`Opcode::ALL`].
#[inline]
pub(crate) fn index(opcode: Opcode) -> usize {
    const BY_CODE: [u8; 0x21] = {
        let mut table = [0; 0x21];
        let mut number = 0_u8;
        while (number as usize) < Opcode::ALL.len() {
            table[Opcode::ALL[number as usize] as usize] = number;
            number += 1;
        }
        table
    };
    usize::from(BY_CODE[opcode as usize])
}
