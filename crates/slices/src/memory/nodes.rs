//! Nodes of memory. The slices that a table numbers are those of one socket, and only lines of that
//! socket's own memory are in them.

use super::mapped::VirtualPage;
use super::pagemap::PhysicalAddresses;
use std::io;
use std::path::Path;

/// Why memory is not, or cannot be told to be, on the node wanted.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The machine has no such node.
    #[error("no node {node}; online: {online}")]
    NotOnline {
        /// The node asked for.
        node: u32,
        /// Those that there are, as the kernel lists them.
        online: String,
    },
    /// A page is elsewhere.
    #[error(
        "the page at virtual address {virtual_address:#x} is on node {node}, wanted: {wanted}; slice \
         numbers belong to a socket: open a memory for each"
    )]
    OtherNode {
        /// The page.
        virtual_address: u64,
        /// Its node.
        node: u32,
        /// The node that was asked for, or that of the first page.
        wanted: u32,
    },
    /// The kernel does not say.
    #[error("the kernel does not say which node the page at virtual address {0:#x} is on")]
    Unknown(u64, #[source] Option<io::Error>),
}

/// The kernel's list of nodes.
const ONLINE: &str = "/sys/devices/system/node/online";

/// The nodes that are online, below the root of a file system, and the kernel's text. `None` if it
/// has no nodes.
#[must_use]
pub fn online_nodes(root: &Path) -> Option<(Vec<u32>, String)> {
    let text = std::fs::read_to_string(root.join(&ONLINE[1..])).ok()?;
    let mut nodes = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        nodes.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    Some((nodes, text.trim().into()))
}

/// Refuses a node that the machine does not have.
pub(super) fn check_online(node: u32) -> Result<(), NodeError> {
    match online_nodes(Path::new("/")) {
        Some((nodes, online)) if !nodes.contains(&node) => {
            Err(NodeError::NotOnline { node, online })
        }
        _ => Ok(()),
    }
}

/// The node that all pages are on: the one `wanted`, or that of the first. `None` where no node is
/// wanted and the kernel has none.
pub(super) fn common_node(
    pages: &[VirtualPage],
    wanted: Option<u32>,
    addresses: &impl PhysicalAddresses,
) -> Result<Option<u32>, NodeError> {
    let mut common = wanted;
    for &VirtualPage { start: virtual_address, .. } in pages {
        match (addresses.node(virtual_address), common) {
            (Ok(Some(node)), Some(wanted)) if node != wanted => {
                return Err(NodeError::OtherNode { virtual_address, node, wanted });
            }
            (Ok(Some(node)), _) => common = Some(node),
            (Ok(None) | Err(_), None) => {}
            (Ok(None), Some(_)) if wanted.is_none() => {}
            (Ok(None), Some(_)) => return Err(NodeError::Unknown(virtual_address, None)),
            (Err(error), Some(_)) => return Err(NodeError::Unknown(virtual_address, Some(error))),
        }
    }
    Ok(common)
}
