//! Whose memory and whose function it is: slice numbers belong to a socket.
//!
//! Source: Linux Documentation/ABI/testing/sysfs-devices-memory, sysfs-devices-node.

use super::counters::{NoCounters, SliceMachine};
use crate::cpu::{CpuId, PackageId, Socket, as_list, node_cpus, sockets};
use crate::machine::Host;
use crate::root::Root;

const NODES: &str = "sys/devices/system/node";

/// The NUMA nodes with processors of this socket; none where the kernel does not say.
#[must_use]
pub fn nodes_of_socket(root: &Root, socket: &Socket) -> Vec<u32> {
    let of_socket = |node: &u32| node_cpus(root, *node).iter().any(|cpu| socket.cpus.contains(cpu));
    nodes(root).into_iter().filter(of_socket).collect()
}

/// The NUMA node whose memory a physical address is; `None` where the kernel lists no blocks of memory.
#[must_use]
pub fn node_of_address(root: &Root, physical_address: u64) -> Option<u32> {
    let size = root.read_line("sys/devices/system/memory/block_size_bytes").ok()?;
    let size = u64::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
    let block = physical_address / size;
    nodes(root).into_iter().find(|node| root.exists(&format!("{NODES}/node{node}/memory{block}")))
}

/// The nodes of the socket that a processor is in.
pub(super) fn nodes_beside(root: &Root, cpu: CpuId) -> Vec<u32> {
    let all = sockets(root).unwrap_or_default();
    let socket = all.iter().find(|socket| socket.cpus.contains(&cpu));
    socket.map(|socket| nodes_of_socket(root, socket)).unwrap_or_default()
}

fn nodes(root: &Root) -> Vec<u32> {
    let entries = root.list(NODES).unwrap_or_default();
    let mut nodes: Vec<u32> =
        entries.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    nodes.sort_unstable();
    nodes
}

/// The socket of a processor, or the one with a number; without either, the first.
pub(super) fn asked_socket(
    all: Vec<Socket>,
    cpu: Option<CpuId>,
    id: Option<PackageId>,
) -> Result<Socket, NoCounters> {
    let bad = |message| Err(NoCounters::BadRequest(message));
    let with_cpu = |socket: &&Socket| cpu.is_none_or(|cpu| socket.cpus.contains(&cpu));
    let Some(home) = all.iter().find(with_cpu) else {
        let online: Vec<CpuId> = all.iter().flat_map(|socket| socket.cpus.clone()).collect();
        let (asked, online) = (cpu.unwrap_or_default(), as_list(&online));
        return bad(format!(
            "--cpu {asked}: there is no such processor online; there are {online}"
        ));
    };
    let Some(id) = id else { return Ok(home.clone()) };
    if let Some(cpu) = cpu.filter(|_| home.id != id) {
        let home = home.id;
        return bad(format!(
            "--cpu {cpu}: is in socket {home}, not {id}: slice numbers belong to a socket"
        ));
    }
    let known: Vec<u32> = all.iter().map(|socket| socket.id.0).collect();
    all.into_iter().find(|socket| socket.id == id).ok_or_else(|| {
        let known = as_list(&known);
        NoCounters::BadRequest(format!("--socket {id}: there is no such socket; there are {known}"))
    })
}

impl SliceMachine {
    /// Whether a function that was published for its CPU model can be that of this socket.
    ///
    /// # Errors
    /// Says why not: nothing is published for virtual machines, other parts and sub-NUMA clustering.
    pub fn is_as_published(&self, host: &Host) -> Result<(), String> {
        let name = &self.model.name;
        if self.model.virtual_machine {
            return Err("in a virtual machine physical addresses are the guest's".into());
        }
        if let Some(known) = &self.generation
            && !known.names_server(&self.model)
        {
            return Err(format!("\"{name}\" is no server of {}", known.name));
        }
        let caches = self.socket.caches.len();
        if caches > 1 {
            return Err(format!("a socket of this part has {caches} last-level caches"));
        }
        match nodes_of_socket(&host.root, &self.socket).len() {
            0 | 1 => Ok(()),
            nodes => Err(format!(
                "socket {} has {nodes} NUMA nodes: sub-NUMA clustering changes the function",
                self.socket.id
            )),
        }
    }
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
        let root = Root::at(tree.path()).expect("a tree");
        write("sys/devices/system/node/node0/memory1/state", "online\n");
        write("sys/devices/system/node/node1/memory2/state", "online\n");
        assert_eq!(node_of_address(&root, 0x800_0000), None, "no size of blocks is known");
        write("sys/devices/system/memory/block_size_bytes", "8000000\n");
        assert_eq!(node_of_address(&root, 0x800_0000), Some(0));
        assert_eq!(node_of_address(&root, 0x17ff_ffc0), Some(1));
        assert_eq!(node_of_address(&root, 0), None, "in no node");
    }
}
