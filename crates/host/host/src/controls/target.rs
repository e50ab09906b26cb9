//! A control: a register of a socket or of a root port, a mask of ways, or a switch of the kernel.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cpu::{CpuId, PackageId, online_cpus, sockets};
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::pci_address::Bdf;
use crate::resctrl::MaskLine;

/// A control: a register or kernel file that contains a setting. Journals name it in this form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum ControlTarget {
    /// A model-specific register of a socket.
    Msr {
        /// The socket.
        socket: PackageId,
        /// The logical CPU of the socket through which the register is reached.
        cpu: CpuId,
        /// MSR address.
        address: u32,
    },
    /// A 32-bit register of a root port.
    Port {
        /// The root port.
        function: Bdf,
        /// Byte offset in configuration space.
        offset: u16,
    },
    /// The mask of one cache in a kernel file of masks.
    Mask {
        /// The file, below the root.
        path: String,
        /// The resource, like `L3`; empty if the file has only one.
        resource: String,
        /// The cache, by resctrl's domain.
        domain: u32,
    },
    /// A kernel file that reads `enabled` or `disabled`, and accepts 1 or 0.
    Switch {
        /// The file, below the root.
        path: String,
    },
}

impl ControlTarget {
    /// Whether the control is a file of the kernel rather than a register.
    #[must_use]
    pub fn is_kernel_file(&self) -> bool {
        matches!(self, Self::Mask { .. } | Self::Switch { .. })
    }

    /// Folder of the resource, if the control is one of its files of I/O allocation (`io_alloc`).
    pub(crate) fn io_alloc_folder(&self) -> Option<&str> {
        match self {
            Self::Mask { path, .. } => path.strip_suffix("/io_alloc_cbm"),
            Self::Switch { path } => path.strip_suffix("/io_alloc"),
            _ => None,
        }
    }

    /// Whether both are the same control: all CPUs of a socket reach the same register.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Msr { socket: a, address: of_a, .. },
                Self::Msr { socket: b, address: of_b, .. },
            ) => (a, of_a) == (b, of_b),
            _ => self == other,
        }
    }

    /// Whether a value is all ones, as a register reads if the hardware does not answer.
    #[must_use]
    pub fn is_all_ones(&self, value: u64) -> bool {
        match self {
            Self::Msr { .. } => value == u64::MAX,
            Self::Port { .. } => value == u64::from(u32::MAX),
            Self::Mask { .. } | Self::Switch { .. } => false,
        }
    }

    /// Reads the value, a register twice. A switch is 0 or 1.
    ///
    /// # Errors
    /// If the control cannot be read or does not answer, or two readings differ: such a value must not be
    /// changed and written back.
    pub fn read(&self, host: &Host) -> Result<u64, FileError> {
        let first = self.read_once(host)?;
        if self.is_all_ones(first) {
            return Err(FileError::new(self, Problem::NoAnswer));
        }
        // Files of the kernel are no registers that a read could clear.
        let second = if self.is_kernel_file() { first } else { self.read_once(host)? };
        match first == second {
            true => Ok(first),
            false => Err(FileError::new(self, Problem::Unsteady { first, second })),
        }
    }

    fn read_once(&self, host: &Host) -> Result<u64, FileError> {
        match self {
            Self::Msr { socket, cpu, address } => {
                host.registers.read(online_cpu(host, *socket, *cpu)?, *address)
            }
            Self::Port { function, offset } => host.config.read(*function, *offset).map(u64::from),
            Self::Mask { path, resource, domain } => {
                let text = host.control.read(path)?;
                let lines = text.lines().filter_map(|line| MaskLine::parse(line.trim()));
                let mut of_resource = lines.filter(|line| line.resource == *resource);
                let mask = of_resource.find_map(|line| line.mask(*domain));
                mask.ok_or_else(|| host.root.malformed(path, &text, "the mask of this cache"))
            }
            Self::Switch { path } => match host.control.read(path)?.trim() {
                "enabled" => Ok(1),
                "disabled" => Ok(0),
                other => Err(host.root.malformed(path, other, "enabled or disabled")),
            },
        }
    }

    /// Writes a value. The control may read back another one.
    ///
    /// # Errors
    /// If the hardware or the kernel refuses, or the value has more bits than the control.
    pub fn write(&self, host: &Host, value: u64) -> Result<(), FileError> {
        match self {
            Self::Msr { socket, cpu, address } => {
                host.registers.write(online_cpu(host, *socket, *cpu)?, *address, value)
            }
            Self::Port { function, offset } => {
                let value = u32::try_from(value).map_err(|_| {
                    FileError::new(self, Problem::Other("accepts 32 bits only".into()))
                })?;
                host.config.write(*function, *offset, value)
            }
            Self::Mask { path, resource, domain } => {
                let prefix =
                    if resource.is_empty() { String::new() } else { format!("{resource}:") };
                host.control.write(path, &format!("{prefix}{domain}={value:x}\n"))
            }
            Self::Switch { path } => {
                host.control.write(path, if value == 0 { "0\n" } else { "1\n" })
            }
        }
    }
}

/// The CPU through which a socket's register is reached: the given one, or another of the socket if that
/// one is offline or got another number at a reboot.
fn online_cpu(host: &Host, socket: PackageId, cpu: CpuId) -> Result<CpuId, FileError> {
    // Reads the topology of one CPU first: that of all takes long on a large machine.
    let package = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
    let is_of_socket = host.root.read_number(&package).ok() == Some(socket.0.into());
    if is_of_socket && online_cpus(&host.root)?.contains(&cpu) {
        return Ok(cpu);
    }
    let sockets = sockets(&host.root)?;
    match sockets.iter().find(|known| known.id == socket) {
        Some(known) if known.cpus.contains(&cpu) => Ok(cpu),
        Some(known) => Ok(known.first_cpu()),
        None => {
            let problem = Problem::Other("no CPU of it is online".into());
            Err(FileError::new(format!("socket {socket}"), problem))
        }
    }
}

impl fmt::Display for ControlTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Msr { socket, address, .. } => write!(f, "MSR {address:#x} of socket {socket}"),
            Self::Port { function, offset } => {
                write!(f, "register {offset:#x} of root port {function}")
            }
            Self::Mask { path, resource, domain } => {
                let resource = if resource.is_empty() { "I/O" } else { resource };
                write!(f, "{resource} mask of cache {domain} in /{path}")
            }
            Self::Switch { path } => write!(f, "/{path}"),
        }
    }
}
