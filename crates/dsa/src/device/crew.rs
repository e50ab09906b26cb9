//! The engines of a group that help one of them with a batch.

use super::Tag;
use super::group::{Group, Work};
use crate::engine::batch::{Batch, Crew};
use std::sync::Arc;

/// What an engine does next.
pub(super) enum Task {
    Execute(Work),
    /// Members of a batch that another engine has taken.
    Help {
        queue: usize,
        tag: Tag,
        batch: Arc<Batch>,
    },
}

impl Task {
    /// The queue whose descriptors these are.
    pub fn queue(&self) -> usize {
        match self {
            Self::Execute(work) => work.queue,
            Self::Help { queue, .. } => *queue,
        }
    }

    /// What their submitter has said.
    pub fn tag(&self) -> Tag {
        match self {
            Self::Execute(work) => work.tag,
            Self::Help { tag, .. } => *tag,
        }
    }
}

/// The engines of a group, for a batch of a queue.
pub(super) struct GroupCrew<'a> {
    pub group: &'a Group,
    pub queue: usize,
    pub tag: Tag,
}

impl Crew for GroupCrew<'_> {
    fn open(&self, batch: &Arc<Batch>) {
        self.group.open((self.queue, self.tag), batch);
    }

    fn go_on(&self) {
        self.group.call_helper();
    }

    fn close(&self, batch: &Arc<Batch>) {
        self.group.close(batch);
    }
}
