//! Serves many connections at a time from one thread: none of them can keep the others waiting.
//!
//! A connection has a time for its request, one for taking the answer, and one for closing, however
//! slowly bytes pass. The number of connections has a limit: beyond it the one that has waited longest is
//! closed for a new one.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::request::RequestReader;

/// Time from the connection to the end of the request.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time in which an answer has to be taken.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Time after the answer in which the client has to close. Until then what it still sends is read: a
/// socket that is closed with unread bytes takes back the answer.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// Time without new connections after the system has refused one and there is none to close.
const PAUSE_TIME: Duration = Duration::from_millis(100);
/// Greatest number of connections at a time.
pub(super) const MOST_CONNECTIONS: usize = 4096;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 4096;
/// Connections that are accepted, and reads of a connection, before others have their turn.
const ACCEPTS_A_TURN: usize = 256;
const READS_A_TURN: usize = 4;

/// Stage of a connection.
enum ConnectionStage {
    Request(RequestReader),
    /// The answer, and the number of its bytes that are sent.
    Answer(Vec<u8>, usize),
    /// All is sent; what the client still sends is not looked at.
    Close,
}

struct Connection {
    client: TcpStream,
    stage: ConnectionStage,
    /// Time at which the stage has to be over.
    deadline: Duration,
}

/// Whether a connection goes on.
#[derive(PartialEq, Eq)]
enum NextStep {
    Stays,
    Ends,
}

/// Connections of a listener. Times are those since any fixed beginning.
pub(super) struct Server<'a> {
    listener: TcpListener,
    connections: Vec<Connection>,
    most: usize,
    now: &'a dyn Fn() -> Duration,
    /// The page as it is now.
    page: &'a dyn Fn() -> Arc<str>,
    /// Time from which on connections are accepted again.
    paused_until: Duration,
}

impl<'a> Server<'a> {
    /// Serves `page` to the clients of a listener, at most `most` at a time.
    ///
    /// # Errors
    /// If the system refuses to change the listener.
    pub(super) fn new(
        listener: TcpListener,
        most: usize,
        now: &'a dyn Fn() -> Duration,
        page: &'a dyn Fn() -> Arc<str>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        // Bursts of clients wait here, not for a second attempt of theirs.
        rustix::net::listen(&listener, BACKLOG)?;
        let (connections, paused_until) = (Vec::new(), Duration::ZERO);
        Ok(Self { listener, connections, most, now, page, paused_until })
    }

    /// Waits for the next event or deadline, and does what it asks for.
    ///
    /// # Errors
    /// If the system cannot wait for events.
    pub(super) fn turn(&mut self) -> io::Result<()> {
        let Some(ready) = self.wait()? else { return Ok(()) };
        let now = (self.now)();
        let mut ready = ready.into_iter();
        let has_clients = ready.next() == Some(true);
        let page = self.page;
        self.connections.retain_mut(|connection| {
            let is_ready = ready.next() == Some(true);
            let next = if is_ready { connection.advance(now, page) } else { NextStep::Stays };
            next == NextStep::Stays && now < connection.deadline
        });
        if has_clients {
            self.accept(now);
        }
        Ok(())
    }

    /// Waits; for the listener and each connection, whether it is ready. `None` after a signal.
    fn wait(&self) -> io::Result<Option<Vec<bool>>> {
        let now = (self.now)();
        let is_paused = now < self.paused_until;
        let listening = if is_paused { PollFlags::empty() } else { PollFlags::IN };
        let mut waiting = vec![PollFd::new(&self.listener, listening)];
        waiting.extend(self.connections.iter().map(|it| PollFd::new(&it.client, it.awaited())));
        let deadlines = self.connections.iter().map(|it| it.deadline);
        let next = deadlines.chain(is_paused.then_some(self.paused_until)).min();
        let time = next.map(|next| Timespec {
            tv_sec: i64::try_from(next.saturating_sub(now).as_secs()).unwrap_or(i64::MAX),
            tv_nsec: next.saturating_sub(now).subsec_nanos().into(),
        });
        match poll(&mut waiting, time.as_ref()) {
            Ok(_) => Ok(Some(waiting.iter().map(|it| !it.revents().is_empty()).collect())),
            Err(Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    fn accept(&mut self, now: Duration) {
        for _ in 0..ACCEPTS_A_TURN {
            match self.listener.accept() {
                Ok((client, _)) => {
                    if self.connections.len() >= self.most {
                        self.close_longest_waiting();
                    }
                    // A client that has disconnected already is no error of the server.
                    if client.set_nonblocking(true).is_ok() {
                        let stage = ConnectionStage::Request(RequestReader::default());
                        let deadline = now + REQUEST_TIME;
                        self.connections.push(Connection { client, stage, deadline });
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if is_of_client(&error) => {}
                // No descriptor is left for a connection.
                Err(_) if self.close_longest_waiting() => {}
                Err(_) => {
                    self.paused_until = now + PAUSE_TIME;
                    return;
                }
            }
        }
    }

    /// Closes a connection that has its answer, else the one that has waited longest for its request to
    /// end, else the oldest. Returns whether there was one.
    fn close_longest_waiting(&mut self) -> bool {
        let first =
            |is: fn(&ConnectionStage) -> bool| self.connections.iter().position(|it| is(&it.stage));
        let closing = first(|stage| matches!(stage, ConnectionStage::Close));
        let asking =
            closing.or_else(|| first(|stage| matches!(stage, ConnectionStage::Request(_))));
        match asking.or((!self.connections.is_empty()).then_some(0)) {
            Some(index) => {
                drop(self.connections.remove(index));
                true
            }
            None => false,
        }
    }
}

/// Whether an error of accepting a connection is that of its client, and the next one may be accepted.
fn is_of_client(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted)
}

impl Connection {
    /// The events that the connection waits for.
    fn awaited(&self) -> PollFlags {
        match self.stage {
            ConnectionStage::Request(_) | ConnectionStage::Close => PollFlags::IN,
            ConnectionStage::Answer(..) => PollFlags::OUT,
        }
    }

    /// Reads or writes as far as that is possible without waiting.
    fn advance(&mut self, now: Duration, page: &dyn Fn() -> Arc<str>) -> NextStep {
        if matches!(self.stage, ConnectionStage::Request(_) | ConnectionStage::Close)
            && self.read(now, page) == NextStep::Ends
        {
            return NextStep::Ends;
        }
        match self.stage {
            ConnectionStage::Answer(..) => self.write(now),
            ConnectionStage::Request(_) | ConnectionStage::Close => NextStep::Stays,
        }
    }

    fn read(&mut self, now: Duration, page: &dyn Fn() -> Arc<str>) -> NextStep {
        let mut bytes = [0; 16 << 10];
        for _ in 0..READS_A_TURN {
            let length = match self.client.read(&mut bytes) {
                Ok(0) => return NextStep::Ends,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return NextStep::Ends,
            };
            if let ConnectionStage::Request(reader) = &mut self.stage
                && let Some(reply) = reader.push(&bytes[..length])
            {
                self.stage = ConnectionStage::Answer(reply.text(&page()).into_bytes(), 0);
                self.deadline = now + ANSWER_TIME;
                break;
            }
        }
        NextStep::Stays
    }

    fn write(&mut self, now: Duration) -> NextStep {
        while let ConnectionStage::Answer(bytes, sent) = &mut self.stage {
            match self.client.write(&bytes[*sent..]) {
                Ok(0) => return NextStep::Ends,
                Ok(length) => *sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return NextStep::Stays,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return NextStep::Ends,
            }
            if *sent == bytes.len() {
                // The client sees the end of the answer; a failure means that it has gone.
                if self.client.shutdown(Shutdown::Write).is_err() {
                    return NextStep::Ends;
                }
                self.stage = ConnectionStage::Close;
                self.deadline = now + CLOSE_TIME;
            }
        }
        NextStep::Stays
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
