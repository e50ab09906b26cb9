//! Devices that a scenario names beside its platform, read from their files.

use crate::input::builtin;
use crate::input::error::InputError;
use crate::platform::{PacketServer, Platform, ReplacedFacts, SsdDevice};
use crate::scenario::{Scenario, Tenant};

/// What a tenant has beside the platform's own parts.
#[derive(Clone, Debug, Default)]
pub struct Equipment {
    /// The platform with the tenant's own NIC in place of the usual one.
    with_nic: Option<Platform>,
    /// Its SSDs are of this kind.
    pub ssd: Option<SsdDevice>,
}

impl Equipment {
    /// The devices of every tenant of a scenario from `file`, the main one first.
    ///
    /// # Errors
    /// If a device is unknown, its file is damaged, or a tenant names none that its application
    /// needs.
    pub fn read(
        file: &str,
        scenario: &Scenario,
        platform: &Platform,
    ) -> Result<Vec<Self>, InputError> {
        let replaced = &scenario.machine.hardware;
        scenario.tenants().map(|tenant| Self::of(file, tenant, platform, replaced)).collect()
    }

    fn of(
        file: &str,
        tenant: &Tenant,
        platform: &Platform,
        replaced: &ReplacedFacts,
    ) -> Result<Self, InputError> {
        let nic = tenant.nic.as_ref().map(|name| builtin::nic_with(file, name, replaced));
        let nic = nic.transpose()?;
        let with_nic = nic.map(|nic| platform.clone().with_nic(nic));
        let ssd = match &tenant.ssd {
            Some(name) => Some(builtin::ssd_with(file, name, replaced)?),
            None if tenant.application.uses_ssds() => {
                let known = builtin::ssd_names().join(", ");
                return Err(InputError::WrongValue {
                    file: file.into(),
                    key: "ssd".into(),
                    reason: format!("is missing: block I/O needs a device, one of {known}"),
                });
            }
            None => None,
        };
        Ok(Self { with_nic, ssd })
    }

    /// What serves the tenant's packets; `file` is the platform's name in messages.
    ///
    /// # Errors
    /// Names the table that the platform lacks.
    pub fn server<'a>(
        &'a self,
        platform: &'a Platform,
        file: &str,
    ) -> Result<PacketServer<'a>, InputError> {
        self.with_nic.as_ref().unwrap_or(platform).packet_server(file)
    }
}
