//! Buffers with a chosen page size and memory node, and the placement of their lines in caches.

#![allow(unsafe_code)]

use crate::failure::Failure;
use crate::option_values::{MemoryNode, OperandPlacement, PageSize};
use std::arch::asm;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::path::Path;
use std::ptr::NonNull;

const LINE_BYTES: usize = 64;
/// Linux's directory of NUMA nodes.
const NODES: &str = "/sys/devices/system/node";
/// The policy of `mbind`: these nodes and no other [linux/mempolicy.h].
const MPOL_BIND: libc::c_long = 2;

/// Anonymous memory, unmapped on drop.
pub struct BufferRegion {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the region, wherever that goes.
unsafe impl Send for BufferRegion {}

impl BufferRegion {
    /// Maps at least `bytes` of zeroed, present memory with pages of this size. `node` is the NUMA node with
    /// the option that names it, for messages; `None`: the node of the thread.
    ///
    /// # Errors
    /// If the system has no such memory: too few huge pages, for instance.
    pub fn new(bytes: usize, pages: PageSize, node: Option<(&str, u32)>) -> Result<Self, Failure> {
        let (page, huge) = match pages {
            PageSize::Base => (4 << 10, 0),
            PageSize::Huge => (2 << 20, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB),
            PageSize::Giant => (1 << 30, libc::MAP_HUGETLB | libc::MAP_HUGE_1GB),
        };
        let bytes = bytes.max(1).next_multiple_of(page);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | huge;
        // SAFETY: a new mapping, where the kernel likes.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            let advice = match pages {
                PageSize::Base => String::new(),
                _ => format!(
                    "; {} of such pages are needed: see /sys/kernel/mm/hugepages",
                    bytes / page
                ),
            };
            let message = format!("--pages {}: {bytes} bytes: {error}{advice}", pages.name());
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

    /// Address of the first byte.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// All bytes. No device may write to the region as long as they are borrowed.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the region's own memory, borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Moves the region's lines into the caches, or out of them, as the placement says.
    pub fn move_lines(&self, to: OperandPlacement) {
        if to == OperandPlacement::Core {
            return;
        }
        for at in (0..self.bytes).step_by(LINE_BYTES) {
            let line = self.start.as_ptr().wrapping_add(at);
            // SAFETY: lines of the mapping; all instructions leave their content as it is. CLDEMOTE is a
            // hint, which processors without it ignore.
            unsafe {
                match to {
                    OperandPlacement::Core => {}
                    OperandPlacement::Flushed => std::arch::x86_64::_mm_clflush(line),
                    OperandPlacement::Prefetched => _mm_prefetch::<_MM_HINT_T0>(line.cast()),
                    // cldemote [rax]
                    OperandPlacement::Llc => asm!(".byte 0x0f, 0x1c, 0x00", in("rax") line),
                }
            }
        }
        // SAFETY: it orders stores.
        unsafe { std::arch::x86_64::_mm_mfence() };
    }
}

impl Drop for BufferRegion {
    fn drop(&mut self) {
        // SAFETY: the mapping is this region's own.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Finds the memory node that an option asks for, with the option for messages; `None`: the thread's own
/// node. `own` is the number of that node.
///
/// # Errors
/// If this machine has no such node.
pub fn find_node(
    option: &'static str,
    wanted: MemoryNode,
    own: u32,
) -> Result<Option<(&'static str, u32)>, Failure> {
    let refuse = |why: &str| Err(Failure::refused_value(option, wanted.name(), why));
    let found = match wanted {
        MemoryNode::Local => return Ok(None),
        MemoryNode::OtherSocket => {
            nodes().into_iter().find(|&(number, has_cpus)| has_cpus && number != own)
        }
        MemoryNode::Cxl => nodes().into_iter().find(|&(_, has_cpus)| !has_cpus),
    };
    match (found, wanted) {
        (Some((number, _)), _) if number < 64 => Ok(Some((option, number))),
        (_, MemoryNode::Cxl) => {
            refuse("this machine has no memory node without CPUs; allowed here: local")
        }
        _ => refuse("this machine has one node with CPUs; allowed here: local"),
    }
}

/// Checks that this machine has the memory node of `-S`; returns it as [`find_node`] does. Where the kernel
/// names no nodes, node 0 is all memory.
///
/// # Errors
/// If this machine has no such node.
pub fn check_node(wanted: u32) -> Result<Option<(&'static str, u32)>, Failure> {
    let known: Vec<u32> = nodes().into_iter().map(|(number, _)| number).collect();
    match (known.contains(&wanted), known.is_empty() && wanted == 0) {
        (true, _) => Ok(Some(("-S", wanted))),
        (_, true) => Ok(None),
        _ => {
            let all: Vec<String> = known.iter().map(u32::to_string).collect();
            let allowed = format!("allowed: nodes of this machine, which are {}", all.join(", "));
            Err(Failure::refused_value("-S", wanted, &allowed))
        }
    }
}

/// Numbers of all memory nodes, each with whether the node has CPUs.
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

/// Number of the memory node of this thread's CPU; 0 if the kernel does not report it.
pub fn own_node() -> u32 {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    // SAFETY: both numbers are written during the call.
    let asked = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, 0_usize) };
    if asked == 0 { node } else { 0 }
}
