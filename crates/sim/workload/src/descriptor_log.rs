//! A log of descriptors that a program submitted to copy engines, as it is replayed.
//!
//! Models: offloads of one descriptor or a batch, each with the time of its submission and its portal; the
//! pages that their operands lie in.
//! Source: docs/reference/descriptor-log.md (the format); Intel DSA specification, section 8.1 (descriptors).
//! Simplifies: operands begin at the start of a line; pages lie anywhere in memory, but those that follow
//! one another in the log do so in memory too.

use crate::host_memory::HostMemory;
use model::device::dsa::descriptor::Descriptor;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{LINE_BYTES, LineAddr, Picos};

/// A submission of a program: one descriptor, or the members of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedOffload {
    /// Time of the submission, from the log's start.
    pub time: Picos,
    /// Number of the portal that the submission was written to.
    pub portal: u32,
    /// Descriptors of the submission; their addresses are lines of the program's address space.
    pub members: Vec<Descriptor>,
}

/// A log, in the order of its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescriptorLog {
    /// Submissions in the order of their times.
    pub offloads: Vec<LoggedOffload>,
}

/// Pages of the program's address space, in runs without gaps: number of the first, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedPages {
    page_lines: u64,
    runs: BTreeMap<u64, u64>,
}

/// [`LoggedPages`] in the machine's memory: the first line of each run.
#[derive(Clone, Debug)]
pub struct PlacedPages {
    pages: LoggedPages,
    first_lines: BTreeMap<u64, LineAddr>,
}

impl DescriptorLog {
    /// Number of descriptors in the log, batches apart.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        self.offloads.iter().map(|offload| offload.members.len() as u64).sum()
    }

    /// Descriptors of the longest batch.
    #[must_use]
    pub fn most_members(&self) -> usize {
        self.offloads.iter().map(|offload| offload.members.len()).max().unwrap_or(0)
    }

    /// The portals of the log in the order of their first use.
    #[must_use]
    pub fn portals(&self) -> Vec<u32> {
        let mut known = BTreeSet::new();
        let portals = self.offloads.iter().map(|offload| offload.portal);
        portals.filter(|portal| known.insert(*portal)).collect()
    }

    /// Its phases: offloads between pauses of at least `pause`. If these are more than `most`, which is at
    /// least 1, the longest pauses count, the earlier of equal ones.
    #[must_use]
    pub fn phases(&self, pause: Picos, most: usize) -> Vec<Range<usize>> {
        let after = self.offloads.windows(2).zip(1..);
        let gaps = after.map(|(pair, number)| (pair[1].time - pair[0].time, number));
        let mut pauses: Vec<(Picos, usize)> = gaps.filter(|(gap, _)| *gap >= pause).collect();
        pauses.sort_by_key(|&(gap, number)| (Reverse(gap), number));
        pauses.truncate(most - 1);
        let mut begins: BTreeSet<usize> = pauses.into_iter().map(|(_, number)| number).collect();
        begins.extend([0, self.offloads.len()]);
        let begins: Vec<usize> = begins.into_iter().collect();
        begins.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// The pages of `page_bytes` that its operands lie in.
    #[must_use]
    pub fn pages(&self, page_bytes: u64) -> LoggedPages {
        let page_lines = page_bytes / LINE_BYTES;
        let mut pages = BTreeSet::new();
        for operand in self.offloads.iter().flat_map(|it| &it.members).flat_map(|descriptor| {
            descriptor.operands().all().filter(|it| it.bytes > 0).collect::<Vec<_>>()
        }) {
            let last = operand.first.0 + (operand.bytes - 1) / LINE_BYTES;
            pages.extend(operand.first.0 / page_lines..=last / page_lines);
        }
        let mut runs: BTreeMap<u64, u64> = BTreeMap::new();
        for page in pages {
            match runs.last_entry() {
                Some(mut run) if run.key() + run.get() == page => *run.get_mut() += 1,
                _ => drop(runs.insert(page, 1)),
            }
        }
        LoggedPages { page_lines, runs }
    }
}

impl LoggedPages {
    /// Number of pages.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.runs.values().sum()
    }

    /// Allocates memory for the pages.
    #[must_use]
    pub fn place(self, memory: &mut HostMemory) -> PlacedPages {
        let page_bytes = self.page_lines * LINE_BYTES;
        let mut run = |count| memory.contiguous_region(count * page_bytes).line(0);
        let first_lines = self.runs.iter().map(|(&page, &count)| (page, run(count))).collect();
        PlacedPages { pages: self, first_lines }
    }
}

impl PlacedPages {
    /// The line in memory of a line of the program's address space. Lines that no operand has stay.
    fn line(&self, logged: LineAddr) -> LineAddr {
        let page = logged.0 / self.pages.page_lines;
        match self.first_lines.range(..=page).next_back() {
            Some((&first, &line)) if page < first + self.pages.runs[&first] => {
                line.step(logged.0 - first * self.pages.page_lines)
            }
            _ => logged,
        }
    }

    /// A logged descriptor with the addresses of its operands in memory.
    #[must_use]
    pub fn translate(&self, logged: &Descriptor) -> Descriptor {
        Descriptor {
            source: self.line(logged.source),
            second: self.line(logged.second),
            third: self.line(logged.third),
            ..*logged
        }
    }

    /// All lines, in the order of the program's address space.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let run = |(page, &first): (&u64, &LineAddr)| {
            let lines = self.pages.runs[page] * self.pages.page_lines;
            (0..lines).map(move |line| first.step(line))
        };
        self.first_lines.iter().flat_map(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::device::dsa::descriptor::{Destination, Operation};
    use units::Bytes;

    fn copy(source: u64, second: u64, bytes: u64) -> LoggedOffload {
        let nowhere = LineAddr(0);
        let member = Descriptor {
            id: 0,
            operation: Operation::Move,
            bytes,
            source: LineAddr(source),
            second: LineAddr(second),
            third: nowhere,
            record: nowhere,
            destination: Destination::Cache,
            fence: false,
            block_on_fault: true,
            wants_record: true,
        };
        LoggedOffload { time: Picos::ZERO, portal: 0, members: vec![member] }
    }

    #[test]
    fn operands_that_share_pages_in_the_log_share_them_in_memory_and_runs_have_no_gaps() {
        // Pages of 64 lines: 1 and 2, and 4 alone; the second copy is within 2 and 4.
        let log = DescriptorLog { offloads: vec![copy(70, 256, 4096), copy(130, 257, 64)] };
        let pages = log.pages(4096);
        assert_eq!(pages.runs, BTreeMap::from([(1, 2), (4, 1)]));
        let placed = pages.place(&mut HostMemory::new(Bytes(4096), 3));
        let first = placed.translate(&log.offloads[0].members[0]);
        let other = placed.translate(&log.offloads[1].members[0]);
        assert_eq!(other.source.0 - first.source.0, 130 - 70);
        assert_eq!(other.second.0 - first.second.0, 1);
        assert_eq!(first.source.0 % 64, 70 % 64, "the offset within the page stays");
        assert_eq!(placed.lines().count(), 3 * 64);
    }

    #[test]
    fn a_log_is_divided_at_its_longest_pauses() {
        let times = [0, 10, 1_000, 1_010, 5_000, 5_010, 6_000];
        let at = |ns: u32| LoggedOffload { time: Picos::from_ns(ns.into()), ..copy(0, 1, 64) };
        let log = DescriptorLog { offloads: times.map(at).to_vec() };
        let phases = |pause: u32, most| log.phases(Picos::from_ns(pause.into()), most);
        assert_eq!(phases(990, 16), [0..2, 2..4, 4..6, 6..7]);
        assert_eq!(phases(991, 16), [0..4, 4..7], "a pause of 990 ns no longer counts");
        assert_eq!(phases(100, 3), [0..2, 2..4, 4..7], "the earlier of two equal pauses counts");
        assert_eq!(phases(100, 1), std::slice::from_ref(&(0..7)));
    }
}
