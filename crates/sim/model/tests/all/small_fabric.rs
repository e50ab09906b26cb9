//! A fabric small enough that every set overflows soon, shared by the tests of this folder.

// Each test uses a subset of it.
#![allow(dead_code)]

use address_map::{AddressMap, SetFunction, SliceFunction};
use model::cxl::CxlConfig;
use model::dram::{
    BankHash, ChannelHash, DramConfig, Geometry, RowPolicy, Timing, WriteQueueConfig,
};
use model::fabric::{
    CorePathConfig, DirectoryConfig, FabricConfig, MemoryConfig, NodeConfig, PortConfig,
    SocketConfig,
};
use model::llc::inclusion::InclusiveMove;
use model::llc::{Inclusion, LlcConfig, LlcLatency};
use model::private_caches::{PrefetcherConfig, PrivateCacheConfig, PrivateCachesConfig};
use model::replacement::Replacement;
use model::root_complex::attachment::AttachmentConfig;
use model::root_complex::buffer::{BufferConfig, Placement};
use model::root_complex::ddio::{Ddio, IoPolicy};
use model::root_complex::iio::IioConfig;
use model::root_complex::iommu::{IommuConfig, PageSize, VictimChoice};
use model::root_complex::pcie_link::PcieLinkConfig;
use model::upi::UpiConfig;
use units::{Picos, SocketId, WayMask};

/// LLC ways of the small fabric; the lowest two are inclusive.
pub const WAYS: u32 = 6;

/// Two cores and one device: L1D 4 lines, L2 8 lines, LLC 2 slices x 4 sets x 6 ways, DDIO in the
/// top two ways, no prefetchers, LRU everywhere.
pub fn config() -> FabricConfig {
    let level = |sets, ways| PrivateCacheConfig { sets, ways, replacement: Replacement::Lru };
    FabricConfig {
        cores: vec![2],
        ports: vec![PortConfig {
            attachment: AttachmentConfig::Pcie(link()),
            socket: SocketId(0),
            policy: IoPolicy::uniform(Ddio::top_ways(2, WAYS)),
            buffer: without_buffer(),
            iommu: None,
        }],
        private: PrivateCachesConfig {
            l1: level(2, 2),
            l1i: None,
            l2: level(2, 4),
            prefetcher: PrefetcherConfig::default(),
        },
        core_path: CorePathConfig {
            l1: Picos(1_000),
            l2: Picos(5_000),
            llc: LlcLatency::uniform(Picos(20_000)),
            other_core: Picos(50_000),
            other_socket: Picos(110_000),
            clean_victims_to_llc: true,
        },
        socket: SocketConfig {
            llc: LlcConfig {
                map: AddressMap::new(2, 4, SliceFunction::Mixing, SetFunction::Plain),
                ways: WAYS,
                inclusion: Inclusion::NonInclusive {
                    inclusive_ways: 2,
                    moved_by: InclusiveMove::CoreAccess,
                },
                replacement: Replacement::Lru,
                device_reads_refresh: true,
            },
            directory: Some(DirectoryConfig { ways: 2, replacement: Replacement::Lru }),
            iio: IioConfig {
                write_entries: 92,
                read_entries: 190,
                llc_write: Picos(70_000),
                dram_write: Picos(300_000),
                dram_visible: Picos(300_000),
                llc_read: Picos(70_000),
                dram_read_extra: Picos(20_000),
            },
        },
        core_way_masks: vec![WayMask::bottom(WAYS); 2],
        memory: MemoryConfig { nodes: vec![node(0)], upi: None },
        seed: 1,
    }
}

/// No root-complex buffer, as on Xeons.
pub fn without_buffer() -> BufferConfig {
    BufferConfig { entries: 0, mshrs: 1, placement: Placement::LlcSide, as_published_code: false }
}

/// A gen 3 x16 link.
pub fn link() -> PcieLinkConfig {
    PcieLinkConfig {
        lanes: 16,
        gtransfers_per_s: 8.0,
        max_payload_bytes: 256,
        max_read_request_bytes: 512,
        data_link_interval_bytes: 168.0,
        propagation_ns: 200.0,
    }
}

/// Least latency of a read of [`dram`]: the path to the controller and back, tCL and a burst.
pub const DRAM_IDLE: Picos = Picos(50_000 + 14_160 + 3_333);
/// Largest bandwidth of [`dram`]: 2400 million transfers of 8 bytes.
pub const DRAM_GBYTES_PER_S: f64 = 19.2;

/// The channels of a socket as a node.
pub fn node(socket: u8) -> NodeConfig {
    NodeConfig::Dram { socket: SocketId(socket), dram: dram() }
}

/// One channel of DDR4-2400 with gem5's values (DRAMInterface.py@1db206b, DDR4_2400_8x8).
pub fn dram() -> DramConfig {
    DramConfig {
        geometry: Geometry {
            channels: 1,
            ranks: 1,
            bank_groups: 4,
            banks_per_group: 4,
            row_bytes: 8192,
            channel_granularity_lines: 4,
            neighbouring_bank_groups: 2,
            channel_hash: ChannelHash::Modulo,
            bank_hash: BankHash::RowXor,
        },
        timing: Timing {
            mega_transfers_per_s: 2400.0,
            bus_bytes: 8,
            tcl: Picos(14_160),
            tcwl: Picos(14_160),
            trcd: Picos(14_160),
            trp: Picos(14_160),
            tras: Picos(32_000),
            trrd: Picos(3_332),
            tfaw: Picos(21_000),
            tccd_l: Picos(5_000),
            trfc: Picos(350_000),
            trefi: Picos(7_800_000),
            twr: Picos(15_000),
            twtr: Picos(5_000),
            trtp: Picos(7_500),
        },
        row_policy: RowPolicy::Open,
        writes: WriteQueueConfig { entries: 48, high_watermark: 41, low_watermark: 24 },
        burst_gap: Picos::ZERO,
        path: Picos(50_000),
    }
}

/// A CXL card.
pub fn card() -> CxlConfig {
    CxlConfig {
        read_latency: Picos(375_000),
        write_latency: Picos(450_000),
        read_gbytes_per_s: 20.0,
        write_gbytes_per_s: 15.0,
        link_gbytes_per_s: 64.0,
    }
}

/// A CXL card as a node.
pub fn cxl(socket: u8) -> NodeConfig {
    NodeConfig::Cxl { socket: SocketId(socket), cxl: card() }
}

/// Links between sockets.
pub fn upi(sockets: u32) -> UpiConfig {
    UpiConfig { sockets, read_gbytes_per_s: 34.3, header_bytes: 8, round_trip_extra: Picos(54_000) }
}

/// Translation with so few entries that it misses often.
pub fn iommu() -> IommuConfig {
    IommuConfig {
        entries: 2,
        victims: VictimChoice::Lru,
        page: PageSize::Kib4,
        mappings: Vec::new(),
        walk: Picos(280_000),
        concurrent_walks: 2,
    }
}
