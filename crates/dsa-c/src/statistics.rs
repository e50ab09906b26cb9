//! `skd_statistics`: where operations were done, and why there.
#![allow(unsafe_code)]

use crate::boundary::guarded;
use crate::client::{ClientHandle, with_client};
use crate::operation::opcode;
use crate::sized::{Out, Sized32};
use dsa::hardware::Opcode;
use dsa_client::statistics::{Amount, Reason};
use libc::{c_char, c_int};
use std::ffi::CString;
use std::ptr::null;
use std::sync::LazyLock;

/// Codes of operations go from 0 to this less one.
pub const SKD_OPERATIONS: usize = 33;
/// Reasons go from 0 to this less one.
pub const SKD_REASONS: usize = 11;

/// Why the CPU did an operation: the caller asked for the CPU.
pub const SKD_ASKED: u32 = 0;
/// It was smaller than the threshold.
pub const SKD_SMALL: u32 = 1;
/// There is no queue.
pub const SKD_NO_QUEUE: u32 = 2;
/// No queue takes the operation.
pub const SKD_UNSUPPORTED: u32 = 3;
/// The device refused the descriptor.
pub const SKD_REFUSED: u32 = 4;
/// Source and destination overlap, which a device could not repeat if it failed.
pub const SKD_OVERLAP: u32 = 5;
/// All queues were full.
pub const SKD_FULL: u32 = 6;
/// The process came of a fork, and has no portal.
pub const SKD_FORKED: u32 = 7;
/// The device found a page absent that is there, again and again.
pub const SKD_FAULT: u32 = 8;
/// The device reported a hardware error.
pub const SKD_HARDWARE: u32 = 9;
/// The descriptor was lost: its queue or device has gone, or had no room for it.
pub const SKD_LOST: u32 = 10;

const _: () = {
    assert!(SKD_ASKED == Reason::Asked as u32);
    assert!(SKD_SMALL == Reason::Small as u32);
    assert!(SKD_NO_QUEUE == Reason::NoQueue as u32);
    assert!(SKD_UNSUPPORTED == Reason::Unsupported as u32);
    assert!(SKD_REFUSED == Reason::Refused as u32);
    assert!(SKD_OVERLAP == Reason::Overlap as u32);
    assert!(SKD_FULL == Reason::Full as u32);
    assert!(SKD_FORKED == Reason::Forked as u32);
    assert!(SKD_FAULT == Reason::Fault as u32);
    assert!(SKD_HARDWARE == Reason::Hardware as u32);
    assert!(SKD_LOST == Reason::Lost as u32);
    assert!(SKD_REASONS == Reason::ALL.len());
    assert!(SKD_OPERATIONS == Opcode::ALL[Opcode::ALL.len() - 1] as usize + 1);
};

/// Operations, or parts of them, and their bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AmountOfC {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Counts since a client was opened. Made by skd_statistics_new().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StatisticsOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// Times that a full shared queue was tried again.
    pub retries: u64,
    /// Pages brought in for a device.
    pub pages: u64,
    /// Records that were left to a device that had not ended.
    pub abandoned: u64,
    /// What devices did, by the code of the operation.
    pub device: [AmountOfC; SKD_OPERATIONS],
    /// What the CPU did, likewise.
    pub cpu: [AmountOfC; SKD_OPERATIONS],
    /// What the CPU did, by reason: SKD_ASKED and others.
    pub reasons: [AmountOfC; SKD_REASONS],
}

// SAFETY: as it has to be.
unsafe impl Sized32 for StatisticsOfC {
    const NAME: &'static str = "skd_statistics";
}

impl From<Amount> for AmountOfC {
    fn from(amount: Amount) -> Self {
        Self { count: amount.count, bytes: amount.bytes }
    }
}

/// What a client has counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_get_statistics(
    client: *const ClientHandle,
    statistics: *mut StatisticsOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { Out::required(statistics, "statistics") }?;
        let now = with_client(client, |client| Ok(client.statistics()))?;
        let nothing = AmountOfC { count: 0, bytes: 0 };
        let mut all = StatisticsOfC {
            size: StatisticsOfC::stated(),
            reserved: 0,
            retries: now.retries,
            pages: now.pages,
            abandoned: now.abandoned,
            device: [nothing; SKD_OPERATIONS],
            cpu: [nothing; SKD_OPERATIONS],
            reasons: now.reasons.map(AmountOfC::from),
        };
        for opcode in Opcode::ALL {
            all.device[opcode as usize] = now.by_device(opcode).into();
            all.cpu[opcode as usize] = now.by_cpu(opcode).into();
        }
        out.write(all);
        Ok(0)
    })
}

/// The name of an operation as the specification has it, like "memory move"; NULL if there is none
/// of that code. It lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn skd_operation_name(operation_code: u32) -> *const c_char {
    static NAMES: LazyLock<Vec<CString>> = LazyLock::new(|| texts(Opcode::ALL.map(Opcode::name)));
    let Ok(opcode) = opcode(operation_code) else { return null() };
    let number = Opcode::ALL.iter().position(|known| *known == opcode);
    number.and_then(|number| NAMES.get(number)).map_or(null(), |name| name.as_ptr())
}

/// A reason in words, like "below the threshold"; NULL if there is none of that number. It lives as
/// long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn skd_reason_text(reason: u32) -> *const c_char {
    static TEXTS: LazyLock<Vec<CString>> = LazyLock::new(|| texts(Reason::ALL.map(Reason::words)));
    TEXTS.get(reason as usize).map_or(null(), |text| text.as_ptr())
}

fn texts<const N: usize>(all: [&str; N]) -> Vec<CString> {
    all.into_iter().map(|text| CString::new(text).unwrap_or_default()).collect()
}
