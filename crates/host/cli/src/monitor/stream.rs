//! Windows as a stream: tables, JSON lines or CSV.

use host::monitor::{EngineSample, HitMiss, MonitorSample, SocketSample};

use super::{MonitorFormat, Sampler, view};
use crate::failure::HostFailure;
use crate::output::{Versioned, emit_while_read};

/// Columns of every row: the window, and the kind and name of the row's subject.
const WINDOW_COLUMNS: &str = "window,time_unix_s,window_ms,of,name";
/// Columns of a socket.
const SOCKET_COLUMNS: [&str; 13] = [
    "pcie_write_hits",
    "pcie_write_misses",
    "pcie_write_hit_percent",
    "pcie_partial_write_hits",
    "pcie_partial_write_misses",
    "pcie_read_hits",
    "pcie_read_misses",
    "pcie_read_hit_percent",
    "dram_read_bytes_per_s",
    "dram_write_bytes_per_s",
    "iio_read_bytes_per_s",
    "iio_write_bytes_per_s",
    "running_share",
];
/// Columns of a copy engine.
const ENGINE_COLUMNS: [&str; 5] = [
    "node",
    "inbound_bytes_per_s",
    "outbound_bytes_per_s",
    "shared_requests_per_s",
    "dedicated_requests_per_s",
];
/// Columns of a control group's share of a cache.
const GROUP_COLUMNS: [&str; 2] = ["cache", "llc_occupancy_bytes"];

/// Prints `most` windows, or windows without end, in the format.
pub(super) fn run(
    sampler: &Sampler<'_>,
    format: MonitorFormat,
    most: Option<u64>,
) -> Result<(), HostFailure> {
    if format == MonitorFormat::Csv {
        emit_while_read(&header())?;
    }
    let mut number = 0;
    while most.is_none_or(|most| number < most) {
        let sample = sampler.sample(most.is_none())?;
        let text = match format {
            MonitorFormat::Json => {
                serde_json::to_string(&Versioned::new(&sample)).map_err(std::io::Error::from)?
                    + "\n"
            }
            MonitorFormat::Csv => csv(number, &sample),
            MonitorFormat::Live | MonitorFormat::Text => {
                view::text(&sample, sampler.monitor.unavailable())
            }
        };
        emit_while_read(&text)?;
        number += 1;
    }
    Ok(())
}

fn header() -> String {
    let (sockets, engines) = (SOCKET_COLUMNS.join(","), ENGINE_COLUMNS.join(","));
    format!("{WINDOW_COLUMNS},{sockets},{engines},{}\n", GROUP_COLUMNS.join(","))
}

/// A row for each socket, each copy engine, and each cache of a control group; columns of the other kinds
/// are empty.
fn csv(number: u64, sample: &MonitorSample) -> String {
    let window = format!("{number},{:.3},{:.1}", sample.time_unix_s, sample.window_ms);
    let empty = |columns: &[&str]| vec![String::new(); columns.len()];
    let row = |kind: &str, name: &str, cells: [Vec<String>; 3]| {
        let cells = cells.concat().join(",");
        format!("{window},{kind},{},{cells}\n", quoted(name))
    };
    let sockets = sample.sockets.iter().map(|socket| {
        let cells = [socket_cells(sample, socket), empty(&ENGINE_COLUMNS), empty(&GROUP_COLUMNS)];
        row("socket", &socket.socket.to_string(), cells)
    });
    let engines = sample.engines.iter().map(|engine| {
        let cells = [empty(&SOCKET_COLUMNS), engine_cells(engine), empty(&GROUP_COLUMNS)];
        row("engine", &engine.device, cells)
    });
    let groups = sample.occupancy.iter().map(|share| {
        let own = vec![share.domain.to_string(), share.bytes.to_string()];
        row("group", &share.group, [empty(&SOCKET_COLUMNS), empty(&ENGINE_COLUMNS), own])
    });
    sockets.chain(engines).chain(groups).collect()
}

/// Quotes a name for CSV (RFC 4180): names of groups and devices may contain any character.
fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

fn socket_cells(sample: &MonitorSample, socket: &SocketSample) -> Vec<String> {
    let ports = || sample.ports.iter().filter(|port| port.socket == socket.socket);
    let sum = |rate: fn(&host::monitor::PciePortSample) -> f64| {
        ports().next().is_some().then(|| ports().map(rate).sum::<f64>())
    };
    vec![
        hits(socket.pcie_write),
        misses(socket.pcie_write),
        percent(socket.pcie_write),
        hits(socket.pcie_partial_write),
        misses(socket.pcie_partial_write),
        hits(socket.pcie_read),
        misses(socket.pcie_read),
        percent(socket.pcie_read),
        rate(socket.dram_read_bytes_per_s),
        rate(socket.dram_write_bytes_per_s),
        rate(sum(|port| port.read_bytes_per_s)),
        rate(sum(|port| port.write_bytes_per_s)),
        share(socket),
    ]
}

fn engine_cells(engine: &EngineSample) -> Vec<String> {
    let rates = [
        engine.inbound_bytes_per_s,
        engine.outbound_bytes_per_s,
        engine.shared_requests_per_s,
        engine.dedicated_requests_per_s,
    ];
    let node = engine.node.map(|node| node.to_string()).unwrap_or_default();
    std::iter::once(node).chain(rates.map(|per_s| rate(Some(per_s)))).collect()
}

fn hits(counted: Option<HitMiss>) -> String {
    counted.map(|counted| counted.hits.to_string()).unwrap_or_default()
}

fn misses(counted: Option<HitMiss>) -> String {
    counted.map(|counted| counted.misses.to_string()).unwrap_or_default()
}

fn percent(counted: Option<HitMiss>) -> String {
    counted
        .and_then(HitMiss::hit_percent)
        .map(|percent| format!("{percent:.2}"))
        .unwrap_or_default()
}

fn rate(per_s: Option<f64>) -> String {
    per_s.map(|rate| format!("{rate:.0}")).unwrap_or_default()
}

fn share(socket: &SocketSample) -> String {
    socket.running_share.map(|share| format!("{share:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::monitor::Occupancy;

    #[test]
    fn rows_have_a_cell_for_each_column_and_names_are_quoted() {
        let sockets = vec![SocketSample::default()];
        let group = "db, \"hot\"".to_owned();
        let occupancy = vec![Occupancy { group, domain: 1, bytes: 4096 }];
        let sample = MonitorSample { sockets, occupancy, ..MonitorSample::default() };
        let commas = header().matches(',').count();
        let text = csv(3, &sample);
        let (socket, group) = text.trim_end().split_once('\n').expect("two rows");
        assert_eq!(socket.matches(',').count(), commas);
        // One more, in the name.
        assert_eq!(group.matches(',').count(), commas + 1);
        assert!(group.starts_with("3,0.000,0.0,group,\"db, \"\"hot\"\"\",,"), "{group}");
        assert!(group.ends_with(",1,4096"), "{group}");
    }
}
