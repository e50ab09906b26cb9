//! Recovery of the set index of a sliced cache, by eviction tests.
//!
//! Accesses to many lines of a slice evict another line of it only if they are in its set. Lines alike in
//! all bits within a page that are in one slice must evict one another, or bits of the page's address take
//! part in the index. Then each bit within a page is turned over in such lines: if they still evict, the bit
//! takes no part. An index is accepted if its bits are contiguous and as many as the sets need; a hash has
//! more, or lets page bits in, and is refused.
//!
//! Source of the method: Liu et al., "Last-Level Cache Side-Channel Attacks are Practical" (S&P 2015), and
//! McCalpin (TACC TR-2021-03) for the choice of lines by a known slice function.

use crate::recovery::HugePage;
use crate::slice_map::{NotCovered, SliceMap};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;
use units::LINE_BYTES;
use units::narrow::usize_from;

/// Result of one eviction test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionAnswer {
    /// The target was evicted from the cache.
    Evicted,
    /// The target was still in the cache.
    Kept,
    /// Times were between those of the cache and of memory, or the test was disturbed.
    Unclear,
}

/// Tests whether lines evict another one, and may err: by timing, or by an emulation of it.
pub trait EvictionOracle {
    /// Error after which the oracle gives no further answers.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Whether accesses to all of `lines` evict the line at `target` from the last-level cache. All
    /// addresses are physical ones within the pages that the recovery was given.
    ///
    /// # Errors
    /// If the oracle gives no further answers.
    fn evicts(&mut self, target: u64, lines: &[u64]) -> Result<EvictionAnswer, Self::Error>;
}

/// Known facts of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetIndexPlan {
    /// Ways of a set.
    pub ways: u32,
    /// Sets of a slice: a power of two.
    pub sets_per_slice: u32,
    /// Seed of the choice of lines.
    pub seed: u64,
}

/// A set index: contiguous bits of physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainSetIndex {
    /// The lowest bit.
    pub lowest_bit: u32,
    /// The highest bit.
    pub highest_bit: u32,
}

impl fmt::Display for PlainSetIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "physical address bits {}:{}", self.highest_bit, self.lowest_bit)
    }
}

/// Error of a recovery that found no plain index.
#[derive(Debug, thiserror::Error)]
pub enum SetIndexError<E: std::error::Error> {
    /// The number of sets is not a power of two, or the sets are more than lines of a page.
    #[error("{0} sets of a slice: a power of two from 2 to 32768 is allowed")]
    Sets(u32),
    /// The pages have too few lines of one slice at an offset.
    #[error(
        "the pages have {found} lines of one slice at an offset, and {wanted} are needed; map more pages"
    )]
    Pages {
        /// Lines that are needed.
        wanted: usize,
        /// Lines that were found.
        found: usize,
    },
    /// Lines alike in all bits within a page do not evict one another.
    #[error(
        "lines of one slice that are alike in all bits within a page do not evict one another: bits of the \
         page's address take part in the index (a hash), or the slice table is not this machine's"
    )]
    PageBits,
    /// The bits within a page are not those of a plain index.
    #[error(
        "the set depends on bits {found:?} within a page, and an index of {wanted} contiguous bits was \
         looked for: it is a hash"
    )]
    NotPlain {
        /// The bits that take part.
        found: Vec<u32>,
        /// Number of bits of the sets.
        wanted: u32,
    },
    /// Answers contradict one another.
    #[error(
        "answers about {what} contradict one another ({evicted} of {clear} lines were evicted)"
    )]
    Unclear {
        /// The lines that were asked about.
        what: String,
        /// Targets that were evicted.
        evicted: usize,
        /// Targets with a clear answer.
        clear: usize,
    },
    /// The slice table is not established for an address of the memory.
    #[error(transparent)]
    NotCovered(#[from] NotCovered),
    /// The oracle failed.
    #[error(transparent)]
    Oracle(E),
}

/// Bits within the smaller of the huge pages; larger pages are used in pieces.
const PAGE_BITS: u32 = 21;
const LINE_BITS: u32 = LINE_BYTES.trailing_zeros();
/// Lines of a test, over the ways of a set: replacement is not exact LRU, and private caches hold some.
const LINES_OVER_WAYS: usize = 3;
/// Targets that are asked about for each bit.
const TARGETS: usize = 16;
/// Share of clear answers that decides; a target in eight may err.
const AGREEMENT: f64 = 0.75;

/// Recovers the set index with lines of `pages`, whose slices `map` knows.
///
/// # Errors
/// If the index is not plain, answers contradict one another, or pages or oracle do not suffice.
pub fn recover<O: EvictionOracle>(
    oracle: &mut O,
    map: &SliceMap,
    pages: &[HugePage],
    plan: SetIndexPlan,
) -> Result<PlainSetIndex, SetIndexError<O::Error>> {
    let sets = plan.sets_per_slice;
    let within_page = 1 << (PAGE_BITS - LINE_BITS);
    if !sets.is_power_of_two() || !(2..=within_page).contains(&sets) {
        return Err(SetIndexError::Sets(sets));
    }
    let mut tests = Tests {
        oracle,
        map,
        pieces: pieces(pages),
        lines: plan.ways as usize * LINES_OVER_WAYS,
        numbers: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
    };
    if !tests.evicts(0)? {
        return Err(SetIndexError::PageBits);
    }
    let mut found = Vec::new();
    for bit in LINE_BITS..PAGE_BITS {
        if !tests.evicts(1 << bit)? {
            found.push(bit);
        }
    }
    let wanted = sets.trailing_zeros();
    match found[..] {
        [lowest_bit, .., highest_bit]
            if found.len() == wanted as usize && highest_bit - lowest_bit + 1 == wanted =>
        {
            Ok(PlainSetIndex { lowest_bit, highest_bit })
        }
        [bit] if wanted == 1 => Ok(PlainSetIndex { lowest_bit: bit, highest_bit: bit }),
        _ => Err(SetIndexError::NotPlain { found, wanted }),
    }
}

/// First bytes of the aligned pieces of pages, of the smaller page's size.
fn pieces(pages: &[HugePage]) -> Vec<u64> {
    let of_page = |page: &HugePage| {
        let count = 1_u64 << (page.size.bits() - PAGE_BITS);
        let start = page.start;
        (0..count).map(move |piece| start + (piece << PAGE_BITS))
    };
    pages.iter().flat_map(of_page).collect()
}

struct Tests<'a, O> {
    oracle: &'a mut O,
    map: &'a SliceMap,
    pieces: Vec<u64>,
    /// Lines of a test.
    lines: usize,
    numbers: Xoshiro256PlusPlus,
}

impl<O: EvictionOracle> Tests<'_, O> {
    /// Whether lines evict a target that is in their slice, and alike in the bits within a page but for
    /// those of `turned`: what most targets say.
    fn evicts(&mut self, turned: u64) -> Result<bool, SetIndexError<O::Error>> {
        let (mut evicted, mut clear) = (0, 0);
        for _ in 0..TARGETS {
            let target = self.target();
            let lines = self.alike(target, turned)?;
            match self.oracle.evicts(target, &lines).map_err(SetIndexError::Oracle)? {
                EvictionAnswer::Evicted => (evicted, clear) = (evicted + 1, clear + 1),
                EvictionAnswer::Kept => clear += 1,
                EvictionAnswer::Unclear => {}
            }
        }
        let share = evicted as f64 / clear as f64;
        if clear >= TARGETS / 2 && share >= AGREEMENT {
            return Ok(true);
        }
        if clear >= TARGETS / 2 && share <= 1.0 - AGREEMENT {
            return Ok(false);
        }
        let what = match turned {
            0 => "lines alike within a page".into(),
            _ => format!("bit {}", turned.trailing_zeros()),
        };
        Err(SetIndexError::Unclear { what, evicted, clear })
    }

    fn target(&mut self) -> u64 {
        let piece = self.pieces[usize_from(self.numbers.next_u64() % self.pieces.len() as u64)];
        let line = self.numbers.next_u64() % (1 << (PAGE_BITS - LINE_BITS));
        piece + line * LINE_BYTES
    }

    /// Lines of other pieces in the slice of `target`, at its offset with the bits of `turned` turned over.
    fn alike(&mut self, target: u64, turned: u64) -> Result<Vec<u64>, SetIndexError<O::Error>> {
        let slice = self.map.slice_of(target)?;
        let offset = (target ^ turned) % (1 << PAGE_BITS);
        // From a piece at random on, so that no lines are asked about more than others.
        let first = usize_from(self.numbers.next_u64() % self.pieces.len() as u64);
        let mut lines = Vec::with_capacity(self.lines);
        for piece in self.pieces[first..].iter().chain(&self.pieces[..first]) {
            let line = piece + offset;
            if line >> PAGE_BITS != target >> PAGE_BITS && self.map.slice_of(line)? == slice {
                lines.push(line);
                if lines.len() == self.lines {
                    return Ok(lines);
                }
            }
        }
        Err(SetIndexError::Pages { wanted: self.lines, found: lines.len() })
    }
}
