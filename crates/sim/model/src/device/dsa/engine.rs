//! An engine: how it takes descriptors, and the translations that it keeps.
//!
//! Models: a front that takes one descriptor after the other, and a unit that fetches the lists of batches
//! beside it; a translation for each descriptor field.
//! Source: Intel DSA specification, section 3 (its block diagram has a batch processing unit beside the one for
//! work descriptors); DSAssassin (HPCA'26) for one entry for each field, shared by
//! all clients of the engine, that batches neither use nor replace.
//! Simplifies: the batch unit takes descriptors at the pace of the front.

use super::descriptor::FIELDS;
use super::job::{JobId, KeptTranslation};
use std::collections::VecDeque;
use units::Picos;

/// The work that an engine has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartedWork {
    /// A descriptor, or a member of a batch: its front is busy.
    Descriptor,
    /// A batch: its batch unit is busy.
    Batch,
}

/// An engine of a group.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub group: usize,
    /// Earliest time at which the engine's front can take the next descriptor.
    pub front_free: Picos,
    /// Earliest time at which the engine's batch unit can take the next batch.
    pub batch_unit_free: Picos,
    /// Time until which a page request blocks the engine.
    pub blocked_until: Picos,
    /// Number of descriptors in work, batches apart.
    pub in_work: u32,
    /// Batches in work, each with members that have not begun; the next in turn first.
    pub batches: VecDeque<JobId>,
    /// Descriptors with lines that have not been asked for, in the order in which they were ready.
    pub active: VecDeque<JobId>,
    /// The last translation of each field of descriptors.
    pub translations: [Option<KeptTranslation>; FIELDS],
    /// Time at which the engine looks again whether it may ask for lines.
    pub issue_at: Option<Picos>,
    /// Whether a member of a batch goes before a descriptor of a queue.
    pub members_first: bool,
    /// Time at which a request found no read buffer.
    pub short_of_buffers: Option<Picos>,
    /// Time since which the engine has had work.
    pub busy_since: Option<Picos>,
}

impl Engine {
    pub(super) fn new(group: usize) -> Self {
        Self {
            group,
            front_free: Picos::ZERO,
            batch_unit_free: Picos::ZERO,
            blocked_until: Picos::ZERO,
            in_work: 0,
            batches: VecDeque::new(),
            active: VecDeque::new(),
            translations: [None; FIELDS],
            issue_at: None,
            members_first: false,
            short_of_buffers: None,
            busy_since: None,
        }
    }
}
