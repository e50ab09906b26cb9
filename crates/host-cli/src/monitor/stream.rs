//! Windows as a stream: tables, JSON lines or CSV.

use host::monitor::{HitMiss, Sample, SocketSample};

use super::{Format, Sampler, view};
use crate::failure::Failure;
use crate::output::{Versioned, emit_while_read};

const COLUMNS: &str = "window,time_unix_s,window_ms,socket,pcie_write_hits,pcie_write_misses,pcie_write_hit_percent,\
pcie_partial_write_hits,pcie_partial_write_misses,pcie_read_hits,pcie_read_misses,pcie_read_hit_percent,\
dram_read_bytes_per_s,dram_write_bytes_per_s,iio_read_bytes_per_s,iio_write_bytes_per_s,running_share";

/// Prints windows until `most` are done.
pub(super) fn run(sampler: &Sampler<'_>, format: Format, most: Option<u64>) -> Result<(), Failure> {
    if format == Format::Csv {
        emit_while_read(&format!("{COLUMNS}\n"))?;
    }
    let mut number = 0;
    while most.is_none_or(|most| number < most) {
        let sample = sampler.sample(most.is_none())?;
        let text = match format {
            Format::Json => {
                serde_json::to_string(&Versioned::new(&sample)).map_err(std::io::Error::from)?
                    + "\n"
            }
            Format::Csv => csv(number, &sample),
            Format::Live | Format::Text => view::text(&sample, sampler.monitor.unavailable()),
        };
        emit_while_read(&text)?;
        number += 1;
    }
    Ok(())
}

fn csv(number: u64, sample: &Sample) -> String {
    let mut text = String::new();
    for socket in &sample.sockets {
        let ports = || sample.ports.iter().filter(|port| port.socket == socket.socket);
        let sum = |rate: fn(&host::monitor::PortSample) -> f64| {
            ports().next().is_some().then(|| ports().map(rate).sum::<f64>())
        };
        let fields = [
            number.to_string(),
            format!("{:.3}", sample.time_unix_s),
            format!("{:.1}", sample.window_ms),
            socket.socket.to_string(),
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
        ];
        text += &(fields.join(",") + "\n");
    }
    text
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

fn rate(bytes_per_s: Option<f64>) -> String {
    bytes_per_s.map(|rate| format!("{rate:.0}")).unwrap_or_default()
}

fn share(socket: &SocketSample) -> String {
    socket.running_share.map(|share| format!("{share:.3}")).unwrap_or_default()
}
