//! Flags of a descriptor [S 8.1.3].

/// The descriptor waits for the earlier members of its batch.
pub const FENCE: u32 = 1 << 0;
/// The operation waits for the page at a fault instead of ending.
pub const BLOCK_ON_FAULT: u32 = 1 << 1;
/// The address of the completion record is valid.
pub const RECORD_ADDRESS_VALID: u32 = 1 << 2;
/// A completion record is written always, and not only for errors.
pub const REQUEST_RECORD: u32 = 1 << 3;
/// An interrupt is sent when the descriptor has ended.
pub const REQUEST_INTERRUPT: u32 = 1 << 4;
/// Cache control 3 (version 3).
pub const CACHE_CONTROL_3: u32 = 1 << 5;
/// The result is compared with an expected one.
pub const CHECK_RESULT: u32 = 1 << 7;
/// Cache control 1: destination writes go to the cache.
pub const CACHE_CONTROL_1: u32 = 1 << 8;
/// Traffic class of the first address.
pub const TRAFFIC_CLASS_1: u32 = 1 << 9;
/// Traffic class of the second address.
pub const TRAFFIC_CLASS_2: u32 = 1 << 10;
/// Traffic class of the third address.
pub const TRAFFIC_CLASS_3: u32 = 1 << 11;
/// Traffic class of the completion record.
pub const TRAFFIC_CLASS_RECORD: u32 = 1 << 12;
/// Strict ordering of destination writes.
pub const STRICT_ORDERING: u32 = 1 << 13;
/// Cache control 2: destination readback.
pub const CACHE_CONTROL_2: u32 = 1 << 14;

/// Batch: a member of the part that was executed before failed (GENCAP 15).
pub const BATCH_ERROR: u32 = 1 << 16;
/// Drain: the first readback address is valid (GENCAP 9).
pub const READBACK_1: u32 = 1 << 16;
/// Drain: the second readback address is valid (GENCAP 9).
pub const READBACK_2: u32 = 1 << 17;
/// Drain: no implicit readback on traffic class A (GENCAP 9).
pub const NO_READBACK_A: u32 = 1 << 18;
/// Drain: no implicit readback on traffic class B (GENCAP 9).
pub const NO_READBACK_B: u32 = 1 << 19;
/// Fill: the pattern has 16 bytes (GENCAP 10).
pub const PATTERN_16: u32 = 1 << 18;
/// CRC: the seed is read from memory.
pub const CRC_SEED_IN_MEMORY: u32 = 1 << 16;
/// CRC: seed and result are neither inverted nor reflected.
pub const CRC_BYPASS_INVERSION: u32 = 1 << 17;
/// CRC: data is not reflected.
pub const CRC_BYPASS_REFLECTION: u32 = 1 << 18;
/// CRC: the checksum has 64 bits (GENCAP 11).
pub const CRC_64: u32 = 1 << 19;
/// Translation fetch: the stride field is valid (GENCAP 7).
pub const USE_STRIDE: u32 = 1 << 16;
