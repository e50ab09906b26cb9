//! `skd_run`, `skd_copy` and others: calls that return after the end of the operation.
#![allow(unsafe_code)]

use crate::boundary::{SkdFailure, guarded, missing, required_out};
use crate::client::{ClientHandle, with_client};
use crate::operation::{OperationOfC, path};
use crate::outcome::OutcomeOfC;
use crate::sized::{self, OutStructure};
use dsa_client::client::Path;
use dsa_client::operation::{CrcKind, OffloadOperation};
use dsa_client::outcome::{OffloadAnswer, OffloadOutcome};
use libc::{c_int, c_void};

/// Runs an operation and waits for its end. Returns 0 also if ranges differ or protection information
/// is wrong: `outcome` has the answer. `outcome` may be NULL.
///
/// -EINVAL for arguments that are not valid on any device, -ENODEV for SKD_DEVICE if no queue takes
/// the operation, -EFAULT for memory that this process may not access (the sentence has the address),
/// -EBADMSG for a descriptor that a device or the CPU refuses (the sentence has status and field),
/// -EIO if a device has failed within overlapping ranges. Bytes that were written before the error
/// stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_run(
    client: *const ClientHandle,
    operation: *const OperationOfC,
    path: c_int,
    outcome: *mut OutcomeOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structures.
        let (operation, out) = unsafe {
            (
                sized::read_structure(operation, "operation")?,
                OutStructure::optional(outcome, "outcome")?,
            )
        };
        let (operation, path) = (operation.read()?, self::path(path)?);
        // SAFETY: the caller vouches for the operation's memory.
        let ended = with_client(client, |client| Ok(unsafe { client.run(&operation, path) }));
        let ended = ended.and_then(|ended| ended.map_err(SkdFailure::from));
        out.write(match &ended {
            Ok(ended) => OutcomeOfC::from(ended),
            Err(failure) => OutcomeOfC::failed(failure),
        });
        ended.map(|_| 0)
    })
}

/// Runs an operation on the automatic path; does nothing for 0 bytes.
fn run(
    client: *const ClientHandle,
    operation: &OffloadOperation,
) -> Result<Option<OffloadOutcome>, SkdFailure> {
    with_client(client, |client| {
        if operation.bytes() == 0 {
            return Ok(None);
        }
        // SAFETY: the caller of the library vouches for the operation's memory.
        Ok(Some(unsafe { client.run(operation, Path::Automatic) }?))
    })
}

/// Converts the pointer of an operand to a number.
fn address(pointer: *const c_void, bytes: usize, name: &str) -> Result<u64, SkdFailure> {
    if pointer.is_null() && bytes > 0 { Err(missing(name)) } else { Ok(pointer as u64) }
}

/// Copies `bytes`, also between ranges that overlap. Errors are those of skd_run(); 0 bytes are no
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_copy(
    client: *const ClientHandle,
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> c_int {
    guarded(|| {
        let to = address(destination, bytes, "destination")?;
        let from = address(source, bytes, "source")?;
        run(client, &OffloadOperation::copy(from, to, bytes as u64)).map(|_| 0)
    })
}

/// Fills `bytes` with a pattern of eight bytes, the least significant first. Errors are those of
/// skd_run(); 0 bytes are no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_fill(
    client: *const ClientHandle,
    destination: *mut c_void,
    pattern: u64,
    bytes: usize,
) -> c_int {
    guarded(|| {
        let to = address(destination, bytes, "destination")?;
        run(client, &OffloadOperation::fill(to, pattern, bytes as u64)).map(|_| 0)
    })
}

/// Compares `bytes`. Returns 0 if they are equal, and 1 if they differ, with the offset of the first
/// difference in `*offset`; `offset` may be NULL. Errors are those of skd_run(); 0 bytes are equal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_compare(
    client: *const ClientHandle,
    first: *const c_void,
    second: *const c_void,
    bytes: usize,
    offset: *mut u64,
) -> c_int {
    guarded(|| {
        let first = address(first, bytes, "first")?;
        let second = address(second, bytes, "second")?;
        let ended = run(client, &OffloadOperation::compare(first, second, bytes as u64))?;
        let Some(OffloadAnswer::Differs { at }) = ended.map(|ended| ended.answer) else {
            return Ok(0);
        };
        if !offset.is_null() {
            // SAFETY: not NULL, and the caller's to write to.
            unsafe { offset.write(at) };
        }
        Ok(1)
    })
}

/// Computes the CRC-32C (of iSCSI and NVMe/TCP) of `bytes`. `seed` is the CRC of the bytes before them,
/// 0 if there are none. Errors are those of skd_run(); for 0 bytes the CRC is the seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_crc32c(
    client: *const ClientHandle,
    seed: u32,
    source: *const c_void,
    bytes: usize,
    crc: *mut u32,
) -> c_int {
    guarded(|| {
        let out = required_out(crc, "crc")?;
        let from = address(source, bytes, "source")?;
        let operation = OffloadOperation::crc(CrcKind::default(), seed.into(), from, bytes as u64);
        let crc = match run(client, &operation)?.map(|ended| ended.answer) {
            Some(OffloadAnswer::Crc(crc)) => units::narrow::fit(crc),
            _ => seed,
        };
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(crc) };
        Ok(0)
    })
}
