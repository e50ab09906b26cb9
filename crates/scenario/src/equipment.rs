//! Devices that a scenario names beside its platform, read from their files.

use crate::builtin;
use crate::error::InputError;
use crate::platform::SsdDevice;
use crate::scenario::{Scenario, Tenant};

/// Devices of a tenant.
#[derive(Clone, Debug, Default)]
pub struct Equipment {
    /// Its SSDs are of this kind.
    pub ssd: Option<SsdDevice>,
}

impl Equipment {
    /// The devices of every tenant of a scenario from `file`, the main one first.
    ///
    /// # Errors
    /// If a device is unknown, its file is damaged, or a tenant names none that its application
    /// needs.
    pub fn read(file: &str, scenario: &Scenario) -> Result<Vec<Self>, InputError> {
        scenario.tenants().map(|tenant| Self::of(file, tenant)).collect()
    }

    fn of(file: &str, tenant: &Tenant) -> Result<Self, InputError> {
        let ssd = match &tenant.ssd {
            Some(name) => Some(builtin::ssd(file, name)?),
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
        Ok(Self { ssd })
    }
}
