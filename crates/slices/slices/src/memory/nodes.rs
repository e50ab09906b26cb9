//! NUMA nodes of memory. A table numbers the slices of one socket, and only lines of that socket's own
//! memory are in these slices.

use super::pagemap::PhysicalAddresses;
use crate::mapped_page::VirtualPage;
use std::io;
use std::path::Path;

/// Error: memory is not on the requested NUMA node, or its node is unknown.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The machine has no such node.
    #[error("no node {node}; online: {online}")]
    NotOnline {
        /// The requested node.
        node: u32,
        /// The nodes that are online, as the kernel lists them.
        online: String,
    },
    /// A page is on another node.
    #[error(
        "the page at virtual address {virtual_address:#x} is on node {node}, wanted: {wanted}; slice \
         numbers belong to a socket: open a memory for each"
    )]
    OtherNode {
        /// Virtual address of the page.
        virtual_address: u64,
        /// Node of the page.
        node: u32,
        /// The requested node, or the node of the first page.
        wanted: u32,
    },
    /// The kernel does not report the node of a page.
    #[error("the kernel does not say which node the page at virtual address {0:#x} is on")]
    Unknown(u64, #[source] Option<io::Error>),
}

/// The kernel's list of nodes.
const ONLINE: &str = "/sys/devices/system/node/online";

/// Reads the nodes that are online, below the root of a file system; the text is the kernel's list. `None`
/// if the kernel has no nodes.
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

/// Checks that a node is online; succeeds if the kernel does not list nodes.
pub(super) fn check_online(node: u32) -> Result<(), NodeError> {
    match online_nodes(Path::new("/")) {
        Some((nodes, online)) if !nodes.contains(&node) => {
            Err(NodeError::NotOnline { node, online })
        }
        _ => Ok(()),
    }
}

/// The node that all pages are on: the `wanted` one, or that of the first page. `None` if no node is
/// wanted and the kernel has no nodes.
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
