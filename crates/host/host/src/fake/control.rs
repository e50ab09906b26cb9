//! Control files of a described machine: one domain at a time, masks that are refused or widened.

use super::FakeMachine;
use super::description::{ControlFile, RegisterAnswer};
use crate::control_files::{ControlFiles, KernelFiles};
use crate::error::{FileError, Problem};
use crate::resctrl::MaskLine;
use std::sync::Arc;

impl ControlFiles for FakeMachine {
    fn read(&self, path: &str) -> Result<String, FileError> {
        // The kernel reports no masks for I/O while it does not use them.
        if let Some(folder) = path.strip_suffix("/io_alloc_cbm")
            && self.root.read_line(&format!("{folder}/io_alloc"))? != "enabled"
        {
            return Err(self.root.error(path, Problem::Invalid));
        }
        KernelFiles(Arc::clone(&self.root)).read(path)
    }

    fn write(&self, path: &str, command: &str) -> Result<(), FileError> {
        let described = self.description.control.iter().find(|file| file.path == path);
        let answer = described.map_or(RegisterAnswer::Ok, |file| file.write);
        match answer {
            RegisterAnswer::Ok => {}
            RegisterAnswer::Ignored | RegisterAnswer::Dead => return Ok(()),
            RegisterAnswer::Eperm => return Err(self.root.error(path, Problem::NotPermitted)),
            RegisterAnswer::Absent => return Err(self.root.error(path, Problem::Missing)),
            RegisterAnswer::Eio | RegisterAnswer::Short => {
                return Err(self.root.error(path, Problem::Refused));
            }
        }
        let old = ControlFiles::read(self, path)?;
        let new = match path.rsplit('/').next() {
            Some("schemata" | "io_alloc_cbm") => self.with_masks(path, &old, command, described)?,
            Some("io_alloc") => {
                let new =
                    switch_text(command).ok_or_else(|| self.root.error(path, Problem::Invalid))?;
                if new.trim() != old.trim() {
                    self.give_io_all_ways(path)?;
                }
                new.to_owned()
            }
            _ => command.to_owned(),
        };
        self.root.replace(path, &new)
    }
}

fn switch_text(command: &str) -> Option<&'static str> {
    match command.trim() {
        "1" => Some("enabled\n"),
        "0" => Some("disabled\n"),
        _ => None,
    }
}

impl FakeMachine {
    /// Sets the masks for I/O to all ways, as the kernel does with every switch.
    fn give_io_all_ways(&self, switch: &str) -> Result<(), FileError> {
        let folder = switch.strip_suffix("/io_alloc").unwrap_or(switch);
        let path = format!("{folder}/io_alloc_cbm");
        let all = self.root.read_line(&format!("{folder}/cbm_mask"))?;
        let text = self.root.read_text(&path)?;
        let line = MaskLine::parse(text.trim())
            .ok_or_else(|| self.root.malformed(&path, &text, "masks of caches"))?;
        let masks: Vec<String> =
            line.masks.iter().map(|(cache, _)| format!("{cache}={all}")).collect();
        self.root.replace(&path, &format!("{}\n", masks.join(";")))
    }

    /// The old lines with the domains of the command replaced, in the kernel's own format.
    fn with_masks(
        &self,
        path: &str,
        old: &str,
        command: &str,
        described: Option<&ControlFile>,
    ) -> Result<String, FileError> {
        let invalid = || self.root.error(path, Problem::Invalid);
        let asked = MaskLine::parse(command.trim()).ok_or_else(invalid)?;
        let mut found = false;
        let mut lines = Vec::new();
        for text in old.lines() {
            let indent = &text[..text.len() - text.trim_start().len()];
            let Some(mut line) = MaskLine::parse(text.trim()) else {
                lines.push(text.to_owned());
                continue;
            };
            if line.resource == asked.resource {
                for &(domain, mask) in &asked.masks {
                    let slot = line.masks.iter_mut().find(|slot| slot.0 == domain);
                    let slot = slot.ok_or_else(invalid)?;
                    slot.1 =
                        self.accepted_mask(&asked.resource, mask, described).ok_or_else(invalid)?;
                    found = true;
                }
            }
            lines.push(format!("{indent}{line}"));
        }
        if !found {
            return Err(invalid());
        }
        Ok(lines.join("\n") + "\n")
    }

    /// The mask that the hardware accepts for a requested one, by the rules in the tree's `info` files;
    /// `None` if it is refused.
    fn accepted_mask(&self, resource: &str, mask: u64, file: Option<&ControlFile>) -> Option<u64> {
        let info =
            format!("sys/fs/resctrl/info/{}", if resource.is_empty() { "L3" } else { resource });
        let number = |name: &str| {
            let text = self.root.read_line(&format!("{info}/{name}")).ok()?;
            u64::from_str_radix(&text, 16).ok()
        };
        let all = number("cbm_mask")?;
        let least = number("min_cbm_bits").unwrap_or(1);
        let sparse = number("sparse_masks").unwrap_or(0) == 1;
        let run = mask >> mask.trailing_zeros().min(63);
        let contiguous = mask != 0 && run & run.wrapping_add(1) == 0;
        if mask & !all != 0 || u64::from(mask.count_ones()) < least || !(sparse || contiguous) {
            return None;
        }
        let widened = file.and_then(|file| file.widened.iter().find(|w| w.asked == mask));
        Some(widened.map_or(mask, |w| w.becomes))
    }
}
