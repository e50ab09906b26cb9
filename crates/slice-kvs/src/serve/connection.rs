//! A client: what it sent and was not read yet, and what it has not taken yet.

use super::commands::{Core, MOST_REPLY_BYTES, Next};
use super::reply;
use super::request::Parser;
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;

/// Answers that wait for a client, beyond which nothing more is read from it.
const MOST_WAITING: usize = 1 << 20;

/// Bytes asked of the kernel at once.
const READ_BYTES: usize = 64 << 10;

/// Reads after which other clients have their turn.
const MOST_READS: u32 = 8;

/// Capacity of buffers that an idle client keeps.
const KEPT_BYTES: usize = 16 << 10;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The kernel reports when there is more to do.
    ForKernel,
    /// Its next turn: there may be more to read already.
    ForTurn,
    /// It is over.
    Closed,
}

pub struct Connection<S> {
    pub stream: S,
    parser: Parser,
    input: Vec<u8>,
    /// Where the current request begins.
    start: usize,
    output: Vec<u8>,
    /// How much of it was sent.
    sent: usize,
    /// No further request is read; it ends when everything was sent.
    closes: bool,
    /// Whether its turn comes without news of the kernel.
    pub queued: bool,
    /// The server's address that the client has reached.
    local: Option<IpAddr>,
}

/// What a read or a write came to.
enum Moved {
    Some,
    /// Not now.
    Blocked,
    Ended,
}

impl<S: Read + Write> Connection<S> {
    pub fn new(stream: S, local: Option<IpAddr>) -> Self {
        Self {
            stream,
            parser: Parser::default(),
            input: Vec::new(),
            start: 0,
            output: Vec::new(),
            sent: 0,
            closes: false,
            queued: false,
            local,
        }
    }

    /// Reads, answers and sends as much as there is, within a turn.
    pub fn turn(&mut self, core: &mut Core<'_>, scratch: &mut [u8]) -> Waits {
        core.here = self.local;
        for _ in 0..MOST_READS {
            let answered_all = self.answer(core);
            match self.send() {
                Moved::Ended => return Waits::Closed,
                Moved::Blocked if self.closes || self.waiting() > MOST_WAITING => {
                    return Waits::ForKernel;
                }
                Moved::Some if self.closes => return Waits::Closed,
                Moved::Some | Moved::Blocked => {}
            }
            // What was received and not read causes no news of the kernel.
            if !answered_all {
                continue;
            }
            match self.receive(scratch) {
                Moved::Some => {}
                Moved::Blocked => {
                    self.rest();
                    return Waits::ForKernel;
                }
                Moved::Ended => return Waits::Closed,
            }
        }
        Waits::ForTurn
    }

    /// Answers complete requests, until too many answers wait; whether it came to the last one.
    fn answer(&mut self, core: &mut Core<'_>) -> bool {
        let mut came_to_last = false;
        while !self.closes && self.waiting() <= MOST_WAITING {
            let bytes = &self.input[self.start..];
            let next = match self.parser.read(bytes) {
                Ok(None) => {
                    came_to_last = true;
                    break;
                }
                Ok(Some(length)) => {
                    let next = core.answer(self.parser.arguments(bytes), &mut self.output);
                    self.parser.restart();
                    self.start += length;
                    next
                }
                Err(error) => {
                    core.counts.errors += 1;
                    reply::error(&mut self.output, &format!("ERR {error}"));
                    Next::Close
                }
            };
            self.closes = next == Next::Close || self.waiting() > MOST_REPLY_BYTES;
        }
        if self.start == self.input.len() {
            self.input.clear();
            self.start = 0;
        }
        came_to_last
    }

    fn waiting(&self) -> usize {
        self.output.len() - self.sent
    }

    fn send(&mut self) -> Moved {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(0) => return Moved::Ended,
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Moved::Blocked,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Moved::Ended,
            }
        }
        self.output.clear();
        self.sent = 0;
        Moved::Some
    }

    fn receive(&mut self, scratch: &mut [u8]) -> Moved {
        // A request that goes on begins where the buffer begins: what was answered makes room.
        if self.start > 0 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        loop {
            match self.stream.read(scratch) {
                Ok(0) => return Moved::Ended,
                Ok(read) => {
                    self.input.extend_from_slice(&scratch[..read]);
                    return Moved::Some;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Moved::Blocked,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Moved::Ended,
            }
        }
    }

    /// Gives back what a large request or answer took.
    fn rest(&mut self) {
        self.input.shrink_to(KEPT_BYTES);
        self.output.shrink_to(KEPT_BYTES);
    }
}

/// Room for what is read at once.
pub fn scratch() -> Vec<u8> {
    vec![0; READ_BYTES]
}
