//! A trace piece by piece. A trace that must be opened, read, unpacked and decoded has a thread for
//! that, while earlier pieces are replayed: the replay never blocks on a silent pipe.

use recordings::trace::{Batch, Batches, StopReading, TraceError, TraceFault};
use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, process};

/// Largest number of pieces read ahead of the replay.
const AHEAD: usize = 4;
/// How long a trace may be silent before the watcher is called: a pipe may be silent for hours.
const PATIENCE: Duration = Duration::from_millis(50);

/// Opens a trace, which may take as long as reading any piece. Takes no more data from it once the
/// reading has been stopped.
pub(super) type Opens = Box<dyn FnOnce(StopReading) -> Result<Box<dyn Batches>, TraceError> + Send>;

/// Where a trace comes from.
pub(super) enum Source {
    /// In memory: another thread would only move it between the host's caches.
    AtHand(Box<dyn Batches>),
    /// In a file or a pipe.
    ToRead(Opens),
}

/// Consecutive references, and the share of the trace that has been read with them.
pub(super) struct Piece {
    pub batch: Batch,
    pub fraction: Option<f64>,
}

/// Result of waiting for a piece.
pub(super) enum Next {
    Piece(Piece),
    End,
    /// No piece yet: call again.
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
    pub(super) fn open(name: &str, source: Source) -> Result<Self, TraceError> {
        match source {
            Source::AtHand(batches) => Ok(Self::AtHand { batches, spare: Batch::default() }),
            Source::ToRead(opens) => ReadAhead::start(name, opens).map(Self::ReadAhead),
        }
    }

    /// Waits a short time for the next piece.
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

    /// Returns a replayed batch, so that its memory is used again.
    pub(super) fn give_back(&mut self, batch: Batch) {
        match self {
            Self::AtHand { spare, .. } => *spare = batch,
            // If the reader has ended, it needs no batches.
            Self::ReadAhead(ahead) => drop(ahead.used.send(batch)),
        }
    }

    /// Name of the trace's format; empty before the trace is opened.
    pub(super) fn format(&self) -> &'static str {
        match self {
            Self::AtHand { batches, .. } => batches.format(),
            Self::ReadAhead(ahead) => ahead.format,
        }
    }
}

/// A message from the reader.
enum Message {
    Opened(&'static str),
    Piece(Piece),
    Fault(TraceError),
}

/// A trace that a separate thread reads. If this is dropped before the end, the thread ends too, and
/// data that it has not taken from a pipe by then stays there.
pub(super) struct ReadAhead {
    told: Receiver<Message>,
    used: Sender<Batch>,
    stop: StopReading,
    reader: Option<JoinHandle<()>>,
    /// The process of the reader thread: a fork has a copy of this, but no reader.
    process: u32,
    format: &'static str,
}

impl ReadAhead {
    fn start(name: &str, opens: Opens) -> Result<Self, TraceError> {
        let (tells, told) = sync_channel(AHEAD);
        let (used, to_fill) = channel();
        let fails = |error: io::Error| TraceError {
            path: name.into(),
            fault: TraceFault::CannotRead { offset: 0, error },
        };
        let stop = StopReading::new().map_err(fails)?;
        let stopped = stop.clone();
        let reader = thread::Builder::new().name("trace reader".into());
        let reader = reader.spawn(move || read(|| opens(stopped), &tells, &to_fill));
        let (reader, process) = (Some(reader.map_err(fails)?), process::id());
        Ok(Self { told, used, stop, reader, process, format: "" })
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

impl Drop for ReadAhead {
    fn drop(&mut self) {
        if self.reader.is_none() || self.process != process::id() {
            return;
        }
        self.stop.stop();
        // The next reader of the same pipe must come after the read in progress. But a pipe without a
        // writer is not even open, and may never be.
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && self.told.recv_timeout(PATIENCE).is_ok() {}
    }
}

fn read(
    opens: impl FnOnce() -> Result<Box<dyn Batches>, TraceError>,
    tells: &SyncSender<Message>,
    to_fill: &Receiver<Batch>,
) {
    let mut batches = match opens() {
        Ok(batches) => batches,
        // Without a receiver, the error is not needed.
        Err(error) => return drop(tells.send(Message::Fault(error))),
    };
    if tells.send(Message::Opened(batches.format())).is_err() {
        return;
    }
    loop {
        let mut batch = to_fill.try_recv().unwrap_or_default();
        let read = batches.next_batch(&mut batch);
        // A batch that ends in an error holds the references before it.
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
