//! A PCIe link: how long transfers occupy each direction.
//!
//! Models: transaction layer packets over a full-duplex link, with the shares that data link
//! acknowledgements, flow control and skip symbols take.
//! Source: pcie-bench's model (Neugebauer et al., SIGCOMM'18).
//! Simplifies: headers of vendor messages and completions split at 64 B boundaries inside an MPS
//! are not distinguished.

use crate::occupancy::Meter;
use crate::times_by_size::TimesBySize;
use units::Picos;
use units::narrow::whole;

/// Bytes of header and framing of a memory write, or of a read request.
const REQUEST_HEADER_BYTES: u64 = 24;
/// Bytes of header and framing of a completion with data.
const COMPLETION_HEADER_BYTES: u64 = 20;

/// Parameters of a link.
#[derive(Clone, Debug)]
pub struct PcieLinkConfig {
    /// Number of lanes.
    pub lanes: u32,
    /// Transfers per second and lane, in GT/s (8 for gen 3).
    pub gtransfers_per_s: f64,
    /// Maximum payload size of a write or completion.
    pub max_payload_bytes: u64,
    /// Maximum size of one read request.
    pub max_read_request_bytes: u64,
    /// Bytes between two acknowledgements, and between two flow control updates, of the opposite
    /// direction: the specification's limits, which grow with the payload size.
    pub data_link_interval_bytes: f64,
    /// Time from one end of the link to the logic of the other end.
    pub propagation_ns: f64,
}

impl PcieLinkConfig {
    /// Bandwidth left for transaction layer packets, in Gbit/s.
    ///
    /// Acknowledgements and flow control updates of 8 B each go out once per
    /// `data_link_interval_bytes`; skip symbols take 4 B of 1538.
    #[must_use]
    pub fn tlp_gbps(&self) -> f64 {
        let raw = f64::from(self.lanes) * self.gtransfers_per_s * 128.0 / 130.0;
        raw * (1.0 - 2.0 * 8.0 / self.data_link_interval_bytes - 4.0 / 1538.0)
    }

    /// Bytes upstream for a write of `bytes`.
    #[must_use]
    pub fn write_bytes(&self, bytes: u64) -> u64 {
        packets(bytes, self.max_payload_bytes) * REQUEST_HEADER_BYTES + bytes
    }

    /// Bytes upstream for the requests of a read of `bytes`.
    #[must_use]
    pub fn read_request_bytes(&self, bytes: u64) -> u64 {
        self.read_requests(bytes) * REQUEST_HEADER_BYTES
    }

    /// Requests that a read of `bytes` is split into.
    #[must_use]
    pub fn read_requests(&self, bytes: u64) -> u64 {
        packets(bytes, self.max_read_request_bytes)
    }

    /// Bytes downstream for the completions of a read of `bytes`.
    #[must_use]
    pub fn completion_bytes(&self, bytes: u64) -> u64 {
        packets(bytes, self.max_payload_bytes) * COMPLETION_HEADER_BYTES + bytes
    }
}

/// A link with its two directions.
#[derive(Clone, Debug)]
pub struct PcieLink {
    config: PcieLinkConfig,
    ps_per_byte: f64,
    times: TimesBySize,
    propagation: Picos,
    up: Meter,
    down: Meter,
    up_bytes: u64,
    down_bytes: u64,
}

impl PcieLink {
    /// An idle link.
    #[must_use]
    pub fn new(config: PcieLinkConfig) -> Self {
        let ps_per_byte = 8e3 / config.tlp_gbps();
        Self {
            ps_per_byte,
            times: TimesBySize::new(|bytes| time_for(bytes, ps_per_byte)),
            propagation: Picos::from_ns(config.propagation_ns),
            config,
            up: Meter::default(),
            down: Meter::default(),
            up_bytes: 0,
            down_bytes: 0,
        }
    }

    /// Parameters of the link.
    #[must_use]
    pub fn config(&self) -> &PcieLinkConfig {
        &self.config
    }

    /// Sends TLPs of `bytes` in total towards the root complex; returns when the last has arrived.
    pub fn send_up(&mut self, now: Picos, bytes: u64) -> Picos {
        self.up_bytes += bytes;
        self.up.reserve(now, self.time_for(bytes)) + self.propagation
    }

    /// Sends read requests of `bytes` in total towards the root complex; returns when the last has
    /// arrived. The device's arbiter passes them between posted writes: they take bandwidth but do not
    /// queue (DEVIATIONS.md, 1).
    pub fn request_up(&mut self, now: Picos, bytes: u64) -> Picos {
        self.up_bytes += bytes;
        self.up.slip_in(now, self.time_for(bytes)) + self.propagation
    }

    /// Sends TLPs of `bytes` in total towards the device; returns when the last has arrived.
    pub fn send_down(&mut self, now: Picos, bytes: u64) -> Picos {
        self.down_bytes += bytes;
        self.down.reserve(now, self.time_for(bytes)) + self.propagation
    }

    fn time_for(&self, bytes: u64) -> Picos {
        self.times.look_up(bytes, |bytes| time_for(bytes, self.ps_per_byte))
    }

    /// Time for which each direction (up, down) was busy until `now`.
    #[must_use]
    pub fn busy_until(&self, now: Picos) -> (Picos, Picos) {
        (self.up.busy_until(now), self.down.busy_until(now))
    }

    /// When each direction (up, down) would serve a transfer of `now`.
    #[must_use]
    pub fn free_from(&self, now: Picos) -> (Picos, Picos) {
        (self.up.free_from(now), self.down.free_from(now))
    }

    /// TLP bytes that each direction (up, down) has carried since time zero.
    #[must_use]
    pub fn total_bytes(&self) -> (u64, u64) {
        (self.up_bytes, self.down_bytes)
    }
}

/// TLPs of at most `most` bytes each, a power of two, as PCIe defines sizes: a shift instead of a division,
/// for every request of every device.
#[inline]
fn packets(bytes: u64, most: u64) -> u64 {
    debug_assert!(most.is_power_of_two());
    (bytes + most - 1) >> most.trailing_zeros()
}

fn time_for(bytes: u64, ps_per_byte: f64) -> Picos {
    Picos(whole(bytes as f64 * ps_per_byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gen3_x16() -> PcieLinkConfig {
        PcieLinkConfig {
            lanes: 16,
            gtransfers_per_s: 8.0,
            max_payload_bytes: 256,
            data_link_interval_bytes: 168.0,
            max_read_request_bytes: 512,
            propagation_ns: 0.0,
        }
    }

    fn goodput(config: &PcieLinkConfig, bytes: u64, on_link: u64) -> f64 {
        config.tlp_gbps() * bytes as f64 / on_link as f64
    }

    /// Expected values: computed with pcie-bench's published model.
    #[test]
    fn gen3_x16_reaches_the_published_bandwidths() {
        let link = gen3_x16();
        assert!((link.tlp_gbps() - 113.7).abs() < 0.2, "{}", link.tlp_gbps());
        for (bytes, write, read) in [(64, 82.7, 86.6), (1500, 103.7, 105.3)] {
            let up = goodput(&link, bytes, link.write_bytes(bytes));
            let down = goodput(&link, bytes, link.completion_bytes(bytes));
            assert!((up - write).abs() < 0.3, "{bytes} B write {up}");
            assert!((down - read).abs() < 0.3, "{bytes} B read {down}");
        }
    }

    #[test]
    fn a_read_is_split_into_requests() {
        let link = gen3_x16();
        assert_eq!(link.read_requests(1500), 3);
        assert_eq!(link.read_request_bytes(1500), 72);
    }

    #[test]
    fn directions_do_not_disturb_each_other() {
        let mut link = PcieLink::new(gen3_x16());
        let alone = link.send_up(Picos::ZERO, 1_000);
        link.send_down(Picos::ZERO, 1_000_000);
        let mut fresh = PcieLink::new(gen3_x16());
        assert_eq!(alone, fresh.send_up(Picos::ZERO, 1_000));
        assert_eq!(link.total_bytes(), (1_000, 1_000_000));
    }
}
