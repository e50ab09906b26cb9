//! The driver's half of an NVMe queue pair.
//!
//! Models: submission entries and PRP lists written line by line, doorbells, completion entries
//! recognised by their phase.
//! Source: NVM Express base specification; Linux' nvme driver (1024 entries, a PRP list per command).
//! Simplifies: a doorbell write costs the core cycles, but no bytes on the link.

use crate::host_memory::Arena;
use model::core::Core;
use model::device::nvme::rings::{
    COMPLETION_BYTES, Command, NvmeQueuePair, NvmeSubmission, Opcode, PAGE_BYTES, SUBMISSION_BYTES,
    phase_of,
};
use model::device::ring::Ring;
use model::fabric::Fabric;
use model::root_complex::mmio::MmioPath;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::narrow::fit;
use units::{LINE_BYTES, LineAddr, Picos};

/// Shape of a queue pair and cost of its doorbells.
#[derive(Clone, Copy, Debug)]
pub struct NvmeDriverConfig {
    /// Number of entries of each queue.
    pub entries: u32,
    /// Largest number of commands in flight: fewer than entries.
    pub depth: u32,
    /// Size of the largest block in bytes.
    pub block_bytes: u64,
    /// How doorbells reach the controller.
    pub doorbell: MmioPath,
}

/// Driver state of a queue pair.
#[derive(Debug)]
pub struct NvmeDriver {
    config: NvmeDriverConfig,
    /// PRP list of each command identifier.
    prp_lists: Vec<LineAddr>,
    free_ids: Vec<u16>,
    /// Entries written since the last doorbell.
    unannounced: Vec<NvmeSubmission>,
    submitted: u64,
    reaped: u64,
    unacknowledged: bool,
}

impl NvmeDriver {
    /// An empty queue pair in `arena`, and its driver.
    ///
    /// # Panics
    /// If the queues have no more entries than commands in flight. Scenarios are checked before they
    /// get here.
    #[must_use]
    pub fn new(config: NvmeDriverConfig, arena: &mut Arena) -> (Self, NvmeQueuePair) {
        assert!(config.depth > 0 && config.depth < config.entries);
        let mut ring = |entry_bytes| Ring {
            first: arena.place(Ring::bytes(config.entries, entry_bytes)),
            entries: config.entries,
            entry_bytes,
        };
        let pair = NvmeQueuePair {
            submissions: ring(SUBMISSION_BYTES),
            completions: ring(COMPLETION_BYTES),
            posted: VecDeque::new(),
            completed: VecDeque::new(),
        };
        let list_bytes = Command::prp_list_bytes(config.block_bytes / PAGE_BYTES).max(LINE_BYTES);
        let driver = Self {
            prp_lists: (0..config.depth).map(|_| arena.place(list_bytes)).collect(),
            free_ids: (0..fit(config.depth)).rev().collect(),
            unannounced: Vec::new(),
            submitted: 0,
            reaped: 0,
            unacknowledged: false,
            config,
        };
        (driver, pair)
    }

    /// Bytes that a queue pair and its PRP lists need in an arena.
    #[must_use]
    pub fn arena_bytes(config: &NvmeDriverConfig) -> u64 {
        let rings = Ring::bytes(config.entries, SUBMISSION_BYTES + COMPLETION_BYTES);
        let list = Command::prp_list_bytes(config.block_bytes / PAGE_BYTES).max(LINE_BYTES);
        rings + u64::from(config.depth) * list.next_multiple_of(LINE_BYTES)
    }

    /// Largest number of commands in flight: identifiers are below it.
    #[must_use]
    pub fn most_in_flight(&self) -> usize {
        self.prp_lists.len()
    }

    /// Commands submitted whose completion has not been read.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.prp_lists.len() - self.free_ids.len()
    }

    /// Writes a command over `pages`; returns its identifier, or none if the limit of commands in
    /// flight is reached.
    pub fn submit<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        pair: &NvmeQueuePair,
        opcode: Opcode,
        first_page: u64,
        pages: Vec<LineAddr>,
    ) -> Option<u16> {
        let id = self.free_ids.pop()?;
        let prp_list = self.prp_lists[usize::from(id)];
        let list_lines = Command::prp_list_bytes(pages.len() as u64).div_ceil(LINE_BYTES);
        for line in 0..list_lines {
            core.store(fabric, prp_list.step(line));
        }
        core.store(fabric, pair.submissions.line_of(self.submitted));
        let command = Command { id, opcode, first_page, pages, prp_list };
        let entry = self.submitted;
        self.unannounced.push(NvmeSubmission { visible: Picos::NEVER, entry, command });
        self.submitted += 1;
        Some(id)
    }

    /// Announces all entries written since the last doorbell to the controller.
    pub fn ring_doorbell(&mut self, core: &mut Core, pair: &mut NvmeQueuePair) {
        if self.unannounced.is_empty() {
            return;
        }
        let visible = core.post(&self.config.doorbell);
        let announced = self.unannounced.drain(..);
        pair.posted.extend(announced.map(|submission| NvmeSubmission { visible, ..submission }));
    }

    /// When the next completion becomes visible; never if none is under way.
    #[must_use]
    pub fn next_visible(pair: &NvmeQueuePair) -> Picos {
        pair.completed.front().map_or(Picos::NEVER, |completion| completion.visible)
    }

    /// Reads the next completion if it is visible; returns its command.
    ///
    /// # Panics
    /// If the completion's phase is not that of this pass.
    pub fn reap<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        pair: &mut NvmeQueuePair,
    ) -> Option<u16> {
        if Self::next_visible(pair) > core.now() {
            return None;
        }
        let completion = pair.completed.pop_front()?;
        core.load(fabric, completion.line);
        assert!(completion.phase == phase_of(&pair.completions, self.reaped));
        self.reaped += 1;
        self.free_ids.push(completion.id);
        self.unacknowledged = true;
        Some(completion.id)
    }

    /// Announces to the controller how far completions have been read, if that has changed.
    pub fn acknowledge(&mut self, core: &mut Core) {
        if std::mem::take(&mut self.unacknowledged) {
            core.post(&self.config.doorbell);
        }
    }
}
