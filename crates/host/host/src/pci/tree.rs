//! The tree of PCI functions: finds the bridges and the root port above a device.

use std::collections::BTreeMap;

use super::PciFunction;
use crate::error::FileError;
use crate::pci_address::Bdf;
use crate::root::Root;

const DEVICES: &str = "sys/bus/pci/devices";
/// Class and subclass of a bridge between PCI buses.
const PCI_BRIDGE: u64 = 0x0604;
/// Deepest nesting of bridges that is accepted; a deeper one is a loop.
const MOST_BRIDGES: usize = 64;

/// Error of a search for the root port above a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// the function does not exist
    #[error("PCI function {0} not found; `lspci -D` lists them")]
    Unknown(Bdf),
    /// the function exists and cannot be read
    #[error("{0}: {1}")]
    Unreadable(Bdf, FileError),
    /// a bridge that may be above the function cannot be read
    #[error("the root port is not known, because bridge {0} cannot be read: {1}")]
    HiddenBridge(Bdf, FileError),
    /// bridges name each other's buses in a circle
    #[error("the bridges above {0} name each other's buses in a circle")]
    Circle(Bdf),
}

/// All PCI functions of the machine.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    functions: BTreeMap<Bdf, PciFunction>,
    unreadable: Vec<(Bdf, FileError)>,
    /// Unreadable functions that the kernel classifies as PCI bridges, with vendor and device ID.
    hidden_bridges: BTreeMap<Bdf, Option<(u16, u16)>>,
}

impl Tree {
    /// Reads the functions that sysfs lists. Functions that cannot be read are kept with their errors.
    ///
    /// # Errors
    /// If the list of functions cannot be read.
    pub fn read(root: &Root) -> Result<Self, FileError> {
        let mut tree = Self::default();
        for bdf in root.list(DEVICES)?.iter().filter_map(|name| name.parse::<Bdf>().ok()) {
            match PciFunction::read(root, bdf) {
                Ok(function) => drop(tree.functions.insert(bdf, function)),
                Err(error) => {
                    let class = root.read_number(&format!("{DEVICES}/{bdf}/class"));
                    if class.is_ok_and(|class| class >> 8 == PCI_BRIDGE) {
                        tree.hidden_bridges.insert(bdf, vendor_and_device(root, bdf));
                    }
                    tree.unreadable.push((bdf, error));
                }
            }
        }
        Ok(tree)
    }

    /// Iterates over the readable functions in the order of their addresses.
    pub fn functions(&self) -> impl Iterator<Item = &PciFunction> {
        self.functions.values()
    }

    /// Functions that could not be read, with the errors.
    #[must_use]
    pub fn unreadable(&self) -> &[(Bdf, FileError)] {
        &self.unreadable
    }

    /// Iterates over functions that the kernel classifies as PCI bridges and that could not be read: root
    /// ports may be among them. Vendor and device ID are given if the kernel still reports them.
    pub fn hidden_bridges(&self) -> impl Iterator<Item = (Bdf, Option<(u16, u16)>, &FileError)> {
        let numbers = |bdf: &Bdf| self.hidden_bridges.get(bdf).copied();
        self.unreadable.iter().filter_map(move |(bdf, error)| Some((*bdf, numbers(bdf)?, error)))
    }

    /// The function with an address; `None` if it is unknown or unreadable.
    #[must_use]
    pub fn get(&self, bdf: Bdf) -> Option<&PciFunction> {
        self.functions.get(&bdf)
    }

    /// The bridges from a function up to its root port, nearest first; empty if the function is on a root
    /// bus.
    ///
    /// A bridge leads to a function if its secondary bus is the function's, in the same domain.
    ///
    /// # Errors
    /// If the function is unknown or unreadable, a bridge that may lead to it is, or the bridges form a
    /// circle.
    pub fn path_up(&self, bdf: Bdf) -> Result<Vec<&PciFunction>, TreeError> {
        let mut at = self.functions.get(&bdf).ok_or_else(|| self.not_found(bdf))?;
        let mut path = Vec::new();
        while let Some(bridge) = self.bridge_to(at.bdf) {
            if path.len() == MOST_BRIDGES || bridge.bdf == at.bdf {
                return Err(TreeError::Circle(bdf));
            }
            path.push(bridge);
            at = bridge;
        }
        if let Some((bridge, error)) = self.hidden_bridge_to(at) {
            return Err(TreeError::HiddenBridge(*bridge, error.clone()));
        }
        Ok(path)
    }

    /// The root port above a function; `None` if the function is integrated in the root complex.
    ///
    /// # Errors
    /// As [`Tree::path_up`].
    pub fn root_port(&self, bdf: Bdf) -> Result<Option<&PciFunction>, TreeError> {
        Ok(self.path_up(bdf)?.last().copied())
    }

    /// The error for a function that is not among the readable ones.
    fn not_found(&self, bdf: Bdf) -> TreeError {
        match self.unreadable.iter().find(|(unreadable, _)| *unreadable == bdf) {
            Some((_, error)) => TreeError::Unreadable(bdf, error.clone()),
            None => TreeError::Unknown(bdf),
        }
    }

    /// An unreadable bridge that may lead to a function: buses below a bridge have higher numbers. A
    /// root port is never below another bridge.
    fn hidden_bridge_to(&self, function: &PciFunction) -> Option<&(Bdf, FileError)> {
        let bdf = function.bdf;
        let may_lead = |(bridge, _): &&(Bdf, FileError)| {
            bridge.domain == bdf.domain
                && bridge.bus < bdf.bus
                && self.hidden_bridges.contains_key(bridge)
        };
        let is_endpoint = function.buses_below.is_none();
        self.unreadable.iter().find(may_lead).filter(|_| is_endpoint)
    }

    /// The bridge whose secondary bus is the function's bus.
    fn bridge_to(&self, bdf: Bdf) -> Option<&PciFunction> {
        let leads = |bridge: &&PciFunction| {
            bridge.bdf.domain == bdf.domain
                && bridge.buses_below.is_some_and(|(secondary, _)| secondary == bdf.bus)
        };
        self.functions.values().find(leads)
    }
}

/// Vendor and device ID as the kernel read them before a function went away.
fn vendor_and_device(root: &Root, bdf: Bdf) -> Option<(u16, u16)> {
    let number = |name: &str| {
        let value = root.read_number(&format!("{DEVICES}/{bdf}/{name}")).ok()?;
        u16::try_from(value).ok()
    };
    Some((number("vendor")?, number("device")?))
}
