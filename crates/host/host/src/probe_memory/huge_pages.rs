//! Huge pages of the running machine.
//!
//! Source: mmap(2) MAP_HUGETLB; Linux Documentation/admin-guide/mm/pagemap.rst.

use std::sync::Arc;

use memmap2::{MmapMut, MmapOptions};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{MemorySource, ProbeMemory, ProbeMemoryError, ProbePage, ProbePageSize, loads};
use crate::cpu::CpuId;
use crate::numa::{node_of_address, nodes_of_cpu_socket};
use crate::root::Root;
use units::narrow::{fit, usize_from};

const PAGEMAP: &str = "proc/self/pagemap";
const GRANULE_BYTES: u64 = 4096;

/// Backend that maps huge pages of the running machine.
#[derive(Clone, Debug)]
pub struct HugePageSource(pub Arc<Root>);

impl MemorySource for HugePageSource {
    fn map(
        &self,
        size: ProbePageSize,
        most: usize,
        cpu: CpuId,
    ) -> Result<Box<dyn ProbeMemory>, ProbeMemoryError> {
        let before = sched_getaffinity(None).ok();
        // Pages come from the memory of the processor that touches them first.
        pin(cpu)?;
        let mut mapped = MappedPages { pages: Vec::new(), maps: Vec::new(), overhead: 0, before };
        let own_nodes = nodes_of_cpu_socket(&self.0, cpu);
        let mut other_node = None;
        let mut found = Vec::new();
        while found.len() < most {
            let options =
                MmapOptions::new().len(1 << size.bits()).huge(Some(fit(size.bits()))).map_anon();
            let Ok(mut map) = options else { break };
            map[0] = 1;
            let start = physical_start(&self.0, map.as_ptr().addr() as u64, size)?;
            // Once the processor's own node has no page left, the kernel takes those of others.
            other_node = node_of_address(&self.0, start).filter(|node| !own_nodes.contains(node));
            if other_node.is_some() && !own_nodes.is_empty() {
                break;
            }
            found.push((ProbePage { start, size }, map));
        }
        if let (true, Some(node), Some(&wanted)) = (found.is_empty(), other_node, own_nodes.first())
        {
            return Err(ProbeMemoryError::OtherSocket { size, node, wanted });
        }
        if found.is_empty() {
            return Err(ProbeMemoryError::NoPages { size, free: free_pages(&self.0, size) });
        }
        found.sort_by_key(|(page, _)| page.start);
        (mapped.pages, mapped.maps) = found.into_iter().unzip();
        mapped.overhead = (0..256).map(|_| loads::cycles_of_load(None)).min().unwrap_or(0);
        Ok(Box::new(mapped))
    }
}

/// Moves this thread to a processor.
fn pin(cpu: CpuId) -> Result<(), ProbeMemoryError> {
    let mut set = CpuSet::new();
    set.set(cpu.0 as usize);
    sched_setaffinity(None, &set).map_err(|errno| ProbeMemoryError::NotPinned {
        cpu,
        reason: std::io::Error::from(errno).to_string(),
    })
}

/// Physical address of a huge page. The last 4 KiB are looked up too: the page has to be contiguous.
fn physical_start(
    root: &Root,
    virtual_start: u64,
    size: ProbePageSize,
) -> Result<u64, ProbeMemoryError> {
    let physical = |virtual_address: u64| -> Result<u64, ProbeMemoryError> {
        let mut entry = [0; 8];
        root.read_at(PAGEMAP, virtual_address / GRANULE_BYTES * 8, &mut entry)?;
        frame_address(u64::from_le_bytes(entry)).ok_or(ProbeMemoryError::Hidden)
    };
    let start = physical(virtual_start)?;
    let last = physical(virtual_start + size.bytes() - GRANULE_BYTES)?;
    let whole = start.is_multiple_of(size.bytes()) && last == start + size.bytes() - GRANULE_BYTES;
    if whole { Ok(start) } else { Err(ProbeMemoryError::NotHuge(virtual_start)) }
}

/// Physical address in an entry of the page map: bits 54:0 are the number of the 4 KiB page, which is
/// zero for processes without privilege.
fn frame_address(entry: u64) -> Option<u64> {
    let number = entry & ((1 << 55) - 1);
    (number != 0).then_some(number * GRANULE_BYTES)
}

/// Number of free huge pages of all nodes, as the kernel reports it.
fn free_pages(root: &Root, size: ProbePageSize) -> u64 {
    root.read_number(&format!("sys/kernel/mm/hugepages/hugepages-{}kB/free_hugepages", size.kib()))
        .unwrap_or(0)
}

struct MappedPages {
    pages: Vec<ProbePage>,
    maps: Vec<MmapMut>,
    /// Cycles of a timed load without the load.
    overhead: u64,
    /// The thread's CPU affinity before.
    before: Option<CpuSet>,
}

/// Lines whose addresses differ by a multiple of this are in the same set of L1 and L2: 2048 sets of
/// L2 at most (Sapphire Rapids).
const SET_STRIDE_BYTES: u64 = 2048 * units::LINE_BYTES;
/// Twice the ways of the widest L2 and more.
const EVICTION_LINES: usize = 48;

impl MappedPages {
    fn byte_at(&self, physical_address: u64) -> &u8 {
        let after = self.pages.partition_point(|page| page.start <= physical_address);
        let index = after.checked_sub(1).expect("the address is in a page");
        let page = self.pages[index];
        assert!(page.holds(physical_address), "{physical_address:#x} is in no page");
        &self.maps[index][usize_from(physical_address - page.start)]
    }

    /// Lines that share the set of this one in L1 and L2, in its page and those after it.
    fn conflicting_lines(&self, physical_address: u64) -> impl Iterator<Item = &u8> {
        let in_set = physical_address % SET_STRIDE_BYTES;
        let first = self.pages.partition_point(|page| page.start <= physical_address) - 1;
        let pages = self.pages.iter().cycle().skip(first).take(self.pages.len());
        let lines = pages.flat_map(move |page| {
            (0..page.size.bytes() / SET_STRIDE_BYTES)
                .map(move |step| page.start + step * SET_STRIDE_BYTES + in_set)
        });
        lines
            .filter(move |address| *address != physical_address)
            .take(EVICTION_LINES)
            .map(|address| self.byte_at(address))
    }
}

impl ProbeMemory for MappedPages {
    fn pages(&self) -> &[ProbePage] {
        &self.pages
    }

    fn move_to(&mut self, cpu: CpuId) -> Result<(), ProbeMemoryError> {
        pin(cpu)
    }

    fn load_and_flush(&mut self, physical_address: u64, times: u32) {
        loads::load_and_flush(self.byte_at(physical_address), times);
    }

    fn load(&mut self, physical_address: u64) {
        loads::load(self.byte_at(physical_address));
    }

    fn load_cycles(&mut self, physical_address: u64) -> f64 {
        let cycles = loads::cycles_of_load(Some(self.byte_at(physical_address)));
        cycles.saturating_sub(self.overhead) as f64
    }

    fn llc_load_cycles(&mut self, physical_address: u64) -> f64 {
        let byte = self.byte_at(physical_address);
        loads::load(byte);
        for _ in 0..2 {
            self.conflicting_lines(physical_address).for_each(loads::load);
        }
        self.load_cycles(physical_address)
    }
}

impl Drop for MappedPages {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // If that fails, the thread stays on one processor, which harms nothing.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_a_number_is_hidden() {
        assert_eq!(frame_address(1 << 63 | 1 << 61 | 0x1234_5600), Some(0x0123_4560_0000));
        assert_eq!(frame_address(1 << 63), None);
    }

    #[test]
    fn this_machine_gives_huge_pages_or_says_what_helps() {
        let root = Arc::new(Root::real().expect("a machine"));
        match HugePageSource(root).map(ProbePageSize::TwoMiB, 2, CpuId(0)) {
            Ok(mut memory) => {
                let pages = memory.pages().to_vec();
                assert!(pages.iter().all(|page| page.start.is_multiple_of(2 << 20)));
                memory.load_and_flush(pages[0].start + 4096, 10);
                assert!(memory.llc_load_cycles(pages[0].start + 4096) >= 0.0);
            }
            Err(error @ (ProbeMemoryError::NoPages { .. } | ProbeMemoryError::Hidden)) => {
                assert!(error.to_string().contains("remedy"), "{error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}
