//! `skd_statistics`: counts of operations, by device, CPU, and reason for the CPU.
#![allow(unsafe_code)]

use crate::boundary::guarded;
use crate::client::{ClientHandle, with_client};
use crate::operation::opcode;
use crate::sized::{OutStructure, Sized32};
use dsa::hardware::Opcode;
use dsa_client::statistics::{Amount, Reason};
use libc::{c_char, c_int};
use std::ffi::CString;
use std::ptr::null;
use std::sync::LazyLock;

/// Codes of operations are below this number.
pub const SKD_OPERATIONS: usize = 33;
/// Numbers of reasons are below this number.
pub const SKD_REASONS: usize = 11;

/// Reason for the CPU: the caller chose the CPU.
pub const SKD_ASKED: u32 = 0;
/// Reason for the CPU: the operation was smaller than its threshold.
pub const SKD_SMALL: u32 = 1;
/// Reason for the CPU: no work queue is open.
pub const SKD_NO_QUEUE: u32 = 2;
/// Reason for the CPU: no open queue takes the operation.
pub const SKD_UNSUPPORTED: u32 = 3;
/// Reason for the CPU: the device refused the descriptor.
pub const SKD_REFUSED: u32 = 4;
/// Reason for the CPU: the ranges overlap, and a copy that failed on a device could not be repeated.
pub const SKD_OVERLAP: u32 = 5;
/// Reason for the CPU: all queues were full.
pub const SKD_FULL: u32 = 6;
/// Reason for the CPU: the process is a child of the one that opened the client.
pub const SKD_FORKED: u32 = 7;
/// Reason for the CPU: the device reported a page absent again and again, although it is present.
pub const SKD_FAULT: u32 = 8;
/// Reason for the CPU: the device reported a hardware error.
pub const SKD_HARDWARE: u32 = 9;
/// Reason for the CPU: the descriptor was lost, as its queue or device was disabled, or had no room.
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

/// A number of operations, or of pieces of them, and their bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AmountOfC {
    /// Number of operations, or of pieces of them.
    pub count: u64,
    /// Sum of their bytes.
    pub bytes: u64,
}

/// Counts since a client was opened. skd_statistics_new() makes one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StatisticsOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// Number of times that all queues were full, and a submission was tried again.
    pub retries: u64,
    /// Number of pages that were brought in for a device.
    pub pages: u64,
    /// Number of descriptors that had not ended when their job was abandoned.
    pub abandoned: u64,
    /// Pieces that devices executed, by the code of the operation.
    pub device: [AmountOfC; SKD_OPERATIONS],
    /// Pieces that the CPU executed, by the code of the operation.
    pub cpu: [AmountOfC; SKD_OPERATIONS],
    /// Pieces that the CPU executed, by reason: SKD_ASKED and others.
    pub reasons: [AmountOfC; SKD_REASONS],
}

// SAFETY: `repr(C)`, a `u32` first, and any bytes form one.
unsafe impl Sized32 for StatisticsOfC {
    const NAME: &'static str = "skd_statistics";
}

impl From<Amount> for AmountOfC {
    fn from(amount: Amount) -> Self {
        Self { count: amount.count, bytes: amount.bytes }
    }
}

/// Reads the counts of a client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_get_statistics(
    client: *const ClientHandle,
    statistics: *mut StatisticsOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { OutStructure::required(statistics, "statistics") }?;
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

/// Returns the name of an operation in the specification, such as "memory move"; NULL if no operation
/// has that code. The text lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn skd_operation_name(operation_code: u32) -> *const c_char {
    static NAMES: LazyLock<Vec<CString>> = LazyLock::new(|| texts(Opcode::ALL.map(Opcode::name)));
    let Ok(opcode) = opcode(operation_code) else { return null() };
    let number = Opcode::ALL.iter().position(|known| *known == opcode);
    number.and_then(|number| NAMES.get(number)).map_or(null(), |name| name.as_ptr())
}

/// Returns a reason in words, such as "below the threshold"; NULL if no reason has that number. The text
/// lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn skd_reason_text(reason: u32) -> *const c_char {
    static TEXTS: LazyLock<Vec<CString>> = LazyLock::new(|| texts(Reason::ALL.map(Reason::words)));
    TEXTS.get(reason as usize).map_or(null(), |text| text.as_ptr())
}

fn texts<const N: usize>(all: [&str; N]) -> Vec<CString> {
    all.into_iter().map(|text| CString::new(text).unwrap_or_default()).collect()
}
