//! `skd_open`, `skd_close`: a client, which runs operations on devices and on the CPU.
#![allow(unsafe_code)]

use crate::boundary::{SkdFailure, guarded, insert, remove, required_out, text, with_shared};
use crate::handles::{self, HandleTable};
use crate::operation::opcode;
use crate::sized::{self, Sized32};
use dsa_client::client::{OffloadClient, Options};
use dsa_client::portal::SubmissionMethod;
use dsa_client::thresholds::Thresholds;
use dsa_client::wait::WaitMethod;
use libc::{c_char, c_int};
use std::path::{Path, PathBuf};

/// Descriptors are submitted by an instruction if processor and system allow it, else by write(2).
pub const SKD_SUBMIT_AUTOMATICALLY: u32 = 0;
/// Descriptors are submitted by MOVDIR64B or ENQCMD, also if CPUID does not report them.
pub const SKD_SUBMIT_BY_INSTRUCTION: u32 = 1;
/// Descriptors are submitted by write(2).
pub const SKD_SUBMIT_BY_WRITE: u32 = 2;

/// A thread that waits polls, and yields the CPU to other threads after a while.
pub const SKD_WAIT_POLL: u32 = 0;
/// A thread that waits sleeps in UMWAIT if the processor has it, else it polls.
pub const SKD_WAIT_LINE: u32 = 1;

/// Flag of `skd_options`: the variables SKIPLINE_DSA_QUEUES and SKIPLINE_DSA_THRESHOLDS are ignored.
pub const SKD_NO_ENVIRONMENT: u32 = 1;
/// Flag of `skd_options`: `synchronous_bytes` and `asynchronous_bytes` are the thresholds of all
/// operations.
pub const SKD_THRESHOLDS_GIVEN: u32 = 2;

/// A client: open queues, thresholds and statistics. Any number of threads may use one.
pub struct ClientHandle(());

/// Options with which a client is opened. skd_options_new() sets `size`, and 0 for all others.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionsOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// 0, or SKD_NO_ENVIRONMENT and SKD_THRESHOLDS_GIVEN.
    pub flags: u32,
    /// SKD_SUBMIT_AUTOMATICALLY (0), SKD_SUBMIT_BY_INSTRUCTION or SKD_SUBMIT_BY_WRITE.
    pub submission: u32,
    /// SKD_WAIT_POLL (0) or SKD_WAIT_LINE.
    pub wait: u32,
    /// How often a full queue is tried again before the operation waits or goes to the CPU; 0: 16.
    pub retries: u32,
    /// 0.
    pub reserved: u32,
    /// Names of queues with commas between them; an empty text opens no queue. NULL: the queues that
    /// the environment names, or all that can be opened.
    pub queues: *const c_char,
    /// A file of thresholds, in the format of docs/reference/dsa-library.md; NULL: the file that the
    /// environment names, or published sizes.
    pub thresholds_file: *const c_char,
    /// Size in bytes from which on a device is used if the caller waits; UINT64_MAX: never.
    pub synchronous_bytes: u64,
    /// Size in bytes from which on a device is used if the caller continues meanwhile; UINT64_MAX:
    /// never.
    pub asynchronous_bytes: u64,
    /// Directory of devices and queues in sysfs; NULL: /sys/bus/dsa/devices.
    pub sysfs: *const c_char,
    /// Directory of the files of queues; NULL: /dev/dsa.
    pub devices: *const c_char,
}

// SAFETY: `repr(C)`, a `u32` first, and any bytes form one; only `read` follows the pointers.
unsafe impl Sized32 for OptionsOfC {
    const NAME: &'static str = "skd_options";
}

static CLIENTS: HandleTable<OffloadClient> = HandleTable::new(handles::CLIENT);

/// Runs `body` with the client of a handle.
pub fn with_client<R>(
    client: *const ClientHandle,
    body: impl FnOnce(&OffloadClient) -> Result<R, SkdFailure>,
) -> Result<R, SkdFailure> {
    with_shared((&CLIENTS, handles::CLIENT), client, "client", body)
}

impl OptionsOfC {
    /// Converts the options, and adds those of the environment.
    ///
    /// # Safety
    /// The texts are NULL or terminated.
    unsafe fn read(&self) -> Result<Options, SkdFailure> {
        let wrong = |field: &str, value: u32, allowed: &str| {
            SkdFailure::invalid(format!("`options`: {field} is {value}; allowed: {allowed}"))
        };
        if self.flags & !(SKD_NO_ENVIRONMENT | SKD_THRESHOLDS_GIVEN) != 0 {
            return Err(wrong(
                "flags",
                self.flags,
                "SKD_NO_ENVIRONMENT (1), SKD_THRESHOLDS_GIVEN (2)",
            ));
        }
        if self.reserved != 0 {
            return Err(wrong("reserved", self.reserved, "0"));
        }
        // SAFETY: the caller vouches for its texts.
        let [queues, file, sysfs, devices] = unsafe {
            [
                text(self.queues, "queues")?,
                text(self.thresholds_file, "thresholds_file")?,
                text(self.sysfs, "sysfs")?,
                text(self.devices, "devices")?,
            ]
        };
        let mut options = Options::default();
        if self.flags & SKD_NO_ENVIRONMENT == 0 {
            options = options.with_environment()?;
        }
        options.submission = match self.submission {
            SKD_SUBMIT_AUTOMATICALLY => SubmissionMethod::Automatic,
            SKD_SUBMIT_BY_INSTRUCTION => SubmissionMethod::Instruction,
            SKD_SUBMIT_BY_WRITE => SubmissionMethod::Write,
            other => return Err(wrong("submission", other, "SKD_SUBMIT_... (0 to 2)")),
        };
        options.wait = match self.wait {
            SKD_WAIT_POLL => WaitMethod::Poll,
            SKD_WAIT_LINE => WaitMethod::Line,
            other => return Err(wrong("wait", other, "SKD_WAIT_POLL (0), SKD_WAIT_LINE (1)")),
        };
        if self.retries != 0 {
            options.retries = self.retries;
        }
        if let Some(names) = queues {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            options.queues = Some(names.map(str::to_owned).collect());
        }
        if let Some(file) = file {
            options.thresholds = Thresholds::read(Path::new(file))?;
        }
        if self.flags & SKD_THRESHOLDS_GIVEN != 0 {
            let sizes = (self.synchronous_bytes, self.asynchronous_bytes);
            options.thresholds = Thresholds::uniform(sizes.0, sizes.1, "the program");
        }
        options.sysfs = sysfs.map_or(options.sysfs, PathBuf::from);
        options.devices = devices.map_or(options.devices, PathBuf::from);
        Ok(options)
    }
}

/// Opens a client with its queues. NULL for `options`: the queues that the environment names, or all
/// that can be opened. Without any queue the CPU executes all operations. On success `*client` has to
/// be closed with skd_close().
///
/// -ENODEV for a named queue that is not enabled for user programs; the error of the system for a
/// named queue that cannot be opened (-EACCES, -EBUSY, -EPERM). Without names, queues that cannot be
/// opened are left out. -EINVAL for a file of thresholds or an attribute of a queue that cannot be
/// read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_open(
    options: *const OptionsOfC,
    client: *mut *mut ClientHandle,
) -> c_int {
    guarded(|| {
        let out = required_out(client, "client")?;
        let options = if options.is_null() {
            Options::default().with_environment()?
        } else {
            // SAFETY: the caller's structure, and its texts.
            unsafe { sized::read_structure(options, "options")?.read() }?
        };
        insert((&CLIENTS, handles::CLIENT), OffloadClient::open(&options)?, out)
    })
}

/// Closes a client; NULL does nothing. Its queues stay open until its last job is given back.
///
/// -EBADF if it was closed before, -EBUSY while another thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_close(client: *mut ClientHandle) -> c_int {
    guarded(|| {
        if !client.is_null() {
            drop(remove((&CLIENTS, handles::CLIENT), client, "client", |_| Ok(()))?);
        }
        Ok(0)
    })
}

/// Writes the sizes in bytes from which on the automatic path takes a device for an operation, if the
/// caller waits and if it continues meanwhile; UINT64_MAX: never. Either pointer may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_thresholds(
    client: *const ClientHandle,
    operation_code: u32,
    synchronous_bytes: *mut u64,
    asynchronous_bytes: *mut u64,
) -> c_int {
    guarded(|| {
        with_client(client, |client| {
            let opcode = opcode(operation_code)?;
            let sizes = [
                (synchronous_bytes, client.thresholds().synchronous_bytes(opcode)),
                (asynchronous_bytes, client.thresholds().asynchronous_bytes(opcode)),
            ];
            for (out, bytes) in sizes {
                if !out.is_null() {
                    // SAFETY: not NULL, and the caller's to write to.
                    unsafe { out.write(bytes) };
                }
            }
            Ok(0)
        })
    })
}
