//! `skd_outcome`: what an operation came to.

use crate::boundary::Failure;
use crate::sized::Sized32;
use dsa_client::outcome::{Answer, Outcome};
use libc::c_int;

/// An operation is done; `value` is 0.
pub const SKD_DONE: u32 = 0;
/// Ranges, or range and pattern, are equal.
pub const SKD_EQUAL: u32 = 1;
/// They differ; `value` is the offset of the first byte that does.
pub const SKD_DIFFERS: u32 = 2;
/// `value` is the CRC, which is the seed of one that goes on behind.
pub const SKD_CRC_VALUE: u32 = 3;
/// `value` is the size of the record of differences; 0: there is no difference.
pub const SKD_DELTA: u32 = 4;
/// As SKD_DELTA; the record had no room for all differences.
pub const SKD_DELTA_CUT: u32 = 5;
/// Protection information is wrong: `dif_status` says what, and `value` is the offset of the block.
pub const SKD_PROTECTION: u32 = 6;

/// What an operation came to, and who did it. Made by skd_outcome_new().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OutcomeOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// 0, or the negative errno of the operation.
    pub error: c_int,
    /// What it came to: SKD_DONE and others.
    pub answer: u32,
    /// Bits: 1 guard, 2 application tag, 4 reference tag, 8 all ones.
    pub dif_status: u32,
    /// As `answer` says.
    pub value: u64,
    /// Bytes that a device did.
    pub device_bytes: u64,
    /// Bytes that the CPU did.
    pub cpu_bytes: u64,
    /// The completion record of its last part, as hardware lays it out.
    pub record: [u8; 32],
}

/// The end of a job: its outcome, or why it failed.
pub type JobEnd = Result<OutcomeOfC, Failure>;

#[allow(unsafe_code)]
// SAFETY: as it has to be.
unsafe impl Sized32 for OutcomeOfC {
    const NAME: &'static str = "skd_outcome";
}

impl OutcomeOfC {
    /// Of what has not been done.
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

    /// Of an operation that failed.
    pub fn failed(failure: &Failure) -> Self {
        Self { error: -failure.errno, ..Self::empty() }
    }
}

impl From<&Outcome> for OutcomeOfC {
    fn from(outcome: &Outcome) -> Self {
        let (answer, value, dif_status) = match outcome.answer {
            Answer::Done => (SKD_DONE, 0, 0),
            Answer::Equal => (SKD_EQUAL, 0, 0),
            Answer::Differs { at } => (SKD_DIFFERS, at, 0),
            Answer::Crc(crc) => (SKD_CRC_VALUE, crc, 0),
            Answer::Delta { bytes, is_cut } => {
                (if is_cut { SKD_DELTA_CUT } else { SKD_DELTA }, bytes.into(), 0)
            }
            Answer::Protection { dif_status, at } => (SKD_PROTECTION, at, dif_status.into()),
        };
        let Outcome { device_bytes, cpu_bytes, record, .. } = *outcome;
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
