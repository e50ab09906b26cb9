//! Checks of copy engines' keys against what an instance has.

use super::{DsaPlan, DsaTable, ENTRIES, GroupTable, INSTANCES, PRIORITY, QueueModeName};
use crate::contract::device::ListedDevice;
use crate::contract::port::PortPlan;
use crate::contract::tenant::TenantRef;
use crate::facts::platform::DsaFacts;
use crate::kinds::root_port::PortKeys;
use crate::text::check::Check;
use crate::text::error::InputError;
use model::device::dsa::{LEAST_BUFFERS_PER_ENGINE, QUEUE_ENTRIES};
use std::collections::{BTreeMap, BTreeSet};
use units::narrow::fit;

/// Checks that all tenants together use no more instances than a socket has: tenants share none.
///
/// # Errors
/// Names the tenant with which the instances of a socket are used up.
pub(crate) fn check_together<'t>(
    tenants: impl Iterator<Item = (TenantRef<'t>, &'t [PortPlan])>,
    check: &Check<'_>,
) -> Result<(), InputError> {
    let mut used: BTreeMap<u32, u32> = BTreeMap::new();
    for (tenant, ports) in tenants {
        let devices = ports.iter().flat_map(|port| &port.devices);
        let own = devices.filter(|device| device.kind() == DsaPlan::POSITION);
        let own: u32 = fit(own.count());
        let socket = tenant.table::<PortKeys>().socket(tenant.keys.socket);
        let of_socket = used.entry(socket).or_default();
        *of_socket += own;
        if *of_socket > INSTANCES.1 {
            let allowed = format!(
                "of tenant `{}` make {of_socket} on socket {socket}; allowed: {} of all tenants \
                 together, because each has instances of its own",
                tenant.keys.name, INSTANCES.1
            );
            return Err(check.refuse("dsa.instances", &own, allowed));
        }
    }
    Ok(())
}

/// The groups of a table, and the names of their keys in messages.
struct Groups<'a> {
    check: &'a Check<'a>,
    facts: &'a DsaFacts,
    groups: &'a [GroupTable],
    /// Whether `dsa.groups` lists the groups; if not, the simple keys describe the only one.
    listed: bool,
}

impl DsaTable {
    /// Checks the configuration against what an instance has.
    pub(super) fn check(&self, check: &Check<'_>, facts: &DsaFacts) -> Result<(), InputError> {
        check.whole("dsa.instances", self.instances, INSTANCES, "instances of a socket")?;
        if self.groups.is_empty() {
            // Before as many are listed.
            let (engines, queues) = (facts.engines.value, facts.work_queues.value);
            check.whole("dsa.engines", self.engines, (1, engines), "engines of an instance")?;
            check.whole("dsa.queues", self.queues, (1, queues), "queues of an instance")?;
        }
        let groups = &self.all_groups();
        let count = fit(groups.len());
        check.whole("dsa.groups", count, (1, facts.groups.value), "groups of an instance")?;
        let listed = !self.groups.is_empty();
        let groups = Groups { check, facts, groups, listed };
        groups.check_engines()?;
        groups.check_queues()?;
        groups.check_entries()?;
        groups.check_buffers()?;
        groups.check_limit(self.read_buffer_limit)
    }
}

impl Groups<'_> {
    /// The key of a group.
    fn key(&self, group: usize, key: &str) -> String {
        if self.listed { format!("dsa.groups.{group}.{key}") } else { format!("dsa.{key}") }
    }

    /// The full key of a queue, for messages: `listed` in a listed group, `own` in the only group.
    fn key_of_queue(&self, (group, queue): (usize, usize), (listed, own): (&str, &str)) -> String {
        match self.listed {
            true => format!("dsa.groups.{group}.queues.{queue}.{listed}"),
            false => format!("dsa.{own}"),
        }
    }

    /// Checks that engines exist, and that each is in one group only.
    fn check_engines(&self) -> Result<(), InputError> {
        let engines = self.facts.engines.value;
        let mut used = BTreeSet::new();
        for (number, group) in self.groups.iter().enumerate() {
            let key = self.key(number, "engines");
            let what = "engines of a group, no more than an instance has";
            self.check.whole(&key, fit(group.engines.len()), (1, engines), what)?;
            for &engine in &group.engines {
                self.check.whole(&key, engine, (0, engines - 1), "numbers of engines")?;
                if !used.insert(engine) {
                    let allowed = "is in two groups: an engine serves one".into();
                    return Err(self.check.refuse(&key, &engine, allowed));
                }
            }
        }
        Ok(())
    }

    /// Checks that queues exist, and that their keys have values that a queue can have.
    fn check_queues(&self) -> Result<(), InputError> {
        let most = self.facts.work_queues.value;
        let all: usize = self.groups.iter().map(|group| group.queues.len()).sum();
        for (number, group) in self.groups.iter().enumerate() {
            let key = self.key(number, "queues");
            let what = "queues of a group: without one, its engines have no work";
            self.check.whole(&key, fit(group.queues.len()), (1, most), what)?;
            if all > most as usize {
                let allowed = format!("allowed: {most} in all groups together");
                return Err(self.check.refuse(&key, &all, allowed));
            }
            for (queue, table) in group.queues.iter().enumerate() {
                let key = |names| self.key_of_queue((number, queue), names);
                let entries = key(("entries", "queue_entries"));
                self.check.whole(&entries, table.entries, ENTRIES, "entries of a queue")?;
                let priority = key(("priority", "priority"));
                let what = "descriptors in a round";
                self.check.whole(&priority, table.priority, PRIORITY, what)?;
                let threshold = key(("threshold", "threshold"));
                if table.threshold.is_some() && table.mode == QueueModeName::Dedicated {
                    let allowed = "only of shared queues: a dedicated one refuses nothing".into();
                    let stated = table.threshold.unwrap_or_default();
                    return Err(self.check.refuse(&threshold, &stated, allowed));
                }
                let stated = table.threshold.unwrap_or(table.entries);
                let what = "entries, no more than the queue has";
                self.check.whole(&threshold, stated, (1, table.entries), what)?;
            }
        }
        Ok(())
    }

    /// Checks that the entries of all queues fit the instance.
    fn check_entries(&self) -> Result<(), InputError> {
        let mut sum = 0;
        for (number, group) in self.groups.iter().enumerate() {
            for (queue, table) in group.queues.iter().enumerate() {
                sum += table.entries;
                if sum > QUEUE_ENTRIES {
                    let names = ("entries", "queue_entries");
                    let key = self.key_of_queue((number, queue), names);
                    let allowed = format!(
                        "with the queues before it {sum} entries; allowed: {QUEUE_ENTRIES} of all \
                         queues together"
                    );
                    return Err(self.check.refuse(&key, &table.entries, allowed));
                }
            }
        }
        Ok(())
    }

    /// Checks that the limit of several groups leaves four read buffers for each of their engines.
    fn check_limit(&self, limit: Option<u32>) -> Result<(), InputError> {
        let Some(limit) = limit else { return Ok(()) };
        let sharing = self.groups.iter().filter(|group| group.use_read_buffer_limit);
        let engines: u32 = fit(sharing.map(|group| group.engines.len()).sum::<usize>());
        let range = (LEAST_BUFFERS_PER_ENGINE * engines.max(1), self.facts.read_buffers.value);
        let what = "read buffers: no fewer than four for each engine of the groups that share it";
        self.check.whole("dsa.read_buffer_limit", limit, range, what)
    }

    fn check_buffers(&self) -> Result<(), InputError> {
        let total = self.facts.read_buffers.value;
        let mut reserved = 0_u32;
        for (number, group) in self.groups.iter().enumerate() {
            let own = group.read_buffers_reserved;
            let key = self.key(number, "read_buffers_reserved");
            self.check.whole(&key, own, (0, total), "read buffers of an instance")?;
            reserved = reserved.saturating_add(own);
            if reserved > total {
                let allowed = format!("allowed: {total} reserved by all groups together");
                return Err(self.check.refuse(&key, &own, allowed));
            }
        }
        for (number, group) in self.groups.iter().enumerate() {
            let most = total - (reserved - group.read_buffers_reserved);
            let engines: u32 = fit(group.engines.len());
            let least = group.read_buffers_reserved.max(LEAST_BUFFERS_PER_ENGINE * engines);
            let allowed = group.read_buffers.unwrap_or(most);
            let what =
                "read buffers: no fewer than four for each engine, no more than others leave";
            let key = self.key(number, "read_buffers");
            self.check.whole(&key, allowed, (least, most.max(least)), what)?;
            if least > most {
                let allowed = format!("its engines need {least} of the {most} that others leave");
                return Err(self.check.refuse(&key, &allowed_text(group), allowed));
            }
        }
        Ok(())
    }
}

fn allowed_text(group: &GroupTable) -> String {
    group.read_buffers.map_or("unset".into(), |allowed| allowed.to_string())
}
