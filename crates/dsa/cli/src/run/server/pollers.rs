//! Programs that poll the file of a queue.

use fuser::{Notifier, PollHandle};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Programs that poll the file of a queue.
#[derive(Default)]
pub struct PollWaiters {
    polls: Mutex<Vec<(usize, PollHandle)>>,
    notifier: OnceLock<Notifier>,
}

impl PollWaiters {
    /// Sets the notifier that wakes programs; later calls have no effect.
    pub fn set_notifier(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// Adds a program that waits for an error of a device.
    pub fn add(&self, device: usize, handle: PollHandle) {
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that is polled again has the same handle.
        polls.retain(|(_, own)| own.0 != handle.0);
        polls.push((device, handle));
    }

    /// Wakes the programs whose device has an error, and removes them.
    pub fn notify(&self, has_error: impl Fn(usize) -> bool) {
        let Some(notifier) = self.notifier.get() else { return };
        let mut polls = self.polls.lock().unwrap_or_else(PoisonError::into_inner);
        polls.retain(|(device, handle)| {
            let is_woken = has_error(*device);
            if is_woken {
                // The program may not wait any more.
                let _ = notifier.poll(*handle);
            }
            !is_woken
        });
    }
}
