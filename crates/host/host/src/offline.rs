//! CPUs that are present and offline, and the sockets that nothing can reach because of that: registers
//! and counters of a socket are reached through one of its CPUs, while its devices and its cache go on.
//!
//! The kernel does not report the package of an offline CPU. Its NUMA node is known, and so is that of
//! each device; where neither tells, the number of offline CPUs does.
//!
//! Source: Linux Documentation/ABI/testing/sysfs-devices-system-cpu (present, online, smt/control),
//! Documentation/core-api/cpu_hotplug.rst; `cpuN/topology` is there for online CPUs only (recalled).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::cpu::{CpuId, CpuSocket, PackageId, cpu_list, format_list};
use crate::numa::{cpus_by_node, socket_of_node};
use crate::pci::Tree;
use crate::root::Root;
use crate::unavailable::Unavailable;

const CPUS: &str = "sys/devices/system/cpu";

/// Offline CPUs, and the sockets without an online one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OfflineCpus {
    /// CPUs that are present and offline.
    pub cpus: Vec<CpuId>,
    /// Sockets of which no CPU is online, or that may be there: those whose numbers are known come first.
    pub sockets: Vec<UnreachableSocket>,
    /// Whether an offline CPU may be in any socket: nothing tells its node, or the node tells no socket.
    #[serde(skip)]
    has_unplaced: bool,
}

/// A socket of which no CPU is online; without a number one or more that may be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreachableSocket {
    /// Number of the package; `None` if the kernel does not report it.
    pub id: Option<PackageId>,
    /// NUMA nodes that have devices or CPUs of it, and no online CPU.
    pub nodes: Vec<u32>,
    /// Offline CPUs that belong to it, or may.
    pub cpus: Vec<CpuId>,
}

impl UnreachableSocket {
    /// The reason why it cannot be reached.
    #[must_use]
    pub fn reason(&self) -> String {
        let is_certain = self.id.is_some() || !self.nodes.is_empty();
        match (self.cpus.as_slice(), is_certain) {
            ([], _) => "it has devices, and none of its CPUs is online".to_owned(),
            (cpus, true) => format!("its CPUs {} are offline", format_list(cpus)),
            (cpus, false) => format!(
                "CPUs {} are offline, and the kernel does not tell which socket they are in",
                format_list(cpus)
            ),
        }
    }

    /// How to reach it, if its CPUs can be switched on.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        self.cpus.first().map(|cpu| format!("echo 1 > /{CPUS}/cpu{cpu}/online"))
    }

    /// The note of an item that it hides.
    #[must_use]
    pub fn hides(&self, item: &str) -> Unavailable {
        let what = format!("{item} of {self}");
        Unavailable { what, reason: self.reason(), remedy: self.remedy() }
    }
}

impl fmt::Display for UnreachableSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.id, self.nodes.as_slice()) {
            (Some(id), _) => write!(f, "socket {id}"),
            (None, []) => write!(f, "a socket that may be there"),
            (None, [node]) => write!(f, "the socket of NUMA node {node}"),
            (None, nodes) => write!(f, "the sockets of NUMA nodes {}", format_list(nodes)),
        }
    }
}

impl OfflineCpus {
    /// Finds the offline CPUs, and the sockets beside `sockets`, which have online ones. Without a list of
    /// CPUs or nodes nothing is found.
    #[must_use]
    pub fn read(root: &Root, sockets: &[CpuSocket], tree: &Tree) -> Self {
        let nodes = cpus_by_node(root);
        let online: BTreeSet<CpuId> = sockets.iter().flat_map(|it| &it.cpus).copied().collect();
        let listed = nodes.values().flatten();
        let present: BTreeSet<CpuId> = present_cpus(root).iter().chain(listed).copied().collect();
        let cpus: Vec<CpuId> = present.difference(&online).copied().collect();
        let places = SocketSources { root, sockets, nodes: &nodes };
        let mut found = Self { cpus: cpus.clone(), ..Self::default() };
        let mut unplaced = Vec::new();
        for cpu in cpus {
            match places.place(cpu) {
                Place::Reachable => {}
                Place::Package(id) => found.unreachable(Some(id)).cpus.push(cpu),
                Place::Node(node) => found.add_node(node, cpu),
                Place::Unknown => unplaced.push(cpu),
            }
        }
        found.has_unplaced = !unplaced.is_empty();
        if may_hide_socket(root, sockets, unplaced.len()) {
            found.unreachable(None).cpus.extend(unplaced);
        }
        for node in tree.functions().filter_map(|function| function.node) {
            found.add_node_of_device(node, &places);
        }
        found
    }

    /// The unreachable socket with a number, or the one without.
    fn unreachable(&mut self, id: Option<PackageId>) -> &mut UnreachableSocket {
        let rank = |id: Option<PackageId>| (id.is_none(), id);
        let at = self.sockets.partition_point(|known| rank(known.id) < rank(id));
        if self.sockets.get(at).is_none_or(|known| known.id != id) {
            let socket = UnreachableSocket { id, nodes: Vec::new(), cpus: Vec::new() };
            self.sockets.insert(at, socket);
        }
        &mut self.sockets[at]
    }

    /// Adds a CPU of a node without online CPUs.
    fn add_node(&mut self, node: u32, cpu: CpuId) {
        let socket = match self.sockets.iter().position(|known| known.nodes.contains(&node)) {
            Some(at) => &mut self.sockets[at],
            None => self.unreachable(None),
        };
        socket.cpus.push(cpu);
        if !socket.nodes.contains(&node) {
            socket.nodes.push(node);
        }
    }

    /// Adds a node with a device, if it belongs to no socket with an online CPU.
    fn add_node_of_device(&mut self, node: u32, places: &SocketSources<'_>) {
        let has_online = places.sockets_at(node).next().is_some();
        if places.nodes.is_empty() || has_online {
            return;
        }
        let of_node = |socket: &UnreachableSocket| {
            let cpus = places.nodes.get(&node);
            let shares = |cpu| cpus.is_some_and(|cpus| cpus.contains(cpu));
            socket.nodes.contains(&node) || socket.cpus.iter().any(shares)
        };
        let at = self.sockets.iter().position(of_node);
        let socket = match at {
            Some(at) => &mut self.sockets[at],
            None => self.unreachable(None),
        };
        if !socket.nodes.contains(&node) {
            socket.nodes.push(node);
            socket.nodes.sort_unstable();
        }
    }

    /// The unreachable socket that a socket number names, or may name.
    #[must_use]
    pub fn socket_named(&self, id: PackageId) -> Option<&UnreachableSocket> {
        self.sockets.iter().find(|socket| socket.id.is_none_or(|known| known == id))
    }

    /// The reachable socket of a port or device, by its NUMA node; `None` if that does not tell, or the
    /// socket is an unreachable one.
    #[must_use]
    pub fn socket_of_device(
        &self,
        root: &Root,
        node: Option<u32>,
        sockets: &[CpuSocket],
    ) -> Option<PackageId> {
        let nodes = cpus_by_node(root);
        let only = match sockets {
            [only] if self.sockets.is_empty() => Some(only.id),
            _ => None,
        };
        let Some(node) = node.filter(|_| !nodes.is_empty()) else { return only };
        // One node for the whole machine tells nothing while a socket may be hidden.
        let tells = nodes.values().filter(|cpus| !cpus.is_empty()).count() > 1;
        if !tells && !self.sockets.is_empty() && self.has_unplaced {
            return None;
        }
        socket_of_node(&nodes, node, sockets)
    }
}

/// The socket that an offline CPU belongs to.
enum Place {
    /// A socket with online CPUs.
    Reachable,
    /// A socket without online CPUs.
    Package(PackageId),
    /// A NUMA node without online CPUs.
    Node(u32),
    /// Any socket.
    Unknown,
}

/// The sources that tell the socket of an offline CPU.
struct SocketSources<'a> {
    root: &'a Root,
    sockets: &'a [CpuSocket],
    nodes: &'a BTreeMap<u32, Vec<CpuId>>,
}

impl SocketSources<'_> {
    fn place(&self, cpu: CpuId) -> Place {
        let package = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
        let package = self.root.read_number(&package).ok().and_then(|id| u32::try_from(id).ok());
        if let Some(id) = package.map(PackageId) {
            let is_reachable = self.sockets.iter().any(|socket| socket.id == id);
            return if is_reachable { Place::Reachable } else { Place::Package(id) };
        }
        let Some((&node, _)) = self.nodes.iter().find(|(_, cpus)| cpus.contains(&cpu)) else {
            return Place::Unknown;
        };
        let with_cpus = self.nodes.values().filter(|cpus| !cpus.is_empty()).count();
        match self.sockets_at(node).next() {
            None => Place::Node(node),
            // One node for the whole machine does not tell sockets apart.
            Some(_) if with_cpus > 1 => Place::Reachable,
            Some(_) => Place::Unknown,
        }
    }

    /// Sockets with online CPUs in a node.
    fn sockets_at(&self, node: u32) -> impl Iterator<Item = &CpuSocket> {
        let cpus = self.nodes.get(&node);
        let is_there = move |cpu: &CpuId| cpus.is_some_and(|cpus| cpus.contains(cpu));
        self.sockets.iter().filter(move |socket| socket.cpus.iter().any(is_there))
    }
}

/// CPUs that are there, online or not.
fn present_cpus(root: &Root) -> Vec<CpuId> {
    let listed = root.read_line(&format!("{CPUS}/present")).ok().and_then(|text| cpu_list(&text));
    // Each present CPU has a directory, also where the list is missing.
    let names = root.list(CPUS).unwrap_or_default();
    let numbers = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok());
    listed.into_iter().flatten().chain(numbers.map(CpuId)).collect()
}

/// Whether so many offline CPUs of unknown sockets may be those of a whole socket: it has as many CPUs as
/// the others, and threads that are switched off explain one CPU for each online core.
fn may_hide_socket(root: &Root, sockets: &[CpuSocket], unplaced: usize) -> bool {
    let control = root.read_line(&format!("{CPUS}/smt/control")).unwrap_or_default();
    let cores: usize = sockets.iter().map(CpuSocket::cores).sum();
    let threads = if matches!(control.as_str(), "off" | "forceoff") { cores } else { 0 };
    let largest = sockets.iter().map(|socket| socket.cpus.len()).max().unwrap_or(0);
    let rest = unplaced.saturating_sub(threads);
    rest > 0 && rest >= largest
}
