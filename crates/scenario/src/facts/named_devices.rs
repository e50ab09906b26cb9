//! Devices that a tenant names instead of its platform's.

use crate::facts::platform::{NicDevice, SsdDevice};

/// Devices that a tenant names instead of its platform's, as their files describe them.
#[derive(Clone, Debug, Default)]
pub struct NamedDevices {
    /// Its NIC.
    pub nic: Option<NicDevice>,
    /// Its SSDs are of this kind.
    pub ssd: Option<SsdDevice>,
}
