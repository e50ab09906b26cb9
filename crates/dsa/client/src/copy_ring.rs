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
    patience: LossPatience,
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
        Self::of_portal(portal, (bursts, copies), LossPatience::OF_BURSTS)
    }

    fn of_portal(
        portal: QueuePortal,
        (bursts, copies): (u32, u32),
        patience: LossPatience,
    ) -> Result<Self, Error> {
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
            patience,
            loss: LossDetector::new(patience),
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

    /// Whether the queue was disabled while bursts were under way, or was closed because it ended none of them
    /// for 30 s. It takes none any more.
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
            let copies = self.oldest_burst().tags.len();
            if count + copies > most {
                break;
            }
            if self.oldest_has_ended() {
                self.counts.failed += self.oldest_burst().report(&mut ended);
            } else if self.oldest_is_lost() {
                self.oldest_burst().tags.iter().for_each(|tag| ended(*tag, true));
                self.counts.lost += copies as u64;
            } else {
                break;
            }
            count += copies;
            self.portal.ended();
            self.oldest += 1;
            self.loss = LossDetector::new(self.patience);
        }
        count
    }

    fn oldest_burst(&self) -> &CopyBurst {
        &self.bursts[self.oldest % self.bursts.len()]
    }

    fn oldest_has_ended(&self) -> bool {
        self.oldest_burst().slot.status() != 0
    }

    /// Whether it is certain that the oldest burst, which had not ended, never ends. Closes a silent queue: the
    /// program's packets would wait for it without end.
    fn oldest_is_lost(&mut self) -> bool {
        // Of a queue that is gone each burst was looked at after that.
        if self.is_gone {
            return true;
        }
        let burst = &self.bursts[self.oldest % self.bursts.len()];
        let loss = self.loss.find_loss(&self.portal, || burst.slot.status() != 0);
        if self.loss.is_silent() {
            self.portal.close();
        }
        self.is_gone = self.loss.is_silent() || loss == Some(DescriptorLoss::Disabled);
        // The next look at the record finds a burst that has ended meanwhile.
        (self.is_gone || loss.is_some()) && !self.oldest_has_ended()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::SharingMode;

    /// A ring on a queue that takes every descriptor and ends none: a file of a directory.
    fn silent_ring(directory: &Path, silent_ns: u64) -> CopyRing {
        std::fs::write(directory.join("wq0.0"), "").expect("is new");
        std::fs::write(directory.join("state"), "enabled\n").expect("is new");
        let queue = UserQueue {
            name: "wq0.0".into(),
            device: "dsa0".into(),
            label: String::new(),
            mode: SharingMode::Dedicated,
            entries: 16,
            most_transfer_bytes: 1 << 21,
            most_batch: 32,
            node: None,
            operations: u64::MAX,
            version: 0x200,
            gen_cap: 0,
            directory: directory.into(),
            device_directory: directory.into(),
        };
        let portal =
            QueuePortal::open(queue, directory, SubmissionMethod::Write).expect("is there");
        let patience = LossPatience { looks: 1, check_ns: 0, repeat_ns: 0, silent_ns };
        CopyRing::of_portal(portal, (4, 8), patience).expect("takes copies")
    }

    fn submit(ring: &mut CopyRing, tag: u32) -> bool {
        static BYTES: [u8; 8] = [0; 8];
        let at = BYTES.as_ptr() as u64;
        let copies = [tag, tag + 1].map(|tag| RingCopy { from: at, to: at, bytes: 8, tag });
        // SAFETY: nothing executes the descriptors.
        unsafe { ring.submit(copies.into_iter()) }.expect("is a burst")
    }

    #[test]
    fn a_queue_that_is_enabled_and_ends_nothing_is_closed_at_last() {
        let directory = tempfile::tempdir().expect("there is room");
        let mut ring = silent_ring(directory.path(), 0);
        assert!(submit(&mut ring, 0) && submit(&mut ring, 2) && !ring.is_gone());
        let mut lost = Vec::new();
        while ring.poll(8, |tag, has_failed| lost.push((tag, has_failed))) > 0 {}
        assert_eq!(lost, [(0, true), (1, true), (2, true), (3, true)]);
        assert!(ring.is_gone() && ring.room() == 0 && !submit(&mut ring, 4));
        assert!(ring.counts().lost == 4 && ring.drains() > 0);
    }

    #[test]
    fn a_burst_that_ends_late_on_a_queue_that_was_closed_is_not_lost() {
        let directory = tempfile::tempdir().expect("there is room");
        let mut ring = silent_ring(directory.path(), 0);
        assert!(submit(&mut ring, 0) && submit(&mut ring, 2));
        assert_eq!(ring.poll(2, |_, has_failed| assert!(has_failed)), 2);
        // The driver has waited for the second one.
        ring.bursts[1].slot.end(status::SUCCESS);
        assert_eq!(ring.poll(8, |_, has_failed| assert!(!has_failed)), 2);
        assert!(ring.is_gone() && ring.counts().lost == 2);
    }

    #[test]
    fn a_silent_queue_is_waited_for_until_its_time_has_passed() {
        let directory = tempfile::tempdir().expect("there is room");
        let mut ring = silent_ring(directory.path(), u64::MAX);
        assert!(submit(&mut ring, 0));
        for _ in 0..100 {
            assert_eq!(ring.poll(8, |_, _| ()), 0);
        }
        assert!(!ring.is_gone() && ring.drains() == 16);
    }
}
