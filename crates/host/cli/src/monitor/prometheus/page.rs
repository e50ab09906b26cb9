//! The page of metrics as Prometheus text.
//!
//! Source: Prometheus, "Exposition formats", text format 0.0.4.

use std::fmt::Write as _;

use host::monitor::{
    CountedDevices, HitMiss, MonitorSample, PciePortSample, PortDevice, SocketSample,
};
use inputs::foreign::in_line;

/// A kind of request of devices, by its name, and the function that reads its counts.
type CountedRequest = (&'static str, fn(&SocketSample) -> Option<HitMiss>);

const REQUESTS: [CountedRequest; 3] = [
    ("write", |socket| socket.pcie_write),
    ("partial_write", |socket| socket.pcie_partial_write),
    ("read", |socket| socket.pcie_read),
];

/// Sums of the counts of all windows so far, and the latest window.
#[derive(Default)]
pub(super) struct Totals {
    /// Lines by socket and kind of request.
    lines: Vec<[HitMiss; REQUESTS.len()]>,
    latest: MonitorSample,
}

impl Totals {
    /// Adds a window.
    pub(super) fn add(&mut self, sample: MonitorSample) {
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

/// The page of a sum of windows.
pub(super) fn page(totals: &Totals) -> String {
    let mut text = String::new();
    lines(&mut text, totals);
    rates(&mut text, &totals.latest);
    text
}

pub(super) fn head(text: &mut String, name: &str, kind: &str, help: &str) {
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
        let labels = port_labels(port);
        for (direction, rate) in
            [("read", port.read_bytes_per_s), ("write", port.write_bytes_per_s)]
        {
            let _ = writeln!(
                text,
                "skipline_pcie_port_bytes_per_second{{{labels},direction=\"{direction}\"}} {rate}"
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
        let group = label_value(&held.group);
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
            let device = label_value(&engine.device);
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
            let device = label_value(&engine.device);
            let _ = writeln!(text, "{name}{{device=\"{device}\",queues=\"{queues}\"}} {rate}");
        }
    }
}

/// Labels of a port: its place, and the devices behind it or, where `devices_of` is `stack`, those of its
/// stack, some of which it counts.
fn port_labels(port: &PciePortSample) -> String {
    let name = |device: &PortDevice| match device.names.as_slice() {
        [] => device.bdf.to_string(),
        names => names.join(" "),
    };
    let devices: Vec<String> = port.devices.iter().map(name).collect();
    let devices = label_value(&devices.join(","));
    let bus = label_value(port.bus.as_deref().unwrap_or_default());
    let devices_of = match port.devices_of {
        CountedDevices::Port => "port",
        CountedDevices::Stack => "stack",
    };
    format!(
        "socket=\"{}\",stack=\"{}\",part=\"{}\",bus=\"{bus}\",devices=\"{devices}\",\
         devices_of=\"{devices_of}\"",
        port.socket, port.stack, port.part
    )
}

/// A name as the value of a label: quoted as the format wants it.
pub(super) fn label_value(name: &str) -> String {
    let quoted = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    in_line(&quoted).into_owned()
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
    fn a_port_has_the_names_of_its_devices() {
        let device = |bdf: &str, names: &[&str]| PortDevice {
            bdf: bdf.parse().expect("an address"),
            names: names.iter().map(|&name| name.into()).collect(),
        };
        let port = PciePortSample {
            stack: 1,
            part: 2,
            bus: Some("0000:16".into()),
            devices_of: CountedDevices::Port,
            devices: vec![device("17:00.0", &["ens1\"f0"]), device("17:00.1", &[])],
            read_bytes_per_s: 5.0,
            ..PciePortSample::default()
        };
        let mut totals = Totals::default();
        totals.add(MonitorSample { ports: vec![port], ..MonitorSample::default() });
        let expected = "skipline_pcie_port_bytes_per_second{socket=\"0\",stack=\"1\",part=\"2\",\
                        bus=\"0000:16\",devices=\"ens1\\\"f0,0000:17:00.1\",devices_of=\"port\",\
                        direction=\"read\"} 5\n";
        assert!(page(&totals).contains(expected), "{}", page(&totals));
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
