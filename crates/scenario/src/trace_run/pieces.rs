//! A trace piece by piece. One that has to be opened, read, unpacked and decoded is, by a thread of its own,
//! while what was read before is replayed: whoever replays never waits for a silent pipe without a way out.

use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use workload::trace::{Batch, Batches, TraceError, TraceFault};

/// Pieces that may be read before the first of them is replayed.
const AHEAD: usize = 4;
/// How long a trace may say nothing before somebody is told: a pipe may do so for hours.
const PATIENCE: Duration = Duration::from_millis(50);

/// Opens a trace, which may take as long as any other piece of it.
pub(super) type Opens = Box<dyn FnOnce() -> Result<Box<dyn Batches>, TraceError> + Send>;

/// Where a trace comes from.
pub(super) enum Source {
    /// From memory: another thread would only move it between the host's caches.
    AtHand(Box<dyn Batches>),
    /// From a file or a pipe.
    ToRead(Opens),
}

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
    AtHand { batches: Box<dyn Batches>, spare: Batch },
    ReadAhead(ReadAhead),
}

impl Pieces {
    /// # Errors
    /// If the host has no thread for the trace called `name`.
    pub(super) fn of(name: &str, source: Source) -> Result<Self, TraceError> {
        match source {
            Source::AtHand(batches) => Ok(Self::AtHand { batches, spare: Batch::default() }),
            Source::ToRead(opens) => ReadAhead::start(name, opens).map(Self::ReadAhead),
        }
    }

    /// Waits for the next piece, but not for long.
    pub(super) fn next(&mut self) -> Result<Next, TraceError> {
        match self {
            Self::AtHand { batches, spare } => {
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
            Self::AtHand { spare, .. } => *spare = batch,
            // If the reader has ended, it needs none.
            Self::ReadAhead(ahead) => drop(ahead.used.send(batch)),
        }
    }

    /// What kind of trace it is, in a word; nothing before it has been opened.
    pub(super) fn format(&self) -> &'static str {
        match self {
            Self::AtHand { batches, .. } => batches.format(),
            Self::ReadAhead(ahead) => ahead.format,
        }
    }
}

/// What the reader tells.
enum Message {
    Opened(&'static str),
    Piece(Piece),
    Fault(TraceError),
}

/// A trace that a thread of its own reads. If this is dropped before the end, nobody waits for the thread: it
/// ends when it has something to tell. What a pipe says until then is lost.
pub(super) struct ReadAhead {
    told: Receiver<Message>,
    used: Sender<Batch>,
    reader: Option<JoinHandle<()>>,
    format: &'static str,
}

impl ReadAhead {
    fn start(name: &str, opens: Opens) -> Result<Self, TraceError> {
        let (tells, told) = sync_channel(AHEAD);
        let (used, to_fill) = channel();
        let reader = thread::Builder::new().name("trace reader".into());
        let reader = reader.spawn(move || read(opens, &tells, &to_fill)).map_err(|error| {
            TraceError { path: name.into(), fault: TraceFault::CannotRead { offset: 0, error } }
        })?;
        Ok(Self { told, used, reader: Some(reader), format: "" })
    }

    fn next(&mut self) -> Result<Next, TraceError> {
        match self.told.recv_timeout(PATIENCE) {
            Ok(Message::Piece(piece)) => Ok(Next::Piece(piece)),
            Ok(Message::Fault(error)) => Err(error),
            Ok(Message::Opened(format)) => {
                self.format = format;
                self.next()
            }
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

fn read(opens: Opens, tells: &SyncSender<Message>, to_fill: &Receiver<Batch>) {
    let mut batches = match opens() {
        Ok(batches) => batches,
        // Without a listener, nobody wants to know.
        Err(error) => return drop(tells.send(Message::Fault(error))),
    };
    if tells.send(Message::Opened(batches.format())).is_err() {
        return;
    }
    loop {
        let mut batch = to_fill.try_recv().unwrap_or_default();
        let read = batches.next_batch(&mut batch);
        // A batch that ends in a fault holds what precedes it.
        if batch.is_empty() && matches!(read, Ok(false)) {
            return;
        }
        let piece = Message::Piece(Piece { batch, fraction: batches.fraction() });
        if tells.send(piece).is_err() {
            return;
        }
        if let Err(error) = read {
            return drop(tells.send(Message::Fault(error)));
        }
    }
}
