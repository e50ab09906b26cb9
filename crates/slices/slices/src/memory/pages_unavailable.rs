//! The error of missing huge pages, with the remedy.

use crate::recovery::HugePageSize;
use std::io;

/// Error of a request for more huge pages than the kernel has free.
#[derive(Debug, thiserror::Error)]
#[error(
    "{pages} huge pages of {kib} KiB wanted, {free} free{of_node}: {answer}; set up more: \
     echo N > {folder}/hugepages-{kib}kB/nr_hugepages"
)]
pub struct PagesUnavailable {
    /// Number of pages that were requested.
    pub pages: usize,
    /// Size of a page in KiB.
    pub kib: usize,
    /// Number of free pages as the kernel reports it, or `none` if it does not.
    pub free: String,
    /// The node for the message (" on node 1"); empty if none was requested.
    pub of_node: String,
    /// Answer of the kernel to the request for pages.
    pub answer: KernelAnswer,
    folder: String,
}

/// The error with which the kernel answered.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KernelAnswer(io::Error);

impl KernelAnswer {
    /// The error number, if it is one of the system.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.0.raw_os_error()
    }
}

impl PagesUnavailable {
    /// The error for so many pages; reads the number of free pages from sysfs.
    pub(super) fn new(
        pages: usize,
        size: HugePageSize,
        node: Option<u32>,
        error: io::Error,
    ) -> Self {
        let kib = 1usize << (size.bits() - 10);
        let folder = match node {
            None => "/sys/kernel/mm/hugepages".into(),
            Some(node) => format!("/sys/devices/system/node/node{node}/hugepages"),
        };
        let free = format!("{folder}/hugepages-{kib}kB/free_hugepages");
        let free = std::fs::read_to_string(free).map_or("none".into(), |text| text.trim().into());
        let of_node = node.map_or(String::new(), |node| format!(" on node {node}"));
        Self { pages, kib, free, of_node, answer: KernelAnswer(error), folder }
    }
}
