//! The NUMA node of each CPU.

#![allow(unsafe_code)]

use std::fs;

/// Reads the node of each CPU, by its number, from sysfs. Empty if the system has one node, or does not
/// report nodes.
#[must_use]
pub fn read_nodes() -> Vec<Option<u32>> {
    let mut nodes: Vec<Option<u32>> = Vec::new();
    let mut count = 0;
    for node in 0..1024_u32 {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        let Ok(list) = fs::read_to_string(path) else {
            // Nodes may be numbered with gaps, which are short.
            if node > 64 { break } else { continue }
        };
        count += 1;
        for cpu in cpus(list.trim_end()) {
            if nodes.len() <= cpu {
                nodes.resize(cpu + 1, None);
            }
            nodes[cpu] = Some(node);
        }
    }
    if count > 1 { nodes } else { Vec::new() }
}

/// The node of the CPU that this thread runs on; `None` if it is not known.
#[inline]
#[must_use]
pub fn current_node(nodes: &[Option<u32>]) -> Option<u32> {
    if nodes.is_empty() {
        return None;
    }
    // SAFETY: it returns a number.
    let cpu = unsafe { libc::sched_getcpu() };
    nodes.get(usize::try_from(cpu).ok()?).copied().flatten()
}

/// The numbers in a list such as `0-3,8`.
fn cpus(list: &str) -> impl Iterator<Item = usize> + '_ {
    list.split(',').filter_map(range).flatten()
}

fn range(text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_of_cpus_are_ranges_and_numbers() {
        assert_eq!(super::cpus("0-2,8").collect::<Vec<_>>(), [0, 1, 2, 8]);
        assert_eq!(super::cpus("").count(), 0);
    }
}
