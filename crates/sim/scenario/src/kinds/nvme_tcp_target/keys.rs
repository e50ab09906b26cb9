//! Keys of the NVMe/TCP target, and their checks.

use crate::contract::input::TenantInput;
use crate::kinds::block_io::BlockOrder;
use crate::kinds::nic::{Card, NicKeys};
use crate::text::error::InputError;
use model::device::nvme::rings::PAGE_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SSDs of a tenant.
const SSDS: (u32, u32) = (1, 16);
/// A page up to the largest command that SSDs commonly take.
const READ_BYTES: (u64, u64) = (PAGE_BYTES, 1 << 20);
/// The least that IPv4 hosts take whole, up to jumbo frames.
const MTU_BYTES: (u64, u64) = (576, 9000);
const CONNECTIONS: (u32, u32) = (1, 512);
const DEPTH: (u32, u32) = (1, 512);
/// Requests of a core in flight: fewer than the entries of an SSD's queue of 1024.
const MOST_IN_FLIGHT: u32 = 1023;
/// Digests of a core by engines in flight.
const DIGESTS: (u32, u32) = (1, 128);
const BUFFERS: (u32, u32) = (1, 1 << 14);
/// Descriptors that a receive queue has beside those of requests in flight: a driver refills 64 at a time.
const SPARE_DESCRIPTORS: u32 = 64;
const MOST_BUFFER_BYTES: u64 = 16 << 30;

/// Keys of the NVMe/TCP target. Every core has a queue pair on every SSD.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NvmeTcpTargetKeys {
    /// Computation of the data digest of an answer.
    pub digest: DigestName,
    /// Bytes of data of a request.
    #[schemars(range(min = READ_BYTES.0, max = READ_BYTES.1), extend("multipleOf" = PAGE_BYTES))]
    pub read_bytes: u64,
    /// Order of the blocks that are read from each SSD.
    pub order: BlockOrder,
    /// Connections, which cores serve in turn: no fewer than cores. By default 4, or one for each core.
    #[schemars(range(min = CONNECTIONS.0, max = CONNECTIONS.1))]
    pub connections: u32,
    /// Number of requests in flight of each connection.
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
    /// SSDs, which requests use in turn.
    #[schemars(range(min = SSDS.0, max = SSDS.1))]
    pub ssds: u32,
    /// SSDs behind one root port, whose link they share.
    #[schemars(range(min = SSDS.0, max = SSDS.1))]
    pub ssds_per_root_port: u32,
    /// Buffers of each core. By default those of its requests in flight, and of answers that its card has sent
    /// and not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = BUFFERS.0, max = BUFFERS.1))]
    pub buffers: Option<u32>,
    /// Size of the largest IP packet (MTU).
    #[schemars(range(min = MTU_BYTES.0, max = MTU_BYTES.1))]
    pub mtu_bytes: u64,
    /// Digests in flight of each core, if engines compute them.
    #[schemars(range(min = DIGESTS.0, max = DIGESTS.1))]
    pub digests: u32,
}

/// Computation of the data digest of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DigestName {
    /// Answers have no digest.
    #[default]
    None,
    /// The core computes digests.
    Core,
    /// A data streaming accelerator computes digests.
    Dsa,
}

impl Default for NvmeTcpTargetKeys {
    fn default() -> Self {
        Self {
            digest: DigestName::default(),
            read_bytes: 16 << 10,
            order: BlockOrder::default(),
            connections: 4,
            depth: 8,
            ssds: 4,
            ssds_per_root_port: 1,
            buffers: None,
            mtu_bytes: 1500,
            digests: 32,
        }
    }
}

impl NvmeTcpTargetKeys {
    pub(super) fn check(&self, input: &TenantInput<'_>, card: &Card<'_>) -> Result<(), InputError> {
        let check = &input.check;
        let bytes = self.read_bytes;
        check.whole("nvme_tcp_target.read_bytes", bytes, READ_BYTES, "bytes")?;
        if !bytes.is_multiple_of(PAGE_BYTES) {
            let allowed = format!("allowed: multiples of {PAGE_BYTES} bytes");
            return Err(check.refuse("nvme_tcp_target.read_bytes", &bytes, allowed));
        }
        check.whole("nvme_tcp_target.ssds", self.ssds, SSDS, "SSDs")?;
        let together = self.ssds_per_root_port;
        check.whole("nvme_tcp_target.ssds_per_root_port", together, SSDS, "SSDs")?;
        check.whole("nvme_tcp_target.mtu_bytes", self.mtu_bytes, MTU_BYTES, "bytes")?;
        check.whole("nvme_tcp_target.digests", self.digests, DIGESTS, "digests in flight")?;
        self.check_in_flight(input)?;
        let unreported = card.nic.tx_packets_per_completion.value;
        let what = "buffers, more than answers that the card has sent and not reported";
        let cores = input.tenant.keys.cores;
        let buffers = self.buffers(cores, unreported);
        check.whole("nvme_tcp_target.buffers", buffers, (unreported, BUFFERS.1), what)?;
        let all = u64::from(buffers) * u64::from(cores) * bytes;
        let what = "bytes of the buffers of all cores";
        check.whole("nvme_tcp_target.buffers", all, (0, MOST_BUFFER_BYTES), what)
    }

    /// Checks that requests in flight find descriptors in the receive queue, and entries in an SSD's queue.
    fn check_in_flight(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        let (check, cores) = (&input.check, input.tenant.keys.cores);
        let allowed = (cores, CONNECTIONS.1);
        let what = "connections, one for each core at least";
        check.whole("nvme_tcp_target.connections", self.connections, allowed, what)?;
        check.whole("nvme_tcp_target.depth", self.depth, DEPTH, "requests in flight")?;
        let of_core = self.connections.div_ceil(cores);
        let what = format!(
            "requests in flight of each of {of_core} connections, {MOST_IN_FLIGHT} of a core"
        );
        check.whole("nvme_tcp_target.depth", self.depth, (1, MOST_IN_FLIGHT / of_core), &what)?;
        let in_flight = self.in_flight(cores);
        let least = in_flight + SPARE_DESCRIPTORS;
        let descriptors = input.table::<NicKeys>().rx_descriptors;
        if descriptors < least {
            let allowed = format!(
                "allowed: {least} and more, because a core has {in_flight} requests in flight"
            );
            return Err(check.refuse("rx_descriptors", &descriptors, allowed));
        }
        Ok(())
    }

    /// Requests in flight of the core with the most connections, if `cores` cores share the connections.
    pub(super) fn in_flight(&self, cores: u32) -> u32 {
        self.connections.div_ceil(cores) * self.depth
    }

    /// Buffers of each of `cores` cores, whose card reports `unreported` packets at once.
    pub(super) fn buffers(&self, cores: u32, unreported: u32) -> u32 {
        self.buffers.unwrap_or(self.in_flight(cores) + unreported)
    }
}
