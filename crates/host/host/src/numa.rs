//! NUMA nodes: their CPUs, their socket, and the node of a physical address.
//!
//! Source: Linux Documentation/ABI/testing/sysfs-devices-memory, sysfs-devices-node.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpu::{CpuId, CpuSocket, PackageId, cpu_list, sockets};
use crate::root::Root;

const NODES: &str = "sys/devices/system/node";

/// Logical CPUs of each NUMA node, online or not; no nodes if the kernel does not list them.
///
/// A node's list has its online CPUs only; links to the others stay (recalled).
pub(crate) fn cpus_by_node(root: &Root) -> BTreeMap<u32, Vec<CpuId>> {
    let mut by_node: BTreeMap<u32, Vec<CpuId>> =
        nodes(root).into_iter().map(|node| (node, node_cpus(root, node))).collect();
    let listed: BTreeSet<CpuId> = by_node.values().flatten().copied().collect();
    for (node, cpus) in &mut by_node {
        let names = root.list(&format!("{NODES}/node{node}")).unwrap_or_default();
        let linked = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok());
        cpus.extend(linked.map(CpuId).filter(|cpu| !listed.contains(cpu)));
        cpus.sort_unstable();
    }
    by_node
}

/// Online logical CPUs of a NUMA node; empty if the kernel does not list them.
fn node_cpus(root: &Root, node: u32) -> Vec<CpuId> {
    let text = root.read_line(&format!("{NODES}/node{node}/cpulist"));
    text.ok().and_then(|text| cpu_list(&text)).unwrap_or_default()
}

/// The socket whose online CPUs a NUMA node has; `None` if none has any, or several have.
pub(crate) fn socket_of_node(
    nodes: &BTreeMap<u32, Vec<CpuId>>,
    node: u32,
    sockets: &[CpuSocket],
) -> Option<PackageId> {
    let cpus = nodes.get(&node)?;
    let mut there = sockets.iter().filter(|it| it.cpus.iter().any(|cpu| cpus.contains(cpu)));
    let found = there.next()?;
    there.next().is_none().then_some(found.id)
}

/// NUMA nodes that have CPUs of a socket; empty if the kernel does not list them.
#[must_use]
pub fn nodes_of_socket(root: &Root, socket: &CpuSocket) -> Vec<u32> {
    let of_socket = |node: &u32| node_cpus(root, *node).iter().any(|cpu| socket.cpus.contains(cpu));
    nodes(root).into_iter().filter(of_socket).collect()
}

/// NUMA node whose memory contains a physical address; `None` if the kernel lists no memory block for it.
#[must_use]
pub fn node_of_address(root: &Root, physical_address: u64) -> Option<u32> {
    let size = root.read_line("sys/devices/system/memory/block_size_bytes").ok()?;
    let size = u64::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
    let block = physical_address / size;
    nodes(root).into_iter().find(|node| root.exists(&format!("{NODES}/node{node}/memory{block}")))
}

/// NUMA nodes of the socket that a CPU belongs to.
pub(crate) fn nodes_of_cpu_socket(root: &Root, cpu: CpuId) -> Vec<u32> {
    let all = sockets(root).unwrap_or_default();
    let socket = all.iter().find(|socket| socket.cpus.contains(&cpu));
    socket.map(|socket| nodes_of_socket(root, socket)).unwrap_or_default()
}

/// The numbers of all NUMA nodes, ascending; none if the kernel lists none.
fn nodes(root: &Root) -> Vec<u32> {
    let entries = root.list(NODES).unwrap_or_default();
    let mut nodes: Vec<u32> =
        entries.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_address_belongs_to_the_node_that_lists_its_block() {
        let tree = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().expect("has one")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        let root = Root::from_tree(tree.path()).expect("a tree");
        write("sys/devices/system/node/node0/memory1/state", "online\n");
        write("sys/devices/system/node/node1/memory2/state", "online\n");
        assert_eq!(node_of_address(&root, 0x800_0000), None, "no size of blocks is known");
        write("sys/devices/system/memory/block_size_bytes", "8000000\n");
        assert_eq!(node_of_address(&root, 0x800_0000), Some(0));
        assert_eq!(node_of_address(&root, 0x17ff_ffc0), Some(1));
        assert_eq!(node_of_address(&root, 0), None, "in no node");
    }
}
