//! `skd_outcome`: the outcome of an operation.

use crate::boundary::SkdFailure;
use crate::sized::Sized32;
use dsa_client::outcome::{OffloadAnswer, OffloadOutcome};
use libc::c_int;

/// Answer: the operation is done; `value` is 0.
pub const SKD_DONE: u32 = 0;
/// Answer: ranges, or range and pattern, are equal.
pub const SKD_EQUAL: u32 = 1;
/// Answer: ranges, or range and pattern, differ; `value` is the offset of the first byte that does.
pub const SKD_DIFFERS: u32 = 2;
/// Answer: `value` is the CRC. It is the seed of an operation that continues it.
pub const SKD_CRC_VALUE: u32 = 3;
/// Answer: `value` is the size of the record of differences in bytes; 0 if the ranges are equal.
pub const SKD_DELTA: u32 = 4;
/// Answer: as SKD_DELTA, but the record had no room for all differences.
pub const SKD_DELTA_CUT: u32 = 5;
/// Answer: protection information is wrong; `dif_status` has the checks that failed, and `value` is the
/// offset of the block.
pub const SKD_PROTECTION: u32 = 6;

/// The outcome of an operation: its answer, and the bytes that devices and CPU processed.
/// skd_outcome_new() makes one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OutcomeOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// 0, or the negative errno of the operation.
    pub error: c_int,
    /// Answer: SKD_DONE and others.
    pub answer: u32,
    /// Checks that failed, as bits: 1 guard, 2 application tag, 4 reference tag, 8 all ones.
    pub dif_status: u32,
    /// Value of the answer.
    pub value: u64,
    /// Bytes that devices processed.
    pub device_bytes: u64,
    /// Bytes that the CPU processed.
    pub cpu_bytes: u64,
    /// The completion record of the last piece, in the layout of the hardware.
    pub record: [u8; 32],
}

/// The end of a job: its outcome, or why it failed.
pub type JobEnd = Result<OutcomeOfC, SkdFailure>;

#[allow(unsafe_code)]
// SAFETY: `repr(C)`, a `u32` first, and any bytes form one.
unsafe impl Sized32 for OutcomeOfC {
    const NAME: &'static str = "skd_outcome";
}

impl OutcomeOfC {
    /// The outcome of an operation that has not run.
    pub fn empty() -> Self {
        Self {
            size: Self::stated(),
            error: 0,
            answer: SKD_DONE,
            dif_status: 0,
            value: 0,
            device_bytes: 0,
            cpu_bytes: 0,
            record: [0; 32],
        }
    }

    /// The outcome of an operation that failed.
    pub fn failed(failure: &SkdFailure) -> Self {
        Self { error: -failure.errno, ..Self::empty() }
    }
}

impl From<&OffloadOutcome> for OutcomeOfC {
    fn from(outcome: &OffloadOutcome) -> Self {
        let (answer, value, dif_status) = match outcome.answer {
            OffloadAnswer::Done => (SKD_DONE, 0, 0),
            OffloadAnswer::Equal => (SKD_EQUAL, 0, 0),
            OffloadAnswer::Differs { at } => (SKD_DIFFERS, at, 0),
            OffloadAnswer::Crc(crc) => (SKD_CRC_VALUE, crc, 0),
            OffloadAnswer::Delta { bytes, is_cut } => {
                (if is_cut { SKD_DELTA_CUT } else { SKD_DELTA }, bytes.into(), 0)
            }
            OffloadAnswer::Protection { dif_status, at } => (SKD_PROTECTION, at, dif_status.into()),
        };
        let OffloadOutcome { device_bytes, cpu_bytes, record, .. } = *outcome;
        Self {
            answer,
            value,
            dif_status,
            device_bytes,
            cpu_bytes,
            record: record.0,
            ..Self::empty()
        }
    }
}
