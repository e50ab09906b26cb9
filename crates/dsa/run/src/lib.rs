//! The interface between `skipline-dsa run` and the library in each program of a run.
//!
//! The supervisor has the devices' registers, in memory that all processes of the run share
//! ([`registers`]). A program opens a work queue's file, which the supervisor serves, and gets the number
//! of the queue by an ioctl ([`Identity`]). Everything else, above all the execution of descriptors,
//! happens in the program's own process. If the supervisor cannot mount a file system, programs request
//! the file over a socket ([`requests`]).

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod registers;
pub mod requests;

/// Environment variable that names the directory of the run. Without it the library does nothing.
pub const RUN_DIRECTORY: &str = "SKIPLINE_DSA_RUN";

/// File with the registers, in the run's directory.
pub const REGISTERS_FILE: &str = "registers";

/// Directory of the programs' logs of descriptors, in the run's directory. It exists if the run records.
pub const RECORDS_DIRECTORY: &str = "descriptors";

/// File with the injection plan, in the run's directory. It exists if the run injects faults.
pub const PLAN_FILE: &str = "inject.toml";

/// The ioctl of a work queue's file that returns an [`Identity`]: read 32 bytes, type 'S', number 1.
pub const IDENTIFY: u32 = 2 << 30 | 32 << 16 | 0x53 << 8 | 1;
const _: () = assert!(size_of::<Identity>() == 32);

/// Error number of a write to a queue's file, on which the library executes the descriptors in its
/// process. It is EREMOTEIO, which no program outside of the run should see.
pub const WRITE_IN_PROCESS: i32 = 121;

/// Permissions of a queue's file. The file is an empty regular one; the time of its last change in seconds is
/// the number (`st_rdev`) of the character device that it stands for, and the library of the run shows it as that.
pub const QUEUE_FILE_MODE: u32 = 0o600;

/// The queue and the client of an open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Identity {
    /// Number of the device.
    pub device: u32,
    /// Number of the queue in the device.
    pub queue: u32,
    /// Number of the process as a client of this queue, from 1 on. It marks entries of the queue.
    pub client: u32,
    /// Index of the client in [`registers::RunRegisters::clients`].
    pub slot: u32,
    /// PASID of the process at the device.
    pub pasid: u32,
    /// Process that opened the file. Only this one may map it.
    pub process: u32,
    /// Unused words.
    pub reserved: [u32; 2],
}

impl Identity {
    /// Encodes the identity as the ioctl returns it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let Self { device, queue, client, slot, pasid, process, reserved: [first, second] } = *self;
        let words = [device, queue, client, slot, pasid, process, first, second];
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Decodes an identity; `None` if there are fewer than 32 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        let mut next = || words.next();
        Some(Self {
            device: next()?,
            queue: next()?,
            client: next()?,
            slot: next()?,
            pasid: next()?,
            process: next()?,
            reserved: [next()?, next()?],
        })
    }
}
