//! Cache allocation groups, and the ways that they share with I/O.

use serde::Serialize;

use super::Notes;
use crate::error::Problem;
use crate::machine::Host;
use crate::resctrl::{CacheResource, ControlGroup, Resctrl, absence_reason};
use crate::unavailable::Unavailable;

/// A control group, and the ways that it shares with I/O.
#[derive(Clone, Debug, Serialize)]
pub struct GroupStatus {
    /// Control group, as resctrl reports it.
    #[serde(flatten)]
    pub group: ControlGroup,
    /// Pairs of domain (cache) and mask of the ways that the group shares with I/O, without empty masks.
    #[serde(serialize_with = "crate::hex::by_domain")]
    pub shared_with_io: Vec<(u32, u64)>,
}

/// Resources and groups of cache allocation (resctrl).
#[derive(Clone, Debug, Serialize)]
pub struct CacheStatus {
    /// Resources of the last-level cache.
    pub resources: Vec<CacheResource>,
    /// Control groups, with the ways that they share with I/O.
    pub groups: Vec<GroupStatus>,
}

pub(super) fn read(host: &Host, notes: &mut Notes) -> Option<CacheStatus> {
    let resctrl = match Resctrl::read(&host.root, host.control.as_ref()) {
        Ok(resctrl) => resctrl,
        Err(error) if error.problem == Problem::Missing => {
            notes.add(absence_reason(&host.root));
            return None;
        }
        Err(error) => {
            notes.add(Unavailable::from_error("cache allocation groups", &error));
            return None;
        }
    };
    let with_overlap = |group: ControlGroup| {
        let lines = group.masks.iter().flat_map(|line| &line.masks);
        let mut shared: Vec<(u32, u64)> = lines
            .map(|(cache, mask)| (*cache, mask & resctrl.io_ways(*cache)))
            .filter(|(_, overlap)| *overlap != 0)
            .collect();
        shared.sort_unstable();
        shared.dedup();
        GroupStatus { group, shared_with_io: shared }
    };
    let groups = resctrl.groups.iter().cloned().map(with_overlap).collect();
    Some(CacheStatus { resources: resctrl.resources, groups })
}
