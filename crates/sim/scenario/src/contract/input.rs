//! Input of the plan of a tenant's application and devices.

use crate::contract::tenant::{Table, TenantMut, TenantRef};
use crate::facts::named_devices::NamedDevices;
use crate::facts::platform::Platform;
use crate::facts::software::ApplicationFacts;
use crate::text::check::Check;
use crate::text::error::InputError;
use std::collections::BTreeSet;
use units::Picos;

/// A tenant's keys, and its platform and devices.
#[derive(Clone, Debug)]
pub(crate) struct TenantInput<'a> {
    /// The scenario's file.
    pub file: &'a str,
    /// Refuses invalid values of the tenant.
    pub check: Check<'a>,
    /// The tenant, with the platform's defaults filled in.
    pub tenant: TenantRef<'a>,
    /// The machine.
    pub platform: &'a Platform,
    /// The platform's name in messages.
    pub platform_name: &'a str,
    /// The devices that it names instead of the platform's.
    pub named: &'a NamedDevices,
    /// Seed of all its random choices.
    pub seed: u64,
    /// Changes of its devices while the machine runs.
    pub changes: Vec<DeviceChange>,
}

/// A change of a tenant's devices while the machine runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceChange {
    /// Simulated time of the change.
    pub at: Picos,
    /// Cache control of descriptors from then on, if it changes.
    pub cache_control: Option<u32>,
    /// Threshold of shared queues from then on, if it changes.
    pub threshold: Option<u32>,
}

/// Sources of defaults for keys that a tenant does not state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults<'a> {
    /// The machine.
    pub platform: &'a Platform,
    /// The devices that the tenant names instead of the platform's.
    pub named: &'a NamedDevices,
    /// Dotted keys that the main tenant states, whose values others inherit.
    pub main_stated: &'a BTreeSet<String>,
}

impl Defaults<'_> {
    /// Whether the tenant states a key of its own table, or inherits it from the main one.
    pub(crate) fn has_stated(&self, tenant: &TenantMut<'_>, key: &str) -> bool {
        self.main_stated.contains(key) || tenant.stated.contains(key)
    }
}

impl<'a> TenantInput<'a> {
    /// The table of a kind among the tenant's keys.
    pub(crate) fn table<K: Table>(&self) -> &'a K {
        self.tenant.table()
    }

    /// A table of the platform's file that I/O needs.
    ///
    /// # Errors
    /// If the platform has no such table.
    pub(crate) fn facts<T>(&self, name: &str, table: Option<&'a T>) -> Result<&'a T, InputError> {
        let allowed = "a platform that serves packets needs it; `skipline trace` does not";
        let check = Check { file: self.platform_name };
        table.ok_or_else(|| check.refuse(name, &"missing", allowed.into()))
    }

    /// Costs of applications on the platform.
    ///
    /// # Errors
    /// If the platform states none.
    pub(crate) fn costs(&self) -> Result<&'a ApplicationFacts, InputError> {
        self.platform.applications.as_ref().ok_or_else(|| {
            let allowed = "needs a platform with an [applications] table".into();
            self.check.refuse("application", &self.tenant.application(), allowed)
        })
    }
}
