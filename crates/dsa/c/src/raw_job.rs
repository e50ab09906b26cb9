//! A descriptor under way that the program has written itself: its record, its end, and the loss of its
//! queue.
#![allow(unsafe_code)]

use crate::boundary::SkdFailure;
use crate::outcome::{JobEnd, OutcomeOfC};
use dsa::descriptor::Descriptor;
use dsa::hardware::status;
use dsa::record::Record;
use dsa_client::client::OffloadClient;
use dsa_client::lost_descriptor::{DescriptorLoss, LossDetector};
use dsa_client::portal::QueuePortal;
use dsa_client::record_description::{Limits, describe};
use std::sync::atomic::{Ordering, fence};

/// A descriptor of the caller that is under way, with its record in memory of the caller.
pub struct RawJob {
    client: OffloadClient,
    queue: usize,
    descriptor: Descriptor,
    loss: LossDetector,
}

/// The limits of a queue, for sentences.
fn limits(portal: &QueuePortal) -> Limits {
    let queue = portal.queue();
    Limits { most_transfer_bytes: queue.most_transfer_bytes, most_batch: queue.most_batch }
}

impl RawJob {
    /// Submits a descriptor whose record is cleared; `None` if the queue is full.
    pub fn begin(client: &OffloadClient, queue: usize, descriptor: Descriptor) -> Option<Self> {
        // SAFETY: the caller of the library vouches for the descriptor's memory.
        let taken = unsafe { client.portals()[queue].submit(&descriptor) };
        taken.then(|| Self {
            client: client.clone(),
            queue,
            descriptor,
            loss: LossDetector::default(),
        })
    }

    fn portal(&self) -> &QueuePortal {
        &self.client.portals()[self.queue]
    }

    /// The result of the descriptor, if it has ended.
    pub fn poll(&mut self) -> Option<JobEnd> {
        if self.client.is_forked() {
            return Some(Err(dsa_client::error::Error::Forked.into()));
        }
        let end = match self.record() {
            Err(failure) => Err(failure),
            Ok(Some(record)) => Ok(self.end_of(&record)),
            Ok(None) => {
                let loss = self.loss.find_loss(&self.client.portals()[self.queue], || false)?;
                // The record is read again, since it may have been written before the queue was checked.
                match self.record() {
                    Ok(Some(record)) => Ok(self.end_of(&record)),
                    _ => Err(self.lost(loss)),
                }
            }
        };
        self.portal().ended();
        Some(end.and_then(|end| end))
    }

    /// The record, if its status is not 0.
    fn record(&self) -> Result<Option<Record>, SkdFailure> {
        let at = self.descriptor.record();
        let status = dsa::memory::load::<1>(at).ok_or_else(|| no_record(at))?;
        if status == [0] {
            return Ok(None);
        }
        // The status is written last.
        fence(Ordering::Acquire);
        dsa::memory::load(at).map(|bytes| Some(Record(bytes))).ok_or_else(|| no_record(at))
    }

    fn end_of(&self, record: &Record) -> JobEnd {
        let done = OutcomeOfC { record: record.0, ..OutcomeOfC::empty() };
        match record.status() & !status::FAULT_ON_WRITE {
            status::SUCCESS | status::FALSE_PREDICATE => {
                let size = self.descriptor.size();
                let is_list = self.descriptor.opcode() == Some(dsa::hardware::Opcode::Batch);
                Ok(OutcomeOfC { device_bytes: if is_list { 0 } else { size.into() }, ..done })
            }
            _ => {
                let words = describe(&self.descriptor, record, limits(self.portal()));
                Err(SkdFailure::new(libc::EBADMSG, words))
            }
        }
    }

    fn lost(&self, loss: DescriptorLoss) -> SkdFailure {
        let name = &self.portal().queue().name;
        let what = match loss {
            DescriptorLoss::Disabled => "was disabled before the descriptor ended",
            DescriptorLoss::Dropped => "had no room for the descriptor, and has dropped it",
        };
        SkdFailure::new(libc::ENODEV, format!("{name} {what}; nothing of it was repeated"))
    }
}

/// The failure for a completion record that this process may not access.
pub fn no_record(at: u64) -> SkdFailure {
    SkdFailure::new(
        libc::EFAULT,
        format!("the completion record at {at:#x} cannot be read and written by this process"),
    )
}
