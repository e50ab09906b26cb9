//! The root-complex buffer: a few lines of devices, with their coherence states.
//!
//! Models: a fully associative LRU buffer with miss-status registers (MSHRs) in front of the LLC
//! (DDIO on) or of memory (DDIO off), and the separate I/O cache of older gem5 models. It is a state
//! machine: [`RootComplexBuffer::read`] and [`RootComplexBuffer::write`] say which bus action is
//! needed, the fabric performs it and reports back with [`RootComplexBuffer::fill`].
//! Source: "Data Direct I/O characterization for future I/O system exploration" (ISPASS'20).
//! Simplifies: no data; a line is in the buffer from the call on, not from its arrival; a write-back
//! takes no MSHR. It is our choice, not a finding, that a core's read leaves a shared copy in the
//! buffer.
//!
//! The duties of the fabric and the LLC, the acquisition before the victim's write-back:
//!
//! - **[`Acquire::Shared`]**: deliver the newest content (LLC, else a core, else DRAM without
//!   allocation). A core that holds the line Modified or Exclusive is downgraded; modified content is
//!   written back. The LLC keeps its copy, and a modified one stays modified.
//! - **[`Acquire::Exclusive`]**: remove the line from the LLC and from every core. Without data,
//!   modified content is dropped: each byte is about to be overwritten. With data, the newest content
//!   is delivered; if it was newer than memory, the buffer must write it back (`modified` of `fill`).
//! - **Freed by I/O**: an LLC block that such an invalidation or read for ownership empties is marked
//!   if [`BufferConfig::marks_freed`] says so. A fill of a marked block clears the mark, unless
//!   [`BufferConfig::refill_clears_mark`] denies it.
//! - **[`WriteBack::Llc`]**: update the line if it hits the LLC; else refill a marked block of the set,
//!   in any way; else allocate in the DDIO ways of the device, evicting as usual. The line is modified
//!   and owned by the device.
//! - **Cores**: before a core's read beyond its private caches, [`RootComplexBuffer::snoop_read`]: if
//!   the buffer has the line the core gets it as shared, never exclusive, and modified content is
//!   written back. Before a core obtains the right to write, [`RootComplexBuffer::snoop_invalidate`]:
//!   modified content goes to that core. Requests of devices behind other buffers do the same.
//!
//! `as_published_code` reproduces the authors' public code where it departs from their paper: marks are
//! set by invalidations only and stay when the block is refilled, so that a later write-back can evict
//! a live line outside the DDIO ways; the LLC knows only that a line belongs to I/O, not to which
//! device; the number of DDIO ways is used as a bit pattern.

mod placement;

pub use placement::{Acquire, BufferConfig, Placement, WriteBack};

use super::associative::{Associative, VictimChoice};
use crate::attribution::AgentId;
use crate::occupancy::Entries;
use units::{LineAddr, Picos};

/// A line that the buffer gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedLine {
    /// Address of the buffered line.
    pub line: LineAddr,
    /// The device that wrote it, or else requested it first.
    pub device: AgentId,
    /// Whether it is newer than caches and memory: [`BufferConfig::write_back`] gives its destination.
    pub modified: bool,
}

/// The action that a device's access to a line requires of the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferAction {
    /// The copy to acquire, beginning at `ready`.
    pub acquire: Acquire,
    /// The victim in the buffer.
    pub victim: Option<BufferedLine>,
    /// Time at which the access can proceed: at once, or when an earlier fill of the line has
    /// arrived. If nothing is acquired, the access then completes.
    pub ready: Picos,
}

/// Counters of the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferCounters {
    /// Number of accesses of devices that needed no acquisition.
    pub hits: u64,
    /// Number of lines acquired to read.
    pub shared_acquired: u64,
    /// Number of lines acquired exclusively.
    pub exclusive_acquired: u64,
    /// Number of modified lines that were evicted or written back because a core read them.
    pub write_backs: u64,
}

/// State of a line in the buffer, as in the private caches of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferState {
    /// Caches may hold it too.
    Shared,
    /// The only copy, equal to memory.
    Exclusive,
    /// The only copy, newer than memory.
    Modified,
}

#[derive(Clone, Copy, Debug)]
struct BufferEntry {
    state: BufferState,
    device: AgentId,
    /// When its last fill arrives.
    filled: Picos,
}

/// The buffer of a root port: the lines in it with their coherence states.
#[derive(Clone, Debug)]
pub struct RootComplexBuffer {
    config: BufferConfig,
    lines: Associative<BufferEntry>,
    mshrs: Entries,
    counters: BufferCounters,
}

impl RootComplexBuffer {
    /// An empty buffer; `None` if the configuration has no entries.
    ///
    /// # Panics
    /// If there are entries but no MSHRs. Platforms are checked before they get here.
    #[must_use]
    pub fn new(config: BufferConfig) -> Option<Self> {
        let blank =
            BufferEntry { state: BufferState::Shared, device: AgentId(0), filled: Picos::ZERO };
        (config.entries > 0).then(|| Self {
            config,
            lines: Associative::new(config.entries, VictimChoice::Lru, blank),
            mshrs: Entries::new(config.mshrs),
            counters: BufferCounters::default(),
        })
    }

    /// Parameters of the buffer.
    #[must_use]
    pub fn config(&self) -> &BufferConfig {
        &self.config
    }

    /// Counters of the buffer since time zero.
    #[must_use]
    pub fn counters(&self) -> BufferCounters {
        self.counters
    }

    /// State of a line; `None` if it is not held.
    #[must_use]
    pub fn state(&self, line: LineAddr) -> Option<BufferState> {
        self.lines.find(key(line)).map(|slot| self.lines.value(slot).state)
    }

    /// `device` reads a line.
    #[inline]
    pub fn read(&mut self, line: LineAddr, device: AgentId, now: Picos) -> BufferAction {
        if let Some(slot) = self.lines.find(key(line)) {
            self.counters.hits += 1;
            let ready = self.lines.touch(slot).filled.max(now);
            return BufferAction { acquire: Acquire::None, victim: None, ready };
        }
        let acquire = self.config.read_acquires();
        let state =
            if acquire == Acquire::Shared { BufferState::Shared } else { BufferState::Exclusive };
        let victim = self.put(line, BufferEntry { state, device, filled: now });
        self.counts(acquire);
        BufferAction { acquire, victim, ready: now }
    }

    /// `device` writes a line, full (`full`) or partial.
    #[inline]
    pub fn write(
        &mut self,
        line: LineAddr,
        device: AgentId,
        full: bool,
        now: Picos,
    ) -> BufferAction {
        let wanted = Acquire::Exclusive { with_data: !full };
        let Some(slot) = self.lines.find(key(line)) else {
            let entry = BufferEntry { state: BufferState::Modified, device, filled: now };
            let victim = self.put(line, entry);
            self.counts(wanted);
            return BufferAction { acquire: wanted, victim, ready: now };
        };
        let entry = self.lines.touch(slot);
        let acquire = if entry.state == BufferState::Shared { wanted } else { Acquire::None };
        (entry.state, entry.device) = (BufferState::Modified, device);
        let ready = entry.filled.max(now);
        self.counts(acquire);
        BufferAction { acquire, victim: None, ready }
    }

    /// The fabric has acquired `line`: requested at `asked`, answered at `answered`, from a copy newer
    /// than memory (`modified`) that is now invalid. Returns when the line is in the buffer, which is
    /// later if all MSHRs were taken.
    pub fn fill(&mut self, line: LineAddr, asked: Picos, answered: Picos, modified: bool) -> Picos {
        let hold = answered.saturating_sub(asked);
        // `Entries` spreads the load evenly; while MSHRs are free, no load waits for one.
        let spread = hold.saturating_sub(Picos(hold.0 / u64::from(self.config.mshrs)));
        let waited = self.mshrs.admit(asked, hold).saturating_sub(spread);
        let filled = asked + hold + waited;
        if let Some(slot) = self.lines.find(key(line)) {
            let entry = self.lines.value_mut(slot);
            entry.filled = filled;
            if modified {
                entry.state = BufferState::Modified;
            }
        }
        filled
    }

    /// A core reads a line that misses its own caches. If the buffer holds it, both get no more than a
    /// shared copy; modified content is written back.
    #[inline]
    pub fn snoop_read(&mut self, line: LineAddr) -> Option<BufferedLine> {
        let slot = self.lines.find(key(line))?;
        let was = *self.lines.value(slot);
        self.lines.value_mut(slot).state = BufferState::Shared;
        Some(self.held(line, was, true))
    }

    /// A core will write or flush a line: the buffer invalidates it. Modified content goes to the
    /// writing core, or to memory on a flush.
    #[inline]
    pub fn snoop_invalidate(&mut self, line: LineAddr) -> Option<BufferedLine> {
        let slot = self.lines.find(key(line))?;
        let was = self.lines.take(slot);
        Some(self.held(line, was, false))
    }

    /// Clears all counters and reservations; lines stay.
    pub fn forget(&mut self) {
        self.counters = BufferCounters::default();
        self.mshrs = Entries::new(self.config.mshrs);
        self.lines.values_mut().for_each(|entry| entry.filled = Picos::ZERO);
    }

    fn put(&mut self, line: LineAddr, entry: BufferEntry) -> Option<BufferedLine> {
        let (victim, was) = self.lines.insert(key(line), entry)?;
        Some(self.held(LineAddr(u64::from(victim)), was, true))
    }

    fn held(&mut self, line: LineAddr, was: BufferEntry, writes_back: bool) -> BufferedLine {
        let modified = was.state == BufferState::Modified;
        self.counters.write_backs += u64::from(modified && writes_back);
        BufferedLine { line, device: was.device, modified }
    }

    fn counts(&mut self, acquire: Acquire) {
        *match acquire {
            Acquire::None => &mut self.counters.hits,
            Acquire::Shared => &mut self.counters.shared_acquired,
            Acquire::Exclusive { .. } => &mut self.counters.exclusive_acquired,
        } += 1;
    }
}

/// Line numbers fit 32 bits, as in every cache of the model.
#[inline]
fn key(line: LineAddr) -> u32 {
    debug_assert!(line.0 < tag_array::TagArray::MAX_LINES);
    line.low_bits()
}
