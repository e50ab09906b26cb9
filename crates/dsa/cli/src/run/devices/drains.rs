//! Drains of queues: they complete the descriptors that they have taken, while the driver serves other
//! requests.

use super::board::RegisterBoard;
use dsa_run::registers::{self, state};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time after which a queue that has not drained counts as hung.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

/// Numbers of a device and of one of its queues.
type QueueNumber = (usize, usize);

/// The queues that are draining.
#[derive(Default)]
pub struct QueueDrains(Mutex<BTreeMap<QueueNumber, Drain>>);

/// A drain of a queue.
struct Drain {
    /// Number of requests that wait for the drain.
    requests: usize,
    /// Whether the driver has the queue enabled: then the queue takes descriptors again after the drain.
    is_enabled: bool,
}

impl QueueDrains {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueNumber, Drain>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run: no queue takes descriptors again after its drain.
    pub fn end(&self) {
        self.lock().values_mut().for_each(|drain| drain.is_enabled = false);
    }

    /// Writes to the register whether a queue is enabled. Of an enabled queue, `configure` is called with
    /// whether it was disabled before. A draining queue takes no descriptors until the drain has ended.
    pub fn set_enabled(
        &self,
        queue: QueueNumber,
        register: &registers::QueueRegisters,
        is_enabled: bool,
        configure: impl FnOnce(bool),
    ) {
        let mut drains = self.lock();
        let drain = drains.get_mut(&queue);
        let was_enabled = drain.as_ref().map_or_else(
            || register.state.load(Ordering::Relaxed) == state::ENABLED,
            |drain| drain.is_enabled,
        );
        if is_enabled {
            configure(!was_enabled);
        }
        match drain {
            Some(drain) => drain.is_enabled = is_enabled,
            None => {
                let value = if is_enabled { state::ENABLED } else { state::DISABLED };
                register.state.store(value, Ordering::SeqCst);
            }
        }
    }
}

/// Keeps drained queues from taking descriptors until it is dropped.
pub struct DrainGuard<'a> {
    board: &'a RegisterBoard,
    queues: Vec<QueueNumber>,
}

impl<'a> DrainGuard<'a> {
    /// Waits until the queues have drained, or [`LONGEST_DRAIN`] is over.
    pub fn wait_for(board: &'a RegisterBoard, queues: Vec<QueueNumber>) -> Self {
        for place in &queues {
            let register = board.queue(place.0, place.1);
            let mut drains = board.drains().lock();
            // Descriptors that are submitted from here on are lost, as they are while a device drains.
            let drain = drains.entry(*place).or_insert_with(|| Drain {
                requests: 0,
                is_enabled: register.state.swap(state::DISABLED, Ordering::SeqCst)
                    == state::ENABLED,
            });
            drain.requests += 1;
        }
        let start = Instant::now();
        for (device, queue) in &queues {
            let is_busy = || board.registers.in_flight(*device, *queue) > 0;
            while is_busy() && start.elapsed() < LONGEST_DRAIN {
                board.release_ended();
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Self { board, queues }
    }
}

impl Drop for DrainGuard<'_> {
    fn drop(&mut self) {
        for place in &self.queues {
            let mut drains = self.board.drains().lock();
            let Some(drain) = drains.get_mut(place) else { continue };
            drain.requests -= 1;
            if drain.requests == 0 {
                let value = if drain.is_enabled { state::ENABLED } else { state::DISABLED };
                self.board.queue(place.0, place.1).state.store(value, Ordering::SeqCst);
                drains.remove(place);
            }
        }
    }
}
