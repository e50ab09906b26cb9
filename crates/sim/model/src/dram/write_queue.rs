//! Posted writes that wait in the memory controller.
//!
//! Models: a queue of limited length that collects writes until a high watermark and is drained in
//! one batch to a low one; writers wait while it is full.
//! Source: the read and write phases of gem5's memory controller.
//! Simplifies: it is not drained before the high watermark when the bus is idle, and reads do not
//! search it.

use super::interleave::BankRow;
use units::Picos;

/// Size and watermarks of a channel's write queue, in lines.
#[derive(Clone, Copy, Debug)]
pub struct WriteQueueConfig {
    /// Number of entries, one line each.
    pub entries: u32,
    /// Number of waiting writes at which a batch begins.
    pub high_watermark: u32,
    /// Number of waiting writes at which a batch ends.
    pub low_watermark: u32,
}

/// A channel's write queue.
#[derive(Clone, Debug)]
pub(super) struct WriteQueue {
    batch_lines: usize,
    /// Writes that wait for a batch, oldest first: as many entries as the high watermark, of which
    /// `waiting_lines` are in use.
    waiting: Box<[BankRow]>,
    waiting_lines: usize,
    /// When the latest writes of batches leave the queue, oldest first: one for each entry of the
    /// queue.
    leaves: Box<[Picos]>,
}

impl WriteQueue {
    /// # Panics
    /// Unless low watermark < high watermark <= entries. Platforms are checked before they get here.
    pub(super) fn new(config: WriteQueueConfig) -> Self {
        assert!(config.low_watermark < config.high_watermark);
        assert!(config.high_watermark <= config.entries);
        Self {
            batch_lines: (config.high_watermark - config.low_watermark) as usize,
            waiting: vec![BankRow { bank: 0, row: 0 }; config.high_watermark as usize].into(),
            waiting_lines: 0,
            leaves: vec![Picos::ZERO; config.entries as usize].into(),
        }
    }

    /// When the queue has a free entry.
    #[inline]
    pub(super) fn room_from(&self) -> Picos {
        // With w waiting, the (entries - w)-th latest write of batches must have left.
        self.leaves[self.waiting_lines]
    }

    /// Takes a write; returns whether a batch is due.
    #[inline]
    pub(super) fn push(&mut self, place: BankRow) -> bool {
        self.waiting[self.waiting_lines] = place;
        self.waiting_lines += 1;
        self.waiting_lines == self.waiting.len()
    }

    /// Ends a batch: `write` writes a line and returns when it leaves the queue.
    #[inline]
    pub(super) fn write_batch(&mut self, mut write: impl FnMut(BankRow) -> Picos) {
        let lines = self.batch_lines;
        self.leaves.copy_within(lines.., 0);
        let latest = self.leaves.len() - lines;
        for (leaves, &place) in self.leaves[latest..].iter_mut().zip(&*self.waiting) {
            *leaves = write(place);
        }
        self.waiting.copy_within(lines.., 0);
        self.waiting_lines -= lines;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANYWHERE: BankRow = BankRow { bank: 0, row: 0 };
    const CONFIG: WriteQueueConfig =
        WriteQueueConfig { entries: 6, high_watermark: 5, low_watermark: 2 };

    /// A queue whose first batch leaves at 100, 200 and 300.
    fn after_a_batch() -> WriteQueue {
        let mut queue = WriteQueue::new(CONFIG);
        let due = (0..CONFIG.high_watermark).map(|_| queue.push(ANYWHERE)).position(|due| due);
        assert_eq!(due, Some(CONFIG.high_watermark as usize - 1));
        let mut leaves = Picos::ZERO;
        queue.write_batch(|_| {
            leaves += Picos(100);
            leaves
        });
        queue
    }

    #[test]
    fn a_batch_is_due_at_the_high_watermark_and_leaves_the_low_one() {
        let mut queue = after_a_batch();
        let next = (0..CONFIG.high_watermark).map(|_| queue.push(ANYWHERE)).position(|due| due);
        let missing = CONFIG.high_watermark - CONFIG.low_watermark;
        assert_eq!(next, Some(missing as usize - 1));
    }

    #[test]
    fn a_full_queue_has_room_when_a_line_of_the_batch_has_left() {
        let mut queue = after_a_batch();
        // Two wait, three are leaving, six entries in all.
        assert_eq!(queue.room_from(), Picos::ZERO);
        queue.push(ANYWHERE);
        assert_eq!(queue.room_from(), Picos(100));
        queue.push(ANYWHERE);
        assert_eq!(queue.room_from(), Picos(200));
    }
}
