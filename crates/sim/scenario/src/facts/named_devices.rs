//! Devices that a tenant names instead of its platform's.

use crate::facts::platform::{NicDevice, SsdDevice};

/// Devices that a tenant names instead of its platform's, as their files describe them.
#[derive(Clone, Debug, Default)]
pub struct NamedDevices {
    /// NIC that the tenant names, if it names one.
    pub nic: Option<NicDevice>,
    /// Kind of SSD that the tenant names, if it names one.
    pub ssd: Option<SsdDevice>,
}
