//! A machine whose writes are watched: the last value that was read of a register, the written value, and
//! whether the journal on the disk named it before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use host::control_files::ControlFiles;
use host::controls::ControlTarget;
use host::cpu::{CpuId, PackageId};
use host::error::FileError;
use host::pci_address::Bdf;
use host::pci_config::PciConfig;
use host::registers::Registers;
use host::tune::{DEFAULT_STATE, Journal};
use host::{Host, Root};

#[path = "watched/boxes.rs"]
pub mod boxes;

/// The mask of the ways that I/O allocates in, and the switch of a root port.
const WAYS: u32 = 0xc8b;
const SWITCH: u16 = 0x180;
/// `Use_Allocating_Flow_Wr`, and `NoSnoopOpWrEn`, which journals of earlier versions may name.
const SWITCH_BIT: u32 = 1 << 7;
const NO_SNOOP_BIT: u32 = 1 << 3;

/// A write that a machine was asked for.
#[derive(Clone, Debug)]
pub struct Write {
    pub to: Place,
    /// Last value that the tool read of it.
    pub read: Option<u64>,
    pub value: u64,
    /// The values before of the journal's entries for it, as the journal on the disk was.
    pub journalled: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Msr { socket: u64, address: u32 },
    Port { function: Bdf, offset: u16 },
    Control { path: String, command: String },
}

/// Rules for writes to a machine.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Ways of its last-level cache; nothing where its registers are not to be touched at all.
    pub ways: Option<u32>,
    /// The generation whose counter boxes may be written; none where they may not.
    pub boxes_of: Option<&'static str>,
    /// Whether the writes are restores of a journal that may be one of an earlier version.
    pub any_journal: bool,
}

impl Rules {
    /// Reason why a write violates the rules; `None` if it does not.
    pub fn objection(&self, write: &Write) -> Option<String> {
        let changed = write.read.map(|read| read ^ write.value);
        let within = |bits: u64| changed.is_some_and(|changed| changed & !bits == 0);
        let is_back = |old: &u64| changed.is_some_and(|changed| (old ^ write.value) & changed == 0);
        let is_good = match &write.to {
            Place::Msr { address, .. } => self.ways.is_some_and(|ways| {
                let field = (1u64 << ways) - 1;
                let is_mask = *address == WAYS && within(field) && write.value & field != 0;
                let of_box = self.boxes_of.and_then(|name| boxes::owned_bits(name, *address));
                is_mask || of_box.is_some_and(within)
            }),
            Place::Port { offset, .. } => {
                let old = if self.any_journal { NO_SNOOP_BIT } else { 0 };
                let is_answer = write.read != Some(u64::from(u32::MAX));
                self.ways.is_some()
                    && *offset == SWITCH
                    && within(u64::from(SWITCH_BIT | old))
                    && is_answer
            }
            Place::Control { path, .. } => {
                let name = path.strip_prefix("sys/fs/resctrl/").and_then(|p| p.rsplit('/').next());
                matches!(name, Some("schemata" | "io_alloc" | "io_alloc_cbm"))
            }
        };
        if !is_good {
            return Some(format!("outside of what is owned: {write:x?}"));
        }
        if write.journalled.is_empty() {
            return Some(format!("not journalled: {write:x?}"));
        }
        let is_register = !matches!(write.to, Place::Control { .. });
        (self.any_journal && is_register && !write.journalled.iter().any(is_back))
            .then(|| format!("no value of the journal: {write:x?}"))
    }
}

/// Log of all writes so far.
#[derive(Default)]
pub struct Log {
    read: Mutex<BTreeMap<Place, u64>>,
    writes: Mutex<Vec<Write>>,
}

impl Log {
    pub fn writes(&self) -> Vec<Write> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn was_read(&self, place: Place, value: u64) {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(place, value);
    }

    fn add(&self, root: &Root, to: Place, value: u64) {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(&to).copied();
        let journal = Journal::peek(root, DEFAULT_STATE).unwrap_or_default();
        let entries = journal.entries.iter().filter(|entry| names(&entry.target, &to));
        let journalled = entries.map(|entry| entry.old).collect();
        let write = Write { to, read, value, journalled };
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).push(write);
    }
}

fn names(target: &ControlTarget, place: &Place) -> bool {
    match (target, place) {
        (
            ControlTarget::Msr { socket: PackageId(of), address: named, .. },
            Place::Msr { socket, address },
        ) => u64::from(*of) == *socket && named == address,
        (ControlTarget::Port { function: of, offset: named }, Place::Port { function, offset }) => {
            of == function && named == offset
        }
        (
            ControlTarget::Mask { path: named, .. } | ControlTarget::Switch { path: named },
            Place::Control { path, .. },
        ) => named == path,
        _ => false,
    }
}

struct WatchedBackend<T: ?Sized> {
    inner: Box<T>,
    root: Arc<Root>,
    log: Arc<Log>,
}

/// The machine with its writes watched.
pub fn watched(host: Host) -> (Host, Arc<Log>) {
    let log = Arc::<Log>::default();
    let Host { root, registers, config, control, counters, rings, interfaces, memory } = host;
    let (r, l) = (|| Arc::clone(&root), || Arc::clone(&log));
    let host = Host {
        registers: Box::new(WatchedBackend { inner: registers, root: r(), log: l() }),
        config: Box::new(WatchedBackend { inner: config, root: r(), log: l() }),
        control: Box::new(WatchedBackend { inner: control, root: r(), log: l() }),
        root: r(),
        counters,
        rings,
        interfaces,
        memory,
    };
    (host, log)
}

impl WatchedBackend<dyn Registers + Send + Sync> {
    fn place(&self, cpu: CpuId, address: u32) -> Place {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        Place::Msr { socket: self.root.read_number(&path).unwrap_or(u64::MAX), address }
    }
}

impl Registers for WatchedBackend<dyn Registers + Send + Sync> {
    fn read(&self, cpu: CpuId, address: u32) -> Result<u64, FileError> {
        let value = self.inner.read(cpu, address)?;
        self.log.was_read(self.place(cpu, address), value);
        Ok(value)
    }

    fn write(&self, cpu: CpuId, address: u32, value: u64) -> Result<(), FileError> {
        self.log.add(&self.root, self.place(cpu, address), value);
        self.inner.write(cpu, address, value)
    }

    fn detect(&self, cpu: CpuId) -> Result<(), FileError> {
        self.inner.detect(cpu)
    }
}

impl PciConfig for WatchedBackend<dyn PciConfig + Send + Sync> {
    fn read(&self, function: Bdf, offset: u16) -> Result<u32, FileError> {
        let value = self.inner.read(function, offset)?;
        self.log.was_read(Place::Port { function, offset }, value.into());
        Ok(value)
    }

    fn write(&self, function: Bdf, offset: u16, value: u32) -> Result<(), FileError> {
        self.log.add(&self.root, Place::Port { function, offset }, value.into());
        self.inner.write(function, offset, value)
    }
}

impl ControlFiles for WatchedBackend<dyn ControlFiles + Send + Sync> {
    fn read(&self, path: &str) -> Result<String, FileError> {
        self.inner.read(path)
    }

    fn write(&self, path: &str, command: &str) -> Result<(), FileError> {
        let to = Place::Control { path: path.to_owned(), command: command.to_owned() };
        self.log.add(&self.root, to, 0);
        self.inner.write(path, command)
    }
}
