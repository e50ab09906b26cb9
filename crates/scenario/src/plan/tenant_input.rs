//! Input of a tenant's plan.

use crate::apps::ApplicationFacts;
use crate::devices::NamedDevices;
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::Platform;
use crate::scenario::{EventKeys, Tenant};

/// A tenant's keys, and its platform and devices.
#[derive(Clone, Debug)]
pub struct TenantInput<'a> {
    /// The scenario's file.
    pub file: &'a str,
    /// Refuses invalid values of the tenant.
    pub check: Check<'a>,
    /// Its keys, with the platform's defaults filled in.
    pub tenant: &'a Tenant,
    /// The machine.
    pub platform: &'a Platform,
    /// The platform's name in messages.
    pub platform_name: &'a str,
    /// The devices that it names instead of the platform's.
    pub named: &'a NamedDevices,
    /// Seed of all its random choices.
    pub seed: u64,
    /// Changes of its devices while the machine runs.
    pub events: Vec<&'a EventKeys>,
}

impl<'a> TenantInput<'a> {
    /// A table of the platform's file that I/O needs.
    ///
    /// # Errors
    /// If the platform has none.
    pub fn table<T>(&self, name: &str, table: Option<&'a T>) -> Result<&'a T, InputError> {
        let allowed = "a platform that serves packets needs it; `skipline trace` does not";
        let check = Check { file: self.platform_name };
        table.ok_or_else(|| check.refuse(name, &"missing", allowed.into()))
    }

    /// Costs of applications on the platform.
    ///
    /// # Errors
    /// If the platform states none.
    pub fn costs(&self) -> Result<&'a ApplicationFacts, InputError> {
        self.platform.applications.as_ref().ok_or_else(|| {
            let allowed = "needs a platform with an [applications] table".into();
            self.check.refuse("application", &self.tenant.keys.application.name(), allowed)
        })
    }
}
