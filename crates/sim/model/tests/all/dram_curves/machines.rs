//! The machines whose memory has been measured, and their parameters in the model.
//!
//! Measured: github gjbex/Code-optimization, info/*_mlc.txt (Intel MLC, two sockets, all local).
//!
//! Timing: gem5 DRAMInterface.py@1db206b, DDR4_2400_8x8 (tRAS, tRRD, tFAW, tCCD_L, tREFI, tWR, tWTR,
//! tRTP, and tRFC of 8 Gbit chips); github host-architecture/understanding-the-host-network,
//! mio/model.py (DDR4-2933); JEDEC for the column latencies of the other grades and for tRFC of 4 and
//! 16 Gbit chips (recalled).
//!
//! Fitted, one parameter each: `path_ns` on the idle latency, `burst_gap_ns` on the read bandwidth of a
//! socket. The modules of these servers are not published. Two ranks of the usual chips of a
//! processor's first year are assumed; where the comment says so, the curve chose between two usual
//! kinds.
//!
//! The same everywhere, without a source, and with other values tried: 256 B on a channel (64 B is too
//! slow with one rank or 36 cores, 512 B puts Haswell's knee 25 % low); two neighbouring bank groups
//! (four: Haswell's knee 22 % low); rows closed after 500 ns (200 ns to never: no knee moves by more
//! than 10 %); a write queue of 48 lines with gem5's watermarks of 85 and 50 % (batches of 32 lines
//! instead of 17: 1:1 bandwidths 1 to 13 % high); twice the fill buffers in flight per core (16 lines
//! are too few for the bandwidths measured on Skylake and Ice Lake).

use model::dram::{
    BankHash, ChannelHash, DramConfig, Geometry, RowPolicy, Timing, WriteQueueConfig,
};
use units::Picos;

/// A socket of a measured machine.
pub struct Machine {
    pub name: &'static str,
    pub cores: usize,
    /// Lines that a core has in flight: as many prefetched ones as it has line fill buffers.
    pub fill_buffers: usize,
    pub memory: DramConfig,
    pub measured: Measured,
}

/// MLC's figures.
pub struct Measured {
    pub idle_ns: f64,
    /// Reads of one socket's cores from its own memory.
    pub read_gbytes_per_s: f64,
    /// Both sockets: traffic in GB/s, latency in ns.
    pub loaded_latency: &'static [(f64, f64)],
    /// Both sockets, three lines read for one written, GB/s.
    pub three_to_one: Option<f64>,
    /// Both sockets, as many lines read as written, GB/s.
    pub one_to_one: f64,
}

/// Parameters that differ between processors; the rest is the same for all DDR4 machines.
struct Part {
    channels: u32,
    ranks: u32,
    mega_transfers_per_s: f64,
    /// tCL, tRCD and tRP.
    column_ns: f64,
    tcwl_ns: f64,
    tras_ns: f64,
    tfaw_ns: f64,
    trfc_ns: f64,
    /// Fitted on the idle latency.
    path_ns: f64,
    /// Fitted on the sustained read bandwidth.
    burst_gap_ns: f64,
}

fn ns(ns: f64) -> Picos {
    Picos::from_ns(ns)
}

fn ddr4(part: &Part) -> DramConfig {
    DramConfig {
        geometry: Geometry {
            channels: part.channels,
            ranks: part.ranks,
            bank_groups: 4,
            banks_per_group: 4,
            row_bytes: 8192,
            channel_granularity_lines: 4,
            neighbouring_bank_groups: 2,
            channel_hash: ChannelHash::Rotated,
            bank_hash: BankHash::RowXor,
        },
        timing: Timing {
            mega_transfers_per_s: part.mega_transfers_per_s,
            bus_bytes: 8,
            tcl: ns(part.column_ns),
            tcwl: ns(part.tcwl_ns),
            trcd: ns(part.column_ns),
            trp: ns(part.column_ns),
            tras: ns(part.tras_ns),
            trrd: ns(3.332),
            tfaw: ns(part.tfaw_ns),
            tccd_l: ns(5.0),
            trfc: ns(part.trfc_ns),
            trefi: ns(7800.0),
            twr: ns(15.0),
            twtr: ns(5.0),
            trtp: ns(7.5),
        },
        row_policy: RowPolicy::OpenFor(ns(500.0)),
        writes: WriteQueueConfig { entries: 48, high_watermark: 41, low_watermark: 24 },
        burst_gap: ns(part.burst_gap_ns),
        path: ns(part.path_ns),
    }
}

/// E5-2680 v3, four channels of DDR4-2133. The knee chose 4 Gbit chips (tRFC 260 ns); with 8 Gbit ones
/// (350 ns) it comes out 13 % low.
pub fn haswell() -> Machine {
    Machine {
        name: "Haswell E5-2680 v3",
        cores: 12,
        fill_buffers: 10,
        memory: ddr4(&Part {
            channels: 4,
            ranks: 2,
            mega_transfers_per_s: 2133.0,
            column_ns: 14.06,
            tcwl_ns: 13.13,
            tras_ns: 33.0,
            tfaw_ns: 21.0,
            trfc_ns: 260.0,
            path_ns: 55.9,
            burst_gap_ns: 0.42,
        }),
        measured: Measured {
            idle_ns: 92.1,
            read_gbytes_per_s: 60.8,
            loaded_latency: &[
                (1.6, 89.0),
                (16.7, 94.0),
                (38.8, 99.0),
                (68.6, 106.0),
                (106.4, 121.0),
                (121.5, 159.0),
                (122.4, 200.0),
            ],
            three_to_one: None,
            one_to_one: 99.1,
        },
    }
}

/// Gold 6140, six channels of DDR4-2666. The curve between 30 and 82 GB/s chose one rank; with two the
/// knee comes out 25 % high.
pub fn skylake() -> Machine {
    Machine {
        name: "Skylake Gold 6140",
        cores: 18,
        fill_buffers: 12,
        memory: ddr4(&Part {
            channels: 6,
            ranks: 1,
            mega_transfers_per_s: 2666.0,
            column_ns: 14.25,
            tcwl_ns: 13.5,
            tras_ns: 32.0,
            tfaw_ns: 21.0,
            trfc_ns: 350.0,
            path_ns: 50.6,
            burst_gap_ns: 0.26,
        }),
        measured: Measured {
            idle_ns: 90.2,
            read_gbytes_per_s: 104.4,
            loaded_latency: &[
                (2.0, 91.7),
                (11.2, 93.3),
                (26.4, 96.2),
                (61.6, 103.7),
                (79.3, 105.6),
                (110.2, 116.3),
                (164.1, 128.7),
                (201.8, 163.3),
                (210.6, 166.2),
            ],
            three_to_one: Some(193.4),
            one_to_one: 185.6,
        },
    }
}

/// Gold 6240, six channels of DDR4-2933. Nothing but the two fitted parameters was chosen.
pub fn cascade_lake() -> Machine {
    Machine {
        name: "Cascade Lake Gold 6240",
        cores: 18,
        fill_buffers: 12,
        memory: ddr4(&Part {
            channels: 6,
            ranks: 2,
            mega_transfers_per_s: 2933.0,
            column_ns: 14.32,
            tcwl_ns: 13.64,
            tras_ns: 32.0,
            tfaw_ns: 21.14,
            trfc_ns: 350.0,
            path_ns: 47.6,
            burst_gap_ns: 0.52,
        }),
        measured: Measured {
            idle_ns: 87.6,
            read_gbytes_per_s: 112.8,
            loaded_latency: &[
                (2.2, 88.2),
                (29.1, 93.1),
                (67.8, 99.2),
                (120.5, 106.8),
                (180.9, 122.5),
                (219.7, 146.8),
                (226.8, 155.0),
            ],
            three_to_one: Some(208.3),
            one_to_one: 200.6,
        },
    }
}

/// Platinum 8360Y, eight channels of DDR4-3200. The knee chose 16 Gbit chips (tRFC 550 ns); with 8 Gbit
/// ones it comes out 20 % high.
pub fn ice_lake() -> Machine {
    Machine {
        name: "Ice Lake Platinum 8360Y",
        cores: 36,
        fill_buffers: 12,
        memory: ddr4(&Part {
            channels: 8,
            ranks: 2,
            mega_transfers_per_s: 3200.0,
            column_ns: 13.75,
            tcwl_ns: 12.5,
            tras_ns: 32.0,
            tfaw_ns: 21.0,
            trfc_ns: 550.0,
            path_ns: 39.9,
            burst_gap_ns: 0.19,
        }),
        measured: Measured {
            idle_ns: 88.9,
            read_gbytes_per_s: 176.2,
            loaded_latency: &[
                (2.9, 90.9),
                (41.3, 95.6),
                (95.4, 99.6),
                (173.5, 109.8),
                (298.3, 151.0),
                (328.5, 183.0),
                (352.8, 261.0),
            ],
            three_to_one: Some(313.6),
            one_to_one: 293.3,
        },
    }
}
