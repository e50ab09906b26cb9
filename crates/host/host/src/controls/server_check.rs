//! Checks that this is a server whose controls the table of generations describes: desktop and
//! workstation CPUs have the same model numbers, and hypervisors emulate registers in any way.

use crate::cpu::{CpuModel, Generation};
use crate::machine::Host;
use crate::pci::Tree;

const INTEL: u16 = 0x8086;

/// Checks that model, brand and the uncore's own PCI functions are those of a server of a generation.
///
/// # Errors
/// The reason why the controls of this machine are not touched.
pub(crate) fn check_server(
    host: &Host,
    cpu: &CpuModel,
    generation: &Generation,
) -> Result<(), String> {
    let name = &generation.name;
    if cpu.virtual_machine {
        let on_host = if generation.ways_register.is_none() && generation.port_switch.is_none() {
            format!(
                "its host has no control either, as far as is published: {}",
                generation.io_path
            )
        } else {
            "run it on the host itself".to_owned()
        };
        return Err(format!(
            "this is a virtual machine: its hypervisor decides which registers, PCI ports and event counters \
             exist, and what they do; {on_host}"
        ));
    }
    if !generation.names_server(cpu) {
        return Err(format!(
            "\"{}\" has the model number of {name} servers, but not their brand ({}): no public source \
             says that the registers of this part do the same",
            cpu.name,
            generation.brands.join(", ")
        ));
    }
    let expected = &generation.uncore_devices;
    if expected.is_empty() {
        return Ok(());
    }
    let tree = Tree::read(&host.root).map_err(|error| error.to_string())?;
    let is_uncore = |vendor: u16, device: u16| vendor == INTEL && expected.contains(&device);
    if tree.functions().any(|found| is_uncore(found.vendor, found.device)) {
        return Ok(());
    }
    let expected: Vec<String> = expected.iter().map(|id| format!("8086:{id:04x}")).collect();
    Err(format!(
        "none of the PCI functions is here that the uncore of every {name} server has ({}): a hypervisor \
         or firmware hides the hardware, or it is another part",
        expected.join(", ")
    ))
}
