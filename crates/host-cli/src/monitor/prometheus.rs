//! Prometheus text on loopback.
//!
//! One page and one client at a time: the standard library is enough, and nothing but 127.0.0.1 is
//! ever bound. A client has a second to send its request.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::monitor::{HitMiss, Sample};

use super::Sampler;
use crate::failure::Failure;

const CLIENT_PATIENCE: Duration = Duration::from_secs(1);
const REQUEST_BYTES: usize = 4096;

/// Counts of all windows so far, and the latest one.
#[derive(Default)]
struct Totals {
    /// By socket: write hits, write misses, read hits, read misses.
    lines: Vec<[u64; 4]>,
    latest: Sample,
}

impl Totals {
    fn add(&mut self, sample: Sample) {
        self.lines.resize(sample.sockets.len(), [0; 4]);
        for (sums, socket) in self.lines.iter_mut().zip(&sample.sockets) {
            let write = socket.pcie_write.unwrap_or_default();
            let read = socket.pcie_read.unwrap_or_default();
            let counts = [write.hits, write.misses, read.hits, read.misses];
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
        }
        self.latest = sample;
    }
}

/// Serves until the process is stopped.
pub(super) fn serve(sampler: &Sampler<'_>, port: u16) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::failed(format!("--prometheus {port}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let totals = Arc::new(Mutex::new(Totals::default()));
    held(&totals).add(sampler.sample(false)?);
    eprintln!("serving http://{address}/metrics");
    let served = Arc::clone(&totals);
    // Not joined: the process ends with the first window that cannot be counted.
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let page = page(&held(&served));
            // A client that goes away is its own affair.
            let _ = answer(client, &page);
        }
    });
    loop {
        let sample = sampler.sample(true)?;
        held(&totals).add(sample);
    }
}

fn held(totals: &Mutex<Totals>) -> MutexGuard<'_, Totals> {
    totals.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(mut client: TcpStream, page: &str) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT_PATIENCE))?;
    client.set_write_timeout(Some(CLIENT_PATIENCE))?;
    let mut request = [0u8; REQUEST_BYTES];
    let length = client.read(&mut request)?;
    let first = request[..length].split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = first.split(|byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default().split(|byte| *byte == b'?').next();
    let (status, body) = match (method, path) {
        (b"GET" | b"HEAD", Some(b"/metrics")) => ("200 OK", page),
        (b"GET" | b"HEAD", _) => ("404 Not Found", "see /metrics\n"),
        _ => ("405 Method Not Allowed", "GET and HEAD only\n"),
    };
    let sent = if method == b"HEAD" { "" } else { body };
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{sent}",
        body.len()
    )
}

fn page(totals: &Totals) -> String {
    let mut text = String::new();
    lines(&mut text, totals);
    rates(&mut text, &totals.latest);
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn lines(text: &mut String, totals: &Totals) {
    let measured = |socket: usize, counted: fn(&host::monitor::SocketSample) -> Option<HitMiss>| {
        totals.latest.sockets.get(socket).and_then(counted).is_some()
    };
    let kinds =
        [("write", "hit", 0), ("write", "miss", 1), ("read", "hit", 2), ("read", "miss", 3)];
    head(
        text,
        "skipline_pcie_lines_total",
        "counter",
        "Lines that devices wrote or read, by hit or miss in the LLC.",
    );
    for (socket, sums) in totals.lines.iter().enumerate() {
        for (request, result, index) in kinds {
            let known = if index < 2 {
                measured(socket, |s| s.pcie_write)
            } else {
                measured(socket, |s| s.pcie_read)
            };
            if known {
                let id = totals.latest.sockets[socket].socket;
                let _ = writeln!(
                    text,
                    "skipline_pcie_lines_total{{socket=\"{id}\",request=\"{request}\",result=\"{result}\"}} {}",
                    sums[index]
                );
            }
        }
    }
}

fn rates(text: &mut String, sample: &Sample) {
    head(text, "skipline_window_seconds", "gauge", "Length of the latest window.");
    let _ = writeln!(text, "skipline_window_seconds {}", sample.window_ms / 1000.0);
    head(text, "skipline_dram_bytes_per_second", "gauge", "DRAM bandwidth in the latest window.");
    for socket in &sample.sockets {
        let both =
            [("read", socket.dram_read_bytes_per_s), ("write", socket.dram_write_bytes_per_s)];
        for (direction, rate) in both {
            if let Some(rate) = rate {
                let id = socket.socket;
                let _ = writeln!(
                    text,
                    "skipline_dram_bytes_per_second{{socket=\"{id}\",direction=\"{direction}\"}} {rate}"
                );
            }
        }
    }
    head(
        text,
        "skipline_pcie_port_bytes_per_second",
        "gauge",
        "Bandwidth of a PCIe port in the latest window.",
    );
    for port in &sample.ports {
        for (direction, rate) in
            [("read", port.read_bytes_per_s), ("write", port.write_bytes_per_s)]
        {
            let _ = writeln!(
                text,
                "skipline_pcie_port_bytes_per_second{{socket=\"{}\",stack=\"{}\",part=\"{}\",direction=\"{direction}\"}} {rate}",
                port.socket, port.stack, port.part
            );
        }
    }
    head(
        text,
        "skipline_llc_occupancy_bytes",
        "gauge",
        "What a control group holds of a last-level cache.",
    );
    for held in &sample.occupancy {
        let group = held.group.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = writeln!(
            text,
            "skipline_llc_occupancy_bytes{{group=\"{group}\",cache=\"{}\"}} {}",
            held.domain, held.bytes
        );
    }
}
