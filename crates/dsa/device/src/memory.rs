//! The process's own memory, whose faults are results and not crashes.
//!
//! Descriptors name memory by virtual addresses, which may have no page, or a page that another thread
//! unmaps meanwhile. Operations therefore access memory inside [`guarded`] only. The accessible length of
//! an operand is found page by page ([`Span::reach`]): before an operation that writes, and for an
//! operation that only reads after an access has failed.

pub(crate) mod absent_pages;
mod guard;
mod handlers;
mod probe;
mod recovery;

pub(crate) use guard::guarded;
pub use handlers::{leave_handlers_to_caller, recover};

use absent_pages::Access;
use probe::Touch;

use crate::hardware::status::FaultOperand;
use units::narrow::usize_from;

/// Bytes of the smallest page: access rights change between pages only.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// A failed access: a page that could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Address of the first byte of the page.
    pub address: u64,
    /// Whether the access was a write.
    pub is_write: bool,
    /// The operand that was accessed.
    pub operand: FaultOperand,
}

/// Memory that an operation accesses in the order of its addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub operand: FaultOperand,
    pub address: u64,
    /// Bytes for each unit of the operation.
    pub unit_bytes: u64,
    touch: Touch,
}

impl Span {
    /// Memory that an operation reads.
    pub fn read(operand: FaultOperand, address: u64, unit_bytes: u64) -> Self {
        Self { operand, address, unit_bytes, touch: Touch::Read }
    }

    /// Memory that an operation writes. Of units of one byte it writes all that can be accessed, up to
    /// the end of the spans before it.
    pub fn written(operand: FaultOperand, address: u64, unit_bytes: u64) -> Self {
        let touch = if unit_bytes == 1 { Touch::Write } else { Touch::WriteAtOnce };
        Self { operand, address, unit_bytes, touch }
    }

    /// Memory of which an operation may write less than can be accessed.
    pub fn written_in_part(operand: FaultOperand, address: u64, unit_bytes: u64) -> Self {
        Self { operand, address, unit_bytes, touch: Touch::WriteAtOnce }
    }

    /// Whether the operation writes the memory.
    pub fn is_write(&self) -> bool {
        self.touch != Touch::Read
    }

    /// Whether `units` units would go beyond address 2^64.
    pub fn passes_the_end(&self, units: u64) -> bool {
        self.address.checked_add(units * self.unit_bytes).is_none()
    }

    /// Number of units, of the first `units`, that can be accessed, and the fault behind them.
    pub fn reach(&self, units: u64) -> (u64, Option<Fault>) {
        let bytes = units * self.unit_bytes;
        let present = absent_pages::from_the_start(self.access(), self.address, bytes);
        let reached = probe::from_the_start(self.address, present, self.touch);
        if reached == bytes {
            return (units, None);
        }
        (reached / self.unit_bytes, Some(self.fault_at(self.address.wrapping_add(reached))))
    }

    /// As [`Self::reach`], from the last unit backwards.
    pub fn reach_backwards(&self, units: u64) -> (u64, Option<Fault>) {
        let bytes = units * self.unit_bytes;
        let present = absent_pages::from_the_end(self.access(), self.address, bytes);
        let behind = self.address.wrapping_add(bytes - present);
        let reached = probe::from_the_end(behind, present, self.touch);
        if reached == bytes {
            return (units, None);
        }
        let last = self.address.wrapping_add(bytes - reached - 1);
        (reached / self.unit_bytes, Some(self.fault_at(last)))
    }

    fn access(&self) -> Access {
        if self.operand == FaultOperand::Record { Access::Record } else { Access::Data }
    }

    /// The fault of an access of this span to `address`.
    pub fn fault_at(&self, address: u64) -> Fault {
        let page = address & !(PAGE_BYTES - 1);
        Fault { address: page, is_write: self.is_write(), operand: self.operand }
    }
}

/// Reads `N` bytes for a descriptor; `None` if a page of them cannot be read or is absent.
pub(crate) fn read<const N: usize>(address: u64) -> Option<[u8; N]> {
    if absent_pages::are_there(Access::Data, address, N as u64) { load(address) } else { None }
}

/// Reads bytes of this process at any address; `None` if a page of them cannot be read. A signal handler may
/// call it: it does not look at the pages that are absent for a descriptor, as they are in a `thread_local!`
/// whose first use in a thread may allocate.
#[must_use]
pub fn load<const N: usize>(address: u64) -> Option<[u8; N]> {
    #[allow(unsafe_code)]
    // SAFETY: a fault is caught by the guard; any bytes form an array of them.
    guarded(|| unsafe { bytes::<[u8; N]>(address).read_unaligned() })
}

/// Writes bytes of this process at any address. Returns false if a page of them cannot be written; some bytes
/// may then have been written.
#[must_use]
pub fn store<const N: usize>(address: u64, data: &[u8; N]) -> bool {
    #[allow(unsafe_code)]
    // SAFETY: a fault is caught by the guard; the caller names memory that is to be written.
    guarded(|| unsafe { bytes_mut::<[u8; N]>(address).write_unaligned(*data) }).is_some()
}

/// Tests whether a byte of this process can be read, or written (`is_write`). The byte does not change.
#[must_use]
pub fn touch(address: u64, is_write: bool) -> bool {
    let how = if is_write { Touch::WriteAtOnce } else { Touch::Read };
    probe::from_the_start(address, 1, how) == 1
}

/// Copies bytes of this process. The ranges may overlap. Returns false if a page of them cannot be accessed;
/// some bytes may then have been copied.
#[inline]
#[must_use]
pub fn copy(from: u64, to: u64, length: u64) -> bool {
    guarded(|| copy_bytes(from, to, length)).is_some()
}

/// Copies bytes; ranges may overlap. Called inside a guard.
#[inline]
pub(crate) fn copy_bytes(from: u64, to: u64, length: u64) {
    if length == 0 {
        return;
    }
    #[allow(unsafe_code)]
    // SAFETY: a fault is caught by the guard around it; the ranges are those that the submitter names.
    unsafe {
        bytes::<u8>(from).copy_to(bytes_mut::<u8>(to), usize_from(length));
    }
}

/// An address as a pointer that may be read. Called inside [`guarded`].
#[inline]
pub(crate) fn bytes<T>(address: u64) -> *const T {
    leave_first_page(address);
    std::ptr::with_exposed_provenance(usize_from(address))
}

/// An address as a pointer that may be written. Called inside [`guarded`].
#[inline]
pub(crate) fn bytes_mut<T>(address: u64) -> *mut T {
    leave_first_page(address);
    std::ptr::with_exposed_provenance_mut(usize_from(address))
}

/// Takes the fault of an address in the first page by an instruction in assembly, as Rust may not access
/// a null pointer at all.
#[inline]
#[allow(unsafe_code)]
fn leave_first_page(address: u64) {
    if address < PAGE_BYTES {
        // SAFETY: a load, whose fault the guard around it catches.
        unsafe {
            std::arch::asm!(
                "mov {byte}, byte ptr [{address}]",
                address = in(reg) address,
                byte = out(reg_byte) _,
                options(nostack, readonly),
            );
        }
    }
}
