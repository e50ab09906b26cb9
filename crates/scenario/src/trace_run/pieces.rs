//! A trace piece by piece. One that has to be opened, read, unpacked and decoded is, by a thread of its own,
//! while what was read before is replayed: whoever replays never waits for a silent pipe without a way out.

use recordings::trace::{Batches, StopReading, TraceError, TraceFault};
use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, process};
use workload::trace::Batch;

/// Pieces that may be read before the first of them is replayed.
const AHEAD: usize = 4;
/// How long a trace may say nothing before somebody is told: a pipe may do so for hours.
const PATIENCE: Duration = Duration::from_millis(50);

/// Opens a trace, which may take as long as any other piece of it. Nothing is taken out of it once the
/// reading has been stopped.
pub(super) type Opens = Box<dyn FnOnce(StopReading) -> Result<Box<dyn Batches>, TraceError> + Send>;

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

/// A trace that a thread of its own reads. If this is dropped before the end, the thread ends too, and what
/// it has not taken out of a pipe by then stays there.
pub(super) struct ReadAhead {
    told: Receiver<Message>,
    used: Sender<Batch>,
    stop: StopReading,
    reader: Option<JoinHandle<()>>,
    /// The process that the reader is a thread of: a fork has a copy of all this, and no reader.
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
        // Whoever reads the same pipe next comes after what is being read right now. But a pipe that has no
        // writer yet is not even open, and may never be.
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
