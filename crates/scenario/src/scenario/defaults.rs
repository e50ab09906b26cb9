//! Values of the measured testbed, and of an affordable run.

pub(super) fn cores() -> u32 {
    1
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn block_bytes() -> u64 {
    128 << 10
}

pub(super) fn io_depth() -> u32 {
    4
}

pub(super) fn all_percent() -> u32 {
    100
}

pub(super) fn rx_descriptors() -> u32 {
    4096
}

pub(super) fn packet_bytes() -> u64 {
    1500
}

pub(super) fn message_bytes() -> u64 {
    256
}

pub(super) fn header_bytes() -> u64 {
    14 + 20 + 8
}

pub(super) fn offered_gbps() -> f64 {
    99.3
}

pub(super) fn internal_queue() -> u32 {
    1024
}

pub(super) fn burst() -> u32 {
    32
}

pub(super) fn pool_buffers() -> u32 {
    65_535
}

pub(super) fn pool_cache() -> u32 {
    256
}

pub(super) fn generator_threads() -> u32 {
    4
}

pub(super) fn flows() -> u32 {
    4096
}

pub(super) fn networks() -> u32 {
    256
}

pub(super) fn writes_payload() -> bool {
    true
}

pub(super) fn filter_rules() -> u32 {
    2423
}

pub(super) fn flow_table_entries() -> u32 {
    65_536
}

pub(super) fn cycles_per_access() -> f64 {
    1.0
}

pub(super) fn turn_packets() -> u32 {
    1
}
pub(super) fn train_packets() -> u32 {
    128
}

pub(super) fn mba_percent() -> u32 {
    100
}

pub(super) fn batch_packets() -> u64 {
    8192
}

pub(super) fn min_batches() -> u32 {
    10
}

pub(super) fn max_batches() -> u32 {
    60
}

pub(super) fn hit_rate_interval_points() -> f64 {
    0.5
}

pub(super) fn throughput_interval_percent() -> f64 {
    0.5
}

pub(super) fn items() -> u64 {
    1 << 20
}

pub(super) fn key_bytes() -> u64 {
    30
}

pub(super) fn value_bytes() -> u64 {
    100
}

pub(super) fn get_percent() -> u32 {
    95
}

pub(super) fn key_zipf() -> f64 {
    0.99
}

pub(super) fn watched_sets() -> u32 {
    16
}

pub(super) fn probe_wait_us() -> f64 {
    20.0
}
