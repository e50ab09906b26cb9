//! Plans for the switch of DDIO at root ports.

use super::{OmittedControl, PlannedChange, TunePlan, TunePlanError, TunePlanner};
use crate::controls::{ControlTarget, SwitchError, check_switch, has_listed_numbers, is_listed};
use crate::cpu::{Generation, PortSwitch, Proof};
use crate::error::FileError;
use crate::pci::{PciFunction, Tree, TreeError};
use crate::pci_address::Bdf;

impl TunePlanner<'_> {
    /// Plans DDIO on or off at the root port above a device, or at all root ports.
    ///
    /// # Errors
    /// If the device is unknown, its port has no such switch, or it cannot be read.
    pub fn ddio(&self, on: bool, device: Option<Bdf>) -> Result<TunePlan, TunePlanError> {
        let generation = self.known_generation("tune ddio")?;
        let switch = port_switch(generation)?;
        self.check_measured(generation, switch)?;
        let tree = Tree::read(&self.host.root)?;
        let mut warnings = proof_warning(switch.proof, &generation.name, &switch.source);
        let ports: Vec<&PciFunction> = match device {
            Some(device) => {
                let port = port_above(&tree, device, switch)?;
                warnings.extend(describe_neighbours(&tree, port, device));
                vec![port]
            }
            None => tree.functions().filter(|port| is_listed(port, switch)).collect(),
        };
        // A port that was requested by its device is reached, or the request is refused.
        let left_out = if device.is_none() { omitted_controls(&tree, switch) } else { Vec::new() };
        if ports.is_empty() {
            let lines: String = left_out.iter().map(|one| format!("\n  {one}")).collect();
            return Err(TunePlanError::NoControl(format!(
                "no root port of this machine is on the list of ports known to have perfctrlsts_0 \
                 ({}){lines}",
                generation.name
            )));
        }
        let changes: Result<Vec<PlannedChange>, _> =
            ports.into_iter().map(|port| self.switch_change(switch, port, on)).collect();
        let changes = changes?;
        warnings.extend(unaffected_writes(switch, &changes, on));
        warnings.extend(left_out.iter().map(|one| format!("{one}; it keeps its setting")));
        let state = if on { "on" } else { "off" };
        let above = device.map(|device| format!(" --device {device}")).unwrap_or_default();
        let command = format!("tune ddio {state}{above}");
        Ok(TunePlan { left_out, ..TunePlan::new(&self.host.root, command, changes, warnings) })
    }

    /// Refuses a switch of root ports whose effect on DMA writes no publication has measured.
    fn check_measured(
        &self,
        generation: &Generation,
        switch: &PortSwitch,
    ) -> Result<(), TunePlanError> {
        if switch.proof == Proof::Effective || self.allows_unmeasured {
            return Ok(());
        }
        Err(TunePlanError::NoControl(format!(
            "{} has no switch at its root ports that was measured to work, only a description ({}); for \
             the whole machine: {}\n  remedy: --unmeasured writes it all the same, and --verify measures it",
            generation.name,
            switch.source,
            generation.describe_firmware_switch()
        )))
    }

    fn switch_change(
        &self,
        switch: &PortSwitch,
        port: &PciFunction,
        on: bool,
    ) -> Result<PlannedChange, TunePlanError> {
        check_switch(self.host, port.bdf, switch).map_err(|error| match error {
            SwitchError::File(error) => error.into(),
            other => TunePlanError::NoControl(other.to_string()),
        })?;
        let target = ControlTarget::Port { function: port.bdf, offset: switch.offset };
        let old = target.read(self.host)?;
        let (allocating, no_snoop) = (1u64 << switch.allocating_bit, 1u64 << switch.no_snoop_bit);
        let asked = if on { old | allocating } else { old & !allocating };
        let means = |value: u64| {
            let bit = |mask: u64| u64::from(value & mask != 0);
            let state = if value & allocating != 0 {
                "DDIO on: writes of devices allocate in the LLC"
            } else {
                "DDIO off: writes of devices go to memory"
            };
            format!(
                "{state} (Use_Allocating_Flow_Wr {}, NoSnoopOpWrEn {})",
                bit(allocating),
                bit(no_snoop)
            )
        };
        Ok(PlannedChange {
            place: target.to_string(),
            target,
            old: Some(old),
            asked,
            owned: switch.bits(),
            old_means: means(old),
            new_means: means(asked),
            only_kept: false,
        })
    }
}

fn port_switch(generation: &Generation) -> Result<&PortSwitch, TunePlanError> {
    generation.port_switch.as_ref().ok_or_else(|| {
        TunePlanError::NoControl(format!(
            "{} has no publicly documented switch at its root ports{}; for the whole machine: {}",
            generation.name,
            generation.describe_missing_port_switch(),
            generation.describe_firmware_switch()
        ))
    })
}

/// The listed root port above a device, or the device itself if it is a listed port.
fn port_above<'t>(
    tree: &'t Tree,
    device: Bdf,
    switch: &PortSwitch,
) -> Result<&'t PciFunction, TunePlanError> {
    let bad = |error: TreeError| TunePlanError::BadRequest(format!("--device {device}: {error}"));
    let above = tree.root_port(device).map_err(bad)?;
    let own = tree.get(device).filter(|function| function.buses_below.is_some());
    let port = above.or(own).ok_or_else(|| {
        TunePlanError::BadRequest(format!(
            "--device {device}: root port not found above it (it is part of the root complex)"
        ))
    })?;
    if is_listed(port, switch) {
        return Ok(port);
    }
    Err(TunePlanError::NoControl(format!(
        "--device {device}: its root port {} ({:04x}:{:04x}) is not on the list of ports known to have \
         perfctrlsts_0",
        port.bdf, port.vendor, port.device
    )))
}

/// Notes on the bit that is written, and on the writes of devices that the switch does not affect.
///
/// Source: description of Use_Allocating_Flow_Wr in the datasheets of Xeon E5/E7 v3 and v4, vol. 2
/// (recalled): it holds for writes of VC0 without a hint (TPH 0, or TPHDIS set) and without No Snoop (or
/// NoSnoopOpWrEn clear).
fn unaffected_writes(switch: &PortSwitch, changes: &[PlannedChange], on: bool) -> Vec<String> {
    let with = |bit: u32| {
        let set = changes.iter().filter(move |change| change.asked >> bit & 1 == 1);
        set.filter_map(|change| match &change.target {
            ControlTarget::Port { function, .. } => Some(function.to_string()),
            _ => None,
        })
        .collect::<Vec<String>>()
    };
    let [switch_bit, no_snoop, hints] =
        [switch.allocating_bit, switch.no_snoop_bit, switch.tph_disable_bit];
    let verb = if on { "sets" } else { "clears" };
    let mut notes = vec![format!(
        "this {verb} Use_Allocating_Flow_Wr (bit {switch_bit}) and nothing else, the smallest documented \
         change ({})",
        switch.off_source
    )];
    let deaf = with(hints);
    notes.push(match deaf.len() {
        0 => format!(
            "steered writes (TPH with a steering tag) are not switched: they follow their tag, because \
             TPHDIS (bit {hints}) is clear"
        ),
        all if all == changes.len() => {
            format!("steered writes (TPH) are switched too, because TPHDIS (bit {hints}) is set")
        }
        _ => format!(
            "steered writes (TPH with a steering tag) follow their tag; they are switched only at {}, \
             where TPHDIS (bit {hints}) is set",
            deaf.join(", ")
        ),
    });
    let uncached = with(no_snoop);
    if on && !uncached.is_empty() {
        notes.push(format!(
            "writes with No Snoop stay off at {}: NoSnoopOpWrEn (bit {no_snoop}) is set there, and keeps \
             its value",
            uncached.join(", ")
        ));
    }
    notes
}

/// Root ports that a change of all ports does not reach, because they cannot be read: listed ones, and
/// bridges whose IDs the kernel does not report.
fn omitted_controls(tree: &Tree, switch: &PortSwitch) -> Vec<OmittedControl> {
    let of = |(bdf, numbers, error): (Bdf, Option<(u16, u16)>, &FileError)| {
        let place = match numbers {
            Some(numbers) if has_listed_numbers(numbers, switch) => format!("root port {bdf}"),
            Some(_) => return None,
            None => format!("bridge {bdf}, which may be a root port,"),
        };
        Some(OmittedControl { place, reason: error.to_string() })
    };
    tree.hidden_bridges().filter_map(of).collect()
}

/// Warning of other devices below the same port, which the switch affects too.
fn describe_neighbours(tree: &Tree, port: &PciFunction, device: Bdf) -> Option<String> {
    let shares = |other: &&PciFunction| {
        let same = other.bdf.domain == device.domain
            && (other.bdf.bus, other.bdf.device) == (device.bus, device.device);
        let below = tree.root_port(other.bdf).ok().flatten().map(|p| p.bdf) == Some(port.bdf);
        !same && below && other.buses_below.is_none()
    };
    let others: Vec<String> = tree.functions().filter(shares).map(|f| f.bdf.to_string()).collect();
    (!others.is_empty()).then(|| {
        format!(
            "the switch belongs to root port {} and changes {} too",
            port.bdf,
            others.join(", ")
        )
    })
}

/// Warning about the published measurements of a control; empty if it is known to have an effect.
pub(super) fn proof_warning(proof: Proof, generation: &str, source: &str) -> Vec<String> {
    match proof {
        Proof::Effective => Vec::new(),
        Proof::NoEffect => vec![format!(
            "on {generation} this control is known to have no effect on hit rates ({source}); \
             --verify measures it"
        )],
        Proof::ExpectedNoEffect => vec![format!(
            "this control has no effect on the generation before {generation}, and no measurement on it is \
             published ({source}); --verify measures it"
        )],
        Proof::Unknown => vec![format!(
            "no measurement of the effect of this control on {generation} is published; --verify measures it"
        )],
    }
}
