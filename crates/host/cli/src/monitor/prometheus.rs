//! Server of a page of Prometheus text on loopback.
//!
//! It serves one page to one client at a time, so the standard library is enough. It binds 127.0.0.1 and
//! no other address. A client has a second to send its request.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::monitor::{HitMiss, MonitorSample, SocketSample};

use super::Sampler;
use crate::failure::HostFailure;
use crate::output::emit_error;

const CLIENT_TIMEOUT: Duration = Duration::from_secs(1);
const REQUEST_BYTES: usize = 4096;

/// A kind of request of devices, by its name, and the function that reads its counts.
type CountedRequest = (&'static str, fn(&SocketSample) -> Option<HitMiss>);

const REQUESTS: [CountedRequest; 3] = [
    ("write", |socket| socket.pcie_write),
    ("partial_write", |socket| socket.pcie_partial_write),
    ("read", |socket| socket.pcie_read),
];

/// Sums of the counts of all windows so far, and the latest window.
#[derive(Default)]
struct Totals {
    /// Lines by socket and kind of request.
    lines: Vec<[HitMiss; REQUESTS.len()]>,
    latest: MonitorSample,
}

impl Totals {
    fn add(&mut self, sample: MonitorSample) {
        self.lines.resize(sample.sockets.len(), Default::default());
        for (sums, socket) in self.lines.iter_mut().zip(&sample.sockets) {
            for (sum, (_, counted)) in sums.iter_mut().zip(REQUESTS) {
                let window = counted(socket).unwrap_or_default();
                sum.hits = sum.hits.saturating_add(window.hits);
                sum.misses = sum.misses.saturating_add(window.misses);
            }
        }
        self.latest = sample;
    }
}

/// Serves the page at http://127.0.0.1:`port`/metrics until the process is stopped; port 0 chooses one.
///
/// # Errors
/// If the port is taken, or a window cannot be counted.
pub(super) fn serve(sampler: &Sampler<'_>, port: u16) -> Result<(), HostFailure> {
    let refused = |error: io::Error| HostFailure::failed(format!("--prometheus {port}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let totals = Arc::new(Mutex::new(Totals::default()));
    lock(&totals).add(sampler.sample(false)?);
    emit_error(&format!("serving http://{address}/metrics\n"));
    let served = Arc::clone(&totals);
    // Not joined: the process ends with the first window that cannot be counted.
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let page = page(&lock(&served));
            // A client that disconnects is no error of the server.
            let _ = answer(client, &page);
        }
    });
    loop {
        let sample = sampler.sample(true)?;
        lock(&totals).add(sample);
    }
}

fn lock(totals: &Mutex<Totals>) -> MutexGuard<'_, Totals> {
    totals.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(mut client: TcpStream, page: &str) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    client.set_write_timeout(Some(CLIENT_TIMEOUT))?;
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
    head(
        text,
        "skipline_pcie_lines_total",
        "counter",
        "Lines that devices wrote or read, by hit or miss in the LLC.",
    );
    for (socket, sums) in totals.latest.sockets.iter().zip(&totals.lines) {
        let known = REQUESTS.iter().zip(sums).filter(|((_, counted), _)| counted(socket).is_some());
        for ((request, _), sum) in known {
            for (result, count) in [("hit", sum.hits), ("miss", sum.misses)] {
                let id = socket.socket;
                let _ = writeln!(
                    text,
                    "skipline_pcie_lines_total{{socket=\"{id}\",request=\"{request}\",result=\"{result}\"}} {count}"
                );
            }
        }
    }
}

fn rates(text: &mut String, sample: &MonitorSample) {
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
    engines(text, sample);
    head(
        text,
        "skipline_llc_occupancy_bytes",
        "gauge",
        "Bytes of a last-level cache that a control group occupies.",
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

fn engines(text: &mut String, sample: &MonitorSample) {
    if sample.engines.is_empty() {
        return;
    }
    let help = "Bandwidth of a copy engine (DSA) in the latest window.";
    head(text, "skipline_dsa_bytes_per_second", "gauge", help);
    for engine in &sample.engines {
        for (direction, rate) in
            [("inbound", engine.inbound_bytes_per_s), ("outbound", engine.outbound_bytes_per_s)]
        {
            let name = "skipline_dsa_bytes_per_second";
            let device = &engine.device;
            let _ =
                writeln!(text, "{name}{{device=\"{device}\",direction=\"{direction}\"}} {rate}");
        }
    }
    let help = "Requests to work queues of a copy engine (DSA) in the latest window.";
    head(text, "skipline_dsa_requests_per_second", "gauge", help);
    for engine in &sample.engines {
        for (queues, rate) in [
            ("shared", engine.shared_requests_per_s),
            ("dedicated", engine.dedicated_requests_per_s),
        ] {
            let name = "skipline_dsa_requests_per_second";
            let device = &engine.device;
            let _ = writeln!(text, "{name}{{device=\"{device}\",queues=\"{queues}\"}} {rate}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_writes_are_summed_over_windows_beside_writes_of_whole_lines() {
        let counted = |hits| Some(HitMiss { hits, misses: 10 * hits });
        let socket = SocketSample {
            pcie_write: counted(100),
            pcie_partial_write: counted(3),
            ..SocketSample::default()
        };
        let mut totals = Totals::default();
        for _ in 0..2 {
            totals.add(MonitorSample { sockets: vec![socket.clone()], ..MonitorSample::default() });
        }
        let page = page(&totals);
        let counts: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("skipline_pcie_lines_total{socket=\"0\","))
            .collect();
        let expected = [
            "request=\"write\",result=\"hit\"} 200",
            "request=\"write\",result=\"miss\"} 2000",
            "request=\"partial_write\",result=\"hit\"} 6",
            "request=\"partial_write\",result=\"miss\"} 60",
        ];
        assert_eq!(counts, expected, "reads, which were not counted here, are left out");
    }
    #[test]
    fn what_a_copy_engine_moves_is_a_rate_in_each_direction() {
        let engine = host::monitor::EngineSample {
            device: "dsa2".into(),
            node: Some(1),
            inbound_bytes_per_s: 64.0,
            outbound_bytes_per_s: 32.0,
            shared_requests_per_s: 2.0,
            dedicated_requests_per_s: 1.0,
        };
        let mut totals = Totals::default();
        totals.add(MonitorSample { engines: vec![engine], ..MonitorSample::default() });
        let page = page(&totals);
        let rates: Vec<&str> = page.lines().filter(|line| line.contains("dsa2")).collect();
        let expected = [
            "skipline_dsa_bytes_per_second{device=\"dsa2\",direction=\"inbound\"} 64",
            "skipline_dsa_bytes_per_second{device=\"dsa2\",direction=\"outbound\"} 32",
            "skipline_dsa_requests_per_second{device=\"dsa2\",queues=\"shared\"} 2",
            "skipline_dsa_requests_per_second{device=\"dsa2\",queues=\"dedicated\"} 1",
        ];
        assert_eq!(rates, expected);
    }
}
