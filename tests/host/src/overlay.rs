//! Overlays of a description: another CPU, board or firmware (a variant), or a failure.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ExpandError;
use crate::config_space;
use crate::description::folder;
use crate::tree::Tree;

/// Another machine, described by its differences from a base machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    pub(crate) base: String,
    /// Merged into `machine.toml`; tables key by key, all else replaced.
    #[serde(default)]
    machine: toml::Table,
    /// Pairs of device ID in the base machine and the ID that replaces it.
    #[serde(default)]
    devices: Vec<[i64; 2]>,
    #[serde(default)]
    pub(crate) overlay: Failure,
}

impl Variant {
    pub(crate) fn change(&self, described: &mut toml::Table) {
        merge(described, &self.machine);
        let kinds =
            ["pci", "extended_chain"].map(|key| described.remove(key).map(|list| (key, list)));
        for (key, mut list) in kinds.into_iter().flatten() {
            for function in list.as_array_mut().into_iter().flatten() {
                let number = function.get("device").and_then(toml::Value::as_integer);
                let new = self.devices.iter().find(|[old, _]| Some(*old) == number);
                if let (Some([_, new]), Some(table)) = (new, function.as_table_mut()) {
                    table.insert("device".into(), (*new).into());
                }
            }
            described.insert(key.into(), list);
        }
    }
}

/// An overlay that changes files, PCI functions and registers of a machine.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    /// Files and directories to remove.
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Links, with what they lead to.
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// Functions whose whole configuration space reads as all ones; those that the machine lacks are
    /// ignored.
    #[serde(default)]
    dead_functions: Vec<String>,
    /// Merged into `registers.toml`; tables key by key, all else replaced.
    #[serde(default)]
    registers: toml::Table,
    /// Added to every MSR register.
    #[serde(default)]
    every_msr: toml::Table,
    /// Added to every PCI register.
    #[serde(default)]
    every_pci: toml::Table,
}

impl Failure {
    pub(crate) fn apply(
        &self,
        tree: &Tree,
        registers: &mut toml::Table,
    ) -> Result<(), ExpandError> {
        for path in &self.remove {
            tree.remove(path)?;
        }
        for (path, text) in &self.files {
            tree.file(path, text)?;
        }
        for (path, target) in &self.links {
            tree.remove(path)?;
            tree.link(path, target)?;
        }
        // Writing a function that the machine lacks would create one that no kernel lists.
        let here = |bdf: &&String| tree.has(&folder(bdf));
        for bdf in self.dead_functions.iter().filter(here) {
            tree.bytes(&format!("{}/config", folder(bdf)), &config_space::DEAD)?;
        }
        merge(registers, &self.registers);
        if let Some(list) = registers.get_mut("msr").and_then(|msr| msr.get_mut("register")) {
            merge_each(list, &self.every_msr);
        }
        let slices = registers.get_mut("slices").and_then(toml::Value::as_table_mut);
        let boxes = slices.and_then(|slices| slices.get_mut("registers")?.as_table_mut());
        if let Some(boxes) = boxes {
            merge(boxes, &self.every_msr);
        }
        if let Some(list) = registers.get_mut("pci") {
            merge_each(list, &self.every_pci);
        }
        Ok(())
    }
}

fn merge_each(list: &mut toml::Value, over: &toml::Table) {
    for table in list.as_array_mut().into_iter().flatten().filter_map(toml::Value::as_table_mut) {
        merge(table, over);
    }
}

fn merge(below: &mut toml::Table, over: &toml::Table) {
    for (key, value) in over {
        match (below.get_mut(key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            _ => drop(below.insert(key.clone(), value.clone())),
        }
    }
}
