//! The registers of a run's devices, in memory that its processes share.
//!
//! The supervisor writes the configuration, programs read it; both count. No lock is held across
//! processes, as any of them may be killed at any time: what a process owns is marked with its client's
//! number, and the supervisor takes it back when the process has ended.

#![allow(unsafe_code)]

mod events;

pub use events::{Events, MOST_EVENTS};

use dsa::hardware::capabilities::Capabilities;
use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Devices of a run.
pub const MOST_DEVICES: usize = 16;
/// Queues of a device.
pub const MOST_QUEUES: usize = 8;
/// Groups of a device.
pub const MOST_GROUPS: usize = 4;
/// Entries of a queue.
pub const MOST_ENTRIES: usize = 256;
/// Processes that have a queue open at a time.
pub const MOST_CLIENTS: usize = 64;
/// Marks the file, with the version of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"skdsa\0\0\x02");

/// Values of [`DeviceRegisters::state`] and [`QueueRegisters::state`].
pub mod state {
    /// Takes nothing.
    pub const DISABLED: u32 = 0;
    /// Works.
    pub const ENABLED: u32 = 1;
    /// Stopped by an error or a reset.
    pub const HALTED: u32 = 2;
}

/// The number of this process's namespace of processes; 0 if it cannot be found.
#[must_use]
pub fn process_namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

/// All registers.
#[repr(C)]
pub struct RunRegisters {
    magic: AtomicU64,
    /// Devices that there are.
    pub devices: AtomicU32,
    /// Process of the supervisor.
    pub supervisor: AtomicU32,
    /// Number of the file system that has the queues' files.
    pub files: AtomicU64,
    /// Monotonic time of the start, in nanoseconds: zero of the log of descriptors.
    pub start_ns: AtomicU64,
    /// Lines of that log that could not be written.
    pub lost_lines: AtomicU64,
    /// Number of the supervisor's namespace of processes: elsewhere their numbers are others.
    pub process_namespace: AtomicU64,
    /// The devices.
    pub device: [DeviceRegisters; MOST_DEVICES],
}

/// Registers of a device.
#[repr(C)]
pub struct DeviceRegisters {
    /// One of [`state`].
    pub state: AtomicU32,
    version: AtomicU32,
    gen_cap: AtomicU64,
    op_cap: AtomicU64,
    sizes: [AtomicU32; 5],
    /// Whether the interrupt of an error has come: who polls is woken.
    pub notified: AtomicU32,
    /// Engines of each group.
    pub engines: [AtomicU32; MOST_GROUPS],
    /// Software error register: the first error writes all words, the first one behind the others.
    software_error: [AtomicU64; 4],
    /// 1: an error has the register, whether its words are there yet or not.
    has_error: AtomicU32,
    unused: AtomicU32,
    /// Event log.
    pub events: Events,
    /// The queues.
    pub queue: [QueueRegisters; MOST_QUEUES],
}

/// Registers of a queue.
#[repr(C)]
pub struct QueueRegisters {
    /// One of [`state`]: enabled is 1, what submissions look at.
    pub state: AtomicU32,
    /// Counts configurations.
    pub generation: AtomicU32,
    /// 1 dedicated, 0 shared.
    pub dedicated: AtomicU32,
    /// Entries.
    pub size: AtomicU32,
    /// Threshold of a shared queue.
    pub threshold: AtomicU32,
    /// 1 to 15.
    pub priority: AtomicU32,
    /// Number of its group.
    pub group: AtomicU32,
    /// Whether descriptors may block on faults.
    pub block_on_fault: AtomicU32,
    /// Largest batch, in descriptors.
    pub most_batch: AtomicU32,
    unused: AtomicU32,
    /// Largest transfer, in bytes.
    pub most_transfer_bytes: AtomicU64,
    /// For each entry the client that it holds a descriptor of; 0: free.
    pub entries: [AtomicU32; MOST_ENTRIES],
    /// For each process its descriptors that the queue has taken and that have not ended.
    pub in_flight: [AtomicU32; MOST_CLIENTS],
    /// For each place of `in_flight` the process that has it; 0: none.
    pub processes: [AtomicU32; MOST_CLIENTS],
    /// For each place of `in_flight` the client that has it.
    pub clients: [AtomicU32; MOST_CLIENTS],
    /// What happened.
    pub counts: QueueCounters,
}

/// What happened at a queue since the start of the run.
#[repr(C)]
pub struct QueueCounters {
    /// Descriptors that it took, a batch as one.
    pub accepted: AtomicU64,
    /// Answers "retry".
    pub retried: AtomicU64,
    /// Posted writes that were lost.
    pub lost: AtomicU64,
    /// Descriptors and members of batches by the status they ended with.
    pub ended: [AtomicU64; 64],
    /// Those that ended with success, by operation.
    pub done: [AtomicU64; 64],
    /// Bytes of theirs.
    pub bytes: AtomicU64,
}

impl QueueRegisters {
    /// Descriptors that wait for an engine.
    #[must_use]
    pub fn occupancy(&self) -> u32 {
        let held = self.entries.iter().filter(|owner| owner.load(Ordering::Relaxed) != 0).count();
        units::narrow::fit(held)
    }

    /// Descriptors that the queue has taken and that have not ended, those that wait included.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.iter().map(|count| count.load(Ordering::Acquire)).sum()
    }

    /// Frees what a client that is no more has left.
    pub fn release(&self, client: u32, slot: usize) {
        for owner in &self.entries {
            // An entry of another client stays as it is.
            let _ = owner.compare_exchange(client, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
        self.in_flight[slot].store(0, Ordering::Release);
    }
}

impl DeviceRegisters {
    /// Frees what the program has left that this process was before it became another one (`exec`), of
    /// queues and of the event log: its engines are no more.
    pub fn release_of(&self, process: u32) {
        for queue in &self.queue {
            for (slot, (own, client)) in queue.processes.iter().zip(&queue.clients).enumerate() {
                if own.load(Ordering::Acquire) == process {
                    let client = client.load(Ordering::Acquire);
                    queue.release(client, slot);
                    self.events.release(client);
                }
            }
        }
    }

    /// What the device can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        let size = |number: usize| units::narrow::fit(self.sizes[number].load(Ordering::Relaxed));
        let count = |number: usize| units::narrow::fit(size(number));
        Capabilities {
            version: self.version.load(Ordering::Relaxed),
            gen_cap: self.gen_cap.load(Ordering::Relaxed),
            op_cap: self.op_cap.load(Ordering::Relaxed),
            work_queues: count(0),
            queue_entries: size(1),
            groups: count(2),
            engines: count(3),
            read_buffers: size(4),
            ..Capabilities::VERSION_1
        }
    }

    /// Sets what the device can do.
    pub fn set_capabilities(&self, part: &Capabilities) {
        self.version.store(part.version, Ordering::Relaxed);
        self.gen_cap.store(part.gen_cap, Ordering::Relaxed);
        self.op_cap.store(part.op_cap, Ordering::Relaxed);
        let sizes = [
            part.work_queues.into(),
            part.queue_entries.into(),
            part.groups.into(),
            part.engines.into(),
            part.read_buffers.into(),
        ];
        for (register, value) in self.sizes.iter().zip(sizes) {
            register.store(value, Ordering::Relaxed);
        }
    }

    /// Notes an error that no completion record could take: the first one stays, a further one sets the
    /// overflow bit.
    pub fn note_error(&self, words: [u64; 4]) {
        const OVERFLOW: u64 = 2;
        let [head, rest @ ..] = &self.software_error;
        let (first, others) = (words[0], &words[1..]);
        if self.has_error.swap(1, Ordering::AcqRel) != 0 {
            head.fetch_or(OVERFLOW, Ordering::AcqRel);
            return;
        }
        for (register, word) in rest.iter().zip(others) {
            register.store(*word, Ordering::Relaxed);
        }
        // Who sees the valid bit sees the address, too. Another error may have set a bit already.
        head.fetch_or(first, Ordering::AcqRel);
    }

    /// The software error register.
    #[must_use]
    pub fn error_words(&self) -> [u64; 4] {
        // The first word first: the others are there when it says that it is valid.
        std::array::from_fn(|word| self.software_error[word].load(Ordering::Acquire))
    }

    /// Clears the software error register.
    pub fn clear_error(&self) {
        self.notified.store(0, Ordering::Release);
        for word in &self.software_error {
            word.store(0, Ordering::Release);
        }
        self.has_error.store(0, Ordering::Release);
    }
}

/// Registers in a file that processes share.
#[derive(Debug)]
pub struct SharedRegisters(MmapRaw);

impl SharedRegisters {
    /// Creates the file.
    ///
    /// # Errors
    /// If the file cannot be created, sized or mapped.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        // Written and not only sized, so that a disk that is full says so now.
        (&file).write_all(&vec![0; size_of::<RunRegisters>()])?;
        let shared = Self(MmapOptions::new().map_raw(&file)?);
        shared.magic.store(MAGIC, Ordering::Release);
        Ok(shared)
    }

    /// Maps the file of a run.
    ///
    /// # Errors
    /// If it cannot be mapped, or is no such file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let other = || io::Error::new(io::ErrorKind::InvalidData, "no registers of this version");
        if file.metadata()?.len() != size_of::<RunRegisters>() as u64 {
            return Err(other());
        }
        let shared = Self(MmapOptions::new().map_raw(&file)?);
        if shared.magic.load(Ordering::Acquire) == MAGIC { Ok(shared) } else { Err(other()) }
    }

    /// The registers, for as long as the process lives.
    #[must_use]
    pub fn forever(self) -> &'static RunRegisters {
        let registers: *const RunRegisters = self.0.as_ptr().cast();
        std::mem::forget(self);
        // SAFETY: the mapping has the size of the registers, which are atomics that any bytes are valid
        // for, and is never undone.
        unsafe { &*registers }
    }
}

impl std::ops::Deref for SharedRegisters {
    type Target = RunRegisters;

    fn deref(&self) -> &RunRegisters {
        // SAFETY: as in `forever`; the mapping lives as long as this.
        unsafe { &*self.0.as_ptr().cast() }
    }
}
