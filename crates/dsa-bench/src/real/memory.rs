//! Buffers in pages and nodes of choice, and their lines in or out of the caches.

#![allow(unsafe_code)]

use crate::choices::{Node, Operand, Pages};
use crate::failure::Failure;
use std::arch::asm;
use std::path::Path;
use std::ptr::NonNull;

const LINE_BYTES: usize = 64;
/// Where Linux has NUMA nodes.
const NODES: &str = "/sys/devices/system/node";
/// The policy of `mbind`: these nodes and no other [linux/mempolicy.h].
const MPOL_BIND: libc::c_long = 2;

/// Memory of its own pages.
pub struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the region, wherever that goes.
unsafe impl Send for Region {}

impl Region {
    /// So many bytes, zero, present; in pages of a size and on a NUMA node, if one is named.
    pub fn new(bytes: usize, pages: Pages, node: Option<(&str, u32)>) -> Result<Self, Failure> {
        let (page, huge) = match pages {
            Pages::Base => (4 << 10, 0),
            Pages::Huge => (2 << 20, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB),
            Pages::Giant => (1 << 30, libc::MAP_HUGETLB | libc::MAP_HUGE_1GB),
        };
        let bytes = bytes.max(1).next_multiple_of(page);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | huge;
        // SAFETY: a new mapping, where the kernel likes.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            let advice = match pages {
                Pages::Base => String::new(),
                _ => format!(
                    "; {} of such pages are needed: see /sys/kernel/mm/hugepages",
                    bytes / page
                ),
            };
            let message = format!("-p {}: {bytes} bytes: {error}{advice}", pages.word());
            return Err(Failure::Failed(message));
        }
        let start = NonNull::new(start.cast()).unwrap_or(NonNull::dangling());
        let region = Self { start, bytes };
        if let Some((option, node)) = node {
            region.bind(option, node)?;
        }
        for at in (0..bytes).step_by(4096) {
            // SAFETY: within the mapping; its pages come by being written.
            unsafe { start.as_ptr().add(at).write_volatile(0) };
        }
        Ok(region)
    }

    fn bind(&self, option: &str, node: u32) -> Result<(), Failure> {
        let mask: libc::c_ulong = 1 << node;
        // SAFETY: the mapping is this region's, the mask is read during the call.
        let done = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.bytes,
                MPOL_BIND,
                &raw const mask,
                libc::c_ulong::from(libc::c_ulong::BITS),
                0,
            )
        };
        if done == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        Err(Failure::Failed(format!("{option}: memory of node {node}: {error}")))
    }

    /// Address of its first byte.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// All of it, while no device writes to it.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the region's own memory, borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Puts its lines where an operand shall be.
    pub fn send(&self, to: Operand) {
        if to == Operand::Core {
            return;
        }
        for at in (0..self.bytes).step_by(LINE_BYTES) {
            let line = self.start.as_ptr().wrapping_add(at);
            // SAFETY: lines of the mapping; both instructions leave their content as it is. CLDEMOTE is a
            // hint, which processors without it ignore.
            unsafe {
                if to == Operand::Flushed {
                    std::arch::x86_64::_mm_clflush(line);
                } else {
                    asm!(".byte 0x0f, 0x1c, 0x00", in("rax") line); // cldemote [rax]
                }
            }
        }
        // SAFETY: it orders stores.
        unsafe { std::arch::x86_64::_mm_mfence() };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this region's own.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The number of the memory node that an option asks for; none: that of the thread.
pub fn node(
    option: &'static str,
    wanted: Node,
    own: u32,
) -> Result<Option<(&'static str, u32)>, Failure> {
    let refuse = |why: &str| Err(Failure::of_option(option, wanted.word(), why));
    let found = match wanted {
        Node::Local => return Ok(None),
        Node::OtherSocket => {
            nodes().into_iter().find(|&(number, has_cpus)| has_cpus && number != own)
        }
        Node::Cxl => nodes().into_iter().find(|&(_, has_cpus)| !has_cpus),
    };
    match (found, wanted) {
        (Some((number, _)), _) if number < 64 => Ok(Some((option, number))),
        (_, Node::Cxl) => {
            refuse("this machine has no memory node without CPUs; allowed here: local")
        }
        _ => refuse("this machine has one node with CPUs; allowed here: local"),
    }
}

/// Memory nodes, each with whether it has CPUs.
fn nodes() -> Vec<(u32, bool)> {
    let Ok(entries) = std::fs::read_dir(NODES) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = names.filter_map(|name| name.strip_prefix("node")?.parse().ok());
    let mut all: Vec<(u32, bool)> = numbers.map(|number| (number, has_cpus(number))).collect();
    all.sort_unstable();
    all
}

fn has_cpus(node: u32) -> bool {
    let path = Path::new(NODES).join(format!("node{node}/cpulist"));
    std::fs::read_to_string(path).is_ok_and(|list| !list.trim().is_empty())
}

/// The node of this thread's CPU.
pub fn own_node() -> u32 {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    // SAFETY: both numbers are written during the call.
    let asked = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, 0_usize) };
    if asked == 0 { node } else { 0 }
}
