//! A root port from a tenant's keys: DDIO and placement policies, translation, the socket.

mod dynamic_ways;
pub(crate) mod metrics;
mod placement;

pub(crate) use dynamic_ways::DynamicWaysKeys;
pub(crate) use dynamic_ways::{MISSES_PER_US, PERIOD_US, PERIODS};
pub(crate) use placement::PlacementKeys;

use crate::contract::input::TenantInput;
use crate::contract::port::{DevicePlan, PortPlan};
use crate::contract::tenant::{LAST_SOCKET, TenantMut, socket as check_socket};
use crate::facts::platform::{DdioFacts, MOST_LLC_WAYS, Platform};
use crate::text::error::InputError;
use model::fabric::PortConfig;
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::buffer::{BufferConfig, Placement};
use model::root_complex::ddio::{Ddio, IoPolicy};
use model::root_complex::iommu::{IommuConfig, PageSize, VictimChoice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use units::narrow::fit;
use units::{Picos, SocketId};

/// Keys of the root ports of a tenant's devices.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PortKeys {
    /// Ways in which the device may allocate; 0 switches DDIO off. The platform's own by default, also
    /// for tenants beside the main one.
    #[schemars(range(min = 0, max = MOST_LLC_WAYS))]
    pub ddio_ways: Option<u32>,
    /// With DDIO off: descriptors and completions still use the platform's own ways, as ATC'20 supposes
    /// of a root port that is switched off.
    pub ddio_keeps_descriptors: bool,
    /// With DDIO off: a DMA read evicts the line from the caches, as on processors before Ivy Bridge.
    pub evict_on_dma_read: bool,
    /// The socket of the NIC. That of the tenant's own cores by default.
    #[schemars(range(min = 0, max = LAST_SOCKET))]
    pub nic_socket: Option<u32>,
    /// Pages in which the IOMMU translates device addresses.
    pub iommu: IommuPages,
    /// Placement of packets beyond DDIO.
    pub placement: PlacementKeys,
    /// A controller that changes the number of ways by demand.
    pub dynamic_ways: Option<DynamicWaysKeys>,
}

/// Pages of the IOMMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum IommuPages {
    /// Device addresses are physical.
    #[default]
    #[serde(rename = "off")]
    Off,
    /// The IOMMU translates 4 KiB pages.
    #[serde(rename = "4K")]
    Base4K,
    /// The IOMMU translates 2 MiB pages.
    #[serde(rename = "2M")]
    Huge2M,
    /// The IOMMU translates 1 GiB pages.
    #[serde(rename = "1G")]
    Huge1G,
}

impl IommuPages {
    /// Bytes of a page; `None` if the IOMMU is off.
    #[must_use]
    pub(crate) fn bytes(self) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::Base4K => Some(4 << 10),
            Self::Huge2M => Some(2 << 20),
            Self::Huge1G => Some(1 << 30),
        }
    }
}

impl PortKeys {
    /// The socket of the root ports of a tenant whose cores belong to `of_cores`.
    #[must_use]
    pub(crate) fn socket(&self, of_cores: u32) -> u32 {
        self.nic_socket.unwrap_or(of_cores)
    }

    /// Whether a controller of this root port changes its number of DDIO ways.
    #[must_use]
    pub(crate) fn changes_ways_itself(&self) -> bool {
        self.dynamic_ways.as_ref().is_some_and(|keys| keys.enabled)
    }

    /// Ways in which the device may allocate.
    fn ways(&self, ddio: &DdioFacts) -> u32 {
        self.ddio_ways.unwrap_or(ddio.default_ways.value)
    }
}

/// Records the platform's defaults of keys that the tenant does not state.
pub(super) fn fill_in(tenant: &mut TenantMut<'_>, platform: &Platform) {
    let socket = tenant.keys.socket;
    let keys = tenant.table::<PortKeys>();
    if let Some(ddio) = &platform.ddio {
        keys.ddio_ways = Some(keys.ways(ddio));
    }
    keys.nic_socket = Some(keys.socket(socket));
}

/// Checks keys that require DDIO off, or components that the platform must have.
pub(super) fn check(input: &TenantInput<'_>) -> Result<(), InputError> {
    let (keys, check, platform) = (input.table::<PortKeys>(), &input.check, input.platform);
    let ways = platform.llc.ways.value;
    check.whole("ddio_ways", keys.ddio_ways.unwrap_or(0), (0, ways), "ways of the LLC")?;
    if keys.ddio_ways != Some(0) {
        let allowed = "only with ddio_ways = 0";
        for (key, on) in [
            ("ddio_keeps_descriptors", keys.ddio_keeps_descriptors),
            ("evict_on_dma_read", keys.evict_on_dma_read),
        ] {
            if on {
                return Err(check.refuse(key, &on, allowed.into()));
            }
        }
    }
    check_socket(check, "nic_socket", keys.socket(input.tenant.keys.socket), platform)?;
    if keys.iommu != IommuPages::Off && platform.iommu.is_none() {
        let allowed = "needs a platform with an [iommu] table".into();
        return Err(check.refuse("iommu", &"on", allowed));
    }
    placement::check(keys, input)?;
    let off = keys.ddio_ways == Some(0);
    keys.dynamic_ways.as_ref().map_or(Ok(()), |dynamic| dynamic.check(input, off))
}

/// The platform's facts about DDIO, if it has root ports.
///
/// # Errors
/// Names the table that the platform lacks.
pub(super) fn facts<'a>(input: &TenantInput<'a>) -> Result<&'a DdioFacts, InputError> {
    let ddio = input.facts("ddio", input.platform.ddio.as_ref())?;
    input.facts("iio", input.platform.iio.as_ref())?;
    Ok(ddio)
}

/// Plans the root port of a tenant's `devices`, which share an attachment.
///
/// # Errors
/// Names the table that the platform lacks.
pub(super) fn plan(
    input: &TenantInput<'_>,
    attachment: AttachmentConfig,
    devices: Vec<impl DevicePlan + 'static>,
) -> Result<PortPlan, InputError> {
    let (keys, platform) = (input.table::<PortKeys>(), input.platform);
    let ddio = facts(input)?;
    let (policy, buffer) = policy(keys, ddio, platform);
    let page = keys.iommu.bytes().and_then(PageSize::of_bytes);
    let iommu = platform.iommu.as_ref().zip(page).map(|(facts, page)| IommuConfig {
        entries: facts.iotlb_entries.value,
        victims: VictimChoice::Lru,
        page,
        mappings: Vec::new(),
        walk: Picos::from_ns(facts.walk_ns.value),
        concurrent_walks: facts.concurrent_walks.value,
    });
    let socket = SocketId(fit(keys.socket(input.tenant.keys.socket)));
    let controller = keys.dynamic_ways.clone().filter(|keys| keys.enabled);
    Ok(PortPlan {
        config: PortConfig { attachment, socket, buffer, policy, iommu },
        controller: controller.map(|controller| controller.plan(keys.ways(ddio))),
        devices: devices.into_iter().map(|device| Rc::new(device) as Rc<dyn DevicePlan>).collect(),
    })
}

/// The I/O policy that `keys` describe, and the root-complex buffer for that policy.
pub(crate) fn policy(
    keys: &PortKeys,
    ddio: &DdioFacts,
    platform: &Platform,
) -> (IoPolicy, BufferConfig) {
    let llc_ways = platform.llc.ways.value;
    let ways = keys.ways(ddio);
    let mut policy = IoPolicy::uniform(Ddio::top_ways(ways, llc_ways));
    policy.evict_on_dma_read = keys.evict_on_dma_read;
    if keys.ddio_keeps_descriptors {
        policy.descriptors = Ddio::top_ways(ddio.default_ways.value, llc_ways);
    }
    if let Some(pollutes) = &ddio.remote_writes_pollute {
        policy.remote_writes_pollute = pollutes.value;
    }
    if let Some(fills) = &ddio.fills_empty_ways {
        policy.fills_empty_ways = fills.value;
    }
    policy.placement = keys.placement.line_placement();
    let buffer = buffer(ways, keys.evict_on_dma_read, platform);
    if ways > 0 && platform.root_complex_buffer.is_some() {
        let mask = buffer.ddio_ways(ways, llc_ways);
        (policy.payload, policy.descriptors) = (Ddio::Ways(mask), Ddio::Ways(mask));
    }
    (policy, buffer)
}

/// The root-complex buffer of platforms that have one, on the side that DDIO selects.
fn buffer(ddio_ways: u32, evict_on_dma_read: bool, platform: &Platform) -> BufferConfig {
    let placement = match ddio_ways {
        0 => Placement::MemorySide { evict_on_dma_read },
        _ => Placement::LlcSide,
    };
    let none = BufferConfig { entries: 0, mshrs: 1, placement, as_published_code: false };
    let Some(facts) = &platform.root_complex_buffer else { return none };
    BufferConfig {
        entries: facts.entries.value,
        mshrs: facts.mshrs.value,
        placement: match facts.separate_io_cache.value {
            true => Placement::SeparateIoCache,
            false => placement,
        },
        as_published_code: facts.as_published_code.value,
    }
}
