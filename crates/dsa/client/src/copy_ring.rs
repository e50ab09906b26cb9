//! Bursts of copies on one queue, for a program that submits them without an end and does something else
//! meanwhile, as a virtual switch. Opening allocates, and so does the message of a refused argument.
//!
//! A burst is one descriptor. Bursts end in the order of their submission, as far as the program sees; one that
//! was lost holds the others up for some milliseconds. Copies that have failed, or were lost, are the
//! program's to repeat.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::forks::ForkMark;
use crate::lost_descriptor::{DescriptorLoss, DrainedQueue, LossDetector, LossPatience};
use crate::portal::{QueuePortal, SubmissionMethod};
use crate::queues::UserQueue;
use crate::record_slot::RecordSlot;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, flags, status};
use std::path::Path;
use units::narrow::{fit, usize_from};

/// A copy of a burst.
#[derive(Clone, Copy, Debug)]
pub struct RingCopy {
    /// Address of the first byte that is read.
    pub from: u64,
    /// Address of the first byte that is written.
    pub to: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Number by which the program knows the copy.
    pub tag: u32,
}

/// Counts of a ring since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounts {
    /// Bursts that the queue has taken.
    pub bursts: u64,
    /// Their copies.
    pub copies: u64,
    /// Copies that the device reported as failed, or did not attempt.
    pub failed: u64,
    /// Copies in bursts that were lost.
    pub lost: u64,
}

/// A burst under way: all memory that its descriptor names but operands.
struct CopyBurst {
    /// Descriptors of the members: each has its record from the start. As many are used as there are tags.
    members: Vec<Descriptor>,
    /// Records of the members, which a device writes for those that fail.
    slots: Vec<RecordSlot>,
    tags: Vec<u32>,
    slot: RecordSlot,
}

/// Copies of one queue, in bursts.
pub struct CopyRing {
    portal: QueuePortal,
    mark: ForkMark,
    /// Never moved: devices know the addresses of their records.
    bursts: Vec<CopyBurst>,
    most_copies: usize,
    /// Number of the oldest burst under way, and of the next one. Burst n is at n modulo the number of bursts.
    oldest: usize,
    next: usize,
    /// For the oldest burst.
    loss: LossDetector,
    is_gone: bool,
    counts: RingCounts,
}

impl CopyRing {
    /// Opens a queue for at most `bursts` bursts under way, of at most `copies` copies each; fewer if the
    /// queue takes fewer.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the queue takes no copies; [`Error::Open`] if it cannot be opened.
    pub fn open(
        queue: UserQueue,
        devices: &Path,
        how: SubmissionMethod,
        (bursts, copies): (u32, u32),
    ) -> Result<Self, Error> {
        let portal = QueuePortal::open(queue, devices, how)?;
        let queue = portal.queue();
        if !portal.takes(Opcode::Move) {
            return Err(Error::NoDevice(format!("{} takes no copies", queue.name)));
        }
        let takes_batches = portal.takes(Opcode::Batch) && queue.most_batch > 1;
        let most_copies = if takes_batches { copies.clamp(1, queue.most_batch) } else { 1 };
        let most_bursts = bursts.clamp(1, queue.entries.max(1));
        let most_copies = usize_from(most_copies.into());
        Ok(Self {
            portal,
            mark: ForkMark::new(),
            bursts: (0..most_bursts).map(|_| CopyBurst::new(most_copies)).collect(),
            most_copies,
            oldest: 0,
            next: 0,
            loss: LossDetector::new(LossPatience::OF_BURSTS),
            is_gone: false,
            counts: RingCounts::default(),
        })
    }

    /// The queue of the ring.
    #[must_use]
    pub fn queue(&self) -> &UserQueue {
        self.portal.queue()
    }

    /// Most copies of a burst.
    #[must_use]
    pub fn most_copies(&self) -> usize {
        self.most_copies
    }

    /// Number of bursts that can be submitted now; 0 if the queue is gone.
    #[must_use]
    pub fn room(&self) -> usize {
        if self.is_gone { 0 } else { self.bursts.len() - (self.next - self.oldest) }
    }

    /// Whether the queue was disabled while bursts were under way. It takes none any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Counts since the ring was opened.
    #[must_use]
    pub fn counts(&self) -> RingCounts {
        self.counts
    }

    /// Number of drains that were submitted to find lost bursts.
    #[must_use]
    pub fn drains(&self) -> u64 {
        self.portal.drains().submitted()
    }

    /// Submits a burst, and returns whether the queue has taken it; not if there is no room.
    ///
    /// # Errors
    /// [`Error::Argument`] for no copies, or more than [`Self::most_copies`]; [`Error::Forked`] in a child of
    /// the process that opened the ring.
    ///
    /// # Safety
    /// The caller may read and write the memory of the copies, and leaves it alone until they have ended.
    pub unsafe fn submit(
        &mut self,
        copies: impl ExactSizeIterator<Item = RingCopy>,
    ) -> Result<bool, Error> {
        if copies.len() == 0 || copies.len() > self.most_copies {
            let why = format!("a burst of {}; allowed: 1 to {}", copies.len(), self.most_copies);
            return Err(Error::Argument { operation: Opcode::Batch.name(), why });
        }
        if self.mark.is_foreign() {
            return Err(Error::Forked);
        }
        if self.room() == 0 {
            return Ok(false);
        }
        let number = self.next % self.bursts.len();
        let burst = &mut self.bursts[number];
        burst.fill(copies);
        // SAFETY: list and records are kept until the burst has ended, and the caller answers for the copies.
        let is_taken = unsafe { self.portal.submit(&burst.descriptor()) };
        if is_taken {
            self.next += 1;
            self.counts.bursts += 1;
            self.counts.copies += burst.tags.len() as u64;
        }
        Ok(is_taken)
    }

    /// Calls `ended` for each copy of the bursts that have ended, with its tag and whether it has failed or
    /// was lost, and returns the number of copies: at most `most`, in whole bursts.
    pub fn poll(&mut self, most: usize, mut ended: impl FnMut(u32, bool)) -> usize {
        let mut count = 0;
        while self.oldest != self.next && !self.mark.is_foreign() {
            let number = self.oldest % self.bursts.len();
            let burst = &self.bursts[number];
            let has_ended = || burst.slot.status() != 0;
            if count + burst.tags.len() > most {
                break;
            }
            if has_ended() {
                self.counts.failed += burst.report(&mut ended);
            } else {
                // Of a queue that is gone each burst was looked at after that.
                let mut found = || self.loss.find_loss(&self.portal, has_ended);
                let loss = if self.is_gone { Some(DescriptorLoss::Disabled) } else { found() };
                let Some(loss) = loss else { break };
                self.is_gone |= loss == DescriptorLoss::Disabled;
                burst.tags.iter().for_each(|tag| ended(*tag, true));
                self.counts.lost += burst.tags.len() as u64;
            }
            count += burst.tags.len();
            self.portal.ended();
            self.oldest += 1;
            self.loss = LossDetector::new(LossPatience::OF_BURSTS);
        }
        count
    }
}

impl Drop for CopyRing {
    /// Leaks the memory of all bursts if one has not ended, since the device may still write to it.
    fn drop(&mut self) {
        if self.mark.is_foreign() {
            // The child may have mapped something else at this address.
            self.portal.forget_page();
        }
        let most = self.bursts.len();
        let mut under_way = (self.oldest..self.next).map(|number| &self.bursts[number % most]);
        if under_way.any(|burst| burst.slot.status() == 0) {
            Vec::leak(std::mem::take(&mut self.bursts));
        }
    }
}

impl CopyBurst {
    fn new(most_copies: usize) -> Self {
        let slots: Vec<RecordSlot> = (0..most_copies).map(|_| RecordSlot::default()).collect();
        // A record is written only if the copy fails.
        let flags = flags::CACHE_CONTROL_1 | flags::RECORD_ADDRESS_VALID;
        let copy = Descriptor::of(Opcode::Move).with_flags(flags);
        Self {
            members: slots.iter().map(|slot| copy.with_record(slot.address())).collect(),
            slots,
            tags: Vec::with_capacity(most_copies),
            slot: RecordSlot::default(),
        }
    }

    fn fill(&mut self, copies: impl Iterator<Item = RingCopy>) {
        self.tags.clear();
        self.slot.clear();
        for (copy, member) in copies.zip(&mut self.members) {
            *member = member.with_first(copy.from).with_second(copy.to).with_size(copy.bytes);
            self.tags.push(copy.tag);
        }
    }

    fn descriptor(&self) -> Descriptor {
        match &self.members[..self.tags.len()] {
            // A batch has two members or more.
            [copy] => copy.recording(self.slot.address()),
            list => Descriptor::of(Opcode::Batch)
                .with_first(list.as_ptr() as u64)
                .with_size(fit(list.len()))
                .recording(self.slot.address()),
        }
    }

    /// Reports the copies of a burst that has ended, and returns how many have failed.
    fn report(&self, ended: &mut impl FnMut(u32, bool)) -> u64 {
        let status = self.slot.status();
        let mut failed = 0;
        for (tag, slot) in self.tags.iter().zip(&self.slots) {
            let has_failed = match status {
                status::SUCCESS => false,
                status::BATCH_MEMBER_FAILED => slot.status() > status::SUCCESS,
                // The list itself could not be read, or the only copy has failed.
                _ => true,
            };
            if status != status::SUCCESS {
                slot.clear();
            }
            failed += u64::from(has_failed);
            ended(*tag, has_failed);
        }
        failed
    }
}
