//! A PCI function as sysfs and its header describe it.

use serde::Serialize;

use crate::error::{FileError, Problem};
use crate::pci_address::Bdf;
use crate::root::Root;

/// Byte offsets of a header: its type, and a bridge's primary, secondary and subordinate bus.
const HEADER_TYPE: usize = 0x0e;
const BUSES: usize = 0x18;
const HEADER_BYTES: usize = 64;

/// Kind of a PCI function, by its class code.
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
    /// A function of any other class.
    Other,
}

/// A PCI function, as any user may read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PciFunction {
    /// PCI address of the function.
    pub bdf: Bdf,
    /// Kind of the function, by class code.
    pub kind: FunctionKind,
    /// Vendor ID of the function.
    pub vendor: u16,
    /// Device ID of the function.
    pub device: u16,
    /// Secondary and subordinate bus (first and last bus below it); `None` if it is not a bridge.
    pub buses_below: Option<(u8, u8)>,
    /// NUMA node of the function; `None` if the firmware does not name one.
    pub node: Option<u32>,
}

impl PciFunction {
    /// Reads a function's sysfs files and the 64-byte header of its configuration space.
    ///
    /// # Errors
    /// If a file of the function cannot be read or is malformed, or the function does not answer.
    pub fn read(root: &Root, bdf: Bdf) -> Result<Self, FileError> {
        let folder = format!("sys/bus/pci/devices/{bdf}");
        let number = |name: &str| root.read_number(&format!("{folder}/{name}"));
        let class = number("class")?;
        let mut header = [0u8; HEADER_BYTES];
        root.read_at(&format!("{folder}/config"), 0, &mut header)?;
        // The kernel's other files keep their content after the function went away.
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
