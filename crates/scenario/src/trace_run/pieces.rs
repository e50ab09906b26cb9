//! A trace piece by piece. What has to be read, unpacked and decoded is, while what was read before is
//! replayed.

use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use workload::trace::{Batch, Batches, TraceError};

/// Batches that may be read before the first of them is replayed.
const AHEAD: usize = 4;
/// How long a trace may say nothing before somebody is told: a pipe may do so for hours.
const PATIENCE: Duration = Duration::from_millis(50);

/// Consecutive references, and the share of the trace that has been read with them.
pub(super) struct Piece {
    pub batch: Batch,
    pub fraction: Option<f64>,
}

/// What comes next.
pub(super) enum Next {
    Piece(Piece),
    End,
    /// Nothing yet: ask again.
    NothingYet,
}

/// The pieces of a trace.
pub(super) enum Pieces {
    /// Nothing has to be read: another thread would only move it between the host's caches.
    AtHand(Box<dyn Batches>, Batch),
    ReadAhead(ReadAhead),
}

impl Pieces {
    pub(super) fn of(batches: Box<dyn Batches>) -> Self {
        if batches.are_at_hand() {
            Self::AtHand(batches, Batch::default())
        } else {
            Self::ReadAhead(ReadAhead::start(batches))
        }
    }

    /// Waits for the next piece, but not for long.
    pub(super) fn next(&mut self) -> Result<Next, TraceError> {
        match self {
            Self::AtHand(batches, spare) => {
                let mut batch = mem::take(spare);
                if !batches.next_batch(&mut batch)? {
                    return Ok(Next::End);
                }
                Ok(Next::Piece(Piece { batch, fraction: batches.fraction() }))
            }
            Self::ReadAhead(ahead) => ahead.next(),
        }
    }

    /// Gives a batch back that has been replayed: its memory is used again.
    pub(super) fn give_back(&mut self, batch: Batch) {
        match self {
            Self::AtHand(_, spare) => *spare = batch,
            // If the reader has ended, it needs none.
            Self::ReadAhead(ahead) => drop(ahead.used.send(batch)),
        }
    }
}

/// A trace that a thread of its own reads. If this is dropped before the end, the thread ends with what it
/// is reading, and nobody waits for that.
pub(super) struct ReadAhead {
    pieces: Receiver<Result<Piece, TraceError>>,
    used: Sender<Batch>,
    reader: Option<JoinHandle<()>>,
}

impl ReadAhead {
    fn start(batches: Box<dyn Batches>) -> Self {
        let (to_replay, pieces) = sync_channel(AHEAD);
        let (used, to_fill) = channel();
        let reader = thread::spawn(move || read(batches, &to_replay, &to_fill));
        Self { pieces, used, reader: Some(reader) }
    }

    fn next(&mut self) -> Result<Next, TraceError> {
        match self.pieces.recv_timeout(PATIENCE) {
            Ok(piece) => piece.map(Next::Piece),
            Err(RecvTimeoutError::Timeout) => Ok(Next::NothingYet),
            Err(RecvTimeoutError::Disconnected) => {
                if let Some(Err(panic)) = self.reader.take().map(JoinHandle::join) {
                    resume_unwind(panic);
                }
                Ok(Next::End)
            }
        }
    }
}

fn read(
    mut batches: Box<dyn Batches>,
    to_replay: &SyncSender<Result<Piece, TraceError>>,
    to_fill: &Receiver<Batch>,
) {
    loop {
        let mut batch = to_fill.try_recv().unwrap_or_default();
        let read = match batches.next_batch(&mut batch) {
            Ok(true) => Ok(Piece { batch, fraction: batches.fraction() }),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        // After a fault there is nothing; without a listener, nobody wants it.
        let over = read.is_err();
        if to_replay.send(read).is_err() || over {
            return;
        }
    }
}
