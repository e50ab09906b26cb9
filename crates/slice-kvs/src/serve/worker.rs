//! The thread of a core: its clients, its keys, nothing of other cores.

use super::commands::Core;
use super::connection::{Connection, Waits, scratch};
use super::reply;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The listener's token; clients have their place in the list.
const LISTENER: Token = Token(usize::MAX);
/// The token of what wakes the thread to end.
pub const WAKER: Token = Token(usize::MAX - 1);

/// How long no client is accepted when the system has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

pub struct Worker<'a, 'm> {
    pub poll: Poll,
    pub listener: TcpListener,
    pub core: Core<'m>,
    pub stop: &'a AtomicBool,
    /// Clients beyond this number are refused.
    pub most_clients: usize,
    /// Look-ups between two rankings.
    pub rank_every: u64,
}

/// Clients, and those whose turn comes without news of the kernel.
struct Clients {
    all: Slab<Connection<TcpStream>>,
    turns: Vec<usize>,
    /// Whether clients may wait to be accepted.
    waiting: bool,
}

impl<'m> Worker<'_, 'm> {
    /// Serves until it is stopped.
    ///
    /// # Errors
    /// If the kernel reports no events any more.
    pub fn serve(mut self) -> io::Result<Core<'m>> {
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
            let news = events.iter().map(|event| event.token());
            let (accepts, news): (Vec<Token>, Vec<Token>) =
                news.filter(|token| *token != WAKER).partition(|token| *token == LISTENER);
            // Those that have waited for their turn come first, each once.
            let turns = std::mem::take(&mut clients.turns);
            for &client in &turns {
                if let Some(connection) = clients.all.get_mut(client) {
                    connection.queued = false;
                }
            }
            for client in turns.into_iter().chain(news.into_iter().map(|token| token.0)) {
                self.turn(&mut clients, client, &mut scratch);
            }
            if clients.waiting || !accepts.is_empty() {
                self.accept(&mut clients);
            }
            let asked = self.core.counts.commands;
            if asked - ranked >= self.rank_every {
                ranked = asked;
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
            Waits::ForKernel => {}
            Waits::ForTurn => {
                connection.queued = true;
                clients.turns.push(client);
            }
            Waits::Closed => {
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
                Ok((stream, _)) => self.welcome(clients, stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                    ) => {}
                // No descriptor is left, or no memory: later there may be.
                Err(_) => {
                    clients.waiting = true;
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, clients: &mut Clients, mut stream: TcpStream) {
        self.core.counts.connections += 1;
        if clients.all.len() >= self.most_clients {
            let mut refusal = Vec::new();
            reply::error(&mut refusal, "ERR max number of clients reached");
            self.core.counts.errors += 1;
            // A client that cannot even take this sees the end alone.
            let _ = stream.write(&refusal);
            return;
        }
        // Answers are written whole: waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let place = clients.all.vacant_entry();
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut stream, Token(place.key()), interest).is_ok() {
            let local = stream.local_addr().ok().map(|address| address.ip().to_canonical());
            place.insert(Connection::new(stream, local));
            self.core.counts.clients += 1;
        }
    }
}
