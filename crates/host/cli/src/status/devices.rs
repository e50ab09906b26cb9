//! Ports and devices of the status screen.

use host::cpu::Proof;
use host::pci::{FunctionKind, LinkStatus};
use host::status::{DdioState, DeviceStatus, PortStatus};

use crate::output::Paint;

/// The lines of a port: its DDIO switch, then the devices below it with their rings.
pub(super) fn lines(port: &PortStatus, paint: Paint) -> Vec<String> {
    let head = match port.port {
        Some(bdf) => format!("  Port {bdf:<14}{}", ddio(port, paint)),
        None => "  Part of the root complex".to_owned(),
    };
    let mut lines = vec![head.trim_end().to_owned()];
    if port.devices.is_empty() {
        lines.push(format!("    {}", paint.quiet("no NIC, SSD or disk below it")));
    }
    for device in &port.devices {
        lines.push(format!("    {}", self::device(device, paint)));
        let rings = device.rings.iter().map(|(name, rings)| {
            let sizes = format!(
                "rx {} of {}, tx {} of {}",
                rings.rx, rings.most_rx, rings.tx, rings.most_tx
            );
            format!("      {}", paint.quiet(format!("rings of {name}: {sizes}")))
        });
        lines.extend(rings);
    }
    lines
}

fn ddio(port: &PortStatus, paint: Paint) -> String {
    match (port.ddio, port.ddio_proof) {
        (None, Some(Proof::Effective)) => paint.quiet("no known DDIO switch"),
        (None, _) => String::new(),
        (Some(DdioState::On | DdioState::Off), Some(Proof::NoEffect)) => {
            paint.quiet("its DDIO switch has no known effect here")
        }
        (Some(DdioState::On), _) => paint.good("DDIO on"),
        (Some(DdioState::Off), _) => paint.warning("DDIO off: writes go to memory"),
        (Some(DdioState::Unread), _) => paint.quiet("DDIO switch not readable"),
        (Some(DdioState::NoResponse), _) => paint.quiet("its DDIO switch does not respond"),
    }
}

fn device(device: &DeviceStatus, paint: Paint) -> String {
    let kind = match device.kind {
        FunctionKind::Nic => "NIC",
        FunctionKind::Ssd => "SSD",
        _ => "disk",
    };
    let names = device.names.join(" ");
    let driver = device.driver.as_deref().unwrap_or("no driver");
    let link = device.link.as_ref().map(|link| self::link(link, paint)).unwrap_or_default();
    let through = match device.through.len() {
        0 => String::new(),
        _ => format!("  behind a switch ({} bridges)", device.through.len()),
    };
    let text = format!("{kind:<4} {}  {names:<9} {driver:<10} {link}{through}", device.bdf);
    text.trim_end().to_owned()
}

fn link(link: &LinkStatus, paint: Paint) -> String {
    let speed = |gts: Option<f64>| gts.map_or("?".to_owned(), |gts| format!("{gts}"));
    let now = format!("{} GT/s x{}", speed(link.speed_gts), link.width);
    let below = link.width < link.most_width || link.speed_gts < link.most_speed_gts;
    let most = if below {
        let most = format!("{} GT/s x{}", speed(link.most_speed_gts), link.most_width);
        format!(" {}", paint.warning(format!("(could do {most})")))
    } else {
        String::new()
    };
    format!("{now}{most}  MPS {} MRRS {}", link.mps_bytes, link.mrrs_bytes)
}
