//! Queues that end what they have taken, while the driver serves other requests.

use super::board::Board;
use dsa_run::registers::{self, state};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A queue that does not drain in this time is taken as hung.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

/// A device, and a queue of it.
type Place = (usize, usize);

/// The queues that drain.
#[derive(Default)]
pub struct Drains(Mutex<BTreeMap<Place, Drain>>);

struct Drain {
    /// Requests that wait for it.
    requests: usize,
    /// Whether the driver has the queue enabled: then it takes descriptors again at the end.
    is_enabled: bool,
}

impl Drains {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Place, Drain>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run ends: no queue takes descriptors again.
    pub fn end(&self) {
        self.lock().values_mut().for_each(|drain| drain.is_enabled = false);
    }

    /// Shows in its register whether a queue is enabled; `configure` is told whether it was not before.
    /// A queue that drains takes nothing until that has ended.
    pub fn set_enabled(
        &self,
        place: Place,
        register: &registers::Queue,
        is_enabled: bool,
        configure: impl FnOnce(bool),
    ) {
        let mut drains = self.lock();
        let drain = drains.get_mut(&place);
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

/// Queues that have drained, and take nothing until this is dropped.
pub struct Draining<'a> {
    board: &'a Board,
    queues: Vec<Place>,
}

impl<'a> Draining<'a> {
    /// Waits for them.
    pub fn of(board: &'a Board, queues: Vec<Place>) -> Self {
        for place in &queues {
            let register = board.queue(place.0, place.1);
            let mut drains = board.drains().lock();
            // What is submitted from here on is lost, as it is while the device drains.
            let drain = drains.entry(*place).or_insert_with(|| Drain {
                requests: 0,
                is_enabled: register.state.swap(state::DISABLED, Ordering::SeqCst)
                    == state::ENABLED,
            });
            drain.requests += 1;
        }
        let start = Instant::now();
        for (device, queue) in &queues {
            while board.queue(*device, *queue).in_flight() > 0 && start.elapsed() < LONGEST_DRAIN {
                board.end_the_dead();
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Self { board, queues }
    }
}

impl Drop for Draining<'_> {
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
