//! Network interfaces: what they move, what their receive rings hold, and the ways that they share.
//!
//! A leak begins where rings hold more than the ways of I/O. Where hits of devices cannot be counted, as on
//! AMD's parts, DRAM's bytes for each byte of a card take their place.

use std::fmt::Write as _;

use host::Host;
use host::cpu::PackageId;
use host::status::{HostStatus, SocketStatus};

use super::page::{head, label_value};

/// Bytes of a frame beside its payload: addresses, type and FCS.
const FRAME_BYTES: u64 = 18;
const LINE_BYTES: u64 = units::LINE_BYTES;

/// An interface that has a driver of the kernel.
struct NetworkInterface {
    name: String,
    /// Directory in sysfs.
    folder: String,
    socket: Option<PackageId>,
    /// Bytes of frames of the largest size that its receive rings hold; `None` if a part of it is not known.
    ring_bytes: Option<u64>,
}

/// The interfaces of a machine, and bytes of the ways that devices write to on each socket.
#[derive(Default)]
pub(super) struct Interfaces {
    interfaces: Vec<NetworkInterface>,
    ways: Vec<(PackageId, u64)>,
}

impl Interfaces {
    /// Reads interfaces, rings and ways. What cannot be read is left out: it is never a zero.
    pub(super) fn read(host: &Host, state_directory: &str) -> Self {
        let status = HostStatus::read(host, state_directory);
        let of_sockets = status.sockets.iter().map(|socket| (Some(socket.id), &socket.ports));
        let all = of_sockets.chain([(None, &status.elsewhere)]);
        let mut interfaces = Vec::new();
        for (socket, port) in all.flat_map(|(id, ports)| ports.iter().map(move |port| (id, port))) {
            for device in port.devices.iter().filter(|it| it.kind == host::pci::FunctionKind::Nic) {
                for name in &device.names {
                    let folder = format!("sys/bus/pci/devices/{}/net/{name}", device.bdf);
                    let rings = device.rings.iter().find(|(of, _)| of == name);
                    let descriptors = rings.map(|(_, rings)| u64::from(rings.rx));
                    let ring_bytes = descriptors.and_then(|descriptors| {
                        let queues = u64::from(host.interfaces.receive_queues(name).ok()?);
                        let mtu = host.root.read_number(&format!("{folder}/mtu")).ok()?;
                        let frame =
                            mtu.checked_add(FRAME_BYTES)?.checked_next_multiple_of(LINE_BYTES)?;
                        descriptors.checked_mul(queues)?.checked_mul(frame)
                    });
                    interfaces.push(NetworkInterface {
                        name: name.clone(),
                        folder,
                        socket,
                        ring_bytes,
                    });
                }
            }
        }
        let ways = status.sockets.iter().filter_map(|it| Some((it.id, way_bytes(it)?))).collect();
        Self { interfaces, ways }
    }

    /// Adds the metrics to a page. Counters are read now.
    pub(super) fn add_to(&self, text: &mut String, host: &Host) {
        let counted: Vec<_> =
            self.interfaces.iter().flat_map(|interface| interface.bytes(host)).collect();
        if !counted.is_empty() {
            let help = "Bytes that the kernel has counted at a network interface.";
            head(text, "skipline_interface_bytes_total", "counter", help);
        }
        for (labels, bytes) in counted {
            let _ = writeln!(text, "skipline_interface_bytes_total{{{labels}}} {bytes}");
        }
        let rings = self.interfaces.iter().filter_map(|it| Some((it.labels(), it.ring_bytes?)));
        let rings: Vec<_> = rings.collect();
        if !rings.is_empty() {
            let help = "Bytes of frames of the largest size that receive rings hold.";
            head(text, "skipline_receive_ring_bytes", "gauge", help);
        }
        for (labels, bytes) in rings {
            let _ = writeln!(text, "skipline_receive_ring_bytes{{{labels}}} {bytes}");
        }
        if !self.ways.is_empty() {
            let help = "Bytes of the ways of the LLC that writes of devices allocate in.";
            head(text, "skipline_io_ways_bytes", "gauge", help);
        }
        for (socket, bytes) in &self.ways {
            let _ = writeln!(text, "skipline_io_ways_bytes{{socket=\"{socket}\"}} {bytes}");
        }
    }
}

impl NetworkInterface {
    /// Labels and counts of both directions, as far as the kernel shows them.
    fn bytes(&self, host: &Host) -> Vec<(String, u64)> {
        let count = |(direction, file): (&str, &str)| {
            let bytes =
                host.root.read_number(&format!("{}/statistics/{file}", self.folder)).ok()?;
            Some((format!("{},direction=\"{direction}\"", self.labels()), bytes))
        };
        [("received", "rx_bytes"), ("sent", "tx_bytes")].into_iter().filter_map(count).collect()
    }

    fn labels(&self) -> String {
        let socket = self.socket.map(|socket| socket.to_string()).unwrap_or_default();
        format!("socket=\"{socket}\",interface=\"{}\"", label_value(&self.name))
    }
}

/// Bytes of the ways that the register of I/O's ways names.
fn way_bytes(socket: &SocketStatus) -> Option<u64> {
    let ways = socket.io_ways.as_ref()?;
    let bytes = socket.caches.first()?.size_bytes / u64::from(ways.of_ways.max(1));
    bytes.checked_mul(u64::from(ways.mask.count_ones()))
}
