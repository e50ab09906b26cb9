//! The copy engine before the data streaming accelerator: its keys, its stop on the mesh, and the device of
//! the machine.

pub(crate) mod channels;
mod metrics;

use crate::contract::device::DeviceModule;
use crate::contract::input::TenantInput;
use crate::contract::limit::{Limit, LimitKind};
use crate::contract::metric::Metric;
use crate::contract::port::{DevicePlace, PortPlan};
use crate::contract::sample::DeviceReading;
use crate::facts::platform::{CbdmaFacts, MOST_CHANNELS, MOST_RING_ENTRIES};
use crate::kinds::root_port;
use crate::text::error::InputError;
use metrics::CopyChannels;
use model::device::DeviceId;
use model::device::cbdma::{Cbdma, CbdmaConfig, CbdmaCounters, DESCRIPTOR_BYTES};
use model::device::ring::Ring;
use model::fabric::Fabric;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Picos, RootPortId};

const CHANNELS: (u32, u32) = (1, MOST_CHANNELS);
/// One entry stays free.
const RING_ENTRIES: (u32, u32) = (2, MOST_RING_ENTRIES);

/// The table of a tenant's channels.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct CbdmaKeys {
    /// Channels of the copy engine.
    pub cbdma: CbdmaTable,
}

/// Channels and their rings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct CbdmaTable {
    /// Number of channels of each core, used in turn. A channel has one client.
    #[schemars(range(min = CHANNELS.0, max = CHANNELS.1))]
    pub channels: u32,
    /// Number of entries of a channel's ring, a power of two. One of them stays free.
    #[schemars(range(min = RING_ENTRIES.0, max = RING_ENTRIES.1))]
    pub ring_entries: u32,
}

impl Default for CbdmaTable {
    fn default() -> Self {
        Self { channels: 1, ring_entries: 256 }
    }
}

/// The CBDMA of a tenant, before the number of its root port is known.
#[derive(Clone, Debug)]
pub(crate) struct CbdmaPlan {
    config: CbdmaConfig,
}

impl CbdmaTable {
    fn check(&self, input: &TenantInput<'_>, facts: &CbdmaFacts) -> Result<(), InputError> {
        let (check, cores) = (&input.check, input.tenant.keys.cores);
        check.whole("cbdma.channels", self.channels, CHANNELS, "channels of a core")?;
        let all = u64::from(self.channels) * u64::from(cores);
        if all > u64::from(facts.channels.value) {
            let allowed = format!(
                "allowed: {} channels of all cores together, because a channel has one client; {} \
                 cores would have {all}",
                facts.channels.value, cores
            );
            return Err(check.refuse("cbdma.channels", &self.channels, allowed));
        }
        let most = facts.max_ring_entries.value;
        check.whole("cbdma.ring_entries", self.ring_entries, (RING_ENTRIES.0, most), "entries")?;
        check.power_of_two("cbdma.ring_entries", self.ring_entries)?;
        let page = input.tenant.keys.page_size.bytes();
        if Ring::bytes(self.ring_entries, DESCRIPTOR_BYTES) > page {
            let allowed = format!(
                "allowed: up to {}, because a ring is contiguous, in a page of {page} bytes; see \
                 page_size",
                page / DESCRIPTOR_BYTES
            );
            return Err(check.refuse("cbdma.ring_entries", &self.ring_entries, allowed));
        }
        Ok(())
    }
}

/// The facts of the platform's copy engine.
///
/// # Errors
/// If the platform has none.
pub(crate) fn facts<'a>(input: &TenantInput<'a>) -> Result<&'a CbdmaFacts, InputError> {
    input.platform.cbdma.as_ref().ok_or_else(|| {
        let allowed = "needs a platform with a [cbdma] table, such as ice-lake-40".into();
        input.check.refuse("offload.by", &"cbdma", allowed)
    })
}

/// Plans the stop of a tenant's channels on the mesh. The channels of the first core come first.
///
/// # Errors
/// If a key is out of range, or the platform has no CBDMA.
pub(crate) fn plan(input: &TenantInput<'_>) -> Result<PortPlan, InputError> {
    let facts = facts(input)?;
    let iio = input.facts("iio", input.platform.iio.as_ref())?;
    let keys = &input.table::<CbdmaKeys>().cbdma;
    keys.check(input, facts)?;
    let config = CbdmaConfig {
        // The layout numbers root ports.
        port: RootPortId(0),
        channels: keys.channels * input.tenant.keys.cores,
        lines_per_channel: facts.lines_per_channel.value,
        fetched_descriptors: facts.fetched_descriptors.value,
        timing: facts.timing(),
    };
    let plan = CbdmaPlan { config };
    root_port::plan(input, facts.attachment(iio), vec![plan])
}

impl DeviceModule for CbdmaPlan {
    const KEY: &'static str = "cbdma";
    const IS_PART_OF_PLATFORM: bool = true;
    const IS_COPY_ENGINE: bool = true;
    const METRICS: &'static [Metric<CopyChannels>] = metrics::METRICS;

    type Device = Cbdma;
    type Reading = CbdmaCounters;
    type Subject = CopyChannels;

    fn subject(ids: &[DeviceId]) -> CopyChannels {
        CopyChannels { id: ids[0] }
    }

    fn read<T: Tracer>(device: &Cbdma, _fabric: &Fabric<T>, now: Picos) -> CbdmaCounters {
        device.counters_at(now)
    }

    /// Limits of a CBDMA: the pace of its channels, and their waits for lines under way.
    fn limits(&self, counted: &CbdmaCounters) -> Vec<Limit> {
        let channels = u64::from(self.config.channels);
        vec![
            Limit::new(
                LimitKind::CopyEngines,
                "the pace of channels of {}",
                Picos(counted.front_busy.0 / channels),
            ),
            Limit::new(
                LimitKind::ReadBuffers,
                "lines under way in channels of {}",
                Picos(counted.line_wait.0 / channels),
            ),
        ]
    }

    /// Builds the CBDMA behind the root port that the layout gives it.
    fn build(&self, place: &DevicePlace) -> Cbdma {
        Cbdma::new(CbdmaConfig { port: place.port, ..self.config.clone() })
    }
}

impl DeviceReading for CbdmaCounters {}
