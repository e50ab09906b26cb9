//! The load of a network port: card, link, rings, packets, ways of I/O, pages.

use crate::cpu::PackageId;
use crate::pci::LinkStatus;
use crate::pci_address::Bdf;
use crate::status::{DdioState, HostStatus, PortStatus, SocketStatus};

use super::activity::FrameRates;
use super::network::{ObservedPort, PortTraffic};
use super::values::{Findings, ValueOrigin};
use super::{ObservedMachine, cards, cores, devices};

/// Bytes that a frame takes on the wire beside its own: FCS, preamble and gap.
const WIRE_BYTES: f64 = 24.0;
/// Least size of a frame without FCS.
const LEAST_FRAME_BYTES: f64 = 60.0;
/// Largest frame that fits into a usual buffer.
const USUAL_BUFFER_BYTES: f64 = 2048.0;
/// Smallest ring that the simulator has.
const LEAST_RING: u32 = 8;
/// Largest ring that the simulator has.
const MOST_RING: u32 = 32_768;
/// Share of the received frames below which few are sent back, and the other way round.
const FEW: f64 = 0.1;
/// Share by which received and sent frames of a forwarder may differ.
const ALIKE: f64 = 0.1;

/// Adds all values of the port that the scenario is about. Returns the socket that is the simulator's first.
pub(super) fn main_port(
    seen: &ObservedMachine<'_>,
    port: &ObservedPort<'_>,
    findings: &mut Findings,
) -> Option<PackageId> {
    card(port, findings);
    let home = cores::of_port(seen, port, None, findings);
    packets(seen, port, findings);
    software(seen, port, findings);
    link(port, findings);
    if let Some(interface) = port.interface {
        line_rate(seen, port, interface, findings);
    }
    flow_control(seen, port, findings);
    io_ways(seen.status, Some(port.device.bdf), port.socket, findings);
    pages(seen, port, findings);
    iommu(seen, port, findings);
    uncore_clock(seen.status, port, findings);
    findings.leave(
        "traffic",
        "no counter tells the number and order of flows; the simulator's default",
    );
    note_dropped(port, findings);
    home
}

/// Adds the values of a further port as a tenant's: what holds for the machine is stated already.
pub(super) fn further_port(
    seen: &ObservedMachine<'_>,
    port: &ObservedPort<'_>,
    home: Option<PackageId>,
    findings: &mut Findings,
) {
    card(port, findings);
    cores::of_port(seen, port, home, findings);
    packets(seen, port, findings);
    software(seen, port, findings);
    flow_control(seen, port, findings);
    io_ways(seen.status, Some(port.device.bdf), port.socket, findings);
    pages(seen, port, findings);
    iommu(seen, port, findings);
    note_dropped(port, findings);
}

fn software(seen: &ObservedMachine<'_>, port: &ObservedPort<'_>, findings: &mut Findings) {
    let stated = stated_text(seen, &findings.key("application"));
    let application = stated.or_else(|| findings.text("application"));
    rings(port, application.as_deref(), findings);
}

fn note_dropped(port: &ObservedPort<'_>, findings: &mut Findings) {
    if let Some(dropped) = port.dropped_per_s.filter(|rate| *rate > 0.0) {
        let name = port.name();
        findings.left_out.push(format!("{name} dropped {dropped:.0} packets in a second"));
    }
}

fn card(port: &ObservedPort<'_>, findings: &mut Findings) {
    let id = &port.device.id;
    match cards::card(id) {
        Some(name) => {
            let source = format!("PCI ID {id} of {}", port.device.bdf);
            findings.add("nic", name, ValueOrigin::Read, source);
        }
        None => findings.ask(
            "nic",
            format!(
                "which known card is most like {id} (`skipline platforms`), or a file of your own?"
            ),
        ),
    }
}

/// The text that the user states for a key.
fn stated_text(seen: &ObservedMachine<'_>, key: &str) -> Option<String> {
    let stated = seen.answers.iter().rev().find(|(own, _)| own == key);
    stated.and_then(|(_, value)| value.as_str()).map(str::to_owned)
}

/// Rings of a program are its own: ethtool shows those of the kernel's driver. A ring that the application
/// does not use has no effect in the simulator.
fn rings(port: &ObservedPort<'_>, application: Option<&str>, findings: &mut Findings) {
    let name = port.name();
    let receive =
        ("rx_descriptors", "receive descriptors has a queue", port.rings.map(|rings| rings.rx));
    let send =
        ("tx_descriptors", "packets does a send ring hold", port.rings.map(|rings| rings.tx));
    let used = match application {
        Some("packet-sink") => vec![receive],
        Some("packet-source") => vec![send],
        _ => vec![receive, send],
    };
    for (key, what, size) in used {
        if port.is_bypassed() {
            let own = "a program has rings of its own, which no interface shows; its options tell";
            findings.ask(key, format!("how many {what}? {own}"));
            continue;
        }
        let Some(size) = size else {
            findings.ask(key, format!("how many {what} of {name}?"));
            continue;
        };
        let near = power_of_two(size);
        let source = format!("ethtool rings of {name}");
        if near == size {
            findings.add(key, i64::from(size), ValueOrigin::Read, source);
        } else {
            let source = format!("{source}: {size}; the simulator has powers of two");
            findings.add(key, i64::from(near), ValueOrigin::Assumed, source);
        }
    }
}

/// The largest size of a ring that is not above `size`.
fn power_of_two(size: u32) -> u32 {
    let size = size.clamp(LEAST_RING, MOST_RING);
    1 << size.ilog2()
}

fn packets(seen: &ObservedMachine<'_>, port: &ObservedPort<'_>, findings: &mut Findings) {
    let name = port.name();
    match &port.traffic {
        PortTraffic::Stack(rates) => {
            let rates = wire_rates(seen, port, *rates);
            frames(rates, &format!("counters of {name}"), &name, findings);
        }
        PortTraffic::PastStack(rates) => {
            let source =
                format!("MAC counters of {name}; the kernel's stack has not seen these frames");
            frames(*rates, &source, &name, findings);
        }
        PortTraffic::Bytes { written_per_s, .. } if port.weight() > 0.0 => {
            let gbps = rounded(written_per_s * 8.0 / 1e9);
            let source = "counters of its PCIe port: all bytes that it writes, descriptors among them; \
                          the wire carries about as many";
            findings.add("offered_gbps", gbps.max(0.001), ValueOrigin::Assumed, source);
            let why = "a program has the function, and its port counts bytes, not packets";
            findings.ask("packet_bytes", format!("how large is a packet of {name}? {why}"));
            findings.ask(
                "application",
                format!("what does the program do with the packets of {name}?"),
            );
        }
        PortTraffic::Bytes { .. } => {
            findings.ask("offered_gbps", format!("{name} was idle in the window: what arrives?"));
        }
        PortTraffic::Unknown(why) => {
            findings.ask("offered_gbps", format!("how much arrives at {name}, in Gbit/s? {why}"));
            findings.ask("packet_bytes", format!("how large is a packet of {name}? {why}"));
        }
    }
}

/// With offloads that merge packets the stack sees fewer than the wire: then the MAC's are taken.
fn wire_rates(
    seen: &ObservedMachine<'_>,
    port: &ObservedPort<'_>,
    stack: FrameRates,
) -> FrameRates {
    let interface = port.interface.unwrap_or_default();
    let merges = seen.host.interfaces.merging_offloads(interface).is_ok_and(|it| !it.is_empty());
    match seen.activity.frames(interface) {
        Some(mac) if merges && mac.rx_frames >= stack.rx_frames => {
            FrameRates { rx_frames: mac.rx_frames, tx_frames: mac.tx_frames, ..stack }
        }
        _ => stack,
    }
}

fn frames(rates: FrameRates, source: &str, name: &str, findings: &mut Findings) {
    let application = application(rates);
    let (frames, octets) = match application {
        Some("packet-source") => (rates.tx_frames, rates.tx_octets),
        _ => (rates.rx_frames, rates.rx_octets),
    };
    if frames < 1.0 {
        findings.ask("offered_gbps", format!("{name} was idle in the window: what arrives?"));
        return;
    }
    let bytes = (octets / frames).max(LEAST_FRAME_BYTES).round();
    let mean = format!("{source}: mean of {frames:.0} frames in a second, which need not be alike");
    findings.add("packet_bytes", whole_number(bytes), ValueOrigin::Measured, mean);
    if bytes > USUAL_BUFFER_BYTES {
        let buffer = whole_number(bytes.min(16_384.0));
        let why = "frames have to fit into a buffer; how a driver divides them is not shown";
        findings.add("buffer_bytes", buffer, ValueOrigin::Assumed, why);
    }
    if application != Some("packet-source") {
        let gbps = rounded(frames * (bytes + WIRE_BYTES) * 8.0 / 1e9);
        let source = format!("{source}, with FCS, preamble and gap");
        findings.add("offered_gbps", gbps.max(0.001), ValueOrigin::Measured, source);
    }
    let (received, sent) = (rates.rx_frames, rates.tx_frames);
    let seen = format!("{received:.0} frames received and {sent:.0} sent in a second");
    match application {
        Some(known) => {
            let source = format!("{seen}; what is done with them is not shown");
            findings.add("application", known, ValueOrigin::Assumed, source);
        }
        None => {
            let question = format!("{seen}: what does the software of {name} do?");
            findings.ask("application", question);
        }
    }
}

/// The application that sends as many frames for each that it receives; `None` if none does.
fn application(rates: FrameRates) -> Option<&'static str> {
    let (received, sent) = (rates.rx_frames, rates.tx_frames);
    match received.max(sent) {
        most if most < 1.0 => None,
        most if (received - sent).abs() <= ALIKE * most => Some("l2-forward"),
        _ if sent <= FEW * received => Some("packet-sink"),
        _ if received <= FEW * sent => Some("packet-source"),
        _ => None,
    }
}

fn link(port: &ObservedPort<'_>, findings: &mut Findings) {
    let Some(link) = &port.device.link else {
        let why = "the link's state cannot be read; that of the known card";
        findings.leave("hardware.pcie", why);
        return;
    };
    let source = |what: &str| format!("PCI Express capability of {}: {what}", port.device.bdf);
    let LinkStatus { speed_gts, width, mps_bytes, mrrs_bytes, .. } = *link;
    let mut add = |key: &str, value: toml::Value, what: &str| {
        findings.add(format!("hardware.pcie.{key}"), value, ValueOrigin::Read, source(what));
    };
    if width > 0 {
        add("lanes", i64::from(width).into(), "link width");
    }
    if let Some(speed) = speed_gts {
        add("gtransfers_per_s", speed.into(), "link speed");
    }
    add("max_payload_bytes", i64::from(mps_bytes).into(), "maximum payload size");
    add("max_read_request_bytes", i64::from(mrrs_bytes).into(), "maximum read request size");
}

fn line_rate(
    seen: &ObservedMachine<'_>,
    port: &ObservedPort<'_>,
    interface: &str,
    findings: &mut Findings,
) {
    let folder = devices::interface_folder(seen.host, port.device.bdf, interface);
    let speed = seen.host.root.read_number(&format!("{folder}/speed"));
    if let Some(mbps) = findings.take(&format!("speed of {interface}"), speed).filter(|it| *it > 0)
    {
        let gbps = mbps as f64 / 1000.0;
        let source = format!("/{folder}/speed");
        findings.add("hardware.nic.line_rate_gbps", gbps, ValueOrigin::Read, source);
    }
}

fn flow_control(seen: &ObservedMachine<'_>, port: &ObservedPort<'_>, findings: &mut Findings) {
    let Some(interface) = port.interface else { return };
    if findings.text("application").as_deref() == Some("packet-source") {
        return;
    }
    let pause = seen.host.interfaces.pause(interface);
    if let Some(pause) = findings.take(&format!("PAUSE of {interface}"), pause) {
        let source = format!("ethtool pause of {interface}: whether it sends PAUSE");
        findings.add("flow_control", pause.tx, ValueOrigin::Read, source);
    }
}

fn socket_of<'a>(status: &'a HostStatus, port: &ObservedPort<'_>) -> Option<&'a SocketStatus> {
    status.sockets.iter().find(|socket| Some(socket.id) == port.socket)
}

/// The ways of I/O of a device: none if its port's switch is off, else those of the socket's register.
pub(super) fn io_ways(
    status: &HostStatus,
    device: Option<Bdf>,
    socket: Option<PackageId>,
    findings: &mut Findings,
) {
    let has = |of: &&PortStatus| of.devices.iter().any(|own| Some(own.bdf) == device);
    let root_port = status.ports().find(has);
    if let Some((of, DdioState::Off)) = root_port.and_then(|it| Some((it.port?, it.ddio?))) {
        let source = format!("perfctrlsts_0 of root port {of}: DDIO is off");
        return findings.add("ddio_ways", 0, ValueOrigin::Read, source);
    }
    let socket = status.sockets.iter().find(|it| Some(it.id) == socket);
    match socket.and_then(|socket| Some((socket.id, socket.io_ways.as_ref()?))) {
        Some((socket, ways)) => {
            let count = i64::from(ways.mask.count_ones());
            let source = format!(
                "MSR {:#x} of socket {socket}: {:#x}, {count} of {} ways",
                ways.msr, ways.mask, ways.of_ways
            );
            findings.add("ddio_ways", count, ValueOrigin::Read, source);
        }
        None => findings.leave(
            "ddio_ways",
            "the register of I/O's ways is not there or cannot be read; the platform's own number",
        ),
    }
}

/// Sizes of pages: of a program those of the huge pages that are in use.
fn pages(seen: &ObservedMachine<'_>, port: &ObservedPort<'_>, findings: &mut Findings) {
    if !port.is_bypassed() {
        let why =
            "a driver of the kernel takes pages as they come; the simulator has 2 MiB and 1 GiB";
        findings.leave("page_size", why);
        return;
    }
    let Some(socket) = socket_of(seen.status, port) else { return };
    let used =
        |kib: u64| socket.hugepages.iter().any(|it| it.size_kib == kib && it.pages > it.free);
    let size = match (used(1 << 20), used(2 << 10)) {
        (true, false) => Some(("1G", "1 GiB")),
        (false, true) => Some(("2M", "2 MiB")),
        _ => None,
    };
    match size {
        Some((value, name)) => {
            let source = format!(
                "sysfs: of huge pages, only those of {name} are in use on socket {}",
                socket.id
            );
            findings.add("page_size", value, ValueOrigin::Read, source);
        }
        None => findings.ask(
            "page_size",
            "are the program's buffers in pages of 2M or 1G? both or none are in use",
        ),
    }
}

fn iommu(seen: &ObservedMachine<'_>, port: &ObservedPort<'_>, findings: &mut Findings) {
    let path = format!("sys/bus/pci/devices/{}/iommu_group/type", port.device.bdf);
    let kind = seen.host.root.read_line(&path);
    match (&kind, &seen.status.iommu) {
        (Ok(kind), _) if kind == "identity" => {
            let source = format!("/{path}: pass-through");
            findings.add("iommu", "off", ValueOrigin::Read, source);
        }
        (Ok(kind), _) => {
            let source = format!("/{path}: {kind}; which pages it maps is not shown");
            findings.add("iommu", "4K", ValueOrigin::Assumed, source);
        }
        (Err(_), Some(mode)) if mode.starts_with("off") => {
            let source = "/sys/class/iommu: there is no IOMMU";
            findings.add("iommu", "off", ValueOrigin::Read, source);
        }
        (Err(_), _) => findings.leave("iommu", "the kernel shows no group of this device; off"),
    }
}

fn uncore_clock(status: &HostStatus, port: &ObservedPort<'_>, findings: &mut Findings) {
    let uncore = socket_of(status, port).and_then(|socket| socket.uncore.as_ref());
    match uncore.and_then(|clock| Some((clock.now_mhz?, clock.from))) {
        Some((mhz, from)) => {
            let source = format!("{from}: clock at the beginning of the window");
            findings.add("uncore_ghz", mhz as f64 / 1000.0, ValueOrigin::Read, source);
        }
        None => findings.leave("uncore_ghz", "the clock cannot be read; the platform's own"),
    }
}

fn whole_number(value: f64) -> i64 {
    i64::try_from(units::narrow::whole(value)).unwrap_or(i64::MAX)
}

/// Rounds to three decimals.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_never_taken_for_larger_than_they_are() {
        assert_eq!(
            [0, 8, 1000, 1024, 511, 1 << 20].map(power_of_two),
            [8, 8, 512, 1024, 256, 32_768]
        );
    }

    #[test]
    fn an_application_is_named_only_where_the_frames_tell_one() {
        let of = |rx_frames, tx_frames| {
            application(FrameRates { rx_frames, tx_frames, ..FrameRates::default() })
        };
        assert_eq!(of(1e6, 0.98e6), Some("l2-forward"));
        assert_eq!(of(1e6, 1e4), Some("packet-sink"));
        assert_eq!(of(1e4, 1e6), Some("packet-source"));
        assert_eq!(of(1e6, 4e5), None);
        assert_eq!(of(0.0, 0.0), None);
    }
}
