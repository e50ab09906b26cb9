//! `registers.toml`: how the registers of a described machine behave.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::slices::SliceDescription;

/// Registers, control files and traffic of a machine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineDescription {
    pub(super) msr: MsrDescription,
    /// What reads beyond the first 64 bytes of configuration space give.
    pub(super) extended_config: RegisterAnswer,
    pub(super) pci: Vec<PciRegister>,
    pub(super) control: Vec<ControlFile>,
    pub(super) counters: RegisterAnswer,
    pub(super) traffic: Vec<DescribedTraffic>,
    pub(super) event: Vec<DescribedEvent>,
    pub(super) rings: BTreeMap<String, [u32; 4]>,
    pub(super) slices: Option<SliceDescription>,
}

impl MachineDescription {
    /// Reads a description.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }
}

/// The msr driver and what it reaches.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MsrDescription {
    pub(super) driver: RegisterAnswer,
    pub(super) register: Vec<MsrRegister>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct MsrRegister {
    pub(super) address: u32,
    #[serde(default)]
    pub(super) scope: RegisterScope,
    pub(super) value: u64,
    #[serde(flatten)]
    pub(super) behaviour: RegisterBehaviour,
}

/// Who shares a register.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RegisterScope {
    #[default]
    Socket,
    Cpu,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct PciRegister {
    pub(super) function: String,
    pub(super) offset: u16,
    #[serde(flatten)]
    pub(super) behaviour: RegisterBehaviour,
}

/// What reads and writes of a register do.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RegisterBehaviour {
    pub(super) read: RegisterAnswer,
    pub(super) write: RegisterAnswer,
    /// Bits that a write can change.
    pub(super) writable: u64,
    /// Bits that every write sets.
    pub(super) sticky: u64,
    /// A write that touches other bits is a fault.
    pub(super) strict: bool,
    /// A read leaves it zero.
    pub(super) clear_on_read: bool,
}

/// How a driver or register answers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RegisterAnswer {
    #[default]
    Ok,
    Absent,
    Eperm,
    Eio,
    Short,
    Ignored,
    /// Reads are all ones and writes vanish, as where a device is gone.
    Dead,
}

/// A control file that is not just a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ControlFile {
    pub(super) path: String,
    #[serde(default)]
    pub(super) write: RegisterAnswer,
    /// Masks that become others.
    #[serde(default)]
    pub(super) widened: Vec<WidenedMask>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WidenedMask {
    pub(super) asked: u64,
    pub(super) becomes: u64,
}

/// What devices do at one socket, and what decides whether they hit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedTraffic {
    pub(super) socket: u64,
    pub(super) port: String,
    pub(super) write_lines_per_s: u64,
    pub(super) read_lines_per_s: u64,
    #[serde(default)]
    pub(super) follows: HitRateControl,
    /// Percent of writes that hit with no way, and more for each way that the control gives.
    pub(super) hit_percent: u64,
    #[serde(default)]
    pub(super) hit_percent_per_way: u64,
}

/// The control that hit rates obey.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HitRateControl {
    /// Nothing changes them.
    #[default]
    Nothing,
    /// The root port's switch.
    PortSwitch,
    /// Ways of the IIO LLC WAYS register, and the root port's switch.
    IioWays,
    /// resctrl's mask for I/O.
    IoAlloc,
}

/// What an event counts at this machine, in the hardware's own encoding.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedEvent {
    /// Name of the unit, without the number of its box.
    pub(super) unit: String,
    pub(super) config: u64,
    #[serde(default)]
    pub(super) config1: u64,
    pub(super) counts: Vec<TrafficQuantity>,
    /// Only the traffic of this root port, and only at the box of this number.
    #[serde(default)]
    pub(super) port: Option<String>,
    #[serde(default)]
    pub(super) only_box: Option<u64>,
    /// Bytes of one count, where it is not a line.
    #[serde(default = "line")]
    pub(super) bytes: u64,
}

fn line() -> u64 {
    units::LINE_BYTES
}

/// What can be counted.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TrafficQuantity {
    WriteHits,
    WriteMisses,
    ReadHits,
    ReadMisses,
}
