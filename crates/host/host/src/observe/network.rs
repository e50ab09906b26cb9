//! Network ports: what moves through each in the window, and which CPUs serve it.

use crate::cpu::{CpuId, PackageId, cpu_list, format_list};
use crate::machine::Host;
use crate::monitor::{CountedDevices, MonitorSample};
use crate::pci::FunctionKind;
use crate::pci_address::Bdf;
use crate::rings::Rings;
use crate::status::{DeviceStatus, HostStatus};

use super::activity::{FrameRates, WindowActivity};

/// Drivers that hand a function to a program: the kernel then tells nothing of its traffic.
const HANDED_OVER: [&str; 3] = ["vfio-pci", "igb_uio", "uio_pci_generic"];
/// Frames in a second below which a port is idle: those of routing protocols and neighbours.
const IDLE_FRAMES_PER_S: f64 = 1000.0;
/// Bytes that a port writes in a second below which it is idle.
const IDLE_BYTES_PER_S: f64 = 1e6;

/// How the traffic of a port is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PortTraffic {
    /// The kernel's stack has seen all frames.
    Stack(FrameRates),
    /// The MAC counted frames that the kernel's stack has not seen: a program takes them (DPDK on a driver
    /// that leaves the interface to the kernel, AF_XDP).
    PastStack(FrameRates),
    /// Bytes that the port's counters show, written and read by the device.
    Bytes { written_per_s: f64, read_per_s: f64 },
    /// Nothing tells.
    Unknown(String),
}

/// A network port.
pub(super) struct ObservedPort<'a> {
    pub(super) device: &'a DeviceStatus,
    /// Name of its interface; `None` if a program has the function.
    pub(super) interface: Option<&'a str>,
    pub(super) socket: Option<PackageId>,
    pub(super) rings: Option<Rings>,
    pub(super) traffic: PortTraffic,
    /// Packets dropped in a second; `None` if the kernel does not count them.
    pub(super) dropped_per_s: Option<f64>,
}

impl ObservedPort<'_> {
    /// Name in messages: the interface, or the function's address.
    pub(super) fn name(&self) -> String {
        self.interface.map_or_else(|| self.device.bdf.to_string(), str::to_owned)
    }

    /// Whether a program takes the frames, and not the kernel's stack.
    pub(super) fn is_bypassed(&self) -> bool {
        self.interface.is_none() || matches!(self.traffic, PortTraffic::PastStack(_))
    }

    /// Bytes in a second by which ports are compared; 0 if the port is idle.
    pub(super) fn weight(&self) -> f64 {
        match &self.traffic {
            PortTraffic::Stack(rates) | PortTraffic::PastStack(rates)
                if rates.rx_frames.max(rates.tx_frames) >= IDLE_FRAMES_PER_S =>
            {
                rates.rx_octets + rates.tx_octets
            }
            PortTraffic::Bytes { written_per_s, read_per_s }
                if written_per_s.max(*read_per_s) >= IDLE_BYTES_PER_S =>
            {
                written_per_s + read_per_s
            }
            _ => 0.0,
        }
    }
}

/// Whether a device is a network card that a program has taken from the kernel.
pub(super) fn is_handed_over(device: &DeviceStatus) -> bool {
    device.driver.as_deref().is_some_and(|driver| HANDED_OVER.contains(&driver))
}

/// All network ports, the busiest first.
pub(super) fn ports<'a>(
    status: &'a HostStatus,
    activity: &WindowActivity<'_>,
    windows: &[MonitorSample],
) -> Vec<ObservedPort<'a>> {
    let of_sockets = status
        .sockets
        .iter()
        .flat_map(|socket| socket.ports.iter().map(|port| (Some(socket.id), port)));
    let elsewhere = status.elsewhere.iter().map(|port| (None, port));
    let devices = of_sockets
        .chain(elsewhere)
        .flat_map(|(socket, port)| port.devices.iter().map(move |device| (socket, device)))
        .filter(|(_, device)| device.kind == FunctionKind::Nic);
    let mut found: Vec<ObservedPort<'_>> =
        devices.flat_map(|(socket, device)| of_device(device, socket, activity, windows)).collect();
    found.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    found
}

fn of_device<'a>(
    device: &'a DeviceStatus,
    socket: Option<PackageId>,
    activity: &WindowActivity<'_>,
    windows: &[MonitorSample],
) -> Vec<ObservedPort<'a>> {
    let rings = |name: &str| device.rings.iter().find(|(of, _)| of == name).map(|(_, it)| *it);
    if device.names.is_empty() {
        let traffic = counted_bytes(device.bdf, windows);
        return vec![ObservedPort {
            device,
            interface: None,
            socket,
            rings: None,
            traffic,
            dropped_per_s: None,
        }];
    }
    let port = |name: &'a String| ObservedPort {
        device,
        interface: Some(name),
        socket,
        rings: rings(name),
        traffic: interface_traffic(name, activity),
        dropped_per_s: activity.dropped(name),
    };
    device.names.iter().map(port).collect()
}

fn interface_traffic(name: &str, activity: &WindowActivity<'_>) -> PortTraffic {
    let (stack, mac) = (activity.stack(name), activity.frames(name));
    let all = |rates: &FrameRates| rates.rx_frames + rates.tx_frames;
    match (stack, mac) {
        // Frames of offloads are fewer in the stack than on the wire; what bypasses it is most of all.
        (Some(stack), Some(mac)) if all(&mac) > 64.0 * all(&stack) + IDLE_FRAMES_PER_S => {
            PortTraffic::PastStack(mac)
        }
        (Some(stack), _) => PortTraffic::Stack(stack),
        (None, Some(mac)) => PortTraffic::PastStack(mac),
        (None, None) => PortTraffic::Unknown("neither kernel nor MAC count its packets".into()),
    }
}

/// Bytes of a device by the counters of its port, if they count this device alone.
fn counted_bytes(bdf: Bdf, windows: &[MonitorSample]) -> PortTraffic {
    let of_port = |sample: &MonitorSample| {
        let is_its = |port: &&crate::monitor::PciePortSample| {
            port.devices_of == CountedDevices::Port
                && port.devices.iter().all(|device| device.bdf == bdf)
                && !port.devices.is_empty()
        };
        let port = sample.ports.iter().find(is_its)?;
        Some((port.write_bytes_per_s, port.read_bytes_per_s))
    };
    let counted: Vec<(f64, f64)> = windows.iter().filter_map(of_port).collect();
    if counted.is_empty() {
        return PortTraffic::Unknown(
            "a program has the function, so that the kernel tells nothing of it, and no counter of a PCIe \
             port counts this device alone"
                .into(),
        );
    }
    let mean =
        |of: fn(&(f64, f64)) -> f64| counted.iter().map(of).sum::<f64>() / counted.len() as f64;
    PortTraffic::Bytes { written_per_s: mean(|it| it.0), read_per_s: mean(|it| it.1) }
}

/// CPUs that serve the interrupts of a device and received packets in the window; all receivers if the
/// kernel does not show the interrupts.
pub(super) fn receiving_cpus(
    host: &Host,
    bdf: Bdf,
    activity: &WindowActivity<'_>,
) -> (Vec<CpuId>, String) {
    let receivers = activity.receivers();
    let interrupts =
        host.root.list(&format!("sys/bus/pci/devices/{bdf}/msi_irqs")).unwrap_or_default();
    let mut served: Vec<CpuId> = interrupts
        .iter()
        .filter_map(|irq| {
            let path = format!("proc/irq/{irq}/effective_affinity_list");
            cpu_list(&host.root.read_line(&path).ok()?)
        })
        .flatten()
        .collect();
    served.sort_unstable();
    served.dedup();
    if served.is_empty() {
        let list = format_list(&receivers);
        return (receivers, format!("/proc/softirqs: CPUs {list} received packets"));
    }
    let both: Vec<CpuId> = receivers.into_iter().filter(|cpu| served.contains(cpu)).collect();
    let list = format_list(&both);
    let source = format!(
        "/proc/softirqs and /proc/irq: CPUs {list} received packets and serve interrupts of {bdf}"
    );
    (both, source)
}
