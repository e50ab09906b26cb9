//! A machine: its files, and the backends through which registers, counters and memory are reached.

use std::sync::Arc;

use crate::control_files::{ControlFiles, KernelFiles};
use crate::error::FileError;
use crate::pci_config::{PciConfig, SysfsConfig};
use crate::probe_memory::{HugePageSource, MemorySource};
use crate::registers::{MsrDriver, Registers};
use crate::rings::{EthtoolNetlink, RingSizes};
use crate::root::Root;
use crate::uncore::{PerfEvents, UncoreCounters};

/// A machine: the running one ([`Host::real`]) or one that a directory tree describes
/// ([`Host::from_tree`]).
pub struct Host {
    /// Files below `/`, or below the tree.
    pub root: Arc<Root>,
    /// Model-specific registers.
    pub registers: Box<dyn Registers + Send + Sync>,
    /// PCI configuration space.
    pub config: Box<dyn PciConfig + Send + Sync>,
    /// Control files of resctrl: schemata and I/O allocation.
    pub control: Box<dyn ControlFiles + Send + Sync>,
    /// Counters outside the cores.
    pub counters: Box<dyn UncoreCounters + Send + Sync>,
    /// Sizes of the descriptor rings of network interfaces.
    pub rings: Box<dyn RingSizes + Send + Sync>,
    /// Huge pages that slices are probed with.
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
            memory: Box::new(HugePageSource(Arc::clone(&root))),
            root,
        })
    }
}
