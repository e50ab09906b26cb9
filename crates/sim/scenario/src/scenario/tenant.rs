//! A tenant: an application on its cores, with devices of its own. Defaults are those of the measured
//! testbed.

use super::recorded;
use crate::contract::inert::Inert;
use crate::contract::tenant::{MemoryNode, TenantKeys, TenantMut, TenantRef};
use crate::kinds::{Application, ApplicationKey, DeviceKeys, KindKeys};
use crate::text::error::InputError;
use crate::text::key_groups::KeyGroups;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use toml::Table;

/// An application on its cores, with devices of its own.
#[derive(Clone, Debug, JsonSchema)]
pub(crate) struct Tenant {
    /// Keys that every tenant has.
    #[serde(flatten)]
    pub keys: TenantKeys,
    /// Its application, and keys of its devices and of applications.
    #[serde(flatten)]
    pub kinds: KindKeys,
    /// Keys that its own table states, dotted.
    #[schemars(skip)]
    pub(crate) stated: BTreeSet<String>,
}

impl Tenant {
    /// Reads the table of a tenant, with what it inherits beside the keys that it states; `file` is its
    /// name in messages.
    pub(super) fn read(
        file: &str,
        table: Table,
        stated: BTreeSet<String>,
    ) -> Result<Self, InputError> {
        let mut groups = KeyGroups::of::<Self>(file, table)?;
        let chosen: ApplicationKey = groups.take()?;
        let keys = groups.take()?;
        let devices = DeviceKeys::take(&mut groups)?;
        Ok(Self { keys, kinds: KindKeys { chosen, devices, tables: groups.take()? }, stated })
    }

    /// The software of its cores.
    pub(crate) fn application(&self) -> Application {
        self.kinds.chosen.application
    }

    /// The tenant as the rooms of kinds read it.
    pub(crate) fn view(&self) -> TenantRef<'_> {
        TenantRef { keys: &self.keys, tables: &self.kinds }
    }

    /// The tenant as the rooms of kinds fill in its defaults.
    pub(crate) fn view_mut(&mut self) -> TenantMut<'_> {
        TenantMut { keys: &mut self.keys, tables: &mut self.kinds, stated: &self.stated }
    }

    /// Memory nodes that it uses.
    pub(crate) fn memory_nodes(&self) -> Vec<MemoryNode> {
        self.application().all_memory_nodes(self.view())
    }

    /// Keys that have no effect on it.
    pub(crate) fn inert(&self) -> Vec<Inert> {
        self.application().inert_keys(self.view())
    }

    /// Why a key has no effect on it, if so.
    pub(crate) fn why_inert(&self, key: &str) -> Option<String> {
        let inert = self.inert().into_iter().find(|inert| inert.is_about(key));
        inert.map(|inert| inert.because)
    }

    /// Leaves the operations that engines do to its cores, if its run is compared with one of cores alone;
    /// keys of the engines are then no longer stated. Returns whether it is.
    pub(crate) fn leave_to_cores(&mut self) -> bool {
        let application = self.application();
        if !application.leave_to_cores(&mut self.view_mut()) {
            return false;
        }
        let inert = self.inert();
        self.stated.retain(|stated| !inert.iter().any(|inert| inert.is_about(stated)));
        true
    }
}

impl Serialize for Tenant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        recorded::serialize(self, serializer)
    }
}
