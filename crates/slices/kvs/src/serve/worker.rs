//! The thread of a core: it serves the clients and keys of this core only.

use super::commands::ServingCore;
use super::connection::{RedisConnection, TurnResult, scratch};
use super::reply;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The listener's token; the token of a client is its index in the list.
const LISTENER: Token = Token(usize::MAX);
/// The token of the waker, which wakes the thread to end it.
pub const WAKER: Token = Token(usize::MAX - 1);

/// Pause before clients are accepted again when the system has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// The thread of a core: its listener, its keys, and its limits.
pub struct Worker<'a, 'm> {
    pub poll: Poll,
    pub listener: TcpListener,
    pub core: ServingCore<'m>,
    pub stop: &'a AtomicBool,
    /// Most clients at the same time; further ones are refused.
    pub most_clients: usize,
    /// Number of commands between two rankings.
    pub rank_every: u64,
}

/// Clients, and those whose next turn needs no event of the kernel.
struct Clients {
    all: Slab<RedisConnection<TcpStream>>,
    turns: Vec<usize>,
    /// Whether clients may wait to be accepted.
    waiting: bool,
}

impl<'m> Worker<'_, 'm> {
    /// Serves until it is stopped.
    ///
    /// # Errors
    /// If the kernel reports no events any more.
    pub fn serve(mut self) -> io::Result<ServingCore<'m>> {
        self.poll.registry().register(&mut self.listener, LISTENER, Interest::READABLE)?;
        let mut events = Events::with_capacity(1024);
        let mut clients = Clients { all: Slab::new(), turns: Vec::new(), waiting: false };
        let mut scratch = scratch();
        let mut ranked = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let wait = match (clients.turns.is_empty(), clients.waiting) {
                (false, _) => Some(Duration::ZERO),
                (true, true) => Some(PAUSE),
                (true, false) => None,
            };
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            let tokens = events.iter().map(|event| event.token());
            let (accepts, ready): (Vec<Token>, Vec<Token>) =
                tokens.filter(|token| *token != WAKER).partition(|token| *token == LISTENER);
            // Clients that have waited for their turn come first, each once.
            let turns = std::mem::take(&mut clients.turns);
            for &client in &turns {
                if let Some(connection) = clients.all.get_mut(client) {
                    connection.queued = false;
                }
            }
            for client in turns.into_iter().chain(ready.into_iter().map(|token| token.0)) {
                self.turn(&mut clients, client, &mut scratch);
            }
            if clients.waiting || !accepts.is_empty() {
                self.accept(&mut clients);
            }
            let commands = self.core.counts.commands;
            if commands - ranked >= self.rank_every {
                ranked = commands;
                self.core.keys.rank();
                self.core.counts.rankings += 1;
            }
        }
        Ok(self.core)
    }

    fn turn(&mut self, clients: &mut Clients, client: usize, scratch: &mut [u8]) {
        let Some(connection) = clients.all.get_mut(client) else { return };
        if connection.queued {
            return;
        }
        match connection.turn(&mut self.core, scratch) {
            TurnResult::ForKernel => {}
            TurnResult::ForTurn => {
                connection.queued = true;
                clients.turns.push(client);
            }
            TurnResult::Closed => {
                let mut closed = clients.all.remove(client);
                // The socket is closed anyway.
                let _ = self.poll.registry().deregister(&mut closed.stream);
                self.core.counts.clients -= 1;
            }
        }
    }

    fn accept(&mut self, clients: &mut Clients) {
        clients.waiting = false;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.register(clients, stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                    ) => {}
                // No descriptor or memory is left; there may be some later.
                Err(_) => {
                    clients.waiting = true;
                    return;
                }
            }
        }
    }

    fn register(&mut self, clients: &mut Clients, mut stream: TcpStream) {
        self.core.counts.connections += 1;
        if clients.all.len() >= self.most_clients {
            let mut refusal = Vec::new();
            reply::error(&mut refusal, "ERR max number of clients reached");
            self.core.counts.errors += 1;
            // A client that cannot even receive this sees only the end of the connection.
            let _ = stream.write(&refusal);
            return;
        }
        // Replies are written whole: waiting for more bytes would only delay them.
        let _ = stream.set_nodelay(true);
        let slot = clients.all.vacant_entry();
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut stream, Token(slot.key()), interest).is_ok() {
            let local = stream.local_addr().ok().map(|address| address.ip().to_canonical());
            slot.insert(RedisConnection::new(stream, local));
            self.core.counts.clients += 1;
        }
    }
}
