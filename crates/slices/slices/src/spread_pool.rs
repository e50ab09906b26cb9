//! A pool of buffers that are chosen by slice and set, so that no set gets many more lines than others.
//!
//! Buffers in the order of memory fall on the sets of a sliced cache unevenly: all lines at one offset of
//! aligned buffers have few set indices, and the slice function gives each of these to some slices more
//! often. A device that fills the buffers then evicts its own lines in a cache that has room for all. Here
//! each *colour*, the buffers that share their set indices, gives as many buffers as any other, and those
//! whose lines lie in the least filled slices.
//!
//! Source of the set index: physical address bits 16:6 within a slice (McCalpin, TACC TR-2021-03, and
//! eviction tests on Skylake-SP; docs/reference/model-scope.md names rivals).

mod colour;

use crate::mapped_page::MappedPage;
use crate::slice_map::{NotCovered, SliceMap};
use colour::Colour;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// Shape of a pool, and of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpreadRequest {
    /// Number of buffers.
    pub buffers: usize,
    /// Bytes of a buffer: a power of two, at least a line. Buffers are aligned to their size.
    pub buffer_bytes: u64,
    /// Sets of a slice: a power of two.
    pub sets_per_slice: u32,
}

impl SpreadRequest {
    fn lines(&self) -> u64 {
        self.buffer_bytes / LINE_BYTES
    }

    /// Groups of buffers that share their set indices.
    fn colours(&self) -> u64 {
        u64::from(self.sets_per_slice) / self.lines()
    }

    /// The most lines that a set may get in a cache of `slices` slices: one more than the mean, rounded up.
    #[must_use]
    pub fn most_lines(&self, slices: u32) -> u32 {
        let sets = u64::from(slices) * u64::from(self.sets_per_slice);
        fit(usize_from((self.buffers as u64 * self.lines()).div_ceil(sets)) + 1)
    }

    /// Checks the shape of a pool whose memory holds `found` buffers.
    fn check(&self, found: usize) -> Result<(), SpreadError> {
        let (bytes, sets) = (self.buffer_bytes, self.sets_per_slice);
        let way_bytes = u64::from(sets) * LINE_BYTES;
        if !bytes.is_power_of_two() || !(LINE_BYTES..=way_bytes).contains(&bytes) {
            return Err(SpreadError::BufferBytes { bytes, way_bytes });
        }
        if !sets.is_power_of_two() {
            return Err(SpreadError::Sets(sets));
        }
        if found < self.buffers {
            return Err(SpreadError::Pages { wanted: self.buffers, found });
        }
        Ok(())
    }

    /// The buffers that pages hold, if they could be divided by the size of one.
    fn held_by(&self, pages: &[MappedPage]) -> usize {
        let lines: u64 = pages.iter().map(|page| u64::from(page.virtual_page().lines())).sum();
        usize_from(lines / self.lines().max(1))
    }
}

/// Error of a pool that cannot be spread over slices and sets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpreadError {
    /// The size of a buffer is not a power of two, or buffers span more than all sets.
    #[error("buffers of {bytes} bytes: a power of two is allowed, from 64 to {way_bytes} bytes")]
    BufferBytes {
        /// Size that was requested.
        bytes: u64,
        /// Bytes of the sets of a slice: the largest size.
        way_bytes: u64,
    },
    /// The number of sets is not a power of two.
    #[error("{0} sets of a slice: a power of two is allowed")]
    Sets(u32),
    /// A buffer does not begin at a multiple of its size.
    #[error("the buffer at physical address {address:#x} is not aligned to its {bytes} bytes")]
    Unaligned {
        /// Physical address of the buffer.
        address: u64,
        /// Size of a buffer.
        bytes: u64,
    },
    /// The pages hold fewer buffers.
    #[error("the pages hold {found} buffers, and {wanted} are wanted; map more pages")]
    Pages {
        /// Buffers that were requested.
        wanted: usize,
        /// Buffers that the pages hold.
        found: usize,
    },
    /// The pages are too alike: no choice among their buffers was found that keeps to the limit.
    #[error(
        "a set gets {found} lines of the pool, and {most} are allowed: the pages are too alike; pass \
         more of them, at least four times the pool"
    )]
    Alike {
        /// Lines of the fullest set in the best choice found.
        found: u32,
        /// Most lines that are allowed.
        most: u32,
    },
    /// The table is not established for an address of the memory.
    #[error(transparent)]
    NotCovered(#[from] NotCovered),
}

/// Buffers of which no (slice, set) gets more lines than the mean, rounded up, and one more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadPool {
    buffers: Vec<u64>,
    most_lines: u32,
}

impl SpreadPool {
    /// Chooses buffers among those of `pages`. Four times the memory of the pool is enough for nearly all
    /// pages; the rest stays the caller's. The same pages give the same pool.
    ///
    /// # Errors
    /// If the request is not valid, the pages hold too few buffers or are too alike, or the table does not
    /// cover them.
    pub fn choose(
        map: &SliceMap,
        pages: &[MappedPage],
        request: SpreadRequest,
    ) -> Result<Self, SpreadError> {
        let slice_of = |physical| map.slice_of(physical);
        let pool = Self::choose_best(map.slices(), slice_of, pages, request)?;
        let (found, most) = (pool.most_lines, request.most_lines(map.slices()));
        if found > most {
            return Err(SpreadError::Alike { found, most });
        }
        Ok(pool)
    }

    /// As [`Self::choose`] by any slice function, whose slices have numbers below `slices`. If no choice
    /// keeps to the limit, the best one that was found is returned.
    ///
    /// # Errors
    /// If the request is not valid, the pages hold too few buffers, or `slice_of` fails.
    pub fn choose_best(
        slices: u32,
        slice_of: impl Fn(u64) -> Result<SliceId, NotCovered>,
        pages: &[MappedPage],
        request: SpreadRequest,
    ) -> Result<Self, SpreadError> {
        request.check(request.held_by(pages))?;
        let bytes_of = |page: &MappedPage| u64::from(page.virtual_page().lines()) * LINE_BYTES;
        let buffers = pages.iter().flat_map(|page| {
            let offsets = (0..bytes_of(page)).step_by(usize_from(request.buffer_bytes));
            offsets.map(|offset| (page.virtual_start + offset, page.page.start + offset))
        });
        Self::choose_of(slices, slice_of, buffers, request)
    }

    /// As [`Self::choose`] among single buffers, given their physical addresses: the pool consists of
    /// their numbers in this list. For buffers with something between them.
    ///
    /// # Errors
    /// As [`Self::choose`], and if an address is not aligned to the size of a buffer.
    pub fn choose_among(
        map: &SliceMap,
        physical_addresses: &[u64],
        request: SpreadRequest,
    ) -> Result<Self, SpreadError> {
        request.check(physical_addresses.len())?;
        let aligned = |address: &&u64| !address.is_multiple_of(request.buffer_bytes);
        if let Some(&address) = physical_addresses.iter().find(aligned) {
            return Err(SpreadError::Unaligned { address, bytes: request.buffer_bytes });
        }
        let buffers = (0..).zip(physical_addresses.iter().copied());
        let slice_of = |physical| map.slice_of(physical);
        let pool = Self::choose_of(map.slices(), slice_of, buffers, request)?;
        let (found, most) = (pool.most_lines, request.most_lines(map.slices()));
        if found > most {
            return Err(SpreadError::Alike { found, most });
        }
        Ok(pool)
    }

    /// Chooses among buffers with these names and physical addresses.
    fn choose_of(
        slices: u32,
        slice_of: impl Fn(u64) -> Result<SliceId, NotCovered>,
        buffers: impl Iterator<Item = (u64, u64)>,
        request: SpreadRequest,
    ) -> Result<Self, SpreadError> {
        let most = request.most_lines(slices);
        let mut colours = candidates(slices, slice_of, buffers, request)?;
        // A fixed seed: the numbers only break ties.
        let mut numbers = Xoshiro256PlusPlus::seed_from_u64(0);
        let quotas = quotas(&colours, request.buffers);
        for (colour, quota) in colours.iter_mut().zip(quotas) {
            colour.choose(quota, most, &mut numbers);
        }
        let most_lines = colours.iter().map(Colour::most_lines).max().unwrap_or(0);
        Ok(Self { buffers: in_turn(&colours), most_lines })
    }

    /// Virtual addresses or numbers of the buffers, colour after colour in turn, so that those of every stretch are
    /// spread as well.
    #[must_use]
    pub fn buffers(&self) -> &[u64] {
        &self.buffers
    }

    /// Lines of the pool in the set that has most.
    #[must_use]
    pub fn most_lines_of_a_set(&self) -> u32 {
        self.most_lines
    }
}

/// All buffers, colour by colour.
fn candidates(
    slices: u32,
    slice_of: impl Fn(u64) -> Result<SliceId, NotCovered>,
    buffers: impl Iterator<Item = (u64, u64)>,
    request: SpreadRequest,
) -> Result<Vec<Colour>, NotCovered> {
    let lines = usize_from(request.lines());
    let colour = || Colour::new(usize_from(u64::from(slices)), lines);
    let mut colours: Vec<Colour> = (0..request.colours()).map(|_| colour()).collect();
    let mut of_buffer = vec![0; lines];
    for (name, physical) in buffers {
        for (slice, line) in of_buffer.iter_mut().zip(0..) {
            *slice = slice_of(physical + line * LINE_BYTES)?.0;
        }
        let colour = usize_from(physical / request.buffer_bytes % request.colours());
        colours[colour].add(name, &of_buffer);
    }
    Ok(colours)
}

/// Buffers that each colour gives: the same number if it has them, others fill in.
fn quotas(colours: &[Colour], buffers: usize) -> Vec<usize> {
    let mut quotas = vec![0; colours.len()];
    let mut left = buffers;
    while left > 0 {
        for (quota, colour) in quotas.iter_mut().zip(colours) {
            if left > 0 && *quota < colour.candidates() {
                *quota += 1;
                left -= 1;
            }
        }
    }
    quotas
}

/// The chosen buffers, one of each colour in turn.
fn in_turn(colours: &[Colour]) -> Vec<u64> {
    let chosen: Vec<Vec<u64>> = colours.iter().map(|colour| colour.chosen().collect()).collect();
    let longest = chosen.iter().map(Vec::len).max().unwrap_or(0);
    let round = |round: usize| chosen.iter().filter_map(move |of| of.get(round).copied());
    (0..longest).flat_map(round).collect()
}
