//! A descriptor of the caller's under way: its record, its end, and the loss of its queue.
#![allow(unsafe_code)]

use crate::boundary::Failure;
use crate::outcome::{JobEnd, OutcomeOfC};
use dsa::descriptor::Descriptor;
use dsa::hardware::status;
use dsa::record::Record;
use dsa_client::client::Client;
use dsa_client::portal::Portal;
use dsa_client::words::{Limits, describe};
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// Looks at a record between two at its queue.
const LOOKS: u32 = 1024;
/// Time without an end after which a queue is asked whether it is enabled.
const SUSPICIOUS: Duration = Duration::from_millis(100);

/// A descriptor of the caller's under way, whose record is in the caller's memory.
pub struct RawJob {
    client: Client,
    queue: usize,
    descriptor: Descriptor,
    looks: u32,
    begun: Instant,
}

/// The limits of a queue, for sentences.
fn limits(portal: &Portal) -> Limits {
    let queue = portal.queue();
    Limits { most_transfer_bytes: queue.most_transfer_bytes, most_batch: queue.most_batch }
}

impl RawJob {
    /// Submits a descriptor whose record is cleared; `None` if the queue is full.
    pub fn begin(client: &Client, queue: usize, descriptor: Descriptor) -> Option<Self> {
        // SAFETY: the caller of the library vouches for the descriptor's memory.
        let taken = unsafe { client.portals()[queue].submit(&descriptor) };
        taken.then(|| Self {
            client: client.clone(),
            queue,
            descriptor,
            looks: 0,
            begun: Instant::now(),
        })
    }

    fn portal(&self) -> &Portal {
        &self.client.portals()[self.queue]
    }

    /// Its end, if it has one.
    pub fn poll(&mut self) -> Option<JobEnd> {
        if self.client.is_forked() {
            return Some(Err(dsa_client::error::Error::Forked.into()));
        }
        let end = match self.record() {
            Err(failure) => Err(failure),
            Ok(Some(record)) => Ok(self.end_of(&record)),
            Ok(None) if self.has_gone() => match self.record() {
                // It was looked at before the queue was: once more.
                Ok(Some(record)) => Ok(self.end_of(&record)),
                _ => Err(self.gone()),
            },
            Ok(None) => return None,
        };
        self.portal().ended();
        Some(end.and_then(|end| end))
    }

    /// The record, once its status is there.
    fn record(&self) -> Result<Option<Record>, Failure> {
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
                Err(Failure::new(libc::EBADMSG, words))
            }
        }
    }

    /// Whether its queue is disabled, after a while.
    fn has_gone(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        self.looks.is_multiple_of(LOOKS)
            && self.begun.elapsed() >= SUSPICIOUS
            && !self.portal().queue().is_enabled()
    }

    fn gone(&self) -> Failure {
        let name = &self.portal().queue().name;
        Failure::new(
            libc::ENODEV,
            format!("{name} was disabled before the descriptor ended; nothing of it was repeated"),
        )
    }
}

/// The failure for a completion record that this process may not access.
pub fn no_record(at: u64) -> Failure {
    Failure::new(
        libc::EFAULT,
        format!("the completion record at {at:#x} cannot be read and written by this process"),
    )
}
