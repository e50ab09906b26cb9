//! Format of `registers.toml`, which describes the registers, control files and traffic of a machine.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::slices::SliceDescription;

/// Registers, control files and traffic of a machine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineDescription {
    pub(super) msr: MsrDescription,
    /// Answer to reads beyond the first 64 bytes of configuration space.
    pub(super) extended_config: RegisterAnswer,
    pub(super) pci: Vec<PciRegister>,
    pub(super) control: Vec<ControlFile>,
    pub(super) counters: RegisterAnswer,
    pub(super) traffic: Vec<DescribedTraffic>,
    pub(super) event: Vec<DescribedEvent>,
    pub(super) rings: BTreeMap<String, [u32; 4]>,
    pub(super) interface: BTreeMap<String, DescribedInterface>,
    pub(super) slices: Option<SliceDescription>,
}

impl MachineDescription {
    /// Parses a description.
    ///
    /// # Errors
    /// The reason why the text is not valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }
}

/// The msr driver and its registers.
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

/// Scope of a register: shared by the CPUs of a socket, or one for each CPU.
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

/// Behaviour of a register on reads and writes.
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
    /// A read sets the register to zero.
    pub(super) clear_on_read: bool,
}

/// Answer of a driver or register to an access.
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
    /// Reads give all ones and writes have no effect, as if a device was removed.
    Dead,
}

/// A control file whose behaviour differs from a plain file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ControlFile {
    pub(super) path: String,
    #[serde(default)]
    pub(super) write: RegisterAnswer,
    /// Masks that the hardware replaces by others.
    #[serde(default)]
    pub(super) widened: Vec<WidenedMask>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WidenedMask {
    pub(super) asked: u64,
    pub(super) becomes: u64,
}

/// Settings of a network interface, and what its MAC counts in a second; what is not stated its driver
/// does not report.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct DescribedInterface {
    pub(super) receive_queues: Option<u32>,
    /// Whether PAUSE frames are obeyed, and sent.
    pub(super) pause: Option<[bool; 2]>,
    pub(super) rss_queues: Option<Vec<u32>>,
    pub(super) merging_offloads: Option<Vec<String>>,
    /// Frames and octets received, then those sent.
    pub(super) frames_per_s: Option<[u64; 4]>,
}

/// Traffic of devices at one socket, and the control that its hit rate follows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedTraffic {
    pub(super) socket: u64,
    pub(super) port: String,
    pub(super) write_lines_per_s: u64,
    pub(super) read_lines_per_s: u64,
    #[serde(default)]
    pub(super) follows: HitRateControl,
    /// Hit rate of writes in percent without a way.
    pub(super) hit_percent: u64,
    /// Increase of the hit rate in percent for each way that the control gives.
    #[serde(default)]
    pub(super) hit_percent_per_way: u64,
    /// Hit rate of reads in percent; 20 more than that of writes by default, for lines that the CPU has
    /// left in its caches.
    #[serde(default)]
    pub(super) read_hit_percent: Option<u64>,
    /// Lines that DRAM reads and writes in a second; those that devices miss by default.
    #[serde(default)]
    pub(super) dram_lines_per_s: Option<[u64; 2]>,
}

/// Control that hit rates follow.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HitRateControl {
    /// No control changes the hit rates.
    #[default]
    Nothing,
    /// The root port's switch.
    PortSwitch,
    /// Ways of the IIO LLC WAYS register, and the root port's switch.
    IioWays,
    /// resctrl's mask for I/O.
    IoAlloc,
}

/// An event of this machine in the hardware's encoding, and the traffic that it counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedEvent {
    /// Name of the unit, without the number of its box.
    pub(super) unit: String,
    pub(super) config: u64,
    #[serde(default)]
    pub(super) config1: u64,
    pub(super) counts: Vec<TrafficQuantity>,
    /// Root port whose traffic is counted; `None` for all.
    #[serde(default)]
    pub(super) port: Option<String>,
    /// Number of the only box that counts; `None` for all.
    #[serde(default)]
    pub(super) only_box: Option<u64>,
    /// Bytes that one count stands for; by default a line.
    #[serde(default = "line")]
    pub(super) bytes: u64,
}

fn line() -> u64 {
    units::LINE_BYTES
}

/// Kind of traffic that an event counts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TrafficQuantity {
    WriteHits,
    WriteMisses,
    ReadHits,
    ReadMisses,
    DramReads,
    DramWrites,
}
