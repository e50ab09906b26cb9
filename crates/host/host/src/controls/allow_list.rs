//! The allow-list: controls that may be written on any machine, and those that this machine has.

use super::slice_boxes::{BoxRegisters, BoxUnit, is_box_control};
use super::{ControlTarget, check_one_die, check_server, check_switch, is_listed};
use crate::cpu::{
    CpuModel, CpuSocket, Generation, Generations, PackageId, common_llc_ways, sockets,
};
use crate::machine::Host;
use crate::pci::Tree;
use units::WayMask;

/// Error of a control that is not on the allow-list: no journal may name it, and no plan may write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not on the list of controls that may be written")]
pub struct NotAllowedError(String);

/// MSR address of the register of the ways that I/O allocates in.
const IIO_LLC_WAYS: u32 = 0xc8b;

impl ControlTarget {
    /// Whether the control is the mask of ways that I/O allocates in.
    pub(crate) fn is_way_mask(&self) -> bool {
        matches!(self, Self::Msr { address: IIO_LLC_WAYS, .. })
    }

    /// Whether a value of the way mask has none of the `owned` bits, so that I/O could allocate in no
    /// way of the LLC. A machine may begin with such a value; nothing here writes it.
    pub(crate) fn denies_io_every_way(&self, value: u64, owned: u64) -> bool {
        self.is_way_mask() && value & owned == 0
    }

    /// Checks that the control is on the allow-list. A damaged or foreign journal must not reach a
    /// register or file that no plan would name.
    ///
    /// # Errors
    /// If the control is not on the list.
    pub fn check(&self) -> Result<(), NotAllowedError> {
        const PERFCTRLSTS_0: u16 = 0x180;
        let in_resctrl = |path: &str, name: &str| {
            path.starts_with("sys/fs/resctrl/")
                && path.ends_with(name)
                && !path.split('/').any(|part| part.is_empty() || part == "..")
        };
        let listed = match self {
            Self::Msr { address, .. } => *address == IIO_LLC_WAYS || is_box_control(*address),
            Self::Port { offset, .. } => *offset == PERFCTRLSTS_0,
            Self::Mask { path, .. } => {
                in_resctrl(path, "/schemata") || in_resctrl(path, "/io_alloc_cbm")
            }
            Self::Switch { path } => in_resctrl(path, "/io_alloc"),
        };
        if listed { Ok(()) } else { Err(NotAllowedError(self.to_string())) }
    }
}

/// Bits of a control that a restore may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestorableBits {
    /// Bits that a restore may change, if the journal owns them too; all others keep their values.
    pub owned: u64,
    /// Bits that are never set before a plan changes the control: a journal with such an old value is
    /// damaged or foreign.
    pub impossible: u64,
}

/// Bits of a control that a restore may write.
///
/// Accepts only controls of this machine that a plan would name: functions get other numbers when cards
/// are added or removed, and a journal may be another machine's.
///
/// # Errors
/// The reason why the control is refused.
pub(crate) fn restorable(host: &Host, target: &ControlTarget) -> Result<RestorableBits, String> {
    let any = |owned| RestorableBits { owned, impossible: 0 };
    if target.is_kernel_file() {
        return Ok(any(u64::MAX));
    }
    let model = CpuModel::read(&host.root).map_err(|error| error.to_string())?;
    let generations = Generations::built_in();
    let generation = generations.find(&model);
    if let Some(known) = generation {
        check_server(host, &model, known)?;
    }
    let found = match target {
        ControlTarget::Port { function, .. } => {
            let tree = Tree::read(&host.root).map_err(|error| error.to_string())?;
            let switch = generation.and_then(|generation| generation.port_switch.as_ref());
            let found = tree.get(*function).zip(switch);
            match found.filter(|(port, switch)| is_listed(port, switch)) {
                Some((port, switch)) => {
                    check_switch(host, port.bdf, switch).map_err(|error| error.to_string())?;
                    Some(any(switch.restorable_bits()))
                }
                None => None,
            }
        }
        ControlTarget::Msr { socket, address, .. } if is_box_control(*address) => {
            check_socket_of_one_die(&read_sockets(host)?, *socket)?;
            let registers = box_registers(generation);
            registers.and_then(|registers| {
                let owned = registers.owned_bits(*address)?;
                Some(RestorableBits { owned, impossible: registers.never_set_bits(*address) })
            })
        }
        ControlTarget::Msr { socket, .. } => {
            match generation.and_then(|g| g.ways_register.as_ref()) {
                Some(_) => Some(any(way_field(host, *socket)?)),
                None => None,
            }
        }
        ControlTarget::Mask { .. } | ControlTarget::Switch { .. } => None,
    };
    found.ok_or_else(|| format!("{target} is not a control of this machine"))
}

/// Registers of the boxes of a generation's slices; `None` if their addresses are not known.
fn box_registers(generation: Option<&Generation>) -> Option<BoxRegisters> {
    let generation = generation?;
    let unit = BoxUnit::for_events(generation.events.as_deref()?)?;
    unit.has_registers_of(&generation.name).then_some(unit.registers)
}

fn read_sockets(host: &Host) -> Result<Vec<CpuSocket>, String> {
    sockets(&host.root).map_err(|error| error.to_string())
}

/// Checks that a socket has online CPUs and one die: registers of other dies would not be reached.
fn check_socket_of_one_die(sockets: &[CpuSocket], socket: PackageId) -> Result<(), String> {
    let found = sockets.iter().find(|known| known.id == socket);
    check_one_die(found.ok_or_else(|| format!("socket {socket}: no CPU of it is online"))?)
}

/// Mask with one bit for each way of a socket's last-level cache, by the rules of a plan.
fn way_field(host: &Host, socket: PackageId) -> Result<u64, String> {
    let sockets = read_sockets(host)?;
    check_socket_of_one_die(&sockets, socket)?;
    let ways = common_llc_ways(&sockets).map_err(|mismatch| mismatch.to_string())?;
    Ok(WayMask::top(ways, ways).0.into())
}
