//! The policy of a root port for lines that its device writes and reads.
//!
//! Models: Intel Data Direct I/O, on, off, and limited to some ways; the same separately for
//! descriptors; the effect of a DMA read on the caches; the IIO LLC WAYS register behind the mask.
//! Source: ATC'20 (register 0xC8B, default 0x600 of 11 ways; global and per-port switch; remote
//! sockets); ISPASS'20 (three transmit behaviours).
//! Simplifies: the way mask register belongs to the socket, but ports of a socket may differ.

use super::line_placement::LinePlacement;
use units::WayMask;

/// Whether and where device writes are placed in the LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ddio {
    /// Writes go to DRAM and invalidate every cached copy.
    Off,
    /// Lines that hit the LLC are overwritten in place, others are allocated in these ways.
    Ways(WayMask),
}

impl Ddio {
    /// The top `count` of `ways` ways; zero means off.
    #[must_use]
    pub fn top_ways(count: u32, ways: u32) -> Self {
        if count == 0 { Self::Off } else { Self::Ways(WayMask::top(count, ways)) }
    }
}

/// Kind of data that a device writes: the DDIO policy may differ by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaKind {
    /// Packet or block data.
    Payload,
    /// Packet data that its device sends to memory, under any policy of its root port.
    PayloadForMemory,
    /// Descriptors, completions, doorbell records.
    Descriptor,
}

impl DmaKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Payload, Self::PayloadForMemory, Self::Descriptor];
}

/// The policy of one root port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoPolicy {
    /// For packet and block data.
    pub payload: Ddio,
    /// For descriptors and completions: a port that is switched off may keep them on.
    pub descriptors: Ddio,
    /// With DDIO off, a DMA read evicts the line from the caches (processors before Ivy Bridge).
    pub evict_on_dma_read: bool,
    /// A write for the memory of another socket leaves a copy in the LLC of the device's socket.
    pub remote_writes_pollute: bool,
    /// An allocation takes an empty way outside the mask before it evicts a line inside it.
    pub fills_empty_ways: bool,
    /// Further placement of packet and block data.
    pub placement: LinePlacement,
}

impl IoPolicy {
    /// `ddio` for all kinds, without eviction on reads.
    #[must_use]
    pub fn uniform(ddio: Ddio) -> Self {
        Self {
            payload: ddio,
            descriptors: ddio,
            evict_on_dma_read: false,
            remote_writes_pollute: true,
            fills_empty_ways: false,
            placement: LinePlacement::default(),
        }
    }

    /// Whether lines that the device has read are evicted from the caches.
    #[inline]
    #[must_use]
    pub fn drops_what_it_reads(&self) -> bool {
        self.evict_on_dma_read && self.payload == Ddio::Off
    }

    /// The DDIO policy for a write of this kind.
    #[inline]
    #[must_use]
    pub fn writes(&self, kind: DmaKind) -> Ddio {
        match kind {
            DmaKind::Payload => self.payload,
            DmaKind::PayloadForMemory => Ddio::Off,
            DmaKind::Descriptor => self.descriptors,
        }
    }
}

/// The IIO LLC WAYS register (0xC8B): ways in which devices of a socket may allocate.
///
/// Bits may be added to the processor's default up to all ways; the default's own bits cannot be
/// cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcWaysRegister {
    default: WayMask,
    value: WayMask,
    ways: u32,
}

impl LlcWaysRegister {
    /// State after reset, on a processor with `ways` LLC ways whose devices get the top `default_ways`.
    #[must_use]
    pub fn after_reset(default_ways: u32, ways: u32) -> Self {
        let default = WayMask::top(default_ways, ways);
        Self { default, value: default, ways }
    }

    /// Writes the register; returns its new value.
    pub fn write(&mut self, mask: WayMask) -> WayMask {
        let all = WayMask::bottom(self.ways).0;
        self.value = WayMask(mask.0 & all | self.default.0);
        self.value
    }

    /// Value of the register.
    #[must_use]
    pub fn read(&self) -> WayMask {
        self.value
    }

    /// The DDIO policy of this value.
    #[must_use]
    pub fn ddio(&self) -> Ddio {
        Ddio::Ways(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_ways_switch_ddio_off() {
        assert_eq!(Ddio::top_ways(0, 11), Ddio::Off);
        assert_eq!(Ddio::top_ways(2, 11), Ddio::Ways(WayMask(0x600)));
    }

    #[test]
    fn a_port_that_is_off_may_keep_its_descriptors_on() {
        let mut policy = IoPolicy::uniform(Ddio::top_ways(2, 11));
        policy.payload = Ddio::Off;
        assert_eq!(policy.writes(DmaKind::Payload), Ddio::Off);
        assert_eq!(policy.writes(DmaKind::Descriptor), Ddio::Ways(WayMask(0x600)));
    }

    #[test]
    fn a_device_may_send_single_writes_to_memory_past_ddio() {
        let policy = IoPolicy::uniform(Ddio::top_ways(2, 11));
        assert_eq!(policy.writes(DmaKind::Payload), Ddio::Ways(WayMask(0x600)));
        assert_eq!(policy.writes(DmaKind::PayloadForMemory), Ddio::Off);
    }
}
