//! The thread that serves the levels beyond L1: the thread of L1, or a separate one.
//!
//! Both receive the same requests in the same order and answer only at the end, so they count the same.

use model::independent_levels::{BeyondL1, LevelRequests};
use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SendError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// Largest number of batches that wait for the other thread: enough to even out L1's misses, and
/// bounded, so that a trace is not held in memory.
const WAITING: usize = 4;

/// The thread that serves the levels beyond L1.
#[derive(Debug)]
pub(super) enum LevelServer {
    Here(Box<BeyondL1>),
    Apart(LevelThread),
}

/// A separate thread that serves the levels. If this is dropped before the end, the thread ends by
/// itself.
#[derive(Debug)]
pub(super) struct LevelThread {
    to_serve: SyncSender<LevelRequests>,
    /// Served batches return, so that their memory is used again.
    served: Receiver<LevelRequests>,
    thread: JoinHandle<Option<BeyondL1>>,
}

impl LevelServer {
    /// The calling thread serves the levels.
    pub(super) fn here(levels: BeyondL1) -> Self {
        Self::Here(Box::new(levels))
    }

    /// Another thread serves them, or the calling one if the host has none left.
    pub(super) fn apart(levels: BeyondL1) -> Self {
        let (lends, lent) = channel();
        let (to_serve, given) = sync_channel(WAITING);
        let (gives_back, served) = channel();
        let work = move || Some(serve_all(lent.recv().ok()?, &given, &gives_back));
        match thread::Builder::new().name("levels beyond L1".into()).spawn(work) {
            Ok(thread) => match lends.send(levels) {
                Ok(()) => Self::Apart(LevelThread { to_serve, served, thread }),
                Err(SendError(levels)) => Self::here(levels),
            },
            Err(_) => Self::here(levels),
        }
    }

    /// Serves the requests of `asked`, now or later, and leaves an empty batch there.
    pub(super) fn serve(&mut self, asked: &mut LevelRequests) {
        match self {
            Self::Here(levels) => {
                levels.serve(asked);
                asked.clear();
            }
            Self::Apart(apart) => {
                let room = apart.served.try_recv().unwrap_or_default();
                // A thread that no longer receives has panicked: the end will report it.
                let _ = apart.to_serve.send(mem::replace(asked, room));
            }
        }
    }

    /// Waits until all requests are served.
    pub(super) fn finish(self) -> BeyondL1 {
        match self {
            Self::Here(levels) => *levels,
            Self::Apart(LevelThread { to_serve, thread, .. }) => {
                drop(to_serve);
                let levels = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                levels.expect("they were lent when the thread had begun")
            }
        }
    }
}

fn serve_all(
    mut levels: BeyondL1,
    given: &Receiver<LevelRequests>,
    gives_back: &Sender<LevelRequests>,
) -> BeyondL1 {
    for mut asked in given {
        levels.serve(&asked);
        asked.clear();
        // At the end the batch is not needed.
        let _ = gives_back.send(asked);
    }
    levels
}
