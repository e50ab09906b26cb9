//! Backends of a described machine: a directory tree in which registers behave as `registers.toml` says.
//!
//! A plain file cannot replace a register: it cannot refuse, mask, count or ignore. So a tree describes
//! in `registers.toml` how each of its registers behaves. Written values are kept in the tree
//! (`registers.state`, `config` files, control files), so that they outlive the process. Registers of
//! the running machine are never reached from here.
//!
//! [`Host::from_tree`] is the only entry: every other module uses the traits of [`Host`].

mod control;
mod counters;
mod description;
mod interfaces;
mod memory;
mod register_state;
mod rings;
mod sets;
mod slices;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use description::MachineDescription;

use crate::cpu::{CpuId, online_cpus};
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::pci_address::Bdf;
use crate::pci_config::{PciConfig, SysfsConfig};
use crate::registers::{Registers, device};
use crate::root::Root;

use counters::FakeCounters;
use description::{RegisterAnswer, RegisterBehaviour, RegisterScope};
use slices::SliceBoxes;

impl Host {
    /// Opens a machine that a directory tree describes. Nothing of the running one is accessed.
    ///
    /// # Errors
    /// If the tree or its description cannot be read.
    pub fn from_tree(path: &Path) -> Result<Self, FileError> {
        let root = Arc::new(Root::from_tree(path)?);
        let fake = FakeMachine::open(Arc::clone(&root))?;
        Ok(Self {
            registers: Box::new(fake.clone()),
            config: Box::new(fake.clone()),
            control: Box::new(fake.clone()),
            counters: Box::new(FakeCounters { machine: fake.clone() }),
            rings: Box::new(fake.clone()),
            interfaces: Box::new(fake.clone()),
            memory: Box::new(fake),
            root,
        })
    }
}

/// The file of a tree that describes its registers.
const DESCRIPTION: &str = "registers.toml";

/// Registers, configuration space and control files of a described machine.
#[derive(Clone, Debug)]
struct FakeMachine {
    root: Arc<Root>,
    description: Arc<MachineDescription>,
    slices: Option<Arc<SliceBoxes>>,
    /// Time that windows have taken, in microseconds: counters of interfaces go on with it.
    counted_micros: Arc<AtomicU64>,
}

impl FakeMachine {
    /// Reads the description; a tree without one has no registers.
    ///
    /// # Errors
    /// If the description exists and cannot be read or parsed.
    fn open(root: Arc<Root>) -> Result<Self, FileError> {
        let mut description = match root.read_text(DESCRIPTION) {
            Ok(text) => MachineDescription::parse(&text)
                .map_err(|message| root.error(DESCRIPTION, Problem::Other(message)))?,
            Err(error) if error.problem == Problem::Missing => MachineDescription::default(),
            Err(error) => return Err(error),
        };
        let slices = description.slices.as_ref().map(|slices| Arc::new(SliceBoxes::new(slices)));
        if let Some(slices) = &slices {
            description.msr.register.extend(slices.control_registers());
        }
        let counted_micros = Arc::default();
        Ok(Self { root, description: Arc::new(description), slices, counted_micros })
    }

    /// Checks that a CPU has a driver: an offline one has none. Without a list of CPUs all are online.
    fn check_online(&self, cpu: CpuId) -> Result<(), FileError> {
        match online_cpus(&self.root) {
            Ok(online) if !online.contains(&cpu) => {
                Err(self.root.error(&device(cpu), Problem::Missing))
            }
            _ => Ok(()),
        }
    }

    fn socket_of(&self, cpu: CpuId) -> u64 {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        self.root.read_number(&path).unwrap_or(0)
    }

    /// Number of the core of a CPU; siblings have the same.
    fn core_of(&self, cpu: CpuId) -> u32 {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id");
        let core = self.root.read_number(&path).ok();
        core.and_then(|core| u32::try_from(core).ok()).unwrap_or(cpu.0)
    }

    fn state_key(&self, cpu: CpuId, address: u32, scope: RegisterScope) -> String {
        match scope {
            RegisterScope::Socket => format!("socket{}.{address:#x}", self.socket_of(cpu)),
            RegisterScope::Cpu => format!("cpu{cpu}.{address:#x}"),
        }
    }

    fn msr_value(&self, cpu: CpuId, address: u32) -> Option<u64> {
        let register = self.description.msr.register.iter().find(|r| r.address == address)?;
        let key = self.state_key(cpu, address, register.scope);
        let state = register_state::read(&self.root).ok()?;
        Some(state.get(&key).copied().unwrap_or(register.value))
    }
}

/// The error that a driver returns instead of a value; a short read has half of the bytes.
fn check_answer(
    root: &Root,
    path: &str,
    answer: RegisterAnswer,
    wanted: usize,
) -> Result<(), FileError> {
    check_answer_after(root, path, answer, [wanted / 2, wanted])
}

/// As [`check_answer`], with the number of bytes of a short read and of those wanted.
fn check_answer_after(
    root: &Root,
    path: &str,
    answer: RegisterAnswer,
    [got, wanted]: [usize; 2],
) -> Result<(), FileError> {
    let problem = match answer {
        RegisterAnswer::Ok | RegisterAnswer::Ignored | RegisterAnswer::Dead => return Ok(()),
        RegisterAnswer::Eperm => Problem::NotPermitted,
        RegisterAnswer::Eio => Problem::Refused,
        RegisterAnswer::Short => Problem::ShortRead { got, wanted },
        RegisterAnswer::Absent => Problem::Missing,
    };
    Err(root.error(path, problem))
}

/// Value of a register after a write; `None` if the write has no effect.
fn value_after_write(
    behaviour: &RegisterBehaviour,
    old: u64,
    new: u64,
) -> Result<Option<u64>, Problem> {
    match behaviour.write {
        RegisterAnswer::Ok => {}
        RegisterAnswer::Ignored | RegisterAnswer::Dead => return Ok(None),
        RegisterAnswer::Eperm => return Err(Problem::NotPermitted),
        RegisterAnswer::Absent => return Err(Problem::Missing),
        RegisterAnswer::Eio => return Err(Problem::Refused),
        RegisterAnswer::Short => return Err(Problem::ShortWrite { got: 4, wanted: 8 }),
    }
    if behaviour.strict && (new ^ old) & !behaviour.writable != 0 {
        return Err(Problem::Refused);
    }
    Ok(Some((old & !behaviour.writable) | (new & behaviour.writable) | behaviour.sticky))
}

impl Registers for FakeMachine {
    fn read(&self, cpu: CpuId, address: u32) -> Result<u64, FileError> {
        let slices = self.slices.as_ref();
        // Counters are read more often than all else. A CPU that loads lines is online.
        if self.description.msr.driver == RegisterAnswer::Ok
            && let Some(count) = slices.and_then(|slices| slices.counter_of_loads(cpu, address))
        {
            return Ok(count);
        }
        let path = device(cpu);
        check_answer(&self.root, &path, self.description.msr.driver, 8)?;
        self.check_online(cpu)?;
        let socket_of = |cpu| self.socket_of(cpu);
        if let Some(count) = slices.and_then(|slices| slices.counter(cpu, socket_of, address)) {
            return Ok(count);
        }
        let register = self.description.msr.register.iter().find(|r| r.address == address);
        // Reading a register that does not exist is a fault, which the driver reports as EIO.
        let register = register.ok_or_else(|| self.root.error(&path, Problem::Refused))?;
        check_answer(&self.root, &path, register.behaviour.read, 8)?;
        if register.behaviour.read == RegisterAnswer::Dead {
            return Ok(u64::MAX);
        }
        let key = self.state_key(cpu, address, register.scope);
        let mut state = register_state::read(&self.root)?;
        let value = state.get(&key).copied().unwrap_or(register.value);
        if register.behaviour.clear_on_read && value != 0 {
            state.insert(key, 0);
            register_state::write(&self.root, &state)?;
        }
        Ok(value)
    }

    fn write(&self, cpu: CpuId, address: u32, value: u64) -> Result<(), FileError> {
        let path = device(cpu);
        let old = Registers::read(self, cpu, address)?;
        let register = self.description.msr.register.iter().find(|r| r.address == address);
        let register = register.ok_or_else(|| self.root.error(&path, Problem::Refused))?;
        let new = value_after_write(&register.behaviour, old, value)
            .map_err(|problem| self.root.error(&path, problem))?;
        let Some(new) = new else { return Ok(()) };
        let key = self.state_key(cpu, address, register.scope);
        let mut state = register_state::read(&self.root)?;
        if new == register.value {
            state.remove(&key);
        } else {
            state.insert(key, new);
        }
        register_state::write(&self.root, &state)?;
        self.slices.iter().for_each(|slices| slices.forget_counting());
        Ok(())
    }

    fn detect(&self, cpu: CpuId) -> Result<(), FileError> {
        check_answer(&self.root, &device(cpu), self.description.msr.driver, 8)?;
        self.check_online(cpu)
    }
}

impl FakeMachine {
    fn pci_behaviour(&self, function: Bdf, offset: u16) -> Option<&RegisterBehaviour> {
        let name = function.to_string();
        let found = self.description.pci.iter().find(|r| r.function == name && r.offset == offset);
        found.map(|register| &register.behaviour)
    }
}

impl PciConfig for FakeMachine {
    fn read(&self, function: Bdf, offset: u16) -> Result<u32, FileError> {
        let path = crate::pci_config::file(function);
        if offset >= 64 {
            // Without privilege the kernel gives 64 bytes; a read of later ones gives none.
            check_answer_after(&self.root, &path, self.description.extended_config, [0, 4])?;
        }
        if let Some(behaviour) = self.pci_behaviour(function, offset) {
            check_answer(&self.root, &path, behaviour.read, 4)?;
            if behaviour.read == RegisterAnswer::Dead {
                return Ok(u32::MAX);
            }
        }
        let config = SysfsConfig(Arc::clone(&self.root));
        let value = config.read(function, offset)?;
        let clears = self.pci_behaviour(function, offset).is_some_and(|found| found.clear_on_read);
        if clears && value != 0 {
            config.write(function, offset, 0)?;
        }
        Ok(value)
    }

    fn write(&self, function: Bdf, offset: u16, value: u32) -> Result<(), FileError> {
        let path = crate::pci_config::file(function);
        let old = PciConfig::read(self, function, offset)?;
        // A register that the description does not list ignores writes.
        let Some(behaviour) = self.pci_behaviour(function, offset) else { return Ok(()) };
        let new = value_after_write(behaviour, old.into(), value.into())
            .map_err(|problem| self.root.error(&path, problem))?;
        match new.map(u32::try_from) {
            Some(Ok(new)) => SysfsConfig(Arc::clone(&self.root)).write(function, offset, new),
            Some(Err(_)) => Err(self.root.error(&path, Problem::Refused)),
            None => Ok(()),
        }
    }
}
