//! A PCI function as sysfs and its header describe it.

use serde::Serialize;

use crate::error::{FileError, Problem};
use crate::pci_address::Bdf;
use crate::root::Root;

/// Byte offsets of a header: its type, and a bridge's primary, secondary and subordinate bus.
const HEADER_TYPE: usize = 0x0e;
const BUSES: usize = 0x18;
const HEADER_BYTES: usize = 64;

/// What a function is, by its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionKind {
    /// A network controller.
    Nic,
    /// A controller of non-volatile memory.
    Ssd,
    /// Another storage controller.
    Storage,
    /// A bridge: root port or port of a switch.
    Bridge,
    /// Anything else.
    Other,
}

/// A PCI function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its address.
    pub bdf: Bdf,
    /// What it is.
    pub kind: FunctionKind,
    /// Vendor number.
    pub vendor: u16,
    /// Device number.
    pub device: u16,
    /// Buses below it, first and last, if it is a bridge.
    pub buses_below: Option<(u8, u8)>,
    /// The NUMA node that the firmware names.
    pub node: Option<u32>,
}

impl Function {
    /// Reads what any user may read.
    ///
    /// # Errors
    /// If a file of it cannot be read or is malformed.
    pub fn read(root: &Root, bdf: Bdf) -> Result<Self, FileError> {
        let folder = format!("sys/bus/pci/devices/{bdf}");
        let number = |name: &str| root.read_number(&format!("{folder}/{name}"));
        let class = number("class")?;
        let mut header = [0u8; HEADER_BYTES];
        root.read_at(&format!("{folder}/config"), 0, &mut header)?;
        // The kernel's other files keep what they said before the function went away.
        if header[..4] == [0xff; 4] {
            return Err(root.error(&format!("{folder}/config"), Problem::NoAnswer));
        }
        let bridge = header[HEADER_TYPE] & 0x7f == 1;
        let id = |name: &str| {
            let value = number(name)?;
            u16::try_from(value).map_err(|_| {
                root.malformed(&format!("{folder}/{name}"), &value.to_string(), "16 bits")
            })
        };
        Ok(Self {
            bdf,
            kind: kind(class, bridge),
            vendor: id("vendor")?,
            device: id("device")?,
            buses_below: bridge.then_some((header[BUSES + 1], header[BUSES + 2])),
            // -1 stands for "not known".
            node: number("numa_node").ok().and_then(|node| node.try_into().ok()),
        })
    }
}

fn kind(class: u64, bridge: bool) -> FunctionKind {
    match class >> 8 {
        _ if bridge => FunctionKind::Bridge,
        0x0200..=0x02ff => FunctionKind::Nic,
        0x0108 => FunctionKind::Ssd,
        0x0100..=0x01ff => FunctionKind::Storage,
        _ => FunctionKind::Other,
    }
}
