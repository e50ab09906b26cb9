//! Durations of the commands and transfers of a DRAM device.
//!
//! Models: the timing parameters of DDR4 and DDR5 that determine latency and throughput of a channel.
//! Source: JEDEC JESD79-4 and JESD79-5 for their meaning; the platform file for their values.
//! Simplifies: command bus slots, tRRD_L, tCCD between ranks and power-down are left out.

use units::{LINE_BYTES, Picos};

/// Timing parameters of one speed grade, by their names in the standard.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Data rate in millions of transfers per second and pin.
    pub mega_transfers_per_s: f64,
    /// Width of a channel's data bus without ECC: 8 for DDR4, 4 for a DDR5 subchannel.
    pub bus_bytes: u32,
    /// Read command to its first data (tCL).
    pub tcl: Picos,
    /// Write command to its first data (tCWL).
    pub tcwl: Picos,
    /// Activation to read or write command (tRCD).
    pub trcd: Picos,
    /// Least time from the precharge of a bank to its activation (tRP).
    pub trp: Picos,
    /// Least time from the activation of a bank to its precharge (tRAS).
    pub tras: Picos,
    /// Between two activations in a rank (tRRD_S).
    pub trrd: Picos,
    /// Span in which a rank takes at most four activations (tFAW).
    pub tfaw: Picos,
    /// Between two column commands in one bank group (tCCD_L).
    pub tccd_l: Picos,
    /// How long a refresh stops a rank (tRFC).
    pub trfc: Picos,
    /// Between the refreshes of a rank (tREFI).
    pub trefi: Picos,
    /// Last written data to precharge (tWR).
    pub twr: Picos,
    /// Last written data to a read command (tWTR_L).
    pub twtr: Picos,
    /// Read command to precharge (tRTP).
    pub trtp: Picos,
}

impl Timing {
    /// How long a line occupies the data bus.
    #[must_use]
    pub fn burst(&self) -> Picos {
        let transfers = LINE_BYTES as f64 / f64::from(self.bus_bytes);
        Picos::from_ns(transfers * 1e3 / self.mega_transfers_per_s)
    }

    /// One clock cycle (two transfers).
    #[must_use]
    pub fn clock(&self) -> Picos {
        Picos::from_ns(2e3 / self.mega_transfers_per_s)
    }

    /// Idle time of the data bus for one turn from reads to writes and back: two clocks before the
    /// writes; tWTR and the latency of the first read after them.
    #[must_use]
    pub fn turnaround(&self) -> Picos {
        self.clock() + self.clock() + self.twtr + self.tcl
    }

    /// Bandwidth of one channel with its data bus always busy, in GB/s.
    #[must_use]
    pub fn peak_gbytes_per_s(&self) -> f64 {
        LINE_BYTES as f64 / self.burst().as_ns()
    }
}

#[cfg(test)]
mod tests {
    use crate::dram::tests::ddr4_2400;

    #[test]
    fn a_line_is_a_burst_of_eight_transfers_on_a_64_bit_bus() {
        let timing = ddr4_2400();
        let expected_ns = 8.0 / (timing.mega_transfers_per_s * 1e-3);
        assert!((timing.burst().as_ns() - expected_ns).abs() < 0.001);
        let peak = 8.0 * timing.mega_transfers_per_s * 1e-3;
        assert!((timing.peak_gbytes_per_s() / peak - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_ddr5_subchannel_takes_sixteen_transfers_for_a_line() {
        let mut timing = ddr4_2400();
        (timing.mega_transfers_per_s, timing.bus_bytes) = (4800.0, 4);
        let same_as_ddr4_2400 = ddr4_2400().burst();
        assert_eq!(timing.burst(), same_as_ddr4_2400);
    }
}
