//! Programs that poll the file of a queue.

use fuser::{Notifier, PollHandle};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Programs that poll the file of a queue.
#[derive(Default)]
pub struct Waiting {
    polls: Mutex<Vec<(usize, PollHandle)>>,
    notifier: OnceLock<Notifier>,
}

impl Waiting {
    /// Sets what wakes them; the first one stays.
    pub fn set_notifier(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// A program waits for an error of a device.
    pub fn add(&self, device: usize, handle: PollHandle) {
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that is polled again has the same handle.
        polls.retain(|(_, own)| own.0 != handle.0);
        polls.push((device, handle));
    }

    /// Wakes those whose device has an error.
    pub fn tell(&self, has_error: impl Fn(usize) -> bool) {
        let Some(notifier) = self.notifier.get() else { return };
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        polls.retain(|(device, handle)| {
            let is_told = has_error(*device);
            if is_told {
                // Who does not wait any more need not be told.
                let _ = notifier.poll(*handle);
            }
            !is_told
        });
    }
}
