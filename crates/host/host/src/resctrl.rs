//! resctrl: cache allocation groups, ways shared with I/O, and allocation for I/O.
//!
//! Source: Linux Documentation/filesystems/resctrl.rst. Rules are read from resctrl's
//! files (`sparse_masks`, `min_cbm_bits`, `shareable_bits`), not derived from the CPU's generation.
//!
//! Not checked: `io_alloc` came with Linux 6.19 for AMD's SDCIAE (recalled); Linux 6.12, the newest
//! source that was at hand, has it for no vendor.

mod masks;

use serde::Serialize;

use crate::control_files::{ControlFiles, RESCTRL_MOUNT};
use crate::error::{FileError, Problem};
use crate::root::Root;
use crate::unavailable::Unavailable;

pub use masks::MaskLine;

/// Directories of the mount that are not groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_groups", "mon_data"];
/// Common name of the group at the root of the mount.
const DEFAULT: &str = "default";

/// A resource of the last-level cache: `L3`, or `L3CODE` and `L3DATA`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CacheResource {
    /// Name of the resource, as in `info/` and schemata.
    pub name: String,
    /// Mask of all ways of the cache.
    #[serde(serialize_with = "crate::hex::value")]
    pub all_ways: u64,
    /// Least number of bits of a mask; 0 on AMD, whose masks may be empty (Linux 6.1,
    /// `rdt_init_res_defs_amd` in arch/x86/kernel/cpu/resctrl/core.c).
    pub least_bits: u32,
    /// Mask of the ways that other agents, I/O among them, share with groups.
    #[serde(serialize_with = "crate::hex::value")]
    pub shareable: u64,
    /// Whether masks may have holes; `None` before Linux 6.6, which does not report it.
    pub sparse: Option<bool>,
    /// Greatest number of groups; `None` if the kernel does not report it.
    pub most_groups: Option<u64>,
    /// Allocation for I/O; `None` if the kernel does not have it.
    pub io_alloc: Option<IoAlloc>,
}

/// State of allocation for I/O (`io_alloc`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum IoAlloc {
    /// The CPU does not have allocation for I/O.
    NotSupported,
    /// Off: I/O does not allocate in the L3 under a mask.
    Off,
    /// On, with a mask for each cache.
    On {
        /// Pairs of domain (cache) and mask.
        #[serde(serialize_with = "crate::hex::by_domain")]
        masks: Vec<(u32, u64)>,
    },
}

/// A control group: its masks, CPUs and occupancy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ControlGroup {
    /// Name of the group's directory; empty for the default group.
    pub name: String,
    /// Name in messages.
    #[serde(skip)]
    display_name: String,
    /// Masks of the last-level cache, one line for each resource.
    pub masks: Vec<MaskLine>,
    /// CPUs assigned to the group, as a list like `0-3,8`.
    pub cpus: String,
    /// Pairs of domain and bytes of the cache that the group occupies; empty without monitoring.
    pub occupancy_bytes: Vec<(u32, u64)>,
}

/// Resources and groups that resctrl reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resctrl {
    /// Resources of the last-level cache.
    pub resources: Vec<CacheResource>,
    /// Control groups, the default one first.
    pub groups: Vec<ControlGroup>,
}

impl Resctrl {
    /// Reads resources and groups.
    ///
    /// # Errors
    /// If resctrl is not mounted, or one of its files is malformed.
    pub fn read(root: &Root, control: &dyn ControlFiles) -> Result<Self, FileError> {
        let names = root.list(&format!("{RESCTRL_MOUNT}/info"))?;
        let cache = names.iter().filter(|name| ["L3", "L3CODE", "L3DATA"].contains(&name.as_str()));
        let resources: Result<_, _> =
            cache.map(|name| CacheResource::read(root, control, name)).collect();
        let mut groups = vec![ControlGroup::read(root, control, "")?];
        for name in root.list(RESCTRL_MOUNT)? {
            let path = format!("{RESCTRL_MOUNT}/{name}");
            if !NO_GROUPS.contains(&name.as_str()) && root.exists(&format!("{path}/schemata")) {
                groups.push(ControlGroup::read(root, control, &name)?);
            }
        }
        name_unambiguously(&mut groups);
        Ok(Self { resources: resources?, groups })
    }

    /// Mask of the ways that I/O may use in a cache: those of io_alloc, and those that the hardware
    /// shares.
    #[must_use]
    pub fn io_ways(&self, cache: u32) -> u64 {
        self.resources.iter().fold(0, |ways, resource| ways | resource.io_ways(cache))
    }

    /// The group with a name; `default` is the default group. Paths below the mount are unambiguous: `/`
    /// is the default group, `/default` a group with the name `default`.
    ///
    /// # Errors
    /// If no group has the name, or `default` could mean two groups.
    pub fn group(&self, name: &str) -> Result<&ControlGroup, GroupError> {
        let called = |name: &str| self.groups.iter().find(|group| group.name == name);
        let found = match name.strip_prefix('/') {
            Some(path) => called(path),
            None if name == DEFAULT && called(DEFAULT).is_some() => {
                return Err(GroupError::Ambiguous);
            }
            None if name == DEFAULT => called(""),
            None => called(name).filter(|group| !group.name.is_empty()),
        };
        found.ok_or_else(|| {
            let known: Vec<_> = self.groups.iter().map(ControlGroup::display_name).collect();
            GroupError::Unknown { known: known.join(", ") }
        })
    }
}

/// Error of a name that does not identify a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// no group has the name
    #[error("group not found; the groups are {known}")]
    Unknown {
        /// Names of the groups, separated by commas.
        known: String,
    },
    /// two groups have the name
    #[error("two groups have this name; write / for the default group, /default for the other one")]
    Ambiguous,
}

/// Gives both groups their paths as names in messages if another group is called `default`.
fn name_unambiguously(groups: &mut [ControlGroup]) {
    if groups.iter().any(|group| group.name == DEFAULT) {
        let alike = |group: &&mut ControlGroup| group.display_name == DEFAULT;
        groups
            .iter_mut()
            .filter(alike)
            .for_each(|group| group.display_name = format!("/{}", group.name));
    }
}

impl CacheResource {
    fn read(root: &Root, control: &dyn ControlFiles, name: &str) -> Result<Self, FileError> {
        let folder = format!("{RESCTRL_MOUNT}/info/{name}");
        let bits = |file: &str| {
            let path = format!("{folder}/{file}");
            let text = root.read_line(&path)?;
            u64::from_str_radix(&text, 16)
                .map_err(|_| root.malformed(&path, &text, "a mask of ways"))
        };
        let least = root.read_number(&format!("{folder}/min_cbm_bits"))?;
        Ok(Self {
            name: name.to_owned(),
            all_ways: bits("cbm_mask")?,
            least_bits: u32::try_from(least).unwrap_or(u32::MAX),
            shareable: bits("shareable_bits")?,
            sparse: root
                .read_number(&format!("{folder}/sparse_masks"))
                .ok()
                .map(|value| value == 1),
            most_groups: root.read_number(&format!("{folder}/num_closids")).ok(),
            io_alloc: IoAlloc::read(root, control, &folder)?,
        })
    }

    /// Mask of the ways of this resource that I/O may use in a cache.
    #[must_use]
    pub fn io_ways(&self, cache: u32) -> u64 {
        let alloc = match &self.io_alloc {
            Some(IoAlloc::On { masks }) => masks.iter().find(|(id, _)| *id == cache),
            _ => None,
        };
        self.shareable | alloc.map_or(0, |(_, mask)| *mask)
    }

    /// Reason why the kernel would refuse a mask, by the kernel's rules; `None` if it would accept it.
    #[must_use]
    pub fn mask_refusal(&self, mask: u64) -> Option<String> {
        let run = if mask == 0 { 0 } else { mask >> mask.trailing_zeros() };
        if mask & !self.all_ways != 0 {
            return Some(format!(
                "{mask:#x} has bits outside {:#x}, the ways of the cache",
                self.all_ways
            ));
        }
        if mask.count_ones() < self.least_bits {
            return Some(match (mask, self.least_bits) {
                (0, 1) => "the mask selects no way".to_owned(),
                (_, least) => format!("{mask:#x} has fewer than {least} ways"),
            });
        }
        if self.sparse != Some(true) && run & run.wrapping_add(1) != 0 {
            return Some(format!("{mask:#x} has holes; masks must be contiguous here"));
        }
        None
    }
}

impl IoAlloc {
    fn read(
        root: &Root,
        control: &dyn ControlFiles,
        folder: &str,
    ) -> Result<Option<Self>, FileError> {
        let path = format!("{folder}/io_alloc");
        let text = match control.read(&path) {
            Ok(text) => text,
            Err(error) if error.problem == Problem::Missing => return Ok(None),
            Err(error) => return Err(error),
        };
        match text.trim() {
            "not supported" => Ok(Some(Self::NotSupported)),
            "disabled" => Ok(Some(Self::Off)),
            "enabled" => {
                let path = format!("{folder}/io_alloc_cbm");
                let text = control.read(&path)?;
                let line = MaskLine::parse(text.trim())
                    .ok_or_else(|| root.malformed(&path, &text, "masks like 0=ffff;1=ffff"))?;
                Ok(Some(Self::On { masks: line.masks }))
            }
            other => Err(root.malformed(&path, other, "enabled, disabled or not supported")),
        }
    }
}

impl ControlGroup {
    /// Path of the directory of the group with a name, below the root.
    #[must_use]
    pub fn folder(name: &str) -> String {
        if name.is_empty() { RESCTRL_MOUNT.to_owned() } else { format!("{RESCTRL_MOUNT}/{name}") }
    }

    fn read(root: &Root, control: &dyn ControlFiles, name: &str) -> Result<Self, FileError> {
        let folder = Self::folder(name);
        let text = control.read(&format!("{folder}/schemata"))?;
        let lines = text.lines().filter_map(|line| MaskLine::parse(line.trim()));
        Ok(Self {
            name: name.to_owned(),
            display_name: if name.is_empty() { DEFAULT } else { name }.to_owned(),
            masks: lines.filter(|line| line.resource.starts_with("L3")).collect(),
            cpus: root.read_line(&format!("{folder}/cpus_list")).unwrap_or_default(),
            occupancy_bytes: occupancy(root, &folder),
        })
    }

    /// Name of the group in messages, which no other group has.
    #[must_use]
    pub fn display_name(&self) -> &str {
        &self.display_name
    }
}

/// Reason why resctrl cannot be read: kernel or CPU lack it, or it is not mounted.
#[must_use]
pub fn absence_reason(root: &Root) -> Unavailable {
    let what = "cache allocation groups";
    let filesystems = root.read_text("proc/filesystems").unwrap_or_default();
    if filesystems.split_whitespace().any(|word| word == "resctrl") {
        let reason = format!("resctrl is not mounted (/{RESCTRL_MOUNT} has no info)");
        return Unavailable::new(what, reason, "mount -t resctrl resctrl /sys/fs/resctrl");
    }
    Unavailable::without_remedy(
        what,
        "neither kernel nor CPU offer cache allocation here (/proc/filesystems has no resctrl)",
    )
}

/// Names of the monitoring groups (`mon_groups`) of a control group; empty without monitoring.
pub(crate) fn monitoring_groups(root: &Root, folder: &str) -> Vec<String> {
    root.list(&format!("{folder}/mon_groups")).unwrap_or_default()
}

/// Pairs of domain and bytes that a group occupies in that last-level cache; empty without monitoring.
pub(crate) fn occupancy(root: &Root, folder: &str) -> Vec<(u32, u64)> {
    let data = format!("{folder}/mon_data");
    let names = root.list(&data).unwrap_or_default();
    let domains = names.iter().filter_map(|name| {
        let domain = name.strip_prefix("mon_L3_")?.parse().ok()?;
        Some((domain, root.read_number(&format!("{data}/{name}/llc_occupancy")).ok()?))
    });
    domains.collect()
}
