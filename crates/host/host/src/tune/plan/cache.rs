//! Plans for resctrl: the mask of a group, allocation for I/O.

use super::{OmittedControl, PlannedChange, TunePlan, TunePlanError, TunePlanner};
use crate::control_files::RESCTRL_MOUNT;
use crate::controls::{ControlTarget, describe_ways};
use crate::error::Problem;
use crate::offline::UnreachableSocket;
use crate::resctrl::{CacheResource, ControlGroup, IoAlloc, Resctrl, absence_reason};

/// Requested state of I/O allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoAllocRequest {
    /// On, with the masks that the kernel chooses.
    On,
    /// Off.
    Off,
    /// On, with this mask in every cache.
    Mask(u64),
}

impl TunePlanner<'_> {
    /// Plans the mask of a control group in every last-level cache, or in one.
    ///
    /// # Errors
    /// If group, cache or mask are not possible here, or resctrl cannot be read.
    pub fn cat(
        &self,
        group: &str,
        mask: u64,
        domain: Option<u32>,
    ) -> Result<TunePlan, TunePlanError> {
        let resctrl = self.resctrl()?;
        let found = resctrl
            .group(group)
            .map_err(|error| TunePlanError::BadRequest(format!("cat {group}: {error}")))?;
        let path = format!("{}/schemata", ControlGroup::folder(&found.name));
        let mut changes = Vec::new();
        for line in &found.masks {
            let Some(resource) = resctrl.resources.iter().find(|r| r.name == line.resource) else {
                continue;
            };
            check_mask(resource, mask, &format!("cat {group} {mask:#x}"))?;
            let wanted = line.masks.iter().filter(|(cache, _)| domain.is_none_or(|d| d == *cache));
            for &(cache, old) in wanted {
                changes.push(mask_change(&path, resource, &line.resource, cache, Some(old), mask));
            }
        }
        if changes.is_empty() {
            return Err(TunePlanError::BadRequest(match domain {
                Some(domain) => format!("--cache {domain}: group {group} has no such cache"),
                None => format!("cat {group}: this group has no masks of the last-level cache"),
            }));
        }
        let mut warnings = overlap_with_io(&resctrl, &changes);
        warnings.extend(warn_of_empty_mask(mask, "the tasks of this group"));
        let command = format!("tune cat {group} {mask:#x}");
        Ok(TunePlan::new(&self.host.root, command, changes, warnings))
    }

    /// Plans allocation for I/O (`io_alloc`).
    ///
    /// # Errors
    /// If kernel or CPU do not have it, or the mask is not possible.
    pub fn io_alloc(&self, request: IoAllocRequest) -> Result<TunePlan, TunePlanError> {
        let resctrl = self.resctrl()?;
        let offering = resctrl.resources.iter().find_map(|r| Some((r, r.io_alloc.as_ref()?)));
        let (resource, state) = match offering {
            Some((_, IoAlloc::NotSupported)) => {
                return Err(TunePlanError::NoControl(
                    "this CPU has no allocation control for I/O (io_alloc: not supported)".into(),
                ));
            }
            Some(found) => found,
            None => {
                let path =
                    self.host.root.display_path(&format!("{RESCTRL_MOUNT}/info/L3/io_alloc"));
                return Err(TunePlanError::NoControl(format!(
                    "{} does not exist: it needs Linux 6.19 or newer and a CPU with I/O allocation \
                     (AMD SDCIAE)",
                    path.display()
                )));
            }
        };
        let folder = format!("{RESCTRL_MOUNT}/info/{}", resource.name);
        let is_on = matches!(state, IoAlloc::On { .. });
        let path = format!("{folder}/io_alloc_cbm");
        let mut changes = Vec::new();
        if let (IoAllocRequest::Off, IoAlloc::On { masks }) = (request, state) {
            changes
                .extend(masks.iter().map(|&(cache, mask)| kept_mask(&path, resource, cache, mask)));
        }
        changes.push(switch_change(&folder, is_on, request != IoAllocRequest::Off));
        let mut warnings = Vec::new();
        if let IoAllocRequest::Mask(mask) = request {
            check_mask(resource, mask, &format!("io-alloc {mask:#x}"))?;
            for (cache, old) in self.io_masks(state, &resctrl) {
                changes.push(mask_change(&path, resource, "", cache, old, mask));
            }
            warnings = overlap_with_groups(&resctrl, mask);
            warnings.extend(warn_of_empty_mask(mask, "devices"));
        }
        let words = match request {
            IoAllocRequest::On => "on".to_owned(),
            IoAllocRequest::Off => "off".to_owned(),
            IoAllocRequest::Mask(mask) => format!("{mask:#x}"),
        };
        // The kernel lists the caches of online CPUs; devices of the other sockets keep their ways.
        let omitted = |socket: &UnreachableSocket| OmittedControl {
            place: format!("I/O allocation in the L3 of {socket}"),
            reason: socket.reason(),
        };
        let left_out: Vec<OmittedControl> = self.offline.sockets.iter().map(omitted).collect();
        warnings.extend(left_out.iter().map(|one| format!("{one}; it keeps its setting")));
        let command = format!("tune io-alloc {words}");
        Ok(TunePlan { left_out, ..TunePlan::new(&self.host.root, command, changes, warnings) })
    }

    fn resctrl(&self) -> Result<Resctrl, TunePlanError> {
        Resctrl::read(&self.host.root, self.host.control.as_ref()).map_err(|error| {
            if error.problem == Problem::Missing {
                TunePlanError::NoControl(absence_reason(&self.host.root).to_string())
            } else {
                error.into()
            }
        })
    }

    /// Pairs of cache and mask for I/O; the mask is `None` while allocation is off, when the kernel does
    /// not report it.
    fn io_masks(&self, state: &IoAlloc, resctrl: &Resctrl) -> Vec<(u32, Option<u64>)> {
        if let IoAlloc::On { masks } = state {
            return masks.iter().map(|&(cache, mask)| (cache, Some(mask))).collect();
        }
        let default = resctrl.groups.first().and_then(|group| group.masks.first());
        default
            .map(|line| line.masks.iter().map(|&(cache, _)| (cache, None)).collect())
            .unwrap_or_default()
    }
}

fn check_mask(resource: &CacheResource, mask: u64, request: &str) -> Result<(), TunePlanError> {
    match resource.mask_refusal(mask) {
        Some(objection) => Err(TunePlanError::BadRequest(format!(
            "{request}: {objection} (allowed: {:#x} to {:#x}{})",
            resource.least_bits.min(1),
            resource.all_ways,
            if resource.sparse == Some(true) { "" } else { ", one run of bits" }
        ))),
        None => Ok(()),
    }
}

/// Warning of a mask without ways, which some kernels accept.
fn warn_of_empty_mask(mask: u64, whose: &str) -> Option<String> {
    let words = format!(
        "a mask without ways: lines of {whose} are not kept in the L3 (the kernel allows it here: \
         min_cbm_bits is 0)"
    );
    (mask == 0).then_some(words)
}

fn mask_change(
    path: &str,
    resource: &CacheResource,
    name: &str,
    domain: u32,
    old: Option<u64>,
    asked: u64,
) -> PlannedChange {
    let ways = 64 - resource.all_ways.leading_zeros();
    let target = ControlTarget::Mask { path: path.to_owned(), resource: name.to_owned(), domain };
    let means = |mask| describe_ways(mask, ways);
    PlannedChange {
        place: target.to_string(),
        target,
        old,
        asked,
        owned: u64::MAX,
        old_means: old.map_or("not readable while io_alloc is off".to_owned(), means),
        new_means: means(asked),
        only_kept: false,
    }
}

/// The kernel forgets the masks for I/O when it is switched off, and gives all ways when it is
/// switched on again.
fn kept_mask(path: &str, resource: &CacheResource, cache: u32, mask: u64) -> PlannedChange {
    let change = mask_change(path, resource, "", cache, Some(mask), mask);
    PlannedChange { only_kept: true, ..change }
}

fn switch_change(folder: &str, is_on: bool, on: bool) -> PlannedChange {
    let target = ControlTarget::Switch { path: format!("{folder}/io_alloc") };
    let means = |on: bool| {
        let words = if on { "on: I/O allocates in the L3 under its own mask" } else { "off" };
        words.to_owned()
    };
    PlannedChange {
        place: target.to_string(),
        target,
        old: Some(is_on.into()),
        asked: on.into(),
        owned: u64::MAX,
        old_means: means(is_on),
        new_means: means(on),
        only_kept: false,
    }
}

/// Warning of ways in new masks of a group that I/O may use too.
fn overlap_with_io(resctrl: &Resctrl, changes: &[PlannedChange]) -> Vec<String> {
    let shared = |change: &PlannedChange| match change.target {
        ControlTarget::Mask { domain, .. } => change.asked & resctrl.io_ways(domain),
        _ => 0,
    };
    let ways = changes.iter().fold(0, |all, change| all | shared(change));
    if ways == 0 {
        return Vec::new();
    }
    vec![format!("{ways:#x} of this mask are ways that I/O may use too (shareable_bits, io_alloc)")]
}

/// Warning of groups that have some of the ways in a new mask for I/O.
fn overlap_with_groups(resctrl: &Resctrl, mask: u64) -> Vec<String> {
    let meets = |group: &&ControlGroup| {
        let mut masks = group.masks.iter().flat_map(|line| &line.masks);
        masks.any(|(_, other)| other & mask != 0)
    };
    let groups: Vec<&str> =
        resctrl.groups.iter().filter(meets).map(ControlGroup::display_name).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "groups that have some of these ways, and share them with I/O: {}",
        groups.join(", ")
    )]
}
