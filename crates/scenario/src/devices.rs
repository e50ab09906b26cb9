//! Devices: the only list of their kinds. Each kind has a file or folder here: its keys with their
//! defaults, its checks, its plan, and the device of the machine. All kinds share the [`root_port`]
//! before them.

pub mod cbdma;
pub mod dsa;
pub mod nic;
pub mod root_port;
pub(crate) mod sample;
pub mod ssd;

use crate::input::builtin;
use crate::input::error::InputError;
use crate::input::key_groups::KeyGroups;
use crate::layout::DeviceLayout;
use crate::metrics::declaration::measured;
use crate::metrics::{Entry, Measured, Scope, entries};
use crate::plan::TenantInput;
use crate::platform::{NicDevice, Platform, ReplacedFacts, SsdDevice};
use crate::result::LimitKind;
use crate::scenario::Scenario;
use cbdma::{CbdmaKeys, CbdmaPlan};
use dsa::{DsaKeys, DsaPlan};
use facts::Kind;
use model::device::{Device, DeviceId};
use model::fabric::PortConfig;
use nic::source::Traffic;
use nic::{NicKeys, NicPlan};
use root_port::{DynamicWaysKeys, PortKeys};
use sample::DeviceSample;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::{SsdKeys, SsdPlan};
use units::Picos;

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
    /// Keys of its copy engines.
    #[serde(flatten)]
    pub dsa: DsaKeys,
    /// Keys of its channels of a CBDMA.
    #[serde(flatten)]
    pub cbdma: CbdmaKeys,
}

/// A kind of device. Machines number their devices in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// A network card.
    Nic,
    /// An SSD.
    Ssd,
    /// A copy engine.
    Dsa,
    /// The copy engine of the generation before.
    Cbdma,
}

/// A device, fully resolved.
#[derive(Clone, Debug)]
pub enum DevicePlan {
    /// A network card.
    Nic(Box<NicPlan>),
    /// An SSD.
    Ssd(SsdPlan),
    /// A copy engine.
    Dsa(DsaPlan),
    /// The copy engine of the generation before.
    Cbdma(CbdmaPlan),
}

/// A root port and the devices behind it.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// The port and its link.
    pub config: PortConfig,
    /// The controller of its DDIO ways, if there is one, and the number of ways at the start.
    pub controller: Option<(DynamicWaysKeys, u32)>,
    /// The devices that share it.
    pub devices: Vec<DevicePlan>,
}

/// A limited part of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Its kind.
    pub kind: LimitKind,
    /// Its name, with `{}` for that of the device.
    name: &'static str,
    /// The time that it needed for what it did.
    pub busy: Picos,
}

impl Limit {
    fn new(kind: LimitKind, name: &'static str, busy: Picos) -> Self {
        Self { kind, name, busy }
    }

    /// Its name, for a device of this name.
    pub(crate) fn named(&self, device: &str) -> String {
        self.name.replace("{}", device)
    }
}

/// Devices that a tenant names instead of its platform's, as their files describe them.
#[derive(Clone, Debug, Default)]
pub struct NamedDevices {
    /// Its NIC.
    pub nic: Option<NicDevice>,
    /// Its SSDs are of this kind.
    pub ssd: Option<SsdDevice>,
}

impl DeviceKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Nic, Self::Ssd, Self::Dsa, Self::Cbdma];

    /// The key by which a scenario names a device of this kind, the table of its facts, and the prefix
    /// of its names in results.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Nic => nic::KEY,
            Self::Ssd => ssd::KEY,
            Self::Dsa => dsa::KEY,
            Self::Cbdma => cbdma::KEY,
        }
    }

    /// The kind of file that describes its devices, if any.
    pub(crate) fn files(self) -> Option<Kind> {
        match self {
            Self::Nic => Some(Kind::Nic),
            Self::Ssd => Some(Kind::Ssd),
            Self::Dsa | Self::Cbdma => None,
        }
    }

    /// Whether the platform's file describes the device if a tenant names none.
    pub(crate) fn is_part_of_platform(self) -> bool {
        match self {
            Self::Nic | Self::Dsa | Self::Cbdma => true,
            Self::Ssd => false,
        }
    }

    /// Whether it moves data within memory, and has its own stop on the mesh.
    pub(crate) fn is_copy_engine(self) -> bool {
        match self {
            Self::Nic | Self::Ssd => false,
            Self::Dsa | Self::Cbdma => true,
        }
    }

    /// The metrics of devices of this kind, in the reference.
    pub(crate) fn metrics(self) -> Vec<Entry> {
        match self {
            Self::Nic => entries(nic::metrics::METRICS, Scope::Tenant).collect(),
            Self::Ssd => entries(ssd::metrics::METRICS, Scope::Tenant).collect(),
            Self::Dsa => entries(dsa::metrics::METRICS, Scope::Tenant).collect(),
            Self::Cbdma => entries(cbdma::metrics::METRICS, Scope::Tenant).collect(),
        }
    }

    /// The metrics of a tenant's devices of this kind; their names begin with `prefix`.
    pub(crate) fn measured(self, prefix: &str, ids: Vec<DeviceId>) -> Vec<Measured> {
        let Some(&id) = ids.first() else { return Vec::new() };
        match self {
            Self::Nic => {
                measured(nic::metrics::METRICS, prefix, nic::metrics::Nic { id }).collect()
            }
            Self::Ssd => {
                measured(ssd::metrics::METRICS, prefix, ssd::metrics::Ssds { ids }).collect()
            }
            Self::Dsa => {
                measured(dsa::metrics::METRICS, prefix, dsa::metrics::CopyEngines { ids }).collect()
            }
            Self::Cbdma => {
                let channels = cbdma::metrics::CopyChannels { id };
                measured(cbdma::metrics::METRICS, prefix, channels).collect()
            }
        }
    }
}

impl DeviceKeys {
    /// Takes the keys of devices from those of a tenant.
    pub(crate) fn take(groups: &mut KeyGroups<'_>) -> Result<Self, InputError> {
        Ok(Self {
            port: groups.take()?,
            nic: groups.take()?,
            ssd: groups.take()?,
            dsa: groups.take()?,
            cbdma: groups.take()?,
        })
    }

    /// The device of a kind that the tenant names.
    #[must_use]
    pub fn named(&self, kind: DeviceKind) -> Option<&String> {
        match kind {
            DeviceKind::Nic => self.nic.nic.as_ref(),
            DeviceKind::Ssd => self.ssd.ssd.as_ref(),
            DeviceKind::Dsa | DeviceKind::Cbdma => None,
        }
    }

    /// Records the defaults by platform and devices of keys that a tenant with `cores` cores of
    /// `socket` does not state.
    pub(crate) fn fill_in(
        &mut self,
        platform: &Platform,
        named: &NamedDevices,
        (socket, cores): (u32, u32),
        states_load: bool,
    ) {
        root_port::fill_in(&mut self.port, socket, platform);
        nic::fill_in(&mut self.nic, platform, named, (cores, states_load));
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
    /// If a device is unknown, or its file is invalid.
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
            Self::Dsa(_) => DeviceKind::Dsa,
            Self::Cbdma(_) => DeviceKind::Cbdma,
        }
    }

    /// The device, with the number of the layout.
    #[must_use]
    pub fn build(&self, layout: &DeviceLayout) -> Device<Traffic> {
        match self {
            Self::Nic(nic) => Device::from(nic.build(layout)),
            Self::Ssd(ssd) => Device::from(ssd.build(layout)),
            Self::Dsa(dsa) => Device::from(dsa.build(layout)),
            Self::Cbdma(cbdma) => Device::from(cbdma.build(layout)),
        }
    }

    /// What people should know of its input.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        if let Self::Nic(nic) = self { nic.note() } else { None }
    }

    /// What the device itself can do, beside its link, and how much of that it did.
    pub(crate) fn limits(&self, counted: &DeviceSample) -> Vec<Limit> {
        match self {
            Self::Nic(nic) => nic.limits(counted.of_nic()),
            Self::Ssd(ssd) => ssd.limits(counted.of_ssd()),
            Self::Dsa(dsa) => dsa.limits(counted.of_dsa()),
            Self::Cbdma(cbdma) => cbdma.limits(counted.of_cbdma()),
        }
    }

    /// Packets after which the run ends, if its source has such a number.
    #[must_use]
    pub fn packets_to_replay(&self) -> Option<u64> {
        match self {
            Self::Nic(nic) => nic.packets_to_replay(),
            Self::Ssd(_) | Self::Dsa(_) | Self::Cbdma(_) => None,
        }
    }
}

/// Checks the keys of a tenant's devices, for any application.
pub(crate) fn check(input: &TenantInput<'_>) -> Result<(), InputError> {
    root_port::check(input)?;
    nic::check::tenant(input)
}
