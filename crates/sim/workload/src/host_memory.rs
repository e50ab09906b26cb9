//! Physical memory as a driver receives it: regions made of pages.
//!
//! Models: huge pages (2 MiB, 1 GiB) or plain ones (4 KiB); scattered at random or contiguous.
//! Source: DPDK's memory model; Linux (huge pages reserved at boot come out of large free blocks).
//! Simplifies: every page of the machine is equally likely to be free.

use crate::shuffle::shuffle;
use model::fabric::Fabric;
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;
use units::narrow::usize_from;
use units::{Bytes, CoreId, LINE_BYTES, LineAddr, Picos};

/// Physical memory of all nodes: the range of the tag arrays.
const ADDRESSABLE_BYTES: u64 = 256 << 30;
const SMALL_PAGE_BYTES: u64 = 4096;
/// Quarters of a node that are free for drivers; the system uses the rest.
const FREE_QUARTERS: u64 = 3;

/// Placement of the pages of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PagePlacement {
    /// Each at a random address.
    #[default]
    Scattered,
    /// Contiguous from a random address on, as pages reserved before memory fragments.
    Contiguous,
    /// Regions lie one after another in one page while it has room, the first at this byte of the page: as
    /// in an application that has few large pages.
    Together(u64),
}

/// Allocator of the pages of a machine's memory.
#[derive(Debug)]
pub struct HostMemory {
    page: Bytes,
    placement: PagePlacement,
    first_byte: u64,
    free_bytes: u64,
    /// First byte and length of each page in use.
    taken: BTreeMap<u64, u64>,
    /// The rest of a page that regions share: its first line, and its lines.
    rest: Option<(LineAddr, u64)>,
    rng: ChaCha8Rng,
}

/// Memory that is contiguous in the virtual but not in the physical address space.
#[derive(Clone, Debug)]
pub struct Region {
    first_lines: Vec<LineAddr>,
    page_lines: u64,
}

impl HostMemory {
    /// Memory of a machine with one node, in pages of `page`, placed by `seed`.
    #[must_use]
    pub fn new(page: Bytes, seed: u64) -> Self {
        Self::in_node(page, seed, 0, 1)
    }

    /// Memory of node `node` of `nodes`, which share the address space evenly.
    #[must_use]
    pub fn in_node(page: Bytes, seed: u64, node: u64, nodes: u64) -> Self {
        let node_bytes = ADDRESSABLE_BYTES / nodes.next_power_of_two();
        Self {
            page,
            placement: PagePlacement::Scattered,
            first_byte: node * node_bytes,
            free_bytes: node_bytes / 4 * FREE_QUARTERS,
            taken: BTreeMap::new(),
            rest: None,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Size of a page of the memory.
    #[must_use]
    pub fn page(&self) -> Bytes {
        self.page
    }

    /// Sets the placement of the pages of later regions.
    pub fn place_pages(&mut self, placement: PagePlacement) {
        self.placement = placement;
    }

    /// Sets the page size of later regions.
    pub fn use_pages(&mut self, page: Bytes) {
        if self.page != page {
            self.rest = None;
        }
        self.page = page;
    }

    /// A region of at least `bytes`, rounded up to whole pages unless regions share one.
    ///
    /// # Panics
    /// If the machine's memory is exhausted. Scenarios are checked to need far less.
    pub fn region(&mut self, bytes: u64) -> Region {
        if let PagePlacement::Together(first_byte) = self.placement
            && first_byte + bytes <= self.page.0
        {
            return self.region_of_shared_page(first_byte / LINE_BYTES, bytes);
        }
        let pages = bytes.div_ceil(self.page.0).max(1);
        self.demand_free(pages);
        let page_lines = self.page.0 / LINE_BYTES;
        let first_lines = match self.placement {
            PagePlacement::Scattered | PagePlacement::Together(_) => {
                (0..pages).map(|_| LineAddr(self.free_run(1) * page_lines)).collect()
            }
            PagePlacement::Contiguous => {
                let first = self.free_run(pages);
                (first..first + pages).map(|frame| LineAddr(frame * page_lines)).collect()
            }
        };
        Region { first_lines, page_lines }
    }

    /// As [`Self::region`], whose pages follow one another in physical memory too.
    ///
    /// # Panics
    /// As [`Self::region`].
    pub fn contiguous_region(&mut self, bytes: u64) -> Region {
        let placement = std::mem::replace(&mut self.placement, PagePlacement::Contiguous);
        let region = self.region(bytes);
        self.placement = placement;
        region
    }

    /// A region of pages of 4 KiB, in any order within twice as much memory that the system had left for
    /// them, so that they do not break up what large pages need.
    ///
    /// # Panics
    /// As [`Self::region`].
    pub fn region_of_small_pages(&mut self, bytes: u64) -> Region {
        if self.page.0 <= SMALL_PAGE_BYTES {
            return self.region(bytes);
        }
        let (page_lines, pages) =
            (SMALL_PAGE_BYTES / LINE_BYTES, bytes.div_ceil(SMALL_PAGE_BYTES).max(1));
        let large = (2 * pages * SMALL_PAGE_BYTES).div_ceil(self.page.0);
        self.demand_free(large);
        let first = self.free_run(large) * (self.page.0 / SMALL_PAGE_BYTES);
        let mut frames: Vec<u64> = (first..first + 2 * pages).collect();
        shuffle(&mut frames, &mut self.rng);
        let first_lines = frames.into_iter().take(usize_from(pages));
        Region {
            first_lines: first_lines.map(|it| LineAddr(it * page_lines)).collect(),
            page_lines,
        }
    }

    fn demand_free(&self, pages: u64) {
        let taken: u64 = self.taken.values().sum();
        assert!(taken + pages * self.page.0 <= self.free_bytes, "simulated memory is exhausted");
    }

    /// A region in the page that regions share, or in another one if that has no room left. It begins at a
    /// boundary of 4 KiB after the region before it, since devices' rings do.
    fn region_of_shared_page(&mut self, first_line: u64, bytes: u64) -> Region {
        let lines = bytes.max(1).next_multiple_of(SMALL_PAGE_BYTES) / LINE_BYTES;
        let page_lines = self.page.0 / LINE_BYTES;
        let (first, left) = self.rest.filter(|(_, left)| *left >= lines).unwrap_or_else(|| {
            self.demand_free(1);
            let page = LineAddr(self.free_run(1) * page_lines);
            (page.step(first_line), page_lines - first_line)
        });
        self.rest = Some((first.step(lines.min(left)), left.saturating_sub(lines)));
        Region { first_lines: vec![first], page_lines: lines.min(left) }
    }

    /// The first of `pages` contiguous free frames.
    fn free_run(&mut self, pages: u64) -> u64 {
        let starts = self.free_bytes / self.page.0 - (pages - 1);
        let first_frame = self.first_byte / self.page.0;
        loop {
            let frame = first_frame + self.rng.next_u64() % starts;
            let bytes = frame * self.page.0..(frame + pages) * self.page.0;
            let before = self.taken.range(..bytes.end).next_back();
            if before.is_none_or(|(first, length)| first + length <= bytes.start) {
                self.taken.insert(bytes.start, pages * self.page.0);
                return frame;
            }
        }
    }
}

impl Region {
    /// A region of `lines` in this order, at any addresses.
    pub(crate) fn of_lines(lines: Vec<LineAddr>) -> Self {
        Self { first_lines: lines, page_lines: 1 }
    }

    /// The line `offset` lines into the region.
    #[must_use]
    pub fn line(&self, offset: u64) -> LineAddr {
        if offset < self.page_lines {
            return self.first_lines[0].step(offset);
        }
        let page = usize_from(offset / self.page_lines);
        self.first_lines[page].step(offset % self.page_lines)
    }

    /// First line and number of lines of each of its pages, in the order of the virtual address space.
    pub fn pages(&self) -> impl Iterator<Item = (LineAddr, u64)> + '_ {
        self.first_lines.iter().map(|&first| (first, self.page_lines))
    }

    /// All lines in the order of the virtual address space.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        (0..self.first_lines.len() as u64 * self.page_lines).map(|offset| self.line(offset))
    }
}

/// Allocates small structures one after another in one region.
#[derive(Debug)]
pub struct Arena {
    region: Region,
    next_line: u64,
}

impl Arena {
    /// An arena that hands out the memory of `region`.
    #[must_use]
    pub fn new(region: Region) -> Self {
        Self { region, next_line: 0 }
    }

    /// The first of the lines for `bytes`, physically contiguous.
    ///
    /// # Panics
    /// If the structure is larger than a page or the region is full.
    pub fn place(&mut self, bytes: u64) -> LineAddr {
        let lines = bytes.div_ceil(LINE_BYTES);
        let page_lines = self.region.page_lines;
        assert!(lines <= page_lines, "a ring must fit a page");
        if self.next_line % page_lines + lines > page_lines {
            self.next_line = self.next_line.next_multiple_of(page_lines);
        }
        let first = self.region.line(self.next_line);
        self.next_line += lines;
        first
    }
}

/// Lines of [`touch`] that are expected before they are stored to.
const TOUCHED_TOGETHER: usize = 16;

/// Stores to lines in order, as initialisation code does before time zero.
pub fn touch<T: Tracer>(
    fabric: &mut Fabric<T>,
    core: CoreId,
    mut lines: impl Iterator<Item = LineAddr>,
) {
    fabric.before_time_zero(|fabric| {
        let left = fabric.store_to_new_lines(core, &mut lines);
        let mut lines = left.into_iter().chain(lines);
        let mut next = Vec::with_capacity(TOUCHED_TOGETHER);
        loop {
            next.clear();
            next.extend(lines.by_ref().take(TOUCHED_TOGETHER));
            if next.is_empty() {
                break;
            }
            for &line in &next {
                fabric.expect(core, line);
            }
            for &line in &next {
                fabric.core_write(core, line, Picos::ZERO);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pages_do_not_overlap_and_are_contiguous_inside() {
        let mut memory = HostMemory::new(Bytes(2 << 20), 1);
        let region = memory.region(40 << 20);
        let lines: BTreeSet<LineAddr> = region.lines().collect();
        assert_eq!(lines.len(), (40 << 20) / 64);
        assert_eq!(region.line(1).0, region.line(0).0 + 1);
    }

    #[test]
    fn small_pages_lie_in_any_order_and_leave_room_for_large_ones() {
        let mut memory = HostMemory::new(Bytes(1 << 30), 1);
        let small: Vec<Region> = (0..8).map(|_| memory.region_of_small_pages(4 << 20)).collect();
        let large: Vec<Region> = (0..64).map(|_| memory.region(1 << 20)).collect();
        let lines: BTreeSet<LineAddr> = small.iter().flat_map(Region::lines).collect();
        assert_eq!(lines.len(), (32 << 20) / 64);
        assert!(large.iter().all(|region| !lines.contains(&region.line(0))));
        assert!(!small[0].pages().map(|(first, _)| first).is_sorted());
    }

    #[test]
    fn contiguous_pages_follow_one_another_and_do_not_overlap() {
        let mut memory = HostMemory::new(Bytes(2 << 20), 1);
        memory.place_pages(PagePlacement::Contiguous);
        let regions = [memory.region(40 << 20), memory.region(6 << 20)];
        for region in &regions {
            let first = region.line(0).0;
            assert!(region.lines().zip(first..).all(|(line, expected)| line.0 == expected));
        }
        let all: BTreeSet<LineAddr> = regions.iter().flat_map(Region::lines).collect();
        assert_eq!(all.len(), (46 << 20) / 64);
    }

    #[test]
    fn regions_together_lie_one_after_another_in_a_page_and_then_in_the_next() {
        let (page, start) = (2 << 20, 12 << 12);
        let mut memory = HostMemory::new(Bytes(page), 1);
        memory.place_pages(PagePlacement::Together(start));
        let sizes = [1, 5_000, 1 << 20, 1 << 20, 3 << 20];
        let regions: Vec<Region> = sizes.iter().map(|&bytes| memory.region(bytes)).collect();
        let first = |number: usize| regions[number].line(0).0 * LINE_BYTES;
        assert_eq!(first(0) % page, start);
        assert_eq!([first(1) - first(0), first(2) - first(1)], [4096, 8192]);
        // No room is left in the first page, and the last region needs pages of its own.
        assert_eq!(first(3) % page, start);
        assert_eq!(regions[4].lines().count() as u64, 2 * page / LINE_BYTES);
        let all: BTreeSet<LineAddr> = regions.iter().flat_map(Region::lines).collect();
        assert_eq!(all.len(), regions.iter().map(|region| region.lines().count()).sum::<usize>());
    }

    #[test]
    fn an_arena_keeps_structures_within_a_page() {
        let mut memory = HostMemory::new(Bytes(4096), 1);
        let mut arena = Arena::new(memory.region(16_384));
        let first = arena.place(3_000);
        let second = arena.place(3_000);
        assert_eq!(first.0 % 64, 0);
        assert_eq!(second.0 % 64, 0);
        assert_ne!(first, second);
    }
}
