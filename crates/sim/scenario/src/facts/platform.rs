//! A machine as facts: one file per machine, every number with its source.

mod caches;
mod cbdma;
mod dram;
mod dsa;
mod io;
mod memory;
mod nic;
mod nic_device;
mod slice_function_name;
mod slice_table;
mod ssd;
mod topology;
mod what_if;

pub use caches::{
    Cpu, DirectoryWays, InclusionName, InclusiveMoveName, LastLevel, PrivateLevel, ReplacementName,
    SetFunctionName,
};
pub use cbdma::{CbdmaClientFacts, CbdmaFacts};
pub use dram::{BankHashName, ChannelHashName, DramFacts, RowPolicyName};
pub use dsa::{CoreKernelFacts, DsaClientFacts, DsaFacts};
pub use io::{DdioFacts, IioFacts, IommuFacts, PcieFacts, RootComplexBufferFacts};
pub use memory::{CxlFacts, UpiFacts};
pub use nic::{NicFacts, RxFormatName, SoftwareFacts, TxCompletionName, TxFormatName};
pub use nic_device::NicDevice;
pub use slice_function_name::SliceFunctionName;
pub use ssd::{SsdDevice, SsdFacts, StorageSoftwareFacts};
pub use topology::{MeshFacts, RingFacts};
pub(crate) use what_if::ReplacedFacts;

pub(crate) use caches::{GHZ, MOST_CORES, MOST_LLC_SETS, MOST_LLC_WAYS, MOST_SLICES};
pub(crate) use cbdma::{MOST_CHANNELS, MOST_RING_ENTRIES};
pub(crate) use nic::{MOST_BUFFER_DATA_BYTES, MOST_LINE_RATE_GBPS, MOST_RX_DESCRIPTORS};

use crate::facts::software::{ApplicationFacts, PingPongFacts};
use crate::text::check::Check;
use crate::text::document;
use crate::text::error::InputError;
use crate::text::sourced::{Confidence, Sourced};
use address_map::BaseSequence;
use facts::Kind;
use model::mesh::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A platform file. The tables from `ddio` on may be absent: such a machine replays traces, but has
/// no devices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Platform {
    /// Description of the machine.
    pub title: String,
    /// The processor: cores, clocks, prefetchers.
    pub cpu: Cpu,
    /// L1 data cache of a core.
    pub l1d: PrivateLevel,
    /// L1 instruction cache of a core; without it, traces' instruction fetches are skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l1i: Option<PrivateLevel>,
    /// L2 cache of a core.
    pub l2: PrivateLevel,
    /// Last-level cache of the socket.
    pub llc: LastLevel,
    /// Snoop filter: directory-only ways besides the LLC. Without it, every core is snooped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<DirectoryWays>,
    /// A ring that connects cores and slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<RingFacts>,
    /// A mesh that connects cores and slices. Without either, all slices are equally far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<MeshFacts>,
    /// Memory of a socket: DRAM and its controllers.
    pub dram: DramFacts,
    /// Links to a second socket of the same kind; without it, there is one socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upi: Option<UpiFacts>,
    /// A CXL memory card on the first socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cxl: Option<CxlFacts>,
    /// I/O allocation in the LLC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ddio: Option<DdioFacts>,
    /// The integrated I/O block, through which devices access memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iio: Option<IioFacts>,
    /// Address translation of devices: the IOTLB and its page walks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iommu: Option<IommuFacts>,
    /// A buffer of the root complex before the caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_complex_buffer: Option<RootComplexBufferFacts>,
    /// Link between NIC and socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie: Option<PcieFacts>,
    /// The NIC of the platform and its driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<NicFacts>,
    /// Costs of the packet software on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<SoftwareFacts>,
    /// Costs of an echo server on this machine, and its client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_pong: Option<PingPongFacts>,
    /// Costs of packet applications on this machine, except the L2 forwarder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applications: Option<ApplicationFacts>,
    /// The copy engine of the generation before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cbdma: Option<CbdmaFacts>,
    /// Costs of programs that drive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cbdma_client: Option<CbdmaClientFacts>,
    /// Copy engines of a socket: what each instance has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsa: Option<DsaFacts>,
    /// Costs of programs that use them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsa_client: Option<DsaClientFacts>,
    /// Costs of the same operations as loops of a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_kernels: Option<CoreKernelFacts>,
    /// The processor's own slice function: the published one, or what llc.slice_table says.
    #[serde(skip)]
    #[schemars(skip)]
    pub base_sequence: Option<BaseSequence>,
}

/// A parameter that was chosen by fitting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FittedParameter {
    /// Path of the key in the file of the platform, or of the scenario.
    pub key: String,
    /// Value of the parameter.
    pub value: serde_json::Value,
    /// The measurements that chose it.
    pub fitted_on: String,
    /// Whether these are of another machine, so that the value is a guess for this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
}

/// Other kinds of file, by a key that only they have among files without caches.
const OTHER_KINDS: [(&str, &str); 7] = [
    ("settings", "a testbed; a scenario names it with the key `testbed`"),
    ("experiments", "a calibration; to look for parameters: skipline calibrate FILE"),
    ("platform", "a scenario; to simulate it: skipline run FILE"),
    ("testbed", "a scenario; to simulate it: skipline run FILE"),
    ("scenario", "an experiment; to simulate it: skipline experiment run FILE"),
    ("nic", "the file of a device; a scenario names it with the key `nic`"),
    ("ssd", "the file of a device; a scenario names it with the key `ssd`"),
];

/// Refuses files of other kinds and names their kind.
fn refuse_other_kinds(file: &str, document: &toml::Table) -> Result<(), InputError> {
    // A platform may have a table `nic`, and one of these names may be mistyped, but not both.
    if document.contains_key("cpu") || document.contains_key("llc") {
        return Ok(());
    }
    match OTHER_KINDS.into_iter().find(|(key, _)| document.contains_key(*key)) {
        Some((_, kind)) => Err(InputError::WrongValue {
            file: file.into(),
            key: "cpu".into(),
            reason: format!("is missing: this is no platform but {kind}"),
        }),
        None => Ok(()),
    }
}

impl Platform {
    /// Reads a platform from TOML with some facts replaced; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is invalid, a key is unknown or missing, a value is out of range, or the platform does not know
    /// a replaced key.
    pub(crate) fn read_with(
        file: &str,
        text: &str,
        replaced: &ReplacedFacts,
    ) -> Result<Self, InputError> {
        let read = what_if::read_with(Kind::Platform, file, text, replaced, |document| {
            refuse_other_kinds(file, &document)?;
            let mut platform: Self = document::interpret(file, document)?;
            platform.check(file)?;
            platform.base_sequence = platform.llc.base_sequence(&Check { file })?;
            Ok(platform)
        });
        read.map_err(|error| match &error {
            // A file that a device extends is not among the platforms.
            InputError::OutOfRange { key, .. } if key == "extends" => {
                let own = document::parse(file, text);
                own.and_then(|own| refuse_other_kinds(file, &own)).err().unwrap_or(error)
            }
            _ => error,
        })
    }

    /// Distances of slices from cores; `file` is the platform's name in messages.
    ///
    /// # Errors
    /// If ring or mesh do not match cores and slices.
    pub fn topology(&self, file: &str) -> Result<Topology, InputError> {
        let (ring, mesh) = (self.ring.as_ref(), self.mesh.as_ref());
        topology::topology(&Check { file }, &self.cpu, &self.llc, ring, mesh)
    }

    /// Transfers per second and lane of its slots, if it has any.
    #[must_use]
    pub fn slot_rate(&self) -> Option<&Sourced<f64>> {
        let stated = self.iio.as_ref().and_then(|iio| iio.slot_gtransfers_per_s.as_ref());
        stated.or(self.pcie.as_ref().map(|own| &own.gtransfers_per_s))
    }

    /// All parameters that were chosen by fitting, on this machine or another, in the order of their keys.
    #[must_use]
    pub fn fitted(&self) -> Vec<FittedParameter> {
        let mut found = Vec::new();
        if let Ok(document) = serde_json::to_value(self) {
            collect_fitted("", &document, &mut found);
        }
        found
    }

    fn check(&self, file: &str) -> Result<(), InputError> {
        let check = Check { file };
        self.cpu.check(&check)?;
        self.l1d.check("l1d", &check)?;
        self.l1i.as_ref().map_or(Ok(()), |l1i| l1i.check("l1i", &check))?;
        self.l2.check("l2", &check)?;
        self.llc.check(&check)?;
        self.directory.as_ref().map_or(Ok(()), |directory| directory.check(&check))?;
        self.topology(file)?;
        self.dram.check(&check)?;
        self.upi.as_ref().map_or(Ok(()), |upi| upi.check(&check))?;
        self.cxl.as_ref().map_or(Ok(()), |cxl| cxl.check(&check))?;
        self.iommu.as_ref().map_or(Ok(()), |iommu| iommu.check(&check))?;
        self.root_complex_buffer.as_ref().map_or(Ok(()), |buffer| buffer.check(&check))?;
        let ways = self.llc.ways.value;
        self.ddio.as_ref().map_or(Ok(()), |ddio| ddio.check(&check, ways))?;
        self.iio.as_ref().map_or(Ok(()), |iio| iio.check(&check))?;
        self.pcie.as_ref().map_or(Ok(()), |pcie| pcie.check(&check))?;
        self.nic.as_ref().map_or(Ok(()), |nic| nic.check(&check))?;
        self.software.as_ref().map_or(Ok(()), |software| software.check(&check))?;
        self.ping_pong.as_ref().map_or(Ok(()), |ping_pong| ping_pong.check(&check))?;
        self.applications.as_ref().map_or(Ok(()), |applications| applications.check(&check))?;
        self.cbdma.as_ref().map_or(Ok(()), |cbdma| cbdma.check(&check))?;
        self.cbdma_client.as_ref().map_or(Ok(()), |client| client.check(&check))?;
        self.dsa.as_ref().map_or(Ok(()), |dsa| dsa.check(&check))?;
        self.dsa_client.as_ref().map_or(Ok(()), |client| client.check(&check))?;
        self.core_kernels.as_ref().map_or(Ok(()), |kernels| kernels.check(&check))
    }
}

fn collect_fitted(path: &str, value: &serde_json::Value, found: &mut Vec<FittedParameter>) {
    let Some(table) = value.as_object() else { return };
    let is_own = table.get("confidence") == Some(&serde_json::json!(Confidence::Fitted));
    let fitted_on = table.get("fitted_on").and_then(|on| on.as_str());
    if is_own || fitted_on.is_some() {
        found.push(FittedParameter {
            key: path.into(),
            value: table["value"].clone(),
            fitted_on: fitted_on.unwrap_or("not stated").into(),
            is_elsewhere: !is_own,
        });
        return;
    }
    for (key, inner) in table {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        collect_fitted(&path, inner, found);
    }
}
