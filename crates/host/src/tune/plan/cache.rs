//! Plans for resctrl: the mask of a group, allocation for I/O.

use super::{Change, Plan, PlanError, Planner};
use crate::control_files::RESCTRL_MOUNT;
use crate::controls::{Target, ways_in_words};
use crate::error::Problem;
use crate::resctrl::{Group, IoAlloc, Resctrl, Resource, absence};

/// What I/O allocation should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoAllocRequest {
    /// On, with the masks that the kernel chooses.
    On,
    /// Off.
    Off,
    /// On, with this mask in every cache.
    Mask(u64),
}

impl Planner<'_> {
    /// The mask of a control group in every last-level cache, or in one.
    ///
    /// # Errors
    /// If group, cache or mask are not possible here, or resctrl cannot be read.
    pub fn cat(&self, group: &str, mask: u64, domain: Option<u32>) -> Result<Plan, PlanError> {
        let resctrl = self.resctrl()?;
        let found = resctrl
            .group(group)
            .map_err(|error| PlanError::BadRequest(format!("cat {group}: {error}")))?;
        let path = format!("{}/schemata", Group::folder(&found.name));
        let mut changes = Vec::new();
        for line in &found.masks {
            let Some(resource) = resctrl.resources.iter().find(|r| r.name == line.resource) else {
                continue;
            };
            check(resource, mask, &format!("cat {group} {mask:#x}"))?;
            let wanted = line.masks.iter().filter(|(cache, _)| domain.is_none_or(|d| d == *cache));
            for &(cache, old) in wanted {
                changes.push(mask_change(&path, resource, &line.resource, cache, Some(old), mask));
            }
        }
        if changes.is_empty() {
            return Err(PlanError::BadRequest(match domain {
                Some(domain) => format!("--cache {domain}: group {group} has no such cache"),
                None => format!("cat {group}: this group has no masks of the last-level cache"),
            }));
        }
        let mut warnings = overlap_with_io(&resctrl, &changes);
        warnings.extend(empty(mask, "the tasks of this group"));
        let command = format!("tune cat {group} {mask:#x}");
        Ok(Plan::new(&self.host.root, command, changes, warnings))
    }

    /// Allocation for I/O (`io_alloc`).
    ///
    /// # Errors
    /// If kernel or CPU have none, or the mask is not possible.
    pub fn io_alloc(&self, request: IoAllocRequest) -> Result<Plan, PlanError> {
        let resctrl = self.resctrl()?;
        let offering = resctrl.resources.iter().find_map(|r| Some((r, r.io_alloc.as_ref()?)));
        let (resource, state) = match offering {
            Some((_, IoAlloc::NotSupported)) => {
                return Err(PlanError::NoControl(
                    "this CPU has no allocation control for I/O (io_alloc: not supported)".into(),
                ));
            }
            Some(found) => found,
            None => {
                let path = self.host.root.shown(&format!("{RESCTRL_MOUNT}/info/L3/io_alloc"));
                return Err(PlanError::NoControl(format!(
                    "{} does not exist: it takes Linux 6.19 or newer and a CPU with I/O allocation \
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
            check(resource, mask, &format!("io-alloc {mask:#x}"))?;
            for (cache, old) in self.io_masks(state, &resctrl) {
                changes.push(mask_change(&path, resource, "", cache, old, mask));
            }
            warnings = overlap_with_groups(&resctrl, mask);
            warnings.extend(empty(mask, "devices"));
        }
        let words = match request {
            IoAllocRequest::On => "on".to_owned(),
            IoAllocRequest::Off => "off".to_owned(),
            IoAllocRequest::Mask(mask) => format!("{mask:#x}"),
        };
        Ok(Plan::new(&self.host.root, format!("tune io-alloc {words}"), changes, warnings))
    }

    fn resctrl(&self) -> Result<Resctrl, PlanError> {
        Resctrl::read(&self.host.root, self.host.control.as_ref()).map_err(|error| {
            if error.problem == Problem::Missing {
                PlanError::NoControl(absence(&self.host.root).to_string())
            } else {
                error.into()
            }
        })
    }

    /// Masks for I/O by cache; while it is off the kernel does not tell them.
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

fn check(resource: &Resource, mask: u64, request: &str) -> Result<(), PlanError> {
    match resource.objection(mask) {
        Some(objection) => Err(PlanError::BadRequest(format!(
            "{request}: {objection} (allowed: {:#x} to {:#x}{})",
            resource.least_bits.min(1),
            resource.all_ways,
            if resource.sparse == Some(true) { "" } else { ", one run of bits" }
        ))),
        None => Ok(()),
    }
}

/// What a mask without ways does, where the kernel takes one.
fn empty(mask: u64, whose: &str) -> Option<String> {
    let words = format!(
        "a mask without ways: lines of {whose} are not kept in the L3 (the kernel allows it here: \
         min_cbm_bits is 0)"
    );
    (mask == 0).then_some(words)
}

fn mask_change(
    path: &str,
    resource: &Resource,
    name: &str,
    domain: u32,
    old: Option<u64>,
    asked: u64,
) -> Change {
    let ways = 64 - resource.all_ways.leading_zeros();
    let target = Target::Mask { path: path.to_owned(), resource: name.to_owned(), domain };
    let means = |mask| ways_in_words(mask, ways);
    Change {
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
fn kept_mask(path: &str, resource: &Resource, cache: u32, mask: u64) -> Change {
    let change = mask_change(path, resource, "", cache, Some(mask), mask);
    Change { only_kept: true, ..change }
}

fn switch_change(folder: &str, is_on: bool, on: bool) -> Change {
    let target = Target::Switch { path: format!("{folder}/io_alloc") };
    let means = |on: bool| {
        let words = if on { "on: I/O allocates in the L3 under its own mask" } else { "off" };
        words.to_owned()
    };
    Change {
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

/// Ways of a group's new masks that I/O may use too.
fn overlap_with_io(resctrl: &Resctrl, changes: &[Change]) -> Vec<String> {
    let shared = |change: &Change| match change.target {
        Target::Mask { domain, .. } => change.asked & resctrl.io_ways(domain),
        _ => 0,
    };
    let ways = changes.iter().fold(0, |all, change| all | shared(change));
    if ways == 0 {
        return Vec::new();
    }
    vec![format!("{ways:#x} of this mask are ways that I/O may use too (shareable_bits, io_alloc)")]
}

/// Groups that have some of the ways that I/O gets.
fn overlap_with_groups(resctrl: &Resctrl, mask: u64) -> Vec<String> {
    let meets = |group: &&Group| {
        let mut masks = group.masks.iter().flat_map(|line| &line.masks);
        masks.any(|(_, other)| other & mask != 0)
    };
    let groups: Vec<&str> = resctrl.groups.iter().filter(meets).map(Group::shown).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "groups that have some of these ways, and share them with I/O: {}",
        groups.join(", ")
    )]
}
