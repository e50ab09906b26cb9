//! SSDs: the key that names them, their root ports, and the controllers of the machine.

pub(crate) mod metrics;

use super::{DevicePlan, Limit, PortPlan, root_port};
use crate::input::builtin;
use crate::input::error::InputError;
use crate::input::schema;
use crate::layout::DeviceLayout;
use crate::plan::TenantInput;
use crate::platform::SsdDevice;
use crate::result::LimitKind;
use model::device::nvme::controller::NvmeController;
use model::device::nvme::{NvmeConfig, NvmeCounters};
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::mmio::MmioPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cycles, Picos};
use workload::driver::nvme::NvmeDriverConfig;

/// The key that names SSDs.
pub const KEY: &str = "ssd";

/// Keys of a tenant's SSDs. Their number depends on its application.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SsdKeys {
    /// Kind of its SSDs: a known one (`skipline platforms` has a list), or path of a device file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::ssd")]
    pub ssd: Option<String>,
}

/// An SSD.
#[derive(Clone, Debug)]
pub struct SsdPlan {
    config: NvmeConfig,
    queue_pairs: usize,
    seed: u64,
}

/// The kind of SSDs that a tenant names.
///
/// # Errors
/// If it names none.
pub fn named<'a>(input: &TenantInput<'a>) -> Result<&'a SsdDevice, InputError> {
    input.named.ssd.as_ref().ok_or_else(|| {
        let (application, known) = (input.tenant.keys.application.name(), builtin::ssd_names());
        InputError::WrongValue {
            file: input.file.into(),
            key: KEY.into(),
            reason: format!(
                "is missing: {application} needs a device, one of {}",
                known.join(", ")
            ),
        }
    })
}

/// The root ports of SSDs of a kind, up to `per_root_port` behind each. `queue_pairs` has an entry per SSD.
///
/// # Errors
/// If the platform has no I/O.
pub fn plan(
    input: &TenantInput<'_>,
    device: &SsdDevice,
    queue_pairs: &[usize],
    per_root_port: u32,
) -> Result<Vec<PortPlan>, InputError> {
    let (config, seed) = (device.ssd.config(), input.seed);
    let ssd = |&queue_pairs: &usize| {
        DevicePlan::Ssd(SsdPlan { config: config.clone(), queue_pairs, seed })
    };
    let behind_one = queue_pairs.chunks(per_root_port as usize);
    let port = |some: &[usize]| {
        let attachment = AttachmentConfig::Pcie(device.link());
        root_port::plan(input, attachment, some.iter().map(ssd).collect())
    };
    behind_one.map(port).collect()
}

/// The driver of a queue pair, with `depth` commands of up to `block_bytes` in flight.
#[must_use]
pub fn driver(device: &SsdDevice, depth: u32, block_bytes: u64) -> NvmeDriverConfig {
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

impl SsdPlan {
    /// Reads and writes of the media.
    pub(super) fn limits(&self, counted: &NvmeCounters) -> Vec<Limit> {
        let media = &self.config.media;
        let reads = media.read_rate.time_for(Bytes(counted.bytes_to_host));
        let writes = media.write_rate.time_for(Bytes(counted.bytes_from_host));
        vec![
            Limit::new(LimitKind::MediaReads, "reads of {}", reads),
            Limit::new(LimitKind::MediaWrites, "writes of {}", writes),
        ]
    }

    /// The controller, with the number of the layout.
    pub(super) fn build(&self, layout: &DeviceLayout) -> NvmeController {
        let seed = self.seed.wrapping_add(1000 + layout.number as u64);
        NvmeController::new(layout.port, self.config.clone(), self.queue_pairs, seed)
    }
}
