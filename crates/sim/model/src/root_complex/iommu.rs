//! Address translation of devices: the IOTLB and the page walks behind it.
//!
//! Models: a fully associative IOTLB; a miss is a page walk, of which a limited number run at a time;
//! an access to a page with a walk under way waits for that walk. A walk to a page that is not present
//! ends in a fault, which the device reports or waits out.
//! Source: pcie-bench (SIGCOMM'18), its raw results on Broadwell: 64 entries of 4 KiB (no loss in a
//! window of 256 KiB, loss at 1 MiB), 280 ns more per miss, small reads and writes at 10 to 11 Gb/s.
//! Simplifies: no caches of upper page-table levels, so every walk takes the same time for any page
//! size, and its reads load neither caches nor DRAM; all devices and page sizes share the entries;
//! unmapping a page (an invalidation) takes no time. Calls may come slightly out of time order: the
//! first call for a page starts its walk, and entries age in the order of the calls.

use super::associative::Associative;
pub use super::associative::VictimChoice;
use crate::occupancy::Meter;
use std::collections::BTreeSet;
use units::narrow::fit;
use units::{LINE_BYTES, LineAddr, Picos};

/// Size of a page of an I/O mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// 4 KiB.
    Kib4,
    /// 2 MiB.
    Mib2,
    /// 1 GiB.
    Gib1,
}

impl PageSize {
    /// The size that has `bytes`; `None` if the IOMMU has no such pages.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Option<Self> {
        [Self::Kib4, Self::Mib2, Self::Gib1].into_iter().find(|size| size.bytes() == bytes)
    }

    /// Size of a page in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Kib4 => 4 << 10,
            Self::Mib2 => 2 << 20,
            Self::Gib1 => 1 << 30,
        }
    }

    /// Number of lines of a page.
    #[must_use]
    pub fn lines(self) -> u64 {
        self.bytes() / LINE_BYTES
    }
}

/// Memory that is mapped in pages of another size than the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First line of the mapping, at the beginning of a page.
    pub first: LineAddr,
    /// Length in lines, a multiple of the page.
    pub lines: u64,
    /// Size of the mapping's pages.
    pub page: PageSize,
}

/// Parameters of an IOMMU that is on.
#[derive(Clone, Debug)]
pub struct IommuConfig {
    /// Number of translations that the IOTLB holds.
    pub entries: u32,
    /// Replacement policy of the IOTLB.
    pub victims: VictimChoice,
    /// Pages of all memory that `mappings` does not name.
    pub page: PageSize,
    /// Memory in other pages, ascending and without overlap.
    pub mappings: Vec<Mapping>,
    /// Duration of a page walk, from the miss to the translation.
    pub walk: Picos,
    /// Number of page walks that may run at a time.
    pub concurrent_walks: u32,
}

/// Counters of translations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IommuCounters {
    /// Number of requests that hit the IOTLB.
    pub hits: u64,
    /// Number of requests for a page whose walk, started by an earlier miss, was under way.
    pub hits_under_walk: u64,
    /// Number of requests that started a page walk.
    pub misses: u64,
    /// Number of page walks whose page was not present.
    pub faults: u64,
}

/// A page that a device accessed and that is not present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The first line of the page.
    pub page: LineAddr,
    /// Time at which the page walk ended.
    pub at: Picos,
}

/// The IOMMU of a socket, on or off.
#[derive(Clone, Debug)]
pub struct Iommu {
    unit: Option<IommuUnit>,
    counters: IommuCounters,
}

#[derive(Clone, Debug)]
struct IommuUnit {
    config: IommuConfig,
    /// For each page, when its walk ends.
    iotlb: Associative<Picos>,
    walkers: Meter,
    /// Pages that are not present; none of them is in the IOTLB.
    absent: BTreeSet<u32>,
}

impl Iommu {
    /// An IOMMU with an empty IOTLB.
    ///
    /// # Panics
    /// If there are no entries or walks, or if mappings are not ascending, disjoint, and whole pages.
    /// Platforms are checked before they get here.
    #[must_use]
    pub fn new(config: IommuConfig) -> Self {
        assert!(config.concurrent_walks > 0);
        let whole = |mapping: &Mapping| {
            let page = mapping.page.lines();
            mapping.first.0.is_multiple_of(page) && mapping.lines.is_multiple_of(page)
        };
        assert!(config.mappings.iter().all(whole), "a mapping is not made of whole pages");
        let apart = |pair: &[Mapping]| pair[0].first.0 + pair[0].lines <= pair[1].first.0;
        assert!(config.mappings.windows(2).all(apart), "mappings overlap");
        let iotlb = Associative::new(config.entries, config.victims, Picos::ZERO);
        let unit =
            Some(IommuUnit { config, iotlb, walkers: Meter::default(), absent: BTreeSet::new() });
        Self { unit, counters: IommuCounters::default() }
    }

    /// An IOMMU that is off: devices use physical addresses, and translation costs nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { unit: None, counters: IommuCounters::default() }
    }

    /// Whether devices use physical addresses.
    #[inline]
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.unit.is_none()
    }

    /// A device's access to `line` needs its translation at `now`; returns when it has it.
    ///
    /// # Errors
    /// If the page is not present. Without an IOMMU, devices use physical addresses and this never
    /// occurs.
    #[inline]
    pub fn translate(&mut self, line: LineAddr, now: Picos) -> Result<Picos, PageFault> {
        let Some(unit) = &mut self.unit else { return Ok(now) };
        let page = unit.page_key(line);
        let Some(slot) = unit.iotlb.find(page) else {
            self.counters.misses += 1;
            let walked = unit.walk(page, line, now);
            self.counters.faults += u64::from(walked.is_err());
            return walked;
        };
        let walked = *unit.iotlb.touch(slot);
        if walked <= now {
            self.counters.hits += 1;
            return Ok(now);
        }
        self.counters.hits_under_walk += 1;
        Ok(walked)
    }

    /// Unmaps the pages of `lines` lines from `first` on: later accesses fault.
    ///
    /// # Panics
    /// If the IOMMU is off: physical addresses are always present.
    pub fn unmap(&mut self, first: LineAddr, lines: u64) {
        let unit = self.unit.as_mut().expect("what is not translated cannot be unmapped");
        let end = first.step(lines);
        let mut line = first;
        while line < end {
            let page = unit.page_key(line);
            unit.absent.insert(page);
            if let Some(slot) = unit.iotlb.find(page) {
                unit.iotlb.take(slot);
            }
            line = unit.first_of_page(line).step(unit.page_size(line).lines());
        }
    }

    /// Makes the page of `line` present, as the handler of its fault does.
    pub fn map(&mut self, line: LineAddr) {
        if let Some(unit) = &mut self.unit {
            let page = unit.page_key(line);
            unit.absent.remove(&page);
        }
    }

    /// Counters of translations since time zero; zero if the IOMMU is off.
    #[must_use]
    pub fn counters(&self) -> IommuCounters {
        self.counters
    }

    /// When a page walk requested at `now` would be served.
    #[must_use]
    pub fn free_from(&self, now: Picos) -> Picos {
        self.unit.as_ref().map_or(now, |unit| unit.walkers.free_from(now))
    }

    /// Time until `now` for which the walkers were busy, all of them together counting as one.
    #[must_use]
    pub fn busy_until(&self, now: Picos) -> Picos {
        self.unit.as_ref().map_or(Picos::ZERO, |unit| unit.walkers.busy_until(now))
    }

    /// Clears all counters and reservations; translations stay.
    pub fn forget(&mut self) {
        self.counters = IommuCounters::default();
        if let Some(unit) = &mut self.unit {
            unit.walkers = Meter::default();
            unit.iotlb.values_mut().for_each(|walked| *walked = Picos::ZERO);
        }
    }
}

impl IommuUnit {
    /// One number for page and page size: pages of different sizes may begin at the same line.
    #[inline]
    fn page_key(&self, line: LineAddr) -> u32 {
        let size = self.page_size(line);
        let key = line.0 >> size.lines().trailing_zeros() << 2 | size as u64;
        debug_assert!(key < u64::from(u32::MAX), "beyond 2^30 pages");
        fit(key)
    }

    fn first_of_page(&self, line: LineAddr) -> LineAddr {
        let lines = self.page_size(line).lines();
        LineAddr(line.0 / lines * lines)
    }

    #[inline]
    fn page_size(&self, line: LineAddr) -> PageSize {
        let after = self.config.mappings.partition_point(|mapping| mapping.first <= line);
        let before = self.config.mappings[..after].last();
        before
            .filter(|mapping| line.0 - mapping.first.0 < mapping.lines)
            .map_or(self.config.page, |mapping| mapping.page)
    }

    /// A page walk takes its share of the combined time of all page walkers. It does not wait while one
    /// of them is free, and their throughput is never exceeded.
    fn walk(&mut self, page: u32, line: LineAddr, now: Picos) -> Result<Picos, PageFault> {
        let share = Picos(self.config.walk.0 / u64::from(self.config.concurrent_walks));
        let walked = self.walkers.reserve(now, share).max(now + self.config.walk);
        if self.absent.contains(&page) {
            return Err(PageFault { page: self.first_of_page(line), at: walked });
        }
        self.iotlb.insert(page, walked);
        Ok(walked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: Picos = Picos(280_000);
    const PRESENT: &str = "the page is present";

    fn six_walks() -> IommuConfig {
        IommuConfig {
            entries: 64,
            victims: VictimChoice::Lru,
            page: PageSize::Kib4,
            mappings: Vec::new(),
            walk: WALK,
            concurrent_walks: 6,
        }
    }

    fn first_line_of(page: u64) -> LineAddr {
        LineAddr(page * PageSize::Kib4.lines())
    }

    #[test]
    fn a_miss_costs_a_walk_and_the_next_access_to_the_page_nothing() {
        let mut iommu = Iommu::new(six_walks());
        assert_eq!(iommu.translate(LineAddr(5), Picos(1_000)), Ok(Picos(281_000)));
        assert_eq!(iommu.translate(LineAddr(63), Picos(281_000)), Ok(Picos(281_000)));
        let expected = IommuCounters { hits: 1, misses: 1, ..IommuCounters::default() };
        assert_eq!(iommu.counters(), expected);
    }

    #[test]
    fn an_access_to_a_page_that_is_being_walked_waits_for_the_same_walk() {
        let mut iommu = Iommu::new(six_walks());
        assert_eq!(iommu.translate(LineAddr(0), Picos(1_000)), Ok(Picos(281_000)));
        assert_eq!(iommu.translate(LineAddr(1), Picos(200_000)), Ok(Picos(281_000)));
        // Slightly out of order: the walk was not started earlier than the first call for it.
        assert_eq!(iommu.translate(LineAddr(2), Picos(500)), Ok(Picos(281_000)));
        let expected = IommuCounters { hits_under_walk: 2, misses: 1, ..IommuCounters::default() };
        assert_eq!(iommu.counters(), expected);
    }

    #[test]
    fn no_walk_waits_until_all_walkers_are_busy() {
        let mut iommu = Iommu::new(six_walks());
        for page in 0..6 {
            assert_eq!(iommu.translate(first_line_of(page), Picos::ZERO), Ok(WALK), "page {page}");
        }
        assert!(iommu.translate(first_line_of(6), Picos::ZERO).is_ok_and(|walked| walked > WALK));
        // A call from slightly before is delayed only by the walks of others.
        let single = IommuConfig { concurrent_walks: 1, ..six_walks() };
        let mut iommu = Iommu::new(single);
        iommu.translate(first_line_of(0), Picos::ZERO).expect(PRESENT);
        assert_eq!(iommu.translate(first_line_of(1), Picos::ZERO), Ok(Picos(2 * WALK.0)));
    }

    #[test]
    fn the_walks_of_a_saturated_iommu_end_at_the_rate_of_its_walkers() {
        let mut iommu = Iommu::new(six_walks());
        let last =
            (0..60_000).flat_map(|page| iommu.translate(first_line_of(page), Picos::ZERO)).max();
        let expected_ps = 60_000 * WALK.0 / 6;
        assert!(last.is_some_and(|last| last.0.abs_diff(expected_ps) < expected_ps / 1_000));
    }

    #[test]
    fn a_forgetful_iommu_still_knows_its_pages() {
        let mut iommu = Iommu::new(six_walks());
        for page in 0..64 {
            iommu.translate(first_line_of(page), Picos::ZERO).expect(PRESENT);
        }
        iommu.forget();
        assert_eq!(iommu.translate(LineAddr(0), Picos::ZERO), Ok(Picos::ZERO));
        assert_eq!(iommu.counters(), IommuCounters { hits: 1, ..IommuCounters::default() });
        // The walks that were under way delay no access any more.
        assert_eq!(iommu.translate(first_line_of(64), Picos::ZERO), Ok(WALK));
    }

    #[test]
    fn an_absent_page_faults_after_each_walk_until_it_is_mapped() {
        let mut iommu = Iommu::new(six_walks());
        iommu.translate(LineAddr(70), Picos::ZERO).expect(PRESENT);
        iommu.unmap(LineAddr(70), 60);
        let fault = |at| Err(PageFault { page: LineAddr(64), at });
        assert_eq!(iommu.translate(LineAddr(70), WALK), fault(WALK + WALK));
        // A fault leaves no state: the next access walks again.
        let later = Picos(10 * WALK.0);
        assert_eq!(iommu.translate(LineAddr(127), later), fault(later + WALK));
        assert_eq!(iommu.counters(), IommuCounters { misses: 3, faults: 2, ..Default::default() });
        assert!(iommu.translate(LineAddr(129), later).is_err(), "its last lines are on this page");
        assert!(iommu.translate(LineAddr(192), later).is_ok(), "the page behind is present");
        iommu.map(LineAddr(100));
        assert!(iommu.translate(LineAddr(70), later).is_ok());
        assert!(iommu.translate(LineAddr(129), later).is_err(), "one page was mapped");
    }

    #[test]
    fn a_huge_page_goes_as_a_whole() {
        let mut iommu = Iommu::new(IommuConfig { page: PageSize::Mib2, ..six_walks() });
        let page = PageSize::Mib2.lines();
        iommu.unmap(LineAddr(page + 5), 1);
        let fault = PageFault { page: LineAddr(page), at: WALK };
        assert_eq!(iommu.translate(LineAddr(2 * page - 1), Picos::ZERO), Err(fault));
        assert!(iommu.translate(LineAddr(2 * page), Picos::ZERO).is_ok());
    }

    #[test]
    #[should_panic(expected = "cannot be unmapped")]
    fn physical_addresses_cannot_be_unmapped() {
        Iommu::off().unmap(LineAddr(0), 1);
    }

    #[test]
    fn page_sizes_are_known_by_their_bytes() {
        assert_eq!(PageSize::of_bytes(2 << 20), Some(PageSize::Mib2));
        assert_eq!(PageSize::of_bytes(1 << 30).map(PageSize::lines), Some(1 << 24));
        assert_eq!(PageSize::of_bytes(8 << 10), None);
    }

    #[test]
    fn pages_of_different_sizes_are_not_mistaken_for_each_other() {
        let page = PageSize::Mib2;
        let third = Mapping { first: LineAddr(3 * page.lines()), lines: page.lines(), page };
        let mut iommu = Iommu::new(IommuConfig { mappings: vec![third], ..six_walks() });
        iommu.translate(third.first, Picos::ZERO).expect(PRESENT);
        iommu.translate(first_line_of(3), WALK).expect(PRESENT);
        assert_eq!(iommu.counters().misses, 2);
    }

    #[test]
    fn off_costs_nothing_and_counts_nothing() {
        let mut iommu = Iommu::off();
        assert_eq!(iommu.translate(LineAddr(7), Picos(3)), Ok(Picos(3)));
        assert_eq!(iommu.counters(), IommuCounters::default());
    }

    #[test]
    #[should_panic(expected = "whole pages")]
    fn a_mapping_that_begins_inside_a_huge_page_is_our_bug() {
        let mapping = Mapping { first: LineAddr(64), lines: 1 << 15, page: PageSize::Mib2 };
        let _ = Iommu::new(IommuConfig { mappings: vec![mapping], ..six_walks() });
    }
}
