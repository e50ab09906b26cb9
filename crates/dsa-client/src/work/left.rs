//! Records that a device will write, and for which no job waits any more.

use super::doubt::Doubt;
use crate::record_slot::Slot;
use crate::shared::Shared;
use std::sync::{Mutex, PoisonError};

struct Abandoned {
    portal: usize,
    slot: Box<Slot>,
    doubt: Doubt,
}

/// All that were left, of all queues.
#[derive(Default)]
pub(crate) struct Left(Mutex<Vec<Abandoned>>);

impl Left {
    /// Keeps a record until the device has written it, and its entry of the queue as long.
    pub fn keep(&self, portal: usize, slot: Box<Slot>) {
        self.put(vec![Abandoned { portal, slot, doubt: Doubt::default() }]);
    }

    /// Lets go of those that have ended, or never will, and gives their entries back.
    pub fn sweep(&self, shared: &Shared) {
        let mut left = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        left.retain_mut(|Abandoned { portal, slot, doubt }| {
            let is_over =
                slot.status() != 0 || doubt.is_confirmed(shared, *portal, || slot.status() != 0);
            if is_over {
                shared.portal(*portal).ended();
            }
            !is_over
        });
        self.put(left);
    }

    fn put(&self, mut left: Vec<Abandoned>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).append(&mut left);
    }
}

impl Drop for Left {
    /// What has not ended may be written still, and stays.
    fn drop(&mut self) {
        let left = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for Abandoned { slot, .. } in left.drain(..) {
            if slot.status() == 0 {
                Box::leak(slot);
            }
        }
    }
}
