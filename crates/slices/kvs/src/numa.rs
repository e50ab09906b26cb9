//! Checks that cores and memory are of the same socket: slice numbers belong to a socket.
//!
//! Source: Linux Documentation/ABI/stable/sysfs-devices-system-cpu, sysfs-devices-node,
//! testing/sysfs-devices-memory.

use slices::memory::{OWN_PAGEMAP, PhysicalAddresses, ProcPagemap, SliceMemory};
use slices::recovery::HugePageSize;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use units::LINE_BYTES;

/// Sockets of processors and nodes of memory, read from sysfs below a root.
pub struct SocketTopology {
    root: PathBuf,
}

impl SocketTopology {
    pub fn from_sysfs() -> Self {
        Self { root: "/sys/devices/system".into() }
    }

    fn number(&self, path: &str, radix: u32) -> Option<u64> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        u64::from_str_radix(text.trim(), radix).ok()
    }

    fn socket(&self, core: usize) -> Option<u64> {
        self.number(&format!("cpu/cpu{core}/topology/physical_package_id"), 10)
    }

    /// Checks that all cores are of one socket. Succeeds if the kernel does not report sockets.
    ///
    /// # Errors
    /// If two cores are of different sockets; the message has both.
    pub fn check_same_socket(&self, cores: &[usize]) -> Result<(), String> {
        let Some((&first, others)) = cores.split_first() else { return Ok(()) };
        let Some(home) = self.socket(first) else { return Ok(()) };
        let other = others.iter().find_map(|&core| {
            let socket = self.socket(core).filter(|socket| *socket != home)?;
            Some((core, socket))
        });
        match other {
            None => Ok(()),
            Some((core, socket)) => Err(format!(
                "core {first} is of socket {home}, core {core} of socket {socket}: slice numbers belong \
                 to a socket; serve each socket by a process of its own"
            )),
        }
    }

    /// Whether the memory of a node belongs to a core's socket.
    fn is_beside(&self, node: u32, core: usize) -> bool {
        let path = |other: usize| format!("node/node{node}/cpu{other}");
        let there = |other: usize| self.root.join(path(other)).exists();
        if there(core) {
            return true;
        }
        // With sub-NUMA clusters, the other nodes of the socket have its other cores.
        let socket = self.socket(core);
        let entries = fs::read_dir(self.root.join(format!("node/node{node}")));
        let names = entries.into_iter().flatten().flatten();
        let cpus = names.filter_map(|entry| {
            entry.file_name().to_str()?.strip_prefix("cpu")?.parse::<usize>().ok()
        });
        socket.is_some() && cpus.into_iter().any(|cpu| self.socket(cpu) == socket)
    }

    /// The node of a physical address; `None` if the kernel does not list blocks of memory.
    fn node_of(&self, physical_address: u64) -> Option<u32> {
        let size = self.number("memory/block_size_bytes", 16).filter(|size| *size > 0)?;
        let block = format!("memory{}", physical_address / size);
        let nodes = fs::read_dir(self.root.join("node")).ok()?.flatten();
        let mut nodes = nodes.filter(|node| node.path().join(&block).exists());
        nodes.find_map(|node| node.file_name().to_str()?.strip_prefix("node")?.parse().ok())
    }

    fn check_address(&self, physical_address: u64, core: usize) -> Result<(), String> {
        match self.node_of(physical_address) {
            Some(node) if !self.is_beside(node, core) => Err(format!(
                "the kernel gave huge pages of node {node}, whose socket is not that of core {core}: slice \
                 numbers belong to a socket; reserve huge pages on the core's own node \
                 (/sys/devices/system/node/nodeN/hugepages)"
            )),
            _ => Ok(()),
        }
    }

    /// Checks that all pages are memory of the core's socket. Succeeds for memory regardless of slices.
    ///
    /// # Errors
    /// If a page is of another socket, or the kernel no longer reports physical addresses.
    pub fn check_memory(
        &self,
        memory: &mut SliceMemory,
        core: usize,
    ) -> Result<(), Box<dyn Error>> {
        if memory.plain_reason().is_some() {
            return Ok(());
        }
        let start = memory.start();
        let bytes = memory.as_lines_mut().len() as u64 * LINE_BYTES;
        let pagemap = ProcPagemap::open(Path::new(OWN_PAGEMAP))?;
        for page in (start..start + bytes).step_by(1 << HugePageSize::TwoMiB.bits()) {
            self.check_address(pagemap.physical_address(page)?, core)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets, the first with two nodes; blocks of 128 MiB.
    fn topology(folder: &Path) -> SocketTopology {
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("has one")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        for (core, socket, node) in [(0, 0, 0), (1, 0, 1), (2, 1, 2)] {
            write(&format!("cpu/cpu{core}/topology/physical_package_id"), &format!("{socket}\n"));
            write(&format!("node/node{node}/cpu{core}/online"), "1\n");
            write(&format!("node/node{node}/memory{node}/state"), "online\n");
        }
        write("memory/block_size_bytes", "8000000\n");
        SocketTopology { root: folder.into() }
    }

    #[test]
    fn cores_and_memory_of_another_socket_are_refused_and_those_of_its_clusters_are_not() {
        let folder = tempfile::tempdir().expect("a directory");
        let topology = topology(folder.path());
        assert_eq!(topology.check_same_socket(&[0, 1]), Ok(()));
        let refused = topology.check_same_socket(&[1, 2]).expect_err("two sockets");
        assert!(refused.contains("core 1 is of socket 0, core 2 of socket 1"), "{refused}");
        assert_eq!(topology.check_address(0, 0), Ok(()));
        assert_eq!(topology.check_address(1 << 27, 0), Ok(()), "the other cluster");
        let refused = topology.check_address(2 << 27, 0).expect_err("the other socket");
        assert!(refused.contains("huge pages of node 2"), "{refused}");
        assert_eq!(topology.check_address(3 << 27, 0), Ok(()), "in no block that is listed");
    }

    #[test]
    fn where_the_kernel_does_not_say_nothing_is_refused() {
        let folder = tempfile::tempdir().expect("a directory");
        let topology = SocketTopology { root: folder.path().into() };
        assert_eq!(topology.check_same_socket(&[0, 1]), Ok(()));
        assert_eq!(topology.check_address(0, 0), Ok(()));
    }
}
