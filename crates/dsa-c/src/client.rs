//! `skd_open`, `skd_close`: a client, which is what gives operations to devices and the CPU.
#![allow(unsafe_code)]

use crate::boundary::{Failure, guarded, insert, remove, required_out, text, with_shared};
use crate::handles::{self, Table};
use crate::operation::opcode;
use crate::sized::{self, Sized32};
use dsa_client::client::{Client, Options};
use dsa_client::portal::Submission;
use dsa_client::thresholds::Thresholds;
use dsa_client::wait::Wait;
use libc::{c_char, c_int};
use std::path::{Path, PathBuf};

/// Descriptors are submitted by an instruction where processor and system have it, else by write(2).
pub const SKD_SUBMIT_AUTOMATICALLY: u32 = 0;
/// By MOVDIR64B or ENQCMD, also if CPUID does not name them.
pub const SKD_SUBMIT_BY_INSTRUCTION: u32 = 1;
/// By write(2).
pub const SKD_SUBMIT_BY_WRITE: u32 = 2;

/// A thread that waits looks again and again, and lets other threads have the CPU after a while.
pub const SKD_WAIT_POLL: u32 = 0;
/// It sleeps in UMWAIT where the processor can.
pub const SKD_WAIT_LINE: u32 = 1;

/// Flag of `skd_options`: SKIPLINE_DSA_QUEUES and SKIPLINE_DSA_THRESHOLDS are not looked at.
pub const SKD_NO_ENVIRONMENT: u32 = 1;
/// Flag of `skd_options`: `synchronous_bytes` and `asynchronous_bytes` hold for all operations.
pub const SKD_THRESHOLDS_GIVEN: u32 = 2;

/// Queues, thresholds and statistics together. Any number of threads may use one.
pub struct ClientHandle(());

/// What a client is made of. Made by skd_options_new(), which sets the size and 0 for all others.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionsOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// SKD_NO_ENVIRONMENT, SKD_THRESHOLDS_GIVEN.
    pub flags: u32,
    /// SKD_SUBMIT_AUTOMATICALLY and others.
    pub submission: u32,
    /// SKD_WAIT_POLL, SKD_WAIT_LINE.
    pub wait: u32,
    /// Times that a full shared queue is tried before another way is taken; 0: 16.
    pub retries: u32,
    /// 0.
    pub reserved: u32,
    /// Names of queues with commas between them; an empty text: none. NULL: those of the
    /// environment, or all that can be opened.
    pub queues: *const c_char,
    /// A file of thresholds, as docs/dsa-library.md describes it; NULL: that of the environment, or
    /// published sizes.
    pub thresholds_file: *const c_char,
    /// Size in bytes from which a device pays if the caller waits; UINT64_MAX: never.
    pub synchronous_bytes: u64,
    /// The same if the caller goes on meanwhile.
    pub asynchronous_bytes: u64,
    /// In place of /sys/bus/dsa/devices, if not NULL.
    pub sysfs: *const c_char,
    /// In place of /dev/dsa, if not NULL.
    pub devices: *const c_char,
}

// SAFETY: as it has to be; pointers are followed by `read` alone.
unsafe impl Sized32 for OptionsOfC {
    const NAME: &'static str = "skd_options";
}

static CLIENTS: Table<Client> = Table::new(handles::CLIENT);

/// Runs `body` with a client of the caller's.
pub fn with_client<R>(
    client: *const ClientHandle,
    body: impl FnOnce(&Client) -> Result<R, Failure>,
) -> Result<R, Failure> {
    with_shared((&CLIENTS, handles::CLIENT), client, "client", body)
}

impl OptionsOfC {
    /// # Safety
    /// Its texts are NULL or terminated.
    unsafe fn read(&self) -> Result<Options, Failure> {
        let wrong = |field: &str, value: u32, allowed: &str| {
            Failure::invalid(format!("`options`: {field} is {value}; allowed: {allowed}"))
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
            options = options.or_environment()?;
        }
        options.submission = match self.submission {
            SKD_SUBMIT_AUTOMATICALLY => Submission::Automatic,
            SKD_SUBMIT_BY_INSTRUCTION => Submission::Instruction,
            SKD_SUBMIT_BY_WRITE => Submission::Write,
            other => return Err(wrong("submission", other, "SKD_SUBMIT_... (0 to 2)")),
        };
        options.wait = match self.wait {
            SKD_WAIT_POLL => Wait::Poll,
            SKD_WAIT_LINE => Wait::Line,
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
            options.thresholds = Thresholds::of(sizes.0, sizes.1, "the program");
        }
        options.sysfs = sysfs.map_or(options.sysfs, PathBuf::from);
        options.devices = devices.map_or(options.devices, PathBuf::from);
        Ok(options)
    }
}

/// Opens queues; NULL for `options`: what the environment says, or all queues that can be opened.
/// Without any the CPU does everything. On success `*client` is to be closed with skd_close().
///
/// -ENODEV for a queue that was asked for by name and is not enabled for user programs, what the
/// system says about one that cannot be opened (-EACCES, -EBUSY, -EPERM); queues that no name asks
/// for are left out then. -EINVAL for a file of thresholds or an attribute of a queue that cannot
/// be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_open(
    options: *const OptionsOfC,
    client: *mut *mut ClientHandle,
) -> c_int {
    guarded(|| {
        let out = required_out(client, "client")?;
        let options = if options.is_null() {
            Options::default().or_environment()?
        } else {
            // SAFETY: the caller's structure, and its texts.
            unsafe { sized::given(options, "options")?.read() }?
        };
        insert((&CLIENTS, handles::CLIENT), Client::open(&options)?, out)
    })
}

/// Gives a client back; NULL does nothing. Its queues stay open until its last job is given back.
///
/// -EBADF if it was given back before, -EBUSY while another thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_close(client: *mut ClientHandle) -> c_int {
    guarded(|| {
        if !client.is_null() {
            drop(remove((&CLIENTS, handles::CLIENT), client, "client", |_| Ok(()))?);
        }
        Ok(0)
    })
}

/// From which size in bytes on the automatic path takes a device for an operation; UINT64_MAX: never.
/// Either pointer may be NULL.
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
