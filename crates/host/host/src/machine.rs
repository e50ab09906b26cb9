//! A machine: its files, and the backends through which registers, counters and memory are reached.

use std::sync::Arc;

use crate::control_files::{ControlFiles, KernelFiles};
use crate::error::FileError;
use crate::ethtool::{EthtoolNetlink, InterfaceSettings};
use crate::pci_config::{PciConfig, SysfsConfig};
use crate::probe_memory::{HugePageSource, MemorySource};
use crate::registers::{MsrDriver, Registers};
use crate::rings::RingSizes;
use crate::root::Root;
use crate::uncore::{PerfEvents, UncoreCounters};

/// A machine: the running one ([`Host::real`]) or one that a directory tree describes
/// ([`Host::from_tree`]).
pub struct Host {
    /// Files below `/`, or below the tree.
    pub root: Arc<Root>,
    /// Access to model-specific registers.
    pub registers: Box<dyn Registers + Send + Sync>,
    /// Access to PCI configuration space.
    pub config: Box<dyn PciConfig + Send + Sync>,
    /// Access to control files of resctrl: schemata and I/O allocation.
    pub control: Box<dyn ControlFiles + Send + Sync>,
    /// Access to counters outside the cores.
    pub counters: Box<dyn UncoreCounters + Send + Sync>,
    /// Access to the sizes of the descriptor rings of network interfaces.
    pub rings: Box<dyn RingSizes + Send + Sync>,
    /// Access to other settings and to counters of network interfaces.
    pub interfaces: Box<dyn InterfaceSettings + Send + Sync>,
    /// Source of the huge pages that slices are probed with.
    pub memory: Box<dyn MemorySource + Send + Sync>,
}

impl Host {
    /// Opens the running machine.
    ///
    /// # Errors
    /// If `/` cannot be opened.
    pub fn real() -> Result<Self, FileError> {
        let root = Arc::new(Root::real()?);
        Ok(Self {
            registers: Box::new(MsrDriver(Arc::clone(&root))),
            config: Box::new(SysfsConfig(Arc::clone(&root))),
            control: Box::new(KernelFiles(Arc::clone(&root))),
            counters: Box::new(PerfEvents),
            rings: Box::new(EthtoolNetlink),
            interfaces: Box::new(EthtoolNetlink),
            memory: Box::new(HugePageSource(Arc::clone(&root))),
            root,
        })
    }
}
