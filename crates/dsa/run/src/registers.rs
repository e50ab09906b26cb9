//! The registers of a run's devices, in memory that its processes share.
//!
//! The supervisor writes the configuration, programs read it; both count. No lock is held across
//! processes, as any of them may be killed at any time. Everything that a process owns is marked with its
//! client number, and the supervisor releases it when the process has ended.

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

/// Most devices of a run.
pub const MOST_DEVICES: usize = 16;
/// Most queues of a device.
pub const MOST_QUEUES: usize = 8;
/// Most groups of a device.
pub const MOST_GROUPS: usize = 4;
/// Most entries of a queue.
pub const MOST_ENTRIES: usize = 256;
/// Most clients of a run at a time: pairs of a process and a queue that it has open. Far more processes than a
/// kernel starts by default (`pid_max` is 32,768), as the queues share these places.
pub const MOST_CLIENTS: usize = 1 << 18;
/// Mark of the file, with the version of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"skdsa\0\0\x04");

/// Values of [`DeviceRegisters::state`] and [`QueueRegisters::state`].
pub mod state {
    /// State: the device or queue accepts no descriptors.
    pub const DISABLED: u32 = 0;
    /// State: descriptors are accepted and executed.
    pub const ENABLED: u32 = 1;
    /// State: stopped by an error or a reset.
    pub const HALTED: u32 = 2;
}

/// Inode number of the PID namespace of this process; 0 if it cannot be read.
#[must_use]
pub fn process_namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

/// Registers of a run.
#[repr(C)]
pub struct RunRegisters {
    magic: AtomicU64,
    /// Number of devices of the run.
    pub devices: AtomicU32,
    /// PID of the supervisor.
    pub supervisor: AtomicU32,
    /// Device number (`st_dev`) of the file system with the queues' files.
    pub files: AtomicU64,
    /// Monotonic time of the start in nanoseconds: time zero of the log of descriptors.
    pub start_ns: AtomicU64,
    /// Number of lines of that log that could not be written.
    pub lost_lines: AtomicU64,
    /// Inode number of the supervisor's PID namespace. PIDs in another namespace do not compare with
    /// those here.
    pub process_namespace: AtomicU64,
    /// Number of places in `clients` of which any was ever taken: those behind are free.
    pub places: AtomicU32,
    unused: AtomicU32,
    /// Registers of each device.
    pub device: [DeviceRegisters; MOST_DEVICES],
    /// The clients of all queues.
    pub clients: [ClientRegisters; MOST_CLIENTS],
}

/// Registers of a client: of a process that has a queue open.
#[repr(C)]
pub struct ClientRegisters {
    /// PID of the process; 0: the place is free.
    pub process: AtomicU32,
    /// Number of the client, unique in the run.
    pub number: AtomicU32,
    /// Device and queue, as [`place_of`] has them.
    pub queue: AtomicU32,
    /// Number of descriptors of the client that the queue has accepted and that have not ended.
    pub in_flight: AtomicU32,
}

/// Device and queue in one number, as clients have it.
#[must_use]
pub fn place_of(device: usize, queue: usize) -> u32 {
    units::narrow::fit(device * MOST_QUEUES + queue)
}

/// Registers of a device.
#[repr(C)]
pub struct DeviceRegisters {
    /// State of the device, one of [`state`].
    pub state: AtomicU32,
    version: AtomicU32,
    gen_cap: AtomicU64,
    op_cap: AtomicU64,
    sizes: [AtomicU32; 5],
    /// 1: the interrupt of an error has arrived, and processes that poll for it are woken.
    pub notified: AtomicU32,
    /// Number of engines of each group.
    pub engines: [AtomicU32; MOST_GROUPS],
    /// Software error register. The first error writes all words, the first word last.
    software_error: [AtomicU64; 4],
    /// 1: an error has claimed the register, even if its words are not written yet.
    has_error: AtomicU32,
    unused: AtomicU32,
    /// Registers and memory of the event log.
    pub events: Events,
    /// Registers of each queue.
    pub queue: [QueueRegisters; MOST_QUEUES],
}

/// Registers of a queue.
#[repr(C)]
pub struct QueueRegisters {
    /// State, one of [`state`]. Submissions test whether it is 1, enabled.
    pub state: AtomicU32,
    /// Number of configurations of the queue until now.
    pub generation: AtomicU32,
    /// Mode of the queue: 1 dedicated, 0 shared.
    pub dedicated: AtomicU32,
    /// Size of the queue, in entries.
    pub size: AtomicU32,
    /// Threshold of a shared queue, in entries.
    pub threshold: AtomicU32,
    /// Priority of the queue, 1 to 15.
    pub priority: AtomicU32,
    /// Number of the group to which the queue belongs.
    pub group: AtomicU32,
    /// 1: descriptors may block on faults.
    pub block_on_fault: AtomicU32,
    /// Most descriptors that a batch may have.
    pub most_batch: AtomicU32,
    unused: AtomicU32,
    /// Most bytes that a descriptor may transfer.
    pub most_transfer_bytes: AtomicU64,
    /// Operations that the queue allows: bit n for opcode n.
    pub operations: AtomicU64,
    /// Client whose descriptor is in each entry; 0: free.
    pub entries: [AtomicU32; MOST_ENTRIES],
    /// Counters of the queue since the start of the run.
    pub counts: QueueCounters,
}

/// Counters of a queue since the start of the run.
#[repr(C)]
pub struct QueueCounters {
    /// Descriptors that the queue accepted; a batch counts as one.
    pub accepted: AtomicU64,
    /// Number of enqueue commands that were refused ("retry").
    pub retried: AtomicU64,
    /// Number of posted writes that were lost.
    pub lost: AtomicU64,
    /// Descriptors and members of batches that ended, by status code.
    pub ended: [AtomicU64; 64],
    /// Descriptors and members of batches that ended with success, by operation code.
    pub done: [AtomicU64; 64],
    /// Number of bytes that successful descriptors transferred.
    pub bytes: AtomicU64,
}

impl QueueRegisters {
    /// Number of descriptors that wait for an engine.
    #[must_use]
    pub fn occupancy(&self) -> u32 {
        let held = self.entries.iter().filter(|owner| owner.load(Ordering::Relaxed) != 0).count();
        units::narrow::fit(held)
    }

    /// Frees the entries of a client that has ended.
    fn release(&self, client: u32) {
        for owner in &self.entries {
            // An entry of another client stays as it is.
            let _ = owner.compare_exchange(client, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

impl RunRegisters {
    /// The clients of which any may be taken.
    pub fn taken_clients(&self) -> &[ClientRegisters] {
        let places = units::narrow::usize_from(self.places.load(Ordering::Acquire).into());
        &self.clients[..places.min(MOST_CLIENTS)]
    }

    /// Number of descriptors that a queue has accepted and that have not ended, including those that wait.
    #[must_use]
    pub fn in_flight(&self, device: usize, queue: usize) -> u32 {
        let place = place_of(device, queue);
        let clients = self.taken_clients().iter();
        let own = clients.filter(|client| client.queue.load(Ordering::Acquire) == place);
        own.map(|client| client.in_flight.load(Ordering::Acquire)).sum()
    }

    /// Frees what a client that has ended has in its queue and in the event log.
    pub fn release(&self, client: &ClientRegisters) {
        let place = units::narrow::usize_from(client.queue.load(Ordering::Acquire).into());
        let number = client.number.load(Ordering::Acquire);
        let device = &self.device[place / MOST_QUEUES];
        device.queue[place % MOST_QUEUES].release(number);
        client.in_flight.store(0, Ordering::Release);
        device.events.release(number);
    }

    /// Frees everything that a process has in queues and in event logs. A process calls it for itself after
    /// `exec`, as the engines of its former program have ended.
    pub fn release_process(&self, process: u32) {
        let clients = self.taken_clients().iter();
        for client in clients.filter(|own| own.process.load(Ordering::Acquire) == process) {
            self.release(client);
        }
    }
}

impl DeviceRegisters {
    /// Reads the capabilities of the device.
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

    /// Writes the capabilities of the device.
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

    /// Adds an error to the software error register: the first one is stored, a further one sets the
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
        // A reader that sees the valid bit sees the address, too. Another error may have set a bit already.
        head.fetch_or(first, Ordering::AcqRel);
    }

    /// Reads the software error register, lowest word first.
    #[must_use]
    pub fn error_words(&self) -> [u64; 4] {
        // The first word first: the others are written when its valid bit is set.
        std::array::from_fn(|word| self.software_error[word].load(Ordering::Acquire))
    }

    /// Clears the software error register and its interrupt.
    pub fn clear_error(&self) {
        self.notified.store(0, Ordering::Release);
        for word in &self.software_error {
            word.store(0, Ordering::Release);
        }
        self.has_error.store(0, Ordering::Release);
    }
}

/// A mapped file with the registers, which processes share.
#[derive(Debug)]
pub struct SharedRegisters(MmapRaw);

impl SharedRegisters {
    /// Creates and maps the file.
    ///
    /// # Errors
    /// If the file cannot be created, sized or mapped.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        // Written, not only resized, so that a full disk is reported now.
        (&file).write_all(&vec![0; size_of::<RunRegisters>()])?;
        let shared = Self(MmapOptions::new().map_raw(&file)?);
        shared.magic.store(MAGIC, Ordering::Release);
        Ok(shared)
    }

    /// Maps the file of a run.
    ///
    /// # Errors
    /// If the file cannot be mapped, or does not have registers of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let other = || {
            io::Error::new(io::ErrorKind::InvalidData, "not a file with registers of this version")
        };
        if file.metadata()?.len() != size_of::<RunRegisters>() as u64 {
            return Err(other());
        }
        let shared = Self(MmapOptions::new().map_raw(&file)?);
        if shared.magic.load(Ordering::Acquire) == MAGIC { Ok(shared) } else { Err(other()) }
    }

    /// Leaks the mapping. Returns registers that are valid as long as the process lives.
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
