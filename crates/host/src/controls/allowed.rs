//! Which controls may be written: the list for every machine, and those that this machine has.

use super::slice_boxes::{BoxUnit, is_box_control};
use super::{Target, check_switch, is_listed};
use crate::cpu::{CpuModel, Generations};
use crate::machine::Host;
use crate::pci::Tree;

/// A control that is not on the list: no journal may name it, no plan may write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not on the list of controls that may be written")]
pub struct NotAllowed(String);

impl Target {
    /// Checks a control that a journal names: a damaged or foreign journal must not reach a register
    /// or file that no plan would name.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self) -> Result<(), NotAllowed> {
        const IIO_LLC_WAYS: u32 = 0xc8b;
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
        if listed { Ok(()) } else { Err(NotAllowed(self.to_string())) }
    }
}

/// Whether a control that a journal names is one of this machine that a plan would name: functions get
/// other numbers when cards come and go, and a journal may be another machine's.
///
/// # Errors
/// The reason why not.
pub(crate) fn is_of_this_machine(host: &Host, target: &Target) -> Result<(), String> {
    if target.is_of_kernel() {
        return Ok(());
    }
    let model = CpuModel::read(&host.root).map_err(|error| error.to_string())?;
    let generations = Generations::built_in();
    let generation = generations.of(&model);
    let listed = match target {
        Target::Port { function, .. } => {
            let tree = Tree::read(&host.root).map_err(|error| error.to_string())?;
            let switch = generation.and_then(|generation| generation.port_switch.as_ref());
            let found = tree.get(*function).zip(switch);
            match found.filter(|(port, switch)| is_listed(port, switch)) {
                Some((port, switch)) => {
                    check_switch(host, port.bdf, switch).map_err(|error| error.to_string())?;
                    true
                }
                None => false,
            }
        }
        Target::Msr { address, .. } if is_box_control(*address) => {
            let events = generation.and_then(|generation| generation.events.as_deref());
            let unit = events.and_then(BoxUnit::of_events);
            unit.is_some_and(|unit| unit.registers.is_control(*address))
        }
        _ => generation.is_some_and(|generation| generation.ways_register.is_some()),
    };
    if listed { Ok(()) } else { Err(format!("{target} is no control of this machine")) }
}
