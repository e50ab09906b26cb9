//! The components that the cores and devices of one socket share, and the cores' private caches.
//!
//! Models: one processor: cores, LLC, snoop filter, integrated I/O block.
//! Source: platform file.
//! Simplifies: without a snoop filter every core is snooped, which takes no additional time.

use super::FabricConfig;
use crate::attribution::Owner;
use crate::counters::CoreCounters;
use crate::llc::inclusion::{FetchHit, HitWay, HoldersIn};
use crate::llc::{Directory, Inclusion, Llc, LlcConfig, Sharers};
use crate::private_caches::{MesiState, PrivateCaches};
use crate::replacement::Replacement;
use crate::root_complex::iio::{Iio, IioConfig};
use crate::tracer::Found;
use units::narrow::fit;
use units::{ById, CoreId, Id, LineAddr, RootPortId, SetIndex, SocketCore, SocketId, WayMask};

/// Components that the cores and devices of a socket share.
#[derive(Clone, Debug)]
pub struct SocketConfig {
    /// Parameters of the LLC.
    pub llc: LlcConfig,
    /// The snoop filter; without one, every core is snooped.
    pub directory: Option<DirectoryConfig>,
    /// Parameters of the integrated I/O block.
    pub iio: IioConfig,
}

/// Parameters of a snoop filter.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryConfig {
    /// Directory-only ways besides the LLC's tracked ways.
    pub ways: u32,
    /// Replacement policy of the directory.
    pub replacement: Replacement,
}

/// Ways whose lines are in no core when a device hits them.
fn newest_ways(llc: &LlcConfig) -> WayMask {
    let tracked = WayMask::bottom(llc.inclusion.tracked_ways(llc.ways));
    let ways = (0..llc.ways)
        .filter(|&way| llc.inclusion.device_hit(tracked.contains(way)) == HoldersIn::None);
    WayMask(ways.fold(0, |mask, way| mask | 1 << way))
}

/// A processor: its cores' caches, LLC, snoop filter and integrated I/O block.
#[derive(Clone, Debug)]
pub(super) struct Socket {
    pub cores: ById<SocketCore, PrivateCaches>,
    pub llc: Llc,
    pub directory: Option<Directory>,
    pub inclusion: Inclusion,
    pub iio: Iio,
    /// Ways whose lines are in no core when a device hits them.
    newest_ways: WayMask,
    /// Owners (bit i for owner i) whose unread lines cores' fills spare; usually none.
    pub spared_owners: u64,
    /// Number of its first core in the machine.
    pub first_core: CoreId,
}

impl Socket {
    pub fn new(config: &FabricConfig, socket: SocketId, first_core: CoreId) -> Self {
        let cores = config.cores[socket.index()] as usize;
        let seed = |part: u64| {
            // Seeds of the first socket's components are numbered from 1, those of its cores from 10.
            let part = part + (u64::from(socket.0) << 32);
            config.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(part)
        };
        let private = |core| PrivateCaches::new(&config.private, seed(2 * core as u64 + 10));
        let llc = &config.socket.llc;
        let directory = config.socket.directory.map(|directory| {
            let sets = llc.map.total_sets();
            Directory::new(sets, directory.ways, directory.replacement, seed(2))
        });
        Self {
            cores: (0..cores).map(private).collect(),
            newest_ways: newest_ways(llc),
            llc: Llc::new(llc, cores + config.ports.len(), seed(1)),
            directory,
            inclusion: llc.inclusion,
            iio: Iio::new(config.socket.iio.clone()),
            spared_owners: 0,
            first_core,
        }
    }

    /// Clears all counters and reservations; cache content stays.
    pub fn forget(&mut self) {
        for core in self.cores.iter_mut() {
            core.counters = CoreCounters::default();
        }
        self.iio = Iio::new(self.iio.config.clone());
    }

    /// Prefetches the data for a look-up into the host's cache.
    #[inline]
    pub fn prefetch(&self, set: SetIndex) {
        self.llc.prefetch(set);
        if let Some(directory) = &self.directory {
            directory.prefetch(set);
        }
    }

    /// Prefetches the data for a look-up by a device into the host's cache.
    #[inline]
    pub fn prefetch_for_device(&self, set: SetIndex) {
        self.llc.prefetch(set);
        if let Some(directory) = &self.directory {
            directory.prefetch_signature(set);
        }
    }

    /// The owner number of a device.
    #[inline]
    pub fn device(&self, port: RootPortId) -> Owner {
        Owner(fit::<u8, _>(self.cores.len()) + port.0)
    }

    /// Which structure lists the cores that hold the line in `way`, when a device reads or writes it.
    #[inline]
    pub fn on_device_hit(&self, way: u32) -> HoldersIn {
        self.inclusion.device_hit(self.llc.is_tracked_way(way))
    }

    /// Whether no core can hold a newer copy of the line in `way`, when a device reads or writes it.
    #[inline]
    pub fn holds_the_newest(&self, way: u32) -> bool {
        self.newest_ways.contains(way)
    }

    /// The owners (bit i for owner i) that are devices.
    pub fn devices(&self) -> u64 {
        u64::MAX << self.cores.len()
    }

    /// The ways of `within` that a core's fill may take: those without unread lines of devices that
    /// have priority, or all if none is left.
    #[inline]
    pub fn ways_for_core(&self, set: SetIndex, within: WayMask) -> WayMask {
        if self.spared_owners == 0 {
            return within;
        }
        self.all_but_unread(set, within, self.spared_owners)
    }

    /// The ways of `within` without those that hold unread lines of `owners`; all if none is left.
    pub fn all_but_unread(&self, set: SetIndex, within: WayMask, owners: u64) -> WayMask {
        let left = within.0 & !self.llc.unread_ways(set, within, owners).0;
        if left == 0 { within } else { WayMask(left) }
    }

    /// Whether a device wrote the content and no core has rewritten it since.
    #[inline]
    pub fn is_device(&self, owner: Owner) -> bool {
        usize::from(owner.0) >= self.cores.len()
    }

    /// How the LLC treats the line in one of its ways when a core fetches it.
    #[inline]
    pub fn on_fetch_hit(&self, set: SetIndex, way: u32) -> FetchHit {
        self.inclusion.fetch_hit(HitWay {
            is_tracked: self.llc.is_tracked_way(way),
            is_held: !self.llc.sharers(set, way).is_empty(),
            by_device: self.is_device(self.llc.info(set, way).owner),
        })
    }

    /// Whether a device's write puts a line that misses the LLC into the inclusive ways, since a core holds
    /// it.
    #[inline]
    pub fn is_moved_by_write(&self, set: SetIndex, line: LineAddr) -> bool {
        self.inclusion.device_write_moves() && !self.untracked_holders(set, line).is_empty()
    }

    /// Cores that hold a line which has no tracked LLC way.
    #[inline(always)]
    pub fn untracked_holders(&self, set: SetIndex, line: LineAddr) -> Sharers {
        match &self.directory {
            Some(directory) => directory.sharers(set, line),
            None if self.inclusion.llc_holds_all() => Sharers::NONE,
            None => self.ask_every_core(line),
        }
    }

    /// Cores other than `core` that hold a line which has no tracked LLC way.
    #[inline]
    pub fn other_holders(&self, core: SocketCore, set: SetIndex, line: LineAddr) -> Sharers {
        if self.cores.len() == 1 {
            return Sharers::NONE;
        }
        self.untracked_holders(set, line).without(core)
    }

    /// Whether a data cache of `core` holds a line that misses the LLC.
    #[inline]
    pub fn holds_untracked(&self, core: SocketCore, set: SetIndex, line: LineAddr) -> bool {
        match &self.directory {
            Some(directory) if !self.inclusion.levels_are_independent() => {
                directory.sharers(set, line).contains(core)
            }
            // L1I is not checked.
            _ => {
                let private = &self.cores[core];
                private.l1.state(line).max(private.l2.state(line)).is_some()
            }
        }
    }

    /// Cores that hold a line, from the tracked way or the snoop filter.
    pub fn holders(&self, set: SetIndex, line: LineAddr) -> Sharers {
        match self.llc.find(set, line) {
            Some(way) if self.llc.is_tracked_way(way) => self.llc.sharers(set, way),
            _ => self.untracked_holders(set, line),
        }
    }

    /// Whether the line is in any cache of this socket.
    pub fn has(&self, set: SetIndex, line: LineAddr) -> bool {
        self.llc.find(set, line).is_some() || !self.untracked_holders(set, line).is_empty()
    }

    #[inline(never)]
    pub fn ask_every_core(&self, line: LineAddr) -> Sharers {
        let holds = |core: &SocketCore| self.cores[*core].state(line).is_some();
        self.cores.ids().filter(holds).fold(Sharers::NONE, Sharers::with)
    }

    /// Invalidates `line` in the private caches of `cores`; returns whether one of them had it
    /// modified.
    #[inline]
    pub fn invalidate_cores(&mut self, line: LineAddr, cores: Sharers) -> bool {
        cores.cores().fold(false, |modified, core| {
            let state = self.cores[core].invalidate(line);
            modified || state == Some(MesiState::Modified)
        })
    }

    /// Makes the copies of `cores` Shared; returns whether one was modified.
    pub fn downgrade_cores(&mut self, line: LineAddr, cores: Sharers) -> bool {
        cores.cores().fold(false, |modified, core| modified | self.cores[core].downgrade(line))
    }

    /// The core among `cores` that holds `line` modified, if any.
    #[inline]
    pub fn modified_by(&self, line: LineAddr, cores: Sharers) -> Option<SocketCore> {
        cores.cores().find(|&core| self.cores[core].is_modified(line))
    }

    /// The machine-wide id of a core of this socket.
    #[inline]
    pub fn core_id(&self, core: SocketCore) -> CoreId {
        CoreId(self.first_core.0 + core.0)
    }

    /// The line is found in a core of this socket.
    #[inline]
    pub fn found_in(&self, core: SocketCore) -> Found {
        Found::OtherCore(self.core_id(core))
    }

    /// The source of a line in an LLC way: a core above it may have the newest content.
    #[inline]
    pub fn found_in_llc(&self, way: u32, modified_by: Option<SocketCore>) -> Found {
        match modified_by {
            Some(core) => self.found_in(core),
            None => Found::LlcHit(way),
        }
    }

    /// The source of the newest content of the line in `way`, when a device reads it.
    #[inline(always)]
    pub fn newest_of_hit(&self, set: SetIndex, way: u32, line: LineAddr) -> Found {
        let holders = match self.on_device_hit(way) {
            HoldersIn::None => Sharers::NONE,
            HoldersIn::Way => self.llc.sharers(set, way),
            HoldersIn::SnoopFilter => self.untracked_holders(set, line),
        };
        self.found_in_llc(way, self.modified_by(line, holders))
    }

    /// A core that holds a line without a tracked LLC way, as the source of the line.
    #[inline]
    pub fn found_in_core(&self, set: SetIndex, line: LineAddr) -> Option<Found> {
        self.untracked_holders(set, line).cores().next().map(|core| self.found_in(core))
    }

    /// A device overwrites the line in `way`: cores' copies are invalidated.
    #[inline(always)]
    pub fn drop_copies_of_hit(&mut self, set: SetIndex, way: u32, line: LineAddr) {
        match self.on_device_hit(way) {
            HoldersIn::None => {}
            HoldersIn::Way => {
                let holders = self.llc.sharers(set, way);
                self.invalidate_cores(line, holders);
                self.llc.set_sharers(set, way, Sharers::NONE);
            }
            HoldersIn::SnoopFilter => drop(self.drop_untracked_copies(set, line)),
        }
    }

    /// Invalidates cores' copies of a line without a tracked LLC way; returns whether one was modified.
    #[inline(always)]
    pub fn drop_untracked_copies(&mut self, set: SetIndex, line: LineAddr) -> bool {
        let holders = self.untracked_holders(set, line);
        !holders.is_empty() && self.drop_copies_of(set, line, holders)
    }

    #[inline(never)]
    fn drop_copies_of(&mut self, set: SetIndex, line: LineAddr, holders: Sharers) -> bool {
        if let Some(directory) = &mut self.directory {
            directory.record(set, line, Sharers::NONE);
        }
        self.invalidate_cores(line, holders)
    }

    /// Invalidates a line in every cache; returns whether a copy was newer than memory.
    pub fn drop_line(&mut self, line: LineAddr) -> bool {
        self.drop_line_of(self.llc.set_of(line), line)
    }

    /// As [`Self::drop_line`], for a line of this set.
    pub fn drop_line_of(&mut self, set: SetIndex, line: LineAddr) -> bool {
        let mut dirty = self.drop_untracked_copies(set, line);
        if let Some(way) = self.llc.find(set, line)
            && let Some(taken) = self.llc.take(set, way)
        {
            dirty |= taken.info.dirty;
            dirty |= self.invalidate_cores(line, taken.sharers);
        }
        dirty
    }

    /// Makes every copy of a line Shared and clean; returns whether one was newer than memory.
    pub fn clean_line(&mut self, line: LineAddr) -> bool {
        let set = self.llc.set_of(line);
        let holders = self.holders(set, line);
        let mut dirty = self.downgrade_cores(line, holders);
        if let Some(way) = self.llc.find(set, line) {
            dirty |= self.llc.info(set, way).dirty;
            self.llc.mark_clean(set, way);
        }
        dirty
    }

    /// Marks a line in the LLC as used: another socket has read it.
    pub fn mark_consumed(&mut self, line: LineAddr) {
        let set = self.llc.set_of(line);
        if let Some(way) = self.llc.find(set, line) {
            self.llc.mark_consumed(set, way);
        }
    }
}
