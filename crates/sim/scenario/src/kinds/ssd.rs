//! SSDs: the key that names them, their root ports, and the controllers of the machine.

mod metrics;

use crate::contract::device::DeviceModule;
use crate::contract::input::TenantInput;
use crate::contract::limit::{Limit, LimitKind};
use crate::contract::metric::Metric;
use crate::contract::port::{DevicePlace, PortPlan};
use crate::contract::sample::DeviceReading;
use crate::contract::tenant::TenantRef;
use crate::facts::platform::SsdDevice;
use crate::facts::schema;
use crate::kinds::root_port;
use crate::text::error::InputError;
use crate::text::files;
use facts::Kind;
use metrics::Ssds;
use model::device::DeviceId;
use model::device::nvme::controller::NvmeController;
use model::device::nvme::{NvmeConfig, NvmeCounters};
use model::fabric::Fabric;
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::mmio::MmioPath;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cycles, Picos};
use workload::driver::nvme::NvmeDriverConfig;

/// Keys of a tenant's SSDs. The application states the number of SSDs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct SsdKeys {
    /// Kind of its SSDs: a known one (`skipline platforms` has a list), or path of a device file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::ssd")]
    pub ssd: Option<String>,
}

/// An SSD, before the number of its root port is known.
#[derive(Clone, Debug)]
pub(crate) struct SsdPlan {
    config: NvmeConfig,
    queue_pairs: usize,
    seed: u64,
}

/// The facts of the kind of SSDs that a tenant names.
///
/// # Errors
/// If the tenant names none.
pub(crate) fn named_device<'a>(input: &TenantInput<'a>) -> Result<&'a SsdDevice, InputError> {
    input.named.ssd.as_ref().ok_or_else(|| {
        let (application, known) = (input.tenant.application(), files::names(Kind::Ssd));
        InputError::WrongValue {
            file: input.file.into(),
            key: SsdPlan::KEY.into(),
            reason: format!(
                "is missing: {application} needs a device, one of {}",
                known.join(", ")
            ),
        }
    })
}

/// Plans the root ports of SSDs of a kind, up to `per_root_port` behind each. `queue_pairs` has an entry for
/// each SSD.
///
/// # Errors
/// If the platform has no I/O.
pub(crate) fn plan(
    input: &TenantInput<'_>,
    device: &SsdDevice,
    queue_pairs: &[usize],
    per_root_port: u32,
) -> Result<Vec<PortPlan>, InputError> {
    let (config, seed) = (device.ssd.config(), input.seed);
    let ssd = |&queue_pairs: &usize| SsdPlan { config: config.clone(), queue_pairs, seed };
    let behind_one = queue_pairs.chunks(per_root_port as usize);
    let port = |some: &[usize]| {
        let attachment = AttachmentConfig::Pcie(device.link());
        root_port::plan(input, attachment, some.iter().map(ssd).collect())
    };
    behind_one.map(port).collect()
}

/// The driver of a queue pair, with up to `depth` commands of up to `block_bytes` bytes in flight.
#[must_use]
pub(crate) fn driver(device: &SsdDevice, depth: u32, block_bytes: u64) -> NvmeDriverConfig {
    NvmeDriverConfig {
        entries: device.software.queue_entries.value,
        depth,
        block_bytes,
        doorbell: MmioPath {
            one_way: Picos::from_ns(device.ssd.doorbell_ns.value),
            store: Cycles(device.software.doorbell_cycles.value),
        },
    }
}

impl DeviceModule for SsdPlan {
    const KEY: &'static str = "ssd";
    const FILES: Option<Kind> = Some(Kind::Ssd);
    const METRICS: &'static [Metric<Ssds>] = metrics::METRICS;

    type Device = NvmeController;
    type Reading = NvmeCounters;
    type Subject = Ssds;

    fn subject(ids: &[DeviceId]) -> Ssds {
        Ssds { ids: ids.to_vec() }
    }

    fn read<T: Tracer>(device: &NvmeController, _fabric: &Fabric<T>, _now: Picos) -> NvmeCounters {
        device.counters
    }

    fn named(tenant: TenantRef<'_>) -> Option<&String> {
        tenant.table::<SsdKeys>().ssd.as_ref()
    }

    /// Limits of an SSD: reads and writes of its media.
    fn limits(&self, counted: &NvmeCounters) -> Vec<Limit> {
        let media = &self.config.media;
        let reads = media.read_rate.time_for(Bytes(counted.bytes_to_host));
        let writes = media.write_rate.time_for(Bytes(counted.bytes_from_host));
        vec![
            Limit::new(LimitKind::MediaReads, "reads of {}", reads),
            Limit::new(LimitKind::MediaWrites, "writes of {}", writes),
        ]
    }

    /// Builds the controller; its number in the layout is part of its seed.
    fn build(&self, place: &DevicePlace) -> NvmeController {
        let seed = self.seed.wrapping_add(1000 + place.number as u64);
        NvmeController::new(place.port, self.config.clone(), self.queue_pairs, seed)
    }
}

impl DeviceReading for NvmeCounters {}
