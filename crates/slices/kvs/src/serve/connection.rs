//! The connection of a client: input that is not parsed yet, and output that is not sent yet.

use super::commands::{AfterCommand, MOST_REPLY_BYTES, ServingCore};
use super::reply;
use super::request::Parser;
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;

/// Bytes of unsent output, beyond which no more input is read from a client.
const MOST_WAITING: usize = 1 << 20;

/// Most bytes of a read.
const READ_BYTES: usize = 64 << 10;

/// Most reads in a turn; then other clients have their turns.
const MOST_READS: u32 = 8;

/// Capacity in bytes of the buffers that an idle client keeps.
const KEPT_BYTES: usize = 16 << 10;

/// State of a connection after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnResult {
    /// The connection waits for an event of the kernel.
    ForKernel,
    /// The connection waits for its next turn: there may be more to read already.
    ForTurn,
    /// The connection is closed.
    Closed,
}

/// A client's stream with its buffers.
pub struct RedisConnection<S> {
    pub stream: S,
    parser: Parser,
    input: Vec<u8>,
    /// Index of the current request in the input.
    start: usize,
    output: Vec<u8>,
    /// Number of bytes of the output that were sent.
    sent: usize,
    /// Whether no further request is read, and the connection ends when all output was sent.
    closes: bool,
    /// Whether the next turn needs no event of the kernel.
    pub queued: bool,
    /// The server's address to which the client is connected.
    local: Option<IpAddr>,
}

/// Result of a read or a write.
enum IoProgress {
    Some,
    /// The kernel cannot transfer anything now.
    Blocked,
    Ended,
}

impl<S: Read + Write> RedisConnection<S> {
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

    /// Takes a turn: reads requests, executes them and sends the replies.
    pub fn turn(&mut self, core: &mut ServingCore<'_>, scratch: &mut [u8]) -> TurnResult {
        core.local_address = self.local;
        for _ in 0..MOST_READS {
            let answered_all = self.answer(core);
            match self.send() {
                IoProgress::Ended => return TurnResult::Closed,
                IoProgress::Blocked if self.closes || self.unsent_bytes() > MOST_WAITING => {
                    return TurnResult::ForKernel;
                }
                IoProgress::Some if self.closes => return TurnResult::Closed,
                IoProgress::Some | IoProgress::Blocked => {}
            }
            // The kernel reports no event for input that was received and is not parsed.
            if !answered_all {
                continue;
            }
            match self.receive(scratch) {
                IoProgress::Some => {}
                IoProgress::Blocked => {
                    self.shrink_buffers();
                    return TurnResult::ForKernel;
                }
                IoProgress::Ended => return TurnResult::Closed,
            }
        }
        TurnResult::ForTurn
    }

    /// Executes complete requests, until too much output is unsent; returns whether all were executed.
    fn answer(&mut self, core: &mut ServingCore<'_>) -> bool {
        let mut executed_all = false;
        while !self.closes && self.unsent_bytes() <= MOST_WAITING {
            let bytes = &self.input[self.start..];
            let next = match self.parser.read(bytes) {
                Ok(None) => {
                    executed_all = true;
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
                    AfterCommand::Close
                }
            };
            self.closes = next == AfterCommand::Close || self.unsent_bytes() > MOST_REPLY_BYTES;
        }
        if self.start == self.input.len() {
            self.input.clear();
            self.start = 0;
        }
        executed_all
    }

    fn unsent_bytes(&self) -> usize {
        self.output.len() - self.sent
    }

    fn send(&mut self) -> IoProgress {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(0) => return IoProgress::Ended,
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return IoProgress::Blocked,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return IoProgress::Ended,
            }
        }
        self.output.clear();
        self.sent = 0;
        IoProgress::Some
    }

    fn receive(&mut self, scratch: &mut [u8]) -> IoProgress {
        // Moves the incomplete request to the start of the buffer: executed requests make room.
        if self.start > 0 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        loop {
            match self.stream.read(scratch) {
                Ok(0) => return IoProgress::Ended,
                Ok(read) => {
                    self.input.extend_from_slice(&scratch[..read]);
                    return IoProgress::Some;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return IoProgress::Blocked,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return IoProgress::Ended,
            }
        }
    }

    /// Frees the memory of large requests and replies.
    fn shrink_buffers(&mut self) {
        self.input.shrink_to(KEPT_BYTES);
        self.output.shrink_to(KEPT_BYTES);
    }
}

/// A buffer for one read.
pub fn scratch() -> Vec<u8> {
    vec![0; READ_BYTES]
}
