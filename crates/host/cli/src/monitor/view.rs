//! One window as text for people: rows that the table and the live view share.

use host::Unavailable;
use host::monitor::{
    CountedDevices, EngineSample, HitMiss, MonitorSample, PciePortSample, PortDevice, SocketSample,
};

use crate::output::{bytes, wrapped};

/// A row of the table of sockets.
pub(super) struct SocketRow {
    pub(super) name: String,
    pub(super) write_hit_percent: Option<f64>,
    pub(super) cells: [String; 7],
}

/// Headings of a socket's cells: "writes" counts writes of whole lines; partial writes have a column.
pub(super) const SOCKET_HEADS: [&str; 7] =
    ["writes hit", "writes/s", "partial/s", "reads hit", "reads/s", "DRAM read", "DRAM write"];

/// The row of a socket; rates are per second of the window.
pub(super) fn socket_row(socket: &SocketSample, window_ms: f64) -> SocketRow {
    let rate = |counted: Option<HitMiss>| match counted {
        Some(counted) => {
            let lines =
                counted.hits.saturating_add(counted.misses) as f64 * 1000.0 / window_ms.max(1e-6);
            format!("{:.1} M", lines / 1e6)
        }
        None => "—".to_owned(),
    };
    let percent = |counted: Option<HitMiss>| match counted.map(HitMiss::hit_percent) {
        Some(Some(percent)) => format!("{percent:.1} %"),
        Some(None) => "idle".to_owned(),
        None => "—".to_owned(),
    };
    SocketRow {
        name: format!("socket {}", socket.socket),
        write_hit_percent: socket.pcie_write.and_then(HitMiss::hit_percent),
        cells: [
            percent(socket.pcie_write),
            rate(socket.pcie_write),
            rate(socket.pcie_partial_write),
            percent(socket.pcie_read),
            rate(socket.pcie_read),
            socket.dram_read_bytes_per_s.map_or("—".into(), bandwidth),
            socket.dram_write_bytes_per_s.map_or("—".into(), bandwidth),
        ],
    }
}

/// Formats bytes per second in decimal units (kB, MB, GB), as for links.
pub(super) fn bandwidth(bytes_per_s: f64) -> String {
    match bytes_per_s {
        rate if rate >= 1e9 => format!("{:.2} GB/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.1} MB/s", rate / 1e6),
        rate => format!("{:.0} kB/s", rate / 1e3),
    }
}

/// Ports with traffic in the window, busiest first.
pub(super) fn busy_ports(sample: &MonitorSample) -> Vec<&PciePortSample> {
    let mut ports: Vec<_> = sample
        .ports
        .iter()
        .filter(|port| port.read_bytes_per_s + port.write_bytes_per_s > 0.0)
        .collect();
    let traffic = |port: &PciePortSample| port.read_bytes_per_s + port.write_bytes_per_s;
    ports.sort_by(|a, b| traffic(b).total_cmp(&traffic(a)));
    ports
}

/// The name of a port: socket, stack, bus and part of the stack.
pub(super) fn port_name(port: &PciePortSample) -> String {
    let bus = port.bus.as_deref().map(|bus| format!(" (bus {bus})")).unwrap_or_default();
    format!("socket {} stack {}{bus} part {}", port.socket, port.stack, port.part)
}

/// Most devices of a port that are listed by name; the others are counted.
const MOST_NAMED: usize = 4;

/// The devices of a port by name, or by PCI address if they have no name; empty if the port has no device.
pub(super) fn device_names(port: &PciePortSample) -> String {
    let name = |device: &PortDevice| match device.names.as_slice() {
        [] => device.bdf.to_string(),
        names => names.join(" "),
    };
    let mut names: Vec<String> = port.devices.iter().take(MOST_NAMED).map(name).collect();
    if names.is_empty() {
        return String::new();
    }
    if port.devices.len() > MOST_NAMED {
        names.push(format!("{} more", port.devices.len() - MOST_NAMED));
    }
    let some = if port.devices_of == CountedDevices::Stack { "some of: " } else { "" };
    format!("{some}{}", names.join(", "))
}

/// The line of a port with traffic.
fn port_line(port: &PciePortSample) -> String {
    let devices = match device_names(port) {
        names if names.is_empty() => names,
        names => format!("   ({names})"),
    };
    format!(
        "{:<40} devices read {}, write {}{devices}",
        port_name(port),
        bandwidth(port.read_bytes_per_s),
        bandwidth(port.write_bytes_per_s)
    )
}

/// The line of a copy engine.
pub(super) fn engine_line(engine: &EngineSample) -> String {
    let node = engine.node.map(|node| format!(" (node {node})")).unwrap_or_default();
    format!(
        "{:<40} in {}, out {}, {:.0} requests/s to shared queues, {:.0} to dedicated ones",
        format!("copy engine {}{node}", engine.device),
        bandwidth(engine.inbound_bytes_per_s),
        bandwidth(engine.outbound_bytes_per_s),
        engine.shared_requests_per_s,
        engine.dedicated_requests_per_s
    )
}

/// Formats a window as text.
pub(super) fn text(sample: &MonitorSample, unavailable: &[Unavailable]) -> String {
    let mut text = format!("window of {:.0} ms; — is not measurable here\n", sample.window_ms);
    text += &format!("  {:<10}", "");
    text += &SOCKET_HEADS.map(|head| format!("{head:>12}")).concat();
    text.push('\n');
    for socket in &sample.sockets {
        let row = socket_row(socket, sample.window_ms);
        let cells = row.cells.map(|cell| format!("{cell:>12}")).concat();
        text += &format!("  {:<10}{cells}\n", row.name);
    }
    for port in busy_ports(sample) {
        text += &format!("  {}\n", port_line(port));
    }
    for engine in &sample.engines {
        text += &format!("  {}\n", engine_line(engine));
    }
    for share in &sample.occupancy {
        text += &format!(
            "  group {:<12} cache {:<3} holds {}\n",
            share.group,
            share.domain,
            bytes(share.bytes)
        );
    }
    for line in unavailable.iter().map(unavailable_line) {
        for (index, part) in wrapped(&line, 96).into_iter().enumerate() {
            text += &format!("{}{part}\n", if index == 0 { "  " } else { "    " });
        }
    }
    text
}

/// The line of a counter that cannot be read, with the remedy.
pub(super) fn unavailable_line(unread: &Unavailable) -> String {
    let remedy = unread.remedy.as_deref().map(|remedy| format!(" → {remedy}")).unwrap_or_default();
    format!("{}: {}{remedy}", unread.what, unread.reason)
}
