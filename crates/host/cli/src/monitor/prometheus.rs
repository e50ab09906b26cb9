//! Server of a page of Prometheus text on loopback.
//!
//! It binds 127.0.0.1 and no other address. One thread counts windows, another one serves the page of the
//! latest one to all clients (`server`).

mod page;
mod request;
mod server;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Sampler;
use crate::failure::HostFailure;
use crate::output::emit_error;
use page::{Totals, page};
use server::{MOST_CONNECTIONS, Server};

/// Serves the page at http://127.0.0.1:`port`/metrics until the process is stopped; port 0 chooses one.
///
/// # Errors
/// If the port is taken, a window cannot be counted, or the system cannot wait for clients.
pub(super) fn serve(sampler: &Sampler<'_>, port: u16) -> Result<(), HostFailure> {
    let refused = |error: io::Error| HostFailure::failed(format!("--prometheus {port}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let mut totals = Totals::default();
    totals.add(sampler.sample(false)?);
    let shown: Arc<Mutex<Arc<str>>> = Arc::new(Mutex::new(page(&totals).into()));
    emit_error(&format!("serving http://{address}/metrics\n"));
    let served = Arc::clone(&shown);
    // Not joined: the process ends with the first window that cannot be counted.
    let server = thread::spawn(move || serve_clients(listener, &served));
    loop {
        totals.add(sampler.sample(true)?);
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = page(&totals).into();
        if server.is_finished() {
            let ended = server.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            return ended.map_err(refused);
        }
    }
}

/// Serves the page to all clients of a listener, until the system cannot wait for them.
fn serve_clients(listener: TcpListener, shown: &Mutex<Arc<str>>) -> io::Result<()> {
    let began = Instant::now();
    let now = || -> Duration { began.elapsed() };
    let page = || Arc::clone(&shown.lock().unwrap_or_else(PoisonError::into_inner));
    let mut server = Server::new(listener, MOST_CONNECTIONS, &now, &page)?;
    loop {
        server.turn()?;
    }
}
