//! What `skipline-dsa run` and the library in each program of a run agree on.
//!
//! The supervisor has the devices' registers, in memory that all processes of the run share
//! ([`registers`]). A program opens a work queue's file, which the supervisor serves, and asks by an
//! ioctl which queue that is ([`Identity`]). All else, the execution of descriptors above all, happens in
//! the program's own process. Where no file system of the supervisor can be had, programs ask it for the
//! file by a socket ([`requests`]).

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod registers;
pub mod requests;

/// Environment variable that names the directory of the run. Without it the library does nothing.
pub const RUN_DIRECTORY: &str = "SKIPLINE_DSA_RUN";

/// File of the run's directory that has the registers.
pub const REGISTERS_FILE: &str = "registers";

/// Directory, in that of the run, of the programs' logs of descriptors; it is there if the run records.
pub const RECORDS_DIRECTORY: &str = "descriptors";

/// File of the run's directory that has the injection plan; it is there if the run injects.
pub const PLAN_FILE: &str = "inject.toml";

/// The ioctl of a work queue's file that answers with an [`Identity`]: read 32 bytes, type 'S', number 1.
pub const IDENTIFY: u32 = 2 << 30 | 32 << 16 | 0x53 << 8 | 1;
const _: () = assert!(size_of::<Identity>() == 32);

/// The error of a write to a queue's file: the library takes it as "execute these in your process". It
/// is EREMOTEIO, which no call of a program that is not of the run should see.
pub const WRITE_IN_PROCESS: i32 = 121;

/// Which queue an open file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Identity {
    /// Number of the device.
    pub device: u32,
    /// Number of its queue.
    pub queue: u32,
    /// Number of the process at this queue, from 1 on: what owns entries of the queue.
    pub client: u32,
    /// The client's place in [`registers::QueueRegisters::in_flight`].
    pub slot: u32,
    /// PASID that the device knows the process by.
    pub pasid: u32,
    /// The process that opened the file; no other may map it.
    pub process: u32,
    /// Unused.
    pub reserved: [u32; 2],
}

impl Identity {
    /// Its bytes, as the ioctl gives them.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let Self { device, queue, client, slot, pasid, process, reserved: [first, second] } = *self;
        let words = [device, queue, client, slot, pasid, process, first, second];
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// That of its bytes; `None` if they are too few.
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
