//! `skd_run`, `skd_copy` and others: calls that return when the operation has ended.
#![allow(unsafe_code)]

use crate::boundary::{Failure, guarded, missing, required_out};
use crate::client::{ClientHandle, with_client};
use crate::operation::{OperationOfC, path};
use crate::outcome::OutcomeOfC;
use crate::sized::{self, Out};
use dsa_client::client::Path;
use dsa_client::operation::{CrcKind, Operation};
use dsa_client::outcome::{Answer, Outcome};
use libc::{c_int, c_void};

/// Runs an operation and waits for its end: 0, also if ranges differ or protection information is
/// wrong, which `outcome` says. It may be NULL.
///
/// -EINVAL for arguments that no device takes, -ENODEV for SKD_DEVICE without a queue that takes
/// it, -EFAULT for memory that this process may not access (the sentence has the address), -EBADMSG
/// for a descriptor that a device or the CPU refuses (the sentence has status and field), -EIO if a
/// device has failed within overlapping ranges. What was written until then stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_run(
    client: *const ClientHandle,
    operation: *const OperationOfC,
    path: c_int,
    outcome: *mut OutcomeOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structures.
        let (operation, out) =
            unsafe { (sized::given(operation, "operation")?, Out::optional(outcome, "outcome")?) };
        let (operation, path) = (operation.read()?, self::path(path)?);
        // SAFETY: the caller vouches for the operation's memory.
        let ended = with_client(client, |client| Ok(unsafe { client.run(&operation, path) }));
        let ended = ended.and_then(|ended| ended.map_err(Failure::from));
        out.write(match &ended {
            Ok(ended) => OutcomeOfC::from(ended),
            Err(failure) => OutcomeOfC::failed(failure),
        });
        ended.map(|_| 0)
    })
}

/// Runs an operation on the automatic path; nothing of no bytes.
fn run(client: *const ClientHandle, operation: &Operation) -> Result<Option<Outcome>, Failure> {
    with_client(client, |client| {
        if operation.bytes() == 0 {
            return Ok(None);
        }
        // SAFETY: the caller of the library vouches for the operation's memory.
        Ok(Some(unsafe { client.run(operation, Path::Automatic) }?))
    })
}

/// An operand as a number.
fn address(pointer: *const c_void, bytes: usize, name: &str) -> Result<u64, Failure> {
    if pointer.is_null() && bytes > 0 { Err(missing(name)) } else { Ok(pointer as u64) }
}

/// Copies `bytes`, also between ranges that overlap. Errors as of skd_run(); nothing to do for 0 bytes.
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
        run(client, &Operation::copy(from, to, bytes as u64)).map(|_| 0)
    })
}

/// Fills `bytes` with a pattern of eight, the least significant first. Errors as of skd_run();
/// nothing to do for 0 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_fill(
    client: *const ClientHandle,
    destination: *mut c_void,
    pattern: u64,
    bytes: usize,
) -> c_int {
    guarded(|| {
        let to = address(destination, bytes, "destination")?;
        run(client, &Operation::fill(to, pattern, bytes as u64)).map(|_| 0)
    })
}

/// Compares `bytes`: 0 if they are equal, 1 if they differ, first at `*offset`, which may be NULL.
/// Errors as of skd_run(); no bytes are equal.
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
        let ended = run(client, &Operation::compare(first, second, bytes as u64))?;
        let Some(Answer::Differs { at }) = ended.map(|ended| ended.answer) else { return Ok(0) };
        if !offset.is_null() {
            // SAFETY: not NULL, and the caller's to write to.
            unsafe { offset.write(at) };
        }
        Ok(1)
    })
}

/// The CRC-32C (of iSCSI and NVMe/TCP) of `bytes` behind others whose CRC is `seed`; 0: of none.
/// Errors as of skd_run(); no bytes leave the seed.
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
        let operation = Operation::crc(CrcKind::default(), seed.into(), from, bytes as u64);
        let crc = match run(client, &operation)?.map(|ended| ended.answer) {
            Some(Answer::Crc(crc)) => units::narrow::fit(crc),
            _ => seed,
        };
        // SAFETY: not NULL, and the caller's to write to.
        unsafe { out.write(crc) };
        Ok(0)
    })
}
