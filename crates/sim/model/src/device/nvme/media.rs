//! The media of an SSD: units that work in parallel, behind one bus.
//!
//! Models: a unit reads or writes one page at a time and holds it until the bus has moved it; the
//! bus limits the bandwidth of the device. Neighbouring pages lie on neighbouring units.
//! Source: the device's file; random reads at depth 1 give latency and spread, sequential
//! throughput the bus.
//! Simplifies: no wear levelling, garbage collection or full write cache; latencies are spread evenly
//! around their mean.

use super::rings::PAGE_BYTES;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use units::narrow::fit;
use units::{Bytes, GbitPerSec, Picos};

/// Parameters of the media.
#[derive(Clone, Debug)]
pub struct MediaConfig {
    /// Number of flash units: pages that can be read or written at a time.
    pub units: u32,
    /// Bytes that a unit reads or writes at once: a multiple of 4 KiB.
    pub page_bytes: u64,
    /// Mean time to read a page, or a fraction of one.
    pub read: Picos,
    /// Most by which a read takes less or more than the mean; no more than `read`.
    pub read_spread: Picos,
    /// Time from a page's arrival at its unit until the write is done.
    pub write: Picos,
    /// Rate of the bus from the flash units for reads.
    pub read_rate: GbitPerSec,
    /// Rate of the bus to the flash units for writes.
    pub write_rate: GbitPerSec,
}

/// A page, or a fraction of one, that a command accesses on its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageJob {
    /// The controller's slot of the command.
    pub slot: u32,
    /// First piece of 4 KiB, counted from the command's start.
    pub first_piece: u32,
    /// Number of pieces that have not been moved.
    pub pieces: u32,
    /// Whether the page is written.
    pub write: bool,
}

#[derive(Clone, Debug, Default)]
struct MediaUnit {
    /// Jobs in order of arrival; the first is in progress.
    jobs: VecDeque<PageJob>,
}

/// The media of one SSD.
#[derive(Debug)]
pub struct Media {
    config: MediaConfig,
    units: Vec<MediaUnit>,
    bus_free: Picos,
    rng: Xoshiro256PlusPlus,
}

impl Media {
    /// Creates media without work.
    #[must_use]
    pub fn new(config: MediaConfig, seed: u64) -> Self {
        Self {
            units: vec![MediaUnit::default(); config.units as usize],
            config,
            bus_free: Picos::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// The unit that holds a page.
    #[must_use]
    pub fn unit_of(&self, media_page: u64) -> u32 {
        fit(media_page % u64::from(self.config.units))
    }

    /// The page of the media that holds 4 KiB page `page`.
    #[must_use]
    pub fn page_of(&self, page: u64) -> u64 {
        page / self.pieces_per_page()
    }

    /// The job of a command over `pieces` pieces, from 4 KiB page `first` on, in `media_page`.
    #[must_use]
    pub fn part(
        &self,
        slot: u32,
        write: bool,
        first: u64,
        pieces: u64,
        media_page: u64,
    ) -> PageJob {
        let from = (media_page * self.pieces_per_page()).max(first);
        let to = ((media_page + 1) * self.pieces_per_page()).min(first + pieces);
        PageJob { slot, first_piece: fit(from - first), pieces: fit(to - from), write }
    }

    fn pieces_per_page(&self) -> u64 {
        self.config.page_bytes / PAGE_BYTES
    }

    /// Queues `job` on `unit`; returns when it is done if it begins now.
    pub fn queue(&mut self, unit: u32, job: PageJob, now: Picos) -> Option<Picos> {
        let jobs = &mut self.units[unit as usize].jobs;
        jobs.push_back(job);
        (jobs.len() == 1).then(|| self.begin(job, now))
    }

    /// The job in progress.
    ///
    /// # Panics
    /// If there is none.
    pub fn current(&mut self, unit: u32) -> &mut PageJob {
        self.units[unit as usize].jobs.front_mut().expect("a unit that reports has a job")
    }

    /// Ends the job in progress; returns when the next is done, if there is one.
    pub fn finish(&mut self, unit: u32, now: Picos) -> Option<Picos> {
        let jobs = &mut self.units[unit as usize].jobs;
        jobs.pop_front();
        let next = *jobs.front()?;
        Some(self.begin(next, now))
    }

    /// Moves `bytes` of a read over the bus, not before `now`; returns when the transfer ends.
    pub fn move_read(&mut self, bytes: u64, now: Picos) -> Picos {
        self.move_at(self.config.read_rate, bytes, now)
    }

    fn begin(&mut self, job: PageJob, now: Picos) -> Picos {
        if job.write {
            let bytes = u64::from(job.pieces) * PAGE_BYTES;
            return self.move_at(self.config.write_rate, bytes, now) + self.config.write;
        }
        let Picos(spread) = self.config.read_spread;
        let least = self.config.read.saturating_sub(self.config.read_spread);
        least + now + Picos(self.rng.next_u64() % (2 * spread + 1))
    }

    fn move_at(&mut self, rate: GbitPerSec, bytes: u64, now: Picos) -> Picos {
        self.bus_free = self.bus_free.max(now) + rate.time_for(Bytes(bytes));
        self.bus_free
    }
}
