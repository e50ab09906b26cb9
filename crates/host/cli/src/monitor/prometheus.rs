//! Server of a page of Prometheus text on loopback.
//!
//! It binds 127.0.0.1 and no other address. One thread counts windows, another one serves the page of the
//! latest one to all clients (`server`).

mod interfaces;
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
use interfaces::Interfaces;
use page::{Totals, page};
use server::{MOST_CONNECTIONS, Server};

/// Time after which rings and ways are read again: who changes them watches what follows.
const SETTINGS_EVERY: Duration = Duration::from_secs(10);

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
    let (host, state) = (&sampler.context.host, sampler.context.state_dir());
    let mut interfaces = Interfaces::read(host, state);
    let whole_page = |totals: &Totals, interfaces: &Interfaces| -> Arc<str> {
        let mut text = page(totals);
        interfaces.add_to(&mut text, host);
        text.into()
    };
    let shown: Arc<Mutex<Arc<str>>> = Arc::new(Mutex::new(whole_page(&totals, &interfaces)));
    emit_error(&format!("serving http://{address}/metrics\n"));
    let served = Arc::clone(&shown);
    // Not joined: the process ends with the first window that cannot be counted.
    let server = thread::spawn(move || serve_clients(listener, &served));
    let mut settings_read = Instant::now();
    loop {
        totals.add(sampler.sample(true)?);
        if settings_read.elapsed() >= SETTINGS_EVERY {
            interfaces = Interfaces::read(host, state);
            settings_read = Instant::now();
        }
        let new = whole_page(&totals, &interfaces);
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = new;
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
