//! What a tenant's plan is made from.

use crate::apps::ApplicationFacts;
use crate::devices::NamedDevices;
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::Platform;
use crate::scenario::Tenant;

/// A tenant's keys, and what it runs on.
#[derive(Clone, Copy, Debug)]
pub struct TenantInput<'a> {
    /// The scenario's file.
    pub file: &'a str,
    /// Refuses values of the tenant's.
    pub check: Check<'a>,
    /// Its keys, with what the platform decides filled in.
    pub tenant: &'a Tenant,
    /// The machine.
    pub platform: &'a Platform,
    /// The platform's name in messages.
    pub platform_name: &'a str,
    /// The devices that it names beside the platform's.
    pub named: &'a NamedDevices,
    /// Seed of everything random about it.
    pub seed: u64,
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

    /// What applications cost on the platform.
    ///
    /// # Errors
    /// If the platform does not say.
    pub fn costs(&self) -> Result<&'a ApplicationFacts, InputError> {
        self.platform.applications.as_ref().ok_or_else(|| {
            let allowed = "needs a platform with an [applications] table".into();
            self.check.refuse("application", &self.tenant.keys.application.name(), allowed)
        })
    }
}
