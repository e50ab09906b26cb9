//! The driver's handler of the event log: writes the completion records that the device could not write [K
//! irq.c, recalled].

use super::RunDevices;
use dsa::device::{EventLog, LoggedEvent};
use dsa::hardware::status;
use std::collections::HashSet;
use std::num::NonZeroU32;

/// Client number of the reader of a log, which writes no entries.
const READER: NonZeroU32 = NonZeroU32::MAX;

/// The handler of the event log of one device.
#[derive(Default)]
pub struct EventLogHandler {
    /// Batches, by queue and number, with a member whose record could not be written.
    failed: HashSet<(u8, u8)>,
}

impl EventLogHandler {
    /// Takes and handles all entries of the log.
    pub fn handle(&mut self, device: usize, devices: &RunDevices) {
        let events = &devices.board.registers.device[device].events;
        let Some(log) = events.log_for(READER, 0, None).and_then(|place| EventLog::new(place).ok())
        else {
            self.failed.clear();
            return;
        };
        while let Some(event) = log.take() {
            self.write_record(device, devices, &event);
        }
    }

    /// Writes the record of an entry that has one. Other entries only report an error.
    fn write_record(&mut self, device: usize, devices: &RunDevices, event: &LoggedEvent) {
        let mut record = event.record();
        let batch = (event.queue(), event.batch());
        match event.code() {
            status::RECORD_FAULT => {}
            // A batch does not succeed if the record of a member is lost.
            status::BATCH_HELD => {
                if self.failed.remove(&batch) {
                    record[0] = status::BATCH_MEMBER_FAILED;
                    record[1] = 1;
                }
            }
            _ => return,
        }
        let queue = usize::from(event.queue());
        let mut driver = devices.driver();
        let owner = driver.files(device, queue).find(|file| file.pasid() == event.pasid());
        let written = owner
            .is_some_and(|owner| write_to_process(owner.pid(), event.address(), &record).is_some());
        if !written && event.is_member() {
            self.failed.insert(batch);
        }
        driver.note_record_fault(device, queue, event.pasid(), written);
    }
}

/// Writes a record into the memory of a process, the status last, as software polls it; `None`: not written.
fn write_to_process(process: u32, address: u64, record: &[u8; 32]) -> Option<()> {
    write_bytes(process, address.checked_add(1)?, &record[1..])?;
    write_bytes(process, address, &record[..1])
}

#[allow(unsafe_code)]
fn write_bytes(process: u32, address: u64, bytes: &[u8]) -> Option<()> {
    let own = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let place = usize::try_from(address).ok()? as *mut libc::c_void;
    let other = libc::iovec { iov_base: place, iov_len: bytes.len() };
    // SAFETY: this process's bytes are only read, and live as long as the call; the address is checked by
    // the system, in a process that has asked for the record there.
    let written = unsafe {
        libc::process_vm_writev(process.cast_signed(), &raw const own, 1, &raw const other, 1, 0)
    };
    (usize::try_from(written).ok()? == bytes.len()).then_some(())
}
