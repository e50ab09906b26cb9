//! Why there are no huge pages, and what to do about it.

use crate::recovery::PageSize;
use std::io;

/// The kernel gave no huge pages.
#[derive(Debug, thiserror::Error)]
#[error(
    "{pages} huge pages of {kib} KiB wanted, {free} free{of_node}: {answer}; set up more: \
     echo N > {folder}/hugepages-{kib}kB/nr_hugepages"
)]
pub struct PagesUnavailable {
    /// Pages that were asked for.
    pub pages: usize,
    /// Size of one.
    pub kib: usize,
    /// Free ones, as the kernel says, or that it does not.
    pub free: String,
    /// On which node, if one was asked for.
    pub of_node: String,
    /// What the kernel answered.
    pub answer: Answer,
    folder: String,
}

/// What the kernel answered.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Answer(io::Error);

impl Answer {
    /// The errno.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.0.raw_os_error()
    }
}

impl PagesUnavailable {
    /// What the kernel answered about so many pages, and what it says about free ones.
    pub(super) fn new(pages: usize, size: PageSize, node: Option<u32>, error: io::Error) -> Self {
        let kib = 1usize << (size.bits() - 10);
        let folder = match node {
            None => "/sys/kernel/mm/hugepages".into(),
            Some(node) => format!("/sys/devices/system/node/node{node}/hugepages"),
        };
        let free = format!("{folder}/hugepages-{kib}kB/free_hugepages");
        let free = std::fs::read_to_string(free).map_or("none".into(), |text| text.trim().into());
        let of_node = node.map_or(String::new(), |node| format!(" on node {node}"));
        Self { pages, kib, free, of_node, answer: Answer(error), folder }
    }
}
