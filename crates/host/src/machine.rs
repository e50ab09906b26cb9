//! The machine at hand: its files and the backends that reach its controls.

use std::sync::Arc;

use crate::control_files::{ControlFiles, KernelFiles};
use crate::error::FileError;
use crate::pci_config::{PciConfig, SysfsConfig};
use crate::probe_memory::{HugePageSource, MemorySource};
use crate::registers::{MsrDriver, Registers};
use crate::rings::{EthtoolNetlink, RingSizes};
use crate::root::Root;
use crate::uncore::{PerfEvents, UncoreCounters};

/// A machine and the ways to its controls.
pub struct Host {
    /// Its files.
    pub root: Arc<Root>,
    /// Model-specific registers.
    pub registers: Box<dyn Registers + Send + Sync>,
    /// PCI configuration space.
    pub config: Box<dyn PciConfig + Send + Sync>,
    /// Control files of resctrl.
    pub control: Box<dyn ControlFiles + Send + Sync>,
    /// Counters outside the cores.
    pub counters: Box<dyn UncoreCounters + Send + Sync>,
    /// Descriptor rings.
    pub rings: Box<dyn RingSizes + Send + Sync>,
    /// Huge pages that slices are probed with.
    pub memory: Box<dyn MemorySource + Send + Sync>,
}

impl Host {
    /// The running machine.
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
