//! Slices of a described machine: the slice function, and the boxes that count look-ups.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use address_map::{ADDRESS_BITS, BaseSequence, SliceTable};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use units::LineAddr;
use units::narrow::usize_from;

use super::FakeMachine;
use super::counters::split_box_name;
use super::description::{MsrRegister, RegisterAnswer, RegisterBehaviour, RegisterScope};
use crate::cpu::CpuId;
use crate::error::{FileError, Problem};
use crate::root::Root;
use crate::uncore::{CounterRequest, RunningCounters};

/// Description of a machine's slices: function, counters, disturbance and latencies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SliceDescription {
    /// The file of the tree that states the function.
    table: String,
    /// Event that counts look-ups, in the encoding of the hardware.
    counts: LookupEvent,
    registers: Option<FakeBoxRegisters>,
    /// Share of accesses during which another program keeps another slice twice as busy.
    #[serde(default)]
    pub(super) wrong_share: f64,
    /// Share of accesses during which another program keeps another slice just as busy.
    #[serde(default)]
    pub(super) unclear_share: f64,
    /// Greatest number of look-ups by other programs that each box counts during the accesses.
    #[serde(default)]
    pub(super) stray_look_ups: u32,
    pub(super) latency: LatencyDescription,
    /// Sets of a slice, if lines evict one another; else every line stays in the cache.
    pub(super) sets: Option<SetsDescription>,
    /// Number of physical address bits: pages lie anywhere below two to this power.
    pub(super) memory_bits: u32,
    /// Answer of the kernel's page map.
    #[serde(default)]
    pub(super) pagemap: RegisterAnswer,
    pub(super) seed: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LookupEvent {
    unit: String,
    config: u64,
    #[serde(default)]
    config1: u64,
}

/// Registers of boxes, and their values when the boxes count.
#[derive(Clone, Debug, Deserialize)]
struct FakeBoxRegisters {
    /// The first register of each box.
    first: Vec<u32>,
    select: u32,
    filter: Option<u32>,
    counter: u32,
    /// Values of control, event select and filter after power-on.
    idle: [u64; 3],
    frozen_bits: u64,
    counting_select: u64,
    #[serde(default)]
    counting_filter: u64,
    #[serde(flatten)]
    behaviour: RegisterBehaviour,
}

impl FakeBoxRegisters {
    /// Number of the box whose counter is at an MSR address.
    fn number_of_counter(&self, address: u32) -> Option<usize> {
        self.first.iter().position(|first| first.wrapping_add(self.counter) == address)
    }
}

/// Latencies of a grid whose tiles have a core and a slice each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LatencyDescription {
    pub(super) base_cycles: f64,
    pub(super) hop_cycles: f64,
    pub(super) columns: u32,
    /// Greatest deviation of a load's latency, evenly distributed.
    pub(super) jitter_cycles: f64,
    /// Share of loads that something delays by 200 cycles.
    #[serde(default)]
    pub(super) delayed_share: f64,
}

/// Sets of a slice, and what a miss costs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetsDescription {
    pub(super) sets_per_slice: u64,
    pub(super) ways: usize,
    /// Whether higher address bits take part in the index.
    #[serde(default)]
    pub(super) hashed: bool,
    /// Cycles that a load takes longer from memory.
    pub(super) miss_cycles: f64,
}

/// Sizes of memory: from a few pages of 1 GiB to more than tables can address. Above the last bit of
/// a table the lower address bits alone choose the slice.
const MEMORY_BITS: RangeInclusive<u32> = 32..=ADDRESS_BITS + 5;

/// File of the slice function; the keys are those of a recovered table.
#[derive(Deserialize)]
struct SliceFunctionFile {
    part: String,
    source: String,
    slices: u32,
    valid_bits: (u32, u32),
    perm_masks: Vec<u64>,
    base: Vec<u16>,
}

/// Slices of a machine: description, function, and state.
#[derive(Debug)]
pub(super) struct SliceBoxes {
    pub(super) described: SliceDescription,
    function: OnceLock<BaseSequence>,
    moving: Mutex<SliceState>,
}

/// State that changes while lines are accessed.
#[derive(Debug)]
pub(super) struct SliceState {
    /// The processor that accesses lines, its core and its socket.
    pub(super) cpu: CpuId,
    pub(super) core: u32,
    pub(super) socket: u64,
    /// Look-ups of each slice of that socket.
    pub(super) look_ups: Vec<u64>,
    /// Values of the counter registers.
    pub(super) counters: Vec<u64>,
    /// Whether each counter counts; `None` (unknown) after a write.
    pub(super) counting: Option<Vec<bool>>,
    pub(super) random: Xoshiro256PlusPlus,
    /// Whether the processor has loaded a line.
    pub(super) has_loaded: bool,
}

impl SliceState {
    pub(super) fn occurs(&mut self, share: f64) -> bool {
        self.uniform() < share
    }

    /// A random number from 0 to 1.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl SliceBoxes {
    pub(super) fn new(described: &SliceDescription) -> Self {
        let moving = SliceState {
            cpu: CpuId(0),
            core: 0,
            socket: 0,
            look_ups: Vec::new(),
            counters: Vec::new(),
            counting: None,
            random: Xoshiro256PlusPlus::seed_from_u64(described.seed),
            has_loaded: false,
        };
        Self { described: described.clone(), function: OnceLock::new(), moving: Mutex::new(moving) }
    }

    /// Reads the slice function, which only accesses to lines need.
    pub(super) fn load(&self, root: &Root) -> Result<(), FileError> {
        let path = self.described.table.as_str();
        let wrong = |message: String| root.error(path, Problem::Other(message));
        let text = root.read_text(path)?;
        let table: SliceFunctionFile =
            toml::from_str(&text).map_err(|error| wrong(error.message().into()))?;
        let table = SliceTable {
            part: table.part,
            source: table.source,
            slices: table.slices,
            base: table.base,
            perm_masks: table.perm_masks,
            valid_bits: table.valid_bits,
        };
        let function = BaseSequence::new(&table).map_err(|fault| wrong(fault.to_string()))?;
        if !(MEMORY_BITS.contains(&self.described.memory_bits) && table.slices >= 2) {
            let (least, most) = MEMORY_BITS.into_inner();
            let message =
                format!("[slices]: memory_bits from {least} to {most}, two slices or more");
            return Err(root.error(super::DESCRIPTION, Problem::Other(message)));
        }
        let mut moving = self.state();
        moving.look_ups.resize(table.slices as usize, 0);
        moving.counters.resize(table.slices as usize, 0);
        // A second call finds the function of the first, which is the same.
        let _ = self.function.set(function);
        Ok(())
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SliceState> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn slice(&self, physical_address: u64) -> usize {
        let function = self.function.get().expect("memory is given out after the function is read");
        function.slice(LineAddr::of_byte(physical_address)) as usize
    }

    /// Descriptions of the boxes' control registers.
    pub(super) fn control_registers(&self) -> Vec<MsrRegister> {
        let Some(boxes) = &self.described.registers else { return Vec::new() };
        let mut behaviour = boxes.behaviour.clone();
        if behaviour.writable == 0 {
            behaviour.writable = u64::MAX;
        }
        let mut registers = Vec::new();
        for &first in &boxes.first {
            let offsets = [Some(0), Some(boxes.select), boxes.filter];
            for (offset, value) in offsets.into_iter().zip(boxes.idle) {
                let Some(offset) = offset else { continue };
                let (address, behaviour) = (first.wrapping_add(offset), behaviour.clone());
                registers.push(MsrRegister {
                    address,
                    scope: RegisterScope::Socket,
                    value,
                    behaviour,
                });
            }
            // The other counters of a box are idle.
            registers.extend((1..4).map(|counter| MsrRegister {
                address: first.wrapping_add(boxes.select + counter),
                scope: RegisterScope::Socket,
                value: 0,
                behaviour: behaviour.clone(),
            }));
        }
        registers
    }

    /// Value of the counter at an MSR address, if lines are loaded from this CPU.
    pub(super) fn counter_of_loads(&self, cpu: CpuId, address: u32) -> Option<u64> {
        let boxes = self.described.registers.as_ref()?;
        let moving = self.state();
        if moving.cpu != cpu || !moving.has_loaded {
            return None;
        }
        let number = boxes.number_of_counter(address)?;
        Some(moving.counters.get(number).copied().unwrap_or(0))
    }

    /// Value of the counter at an MSR address; `None` if the address is not that of a counter.
    pub(super) fn counter(
        &self,
        cpu: CpuId,
        socket_of: impl Fn(CpuId) -> u64,
        address: u32,
    ) -> Option<u64> {
        let boxes = self.described.registers.as_ref()?;
        let number = boxes.number_of_counter(address)?;
        let moving = self.state();
        let counted = moving.counters.get(number).copied().unwrap_or(0);
        let same_socket = cpu == moving.cpu || socket_of(cpu) == moving.socket;
        Some(if same_socket { counted } else { 0 })
    }

    /// Marks as unknown which counters count, after a register was written.
    pub(super) fn forget_counting(&self) {
        self.state().counting = None;
    }
}

impl FakeMachine {
    pub(super) fn counting(&self, slices: &SliceBoxes, cpu: CpuId) -> Vec<bool> {
        let Some(boxes) = &slices.described.registers else { return Vec::new() };
        let holds = |address: u32| self.msr_value(cpu, address).unwrap_or(0);
        let counts = |&first: &u32| {
            holds(first) & boxes.frozen_bits == 0
                && holds(first.wrapping_add(boxes.select)) == boxes.counting_select
                && boxes
                    .filter
                    .is_none_or(|filter| holds(first.wrapping_add(filter)) == boxes.counting_filter)
        };
        boxes.first.iter().map(counts).collect()
    }

    /// Starts counting the requests: each that encodes a look-up counts those of its slice, others
    /// nothing.
    pub(super) fn running(
        &self,
        requests: &[CounterRequest],
    ) -> Result<Box<dyn RunningCounters>, FileError> {
        let refused = match self.description.counters {
            RegisterAnswer::Ok => None,
            RegisterAnswer::Eperm => Some(Problem::NotPermitted),
            RegisterAnswer::Eio
            | RegisterAnswer::Short
            | RegisterAnswer::Ignored
            | RegisterAnswer::Dead => Some(Problem::Refused),
            RegisterAnswer::Absent => Some(Problem::Missing),
        };
        if let Some((problem, first)) = refused.zip(requests.first()) {
            return Err(FileError::new(&first.unit, problem));
        }
        let slices = self.slices.clone();
        let look_ups_of = |request: &CounterRequest| {
            let event = &slices.as_ref()?.described.counts;
            let (unit, number) = split_box_name(&request.unit);
            let counts = unit == event.unit
                && request.words.config == event.config
                && request.words.config1 == event.config1;
            counts.then(|| (self.socket_of(request.cpu), usize_from(number)))
        };
        let boxes = requests.iter().map(look_ups_of).collect();
        Ok(Box::new(RunningBoxes { slices: slices.clone(), boxes }))
    }
}

struct RunningBoxes {
    slices: Option<Arc<SliceBoxes>>,
    boxes: Vec<Option<(u64, usize)>>,
}

impl RunningCounters for RunningBoxes {
    fn read(&mut self) -> Result<Vec<u64>, FileError> {
        let Some(slices) = &self.slices else { return Ok(vec![0; self.boxes.len()]) };
        let moving = slices.state();
        let look_ups = |&(socket, number): &(u64, usize)| {
            if socket == moving.socket { moving.look_ups.get(number).copied() } else { None }
        };
        Ok(self.boxes.iter().map(|at| at.as_ref().and_then(look_ups).unwrap_or(0)).collect())
    }
}
