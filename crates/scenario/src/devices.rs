//! Devices: the only list of their kinds. A kind has a file, or a folder, of its own here: its keys with
//! their defaults, its checks, its plan, and what the machine gets; what they all share is the
//! [`root_port`] in front of them.

pub mod nic;
pub mod root_port;
pub mod ssd;

use crate::input::builtin;
use crate::input::error::InputError;
use crate::input::key_groups::KeyGroups;
use crate::layout::{DeviceLayout, TenantLayout};
use crate::plan::TenantInput;
use crate::platform::{NicDevice, Platform, ReplacedFacts, SsdDevice};
use crate::scenario::Scenario;
use facts::Kind;
use model::device::Device;
use model::fabric::PortConfig;
use nic::source::Traffic;
use nic::{NicKeys, NicPlan};
use root_port::{DynamicWaysKeys, PortKeys};
use schemars::JsonSchema;
use serde::Serialize;
use ssd::{SsdKeys, SsdPlan};

/// Keys of a tenant's devices.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeviceKeys {
    /// Keys of their root ports.
    #[serde(flatten)]
    pub port: PortKeys,
    /// Keys of its NIC.
    #[serde(flatten)]
    pub nic: NicKeys,
    /// Keys of its SSDs.
    #[serde(flatten)]
    pub ssd: SsdKeys,
}

/// A kind of device. Machines number theirs in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// A network card.
    Nic,
    /// An SSD.
    Ssd,
}

/// A device with all that decides it.
#[derive(Clone, Debug)]
pub enum DevicePlan {
    /// A network card.
    Nic(Box<NicPlan>),
    /// An SSD.
    Ssd(SsdPlan),
}

/// A root port and the devices behind it.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// The port and its link.
    pub config: PortConfig,
    /// The controller of its DDIO ways, if one runs, and the ways that it begins with.
    pub controller: Option<(DynamicWaysKeys, u32)>,
    /// The devices that share it.
    pub devices: Vec<DevicePlan>,
}

/// Devices that a tenant names beside its platform, as their files describe them.
#[derive(Clone, Debug, Default)]
pub struct NamedDevices {
    /// Its NIC.
    pub nic: Option<NicDevice>,
    /// Its SSDs are of this kind.
    pub ssd: Option<SsdDevice>,
}

impl DeviceKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Nic, Self::Ssd];

    /// The key by which a scenario names a device of this kind, the table of its facts, and what its
    /// names in results begin with.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Nic => nic::KEY,
            Self::Ssd => ssd::KEY,
        }
    }

    /// What files describe its devices, if any do.
    pub(crate) fn files(self) -> Option<Kind> {
        match self {
            Self::Nic => Some(Kind::Nic),
            Self::Ssd => Some(Kind::Ssd),
        }
    }

    /// Whether the platform's file describes the device of a tenant that names none.
    pub(crate) fn is_part_of_platform(self) -> bool {
        match self {
            Self::Nic => true,
            Self::Ssd => false,
        }
    }

    /// Enters device `number` of this kind among those that a tenant has.
    pub(crate) fn enter(self, tenant: &mut TenantLayout, number: usize) {
        match self {
            Self::Nic => tenant.nic = Some(number),
            Self::Ssd => tenant.ssds.push(number),
        }
    }
}

impl DeviceKeys {
    /// Takes the keys of devices out of those of a tenant.
    pub(crate) fn take(groups: &mut KeyGroups<'_>) -> Result<Self, InputError> {
        Ok(Self { port: groups.take()?, nic: groups.take()?, ssd: groups.take()? })
    }

    /// The device of a kind that the tenant names.
    #[must_use]
    pub fn named(&self, kind: DeviceKind) -> Option<&String> {
        match kind {
            DeviceKind::Nic => self.nic.nic.as_ref(),
            DeviceKind::Ssd => self.ssd.ssd.as_ref(),
        }
    }

    /// Records what platform and devices decide where keys do not, for a tenant with `cores` cores of
    /// `socket`.
    pub(crate) fn fill_in(
        &mut self,
        platform: &Platform,
        named: &NamedDevices,
        (socket, cores): (u32, u32),
    ) {
        root_port::fill_in(&mut self.port, socket, platform);
        nic::fill_in(&mut self.nic, platform, named, cores);
    }
}

impl NamedDevices {
    /// The devices of all tenants of a scenario from `file`, the main one first.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of_tenants(file: &str, scenario: &Scenario) -> Result<Vec<Self>, InputError> {
        let replaced = &scenario.machine.hardware;
        scenario.tenants().map(|tenant| Self::read(file, &tenant.devices, replaced)).collect()
    }

    /// Reads the files of the devices that `keys` name; `file` is the scenario's.
    ///
    /// # Errors
    /// If a device is unknown, or its file is damaged.
    fn read(file: &str, keys: &DeviceKeys, replaced: &ReplacedFacts) -> Result<Self, InputError> {
        let nic = keys.nic.nic.as_ref().map(|name| builtin::nic_with(file, name, replaced));
        let ssd = keys.ssd.ssd.as_ref().map(|name| builtin::ssd_with(file, name, replaced));
        Ok(Self { nic: nic.transpose()?, ssd: ssd.transpose()? })
    }
}

impl DevicePlan {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> DeviceKind {
        match self {
            Self::Nic(_) => DeviceKind::Nic,
            Self::Ssd(_) => DeviceKind::Ssd,
        }
    }

    /// The device, numbered as the layout says.
    #[must_use]
    pub fn build(&self, layout: &DeviceLayout) -> Device<Traffic> {
        match self {
            Self::Nic(nic) => Device::from(nic.build(layout)),
            Self::Ssd(ssd) => Device::from(ssd.build(layout)),
        }
    }

    /// Packets after which the run is over, if its source says so.
    #[must_use]
    pub fn packets_to_replay(&self) -> Option<u64> {
        match self {
            Self::Nic(nic) => nic.packets_to_replay(),
            Self::Ssd(_) => None,
        }
    }
}

/// Checks the keys of a tenant's devices, whatever its application uses.
pub(crate) fn check(input: &TenantInput<'_>) -> Result<(), InputError> {
    root_port::check(input)?;
    nic::check::tenant(input)
}
