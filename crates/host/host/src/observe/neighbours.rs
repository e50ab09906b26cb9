//! Other traffic of the server: further ports, SSDs and copy engines, as tenants of the scenario.

use crate::cpu::PackageId;
use crate::unavailable::Unavailable;

use super::network::{ObservedPort, PortTraffic, is_handed_over};
use super::values::{Findings, ValueOrigin};
use super::{ObservedMachine, PlatformRoom, engines, load, storage};

/// Bytes in a second below which a device is idle.
pub(super) const IDLE_BYTES_PER_S: f64 = 1e6;
/// Further ports that a scenario has.
const MOST_PORTS: usize = 3;

/// Where tenants go: the sockets of the simulator, and what their platform has.
pub(super) struct Neighbourhood {
    /// The socket that is the simulator's first.
    pub(super) home: Option<PackageId>,
    /// Cores of a socket.
    pub(super) cores: usize,
    /// Whether the platform has copy engines.
    pub(super) has_engines: bool,
}

impl Neighbourhood {
    /// Number of a socket in the simulator, which has two.
    pub(super) fn number_of(&self, socket: Option<PackageId>) -> i64 {
        match (self.home, socket) {
            (Some(home), Some(own)) if own != home => 1,
            _ => 0,
        }
    }

    /// Cores of a socket that no tenant has so far.
    pub(super) fn cores_left(&self, socket: i64, findings: &Findings) -> usize {
        self.cores.saturating_sub(findings.cores_of(socket))
    }
}

/// Adds the tenants beside the main port.
pub(super) fn add(
    seen: &ObservedMachine<'_>,
    ports: &[ObservedPort<'_>],
    home: Option<PackageId>,
    room: PlatformRoom,
    findings: &mut Findings,
) {
    let around = Neighbourhood { home, cores: room.cores, has_engines: room.has_engines };
    if let Some((main, others)) = ports.split_first() {
        further_ports(seen, main, others, &around, findings);
    }
    storage::add(seen, &around, findings);
    engines::add(seen, &around, findings);
}

/// Each further port that is busy is a tenant with a card of its own.
fn further_ports(
    seen: &ObservedMachine<'_>,
    main: &ObservedPort<'_>,
    others: &[ObservedPort<'_>],
    around: &Neighbourhood,
    findings: &mut Findings,
) {
    let busy: Vec<_> = others.iter().filter(|port| port.weight() > 0.0).collect();
    for port in busy.iter().take(MOST_PORTS) {
        findings.tenant(|findings| {
            let source = format!("{}: {}", port.name(), moves(main, port));
            findings.add("name", tenant_name(port), ValueOrigin::Measured, source);
            load::further_port(seen, port, around.home, findings);
        });
    }
    for port in busy.iter().skip(MOST_PORTS) {
        findings.left_out.push(format!("{} {}", port.name(), moves(main, port)));
    }
    for port in others.iter().filter(|port| is_handed_over(port.device)) {
        if let PortTraffic::Unknown(why) = &port.traffic {
            let what = format!("traffic of {}", port.name());
            findings.note(Unavailable::without_remedy(what, why.clone()));
        }
    }
}

fn moves(main: &ObservedPort<'_>, port: &ObservedPort<'_>) -> String {
    let card = |port: &ObservedPort<'_>| {
        let bdf = port.device.bdf;
        (bdf.domain, bdf.bus, bdf.device)
    };
    let shares = if card(port) == card(main) {
        "; it shares the card of the main port, and has a link of its own in the scenario"
    } else {
        ""
    };
    format!("moves {:.1} Gbit/s{shares}", port.weight() * 8.0 / 1e9)
}

/// A name of letters, digits, - and _, as tenants have.
fn tenant_name(port: &ObservedPort<'_>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = port.name().chars().map(plain).collect();
    if name == "main" || name.is_empty() { format!("port-{name}") } else { name }
}
