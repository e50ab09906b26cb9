//! Engines of a group that help one of them with a batch.

use super::Tag;
use super::group::{EngineGroup, TakenDescriptor};
use crate::engine::batch::{Crew, RunningBatch};
use std::sync::Arc;

/// The next task of an engine.
pub(super) enum Task {
    Execute(TakenDescriptor),
    /// Execute members of a batch that another engine has taken.
    Help {
        queue: usize,
        tag: Tag,
        batch: Arc<RunningBatch>,
    },
}

impl Task {
    /// Number in the group of the queue that the descriptors came from.
    pub fn queue(&self) -> usize {
        match self {
            Self::Execute(work) => work.queue,
            Self::Help { queue, .. } => *queue,
        }
    }

    /// The label that the submitter gave.
    pub fn tag(&self) -> Tag {
        match self {
            Self::Execute(work) => work.tag,
            Self::Help { tag, .. } => *tag,
        }
    }
}

/// The engines of a group as helpers for a batch of a queue.
pub(super) struct GroupCrew<'a> {
    pub group: &'a EngineGroup,
    pub queue: usize,
    pub tag: Tag,
}

impl Crew for GroupCrew<'_> {
    fn open(&self, batch: &Arc<RunningBatch>) {
        self.group.open((self.queue, self.tag), batch);
    }

    fn go_on(&self) {
        self.group.call_helper();
    }

    fn close(&self, batch: &Arc<RunningBatch>) {
        self.group.close(batch);
    }
}
