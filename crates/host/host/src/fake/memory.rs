//! Memory of a described machine, whose accesses are emulated. The boxes count them, and now and then
//! look-ups of another program; the latency of a load follows from the distance to the slice.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::FakeMachine;
use super::description::RegisterAnswer;
use super::sets::CachedLines;
use super::slices::{SliceBoxes, SliceDescription};
use crate::cpu::CpuId;
use crate::error::Problem;
use crate::probe_memory::{MemorySource, ProbeMemory, ProbeMemoryError, ProbePage, ProbePageSize};
use units::narrow::{fit, usize_from};

const DELAY_CYCLES: f64 = 200.0;

impl MemorySource for FakeMachine {
    fn map(
        &self,
        size: ProbePageSize,
        most: usize,
        cpu: CpuId,
    ) -> Result<Box<dyn ProbeMemory>, ProbeMemoryError> {
        let slices = self.slices.clone().ok_or_else(|| {
            let problem = Problem::Other("describes no [slices]".into());
            ProbeMemoryError::from(self.root.error(super::DESCRIPTION, problem))
        })?;
        let wanted = u32::try_from(self.socket_of(cpu)).unwrap_or(0);
        let free = self.free_pages(wanted, size);
        let count = most.min(usize::try_from(free).unwrap_or(most));
        if count == 0 {
            let others = (0..MOST_NODES).filter(|node| *node != wanted);
            if let Some(node) = others.into_iter().find(|node| self.free_pages(*node, size) > 0) {
                return Err(ProbeMemoryError::OtherSocket { size, node, wanted });
            }
            return Err(ProbeMemoryError::NoPages { size, free });
        }
        if slices.described.pagemap != RegisterAnswer::Ok {
            return Err(ProbeMemoryError::Hidden);
        }
        slices.load(&self.root)?;
        let pages = pages(&slices.described, size, count);
        let mut memory = FakeMemory {
            machine: self.clone(),
            slices,
            pages,
            places: BTreeMap::new(),
            cached: CachedLines::default(),
        };
        memory.move_to(cpu)?;
        Ok(Box::new(memory))
    }
}

/// Greatest number of NUMA nodes of described machines.
const MOST_NODES: u32 = 4;

impl FakeMachine {
    fn free_pages(&self, node: u32, size: ProbePageSize) -> u64 {
        let folder = format!("sys/devices/system/node/node{node}/hugepages");
        let path = format!("{folder}/hugepages-{}kB/free_hugepages", size.kib());
        self.root.read_number(&path).unwrap_or(0)
    }
}

fn pages(described: &SliceDescription, size: ProbePageSize, count: usize) -> Vec<ProbePage> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(described.seed);
    let mut starts = std::collections::BTreeSet::new();
    let slots = 1u64 << (described.memory_bits - size.bits());
    let count = count.min(usize_from(slots));
    while starts.len() < count {
        starts.insert((random.next_u64() % slots) << size.bits());
    }
    starts.into_iter().map(|start| ProbePage { start, size }).collect()
}

struct FakeMemory {
    machine: FakeMachine,
    slices: Arc<SliceBoxes>,
    pages: Vec<ProbePage>,
    /// Socket and core of each CPU that has accessed lines.
    places: BTreeMap<CpuId, (u64, u32)>,
    cached: CachedLines,
}

impl FakeMemory {
    /// Accesses a line; returns whether it was in the cache.
    fn access(&mut self, physical_address: u64) -> bool {
        let slice = self.slices.slice(physical_address);
        let sets = self.slices.described.sets.as_ref();
        sets.is_none_or(|sets| self.cached.access(sets, slice, physical_address))
    }
}

impl ProbeMemory for FakeMemory {
    fn pages(&self) -> &[ProbePage] {
        &self.pages
    }

    fn move_to(&mut self, cpu: CpuId) -> Result<(), ProbeMemoryError> {
        let place = || (self.machine.socket_of(cpu), self.machine.core_of(cpu));
        let (socket, core) = *self.places.entry(cpu).or_insert_with(place);
        let mut moving = self.slices.state();
        moving.core = core;
        if moving.cpu != cpu {
            (moving.cpu, moving.socket, moving.counting) = (cpu, socket, None);
            moving.has_loaded = false;
        }
        Ok(())
    }

    fn load_and_flush(&mut self, physical_address: u64, times: u32) {
        let slice = self.slices.slice(physical_address);
        if let Some(sets) = &self.slices.described.sets {
            self.cached.flush(sets, slice, physical_address);
        }
        let mut moving = self.slices.state();
        moving.has_loaded = true;
        if moving.counting.is_none() {
            moving.counting = Some(self.machine.counting(&self.slices, moving.cpu));
        }
        let boxes = moving.look_ups.len();
        let stray = u64::from(self.slices.described.stray_look_ups) + 1;
        let mut seen: Vec<u64> = (0..boxes).map(|_| moving.random.next_u64() % stray).collect();
        seen[slice] += u64::from(times);
        for (share, accesses) in [
            (self.slices.described.wrong_share, 2 * u64::from(times)),
            (self.slices.described.unclear_share, u64::from(times)),
        ] {
            if moving.occurs(share) {
                let other =
                    (slice + 1 + usize_from(moving.random.next_u64()) % (boxes - 1)) % boxes;
                seen[other] += accesses;
            }
        }
        for (number, count) in seen.into_iter().enumerate() {
            moving.look_ups[number] += count;
            if moving.counting.as_ref().is_some_and(|all| all.get(number) == Some(&true)) {
                moving.counters[number] += count;
            }
        }
    }

    fn load(&mut self, physical_address: u64) {
        self.access(physical_address);
    }

    fn load_cycles(&mut self, physical_address: u64) -> f64 {
        let was_cached = self.access(physical_address);
        let missed = self.slices.described.sets.as_ref().filter(|_| !was_cached);
        let longer = missed.map_or(0.0, |sets| sets.miss_cycles);
        self.llc_load_cycles(physical_address) + longer
    }

    fn llc_load_cycles(&mut self, physical_address: u64) -> f64 {
        let slice = fit(self.slices.slice(physical_address));
        let latency = &self.slices.described.latency;
        let mut moving = self.slices.state();
        let core = moving.core % fit::<u32, _>(moving.look_ups.len());
        let column = |tile: u32| tile % latency.columns.max(1);
        let row = |tile: u32| tile / latency.columns.max(1);
        let hops = column(core).abs_diff(column(slice)) + row(core).abs_diff(row(slice));
        let jitter = (2.0 * moving.uniform() - 1.0) * latency.jitter_cycles;
        let delayed = moving.occurs(latency.delayed_share);
        let delay = if delayed { DELAY_CYCLES } else { 0.0 };
        (latency.base_cycles + latency.hop_cycles * f64::from(hops) + jitter + delay).round()
    }
}
