//! Completion records that a device will still write, although their jobs were dropped.

use crate::lost_descriptor::LossDetector;
use crate::portals::Portals;
use crate::record_slot::RecordSlot;
use std::sync::{Mutex, PoisonError};

struct AbandonedRecord {
    portal: usize,
    slot: Box<RecordSlot>,
    loss: LossDetector,
}

/// The abandoned records of all queues of a client.
#[derive(Default)]
pub(crate) struct AbandonedRecords(Mutex<Vec<AbandonedRecord>>);

impl AbandonedRecords {
    /// Keeps a record until the device has written it, and keeps its entry of the queue taken as long.
    pub fn keep(&self, portal: usize, slot: Box<RecordSlot>) {
        self.put(vec![AbandonedRecord { portal, slot, loss: LossDetector::default() }]);
    }

    /// Frees the records of descriptors that have ended or were lost, and gives their entries back.
    pub fn sweep(&self, portals: &Portals) {
        let mut all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        all.retain_mut(|AbandonedRecord { portal, slot, loss }| {
            let (portal, has_ended) = (portals.get(*portal), || slot.status() != 0);
            let is_over = has_ended() || loss.find_loss(portal, has_ended).is_some();
            if is_over {
                portal.ended();
            }
            !is_over
        });
        self.put(all);
    }

    fn put(&self, mut records: Vec<AbandonedRecord>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).append(&mut records);
    }
}

impl Drop for AbandonedRecords {
    /// Leaks each record that the device has not written yet, since it may still do so.
    fn drop(&mut self) {
        let all = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for AbandonedRecord { slot, .. } in all.drain(..) {
            if slot.status() == 0 {
                Box::leak(slot);
            }
        }
    }
}
