//! The loops that serve a batch.

use super::request::HeadState;
use super::{Block, EvictionOrder, Kernel, RecencySets, Request};
use crate::Table;
use std::marker::PhantomData;

/// Counts of modified lines in a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteBackCounts {
    /// Number of write-backs from above that missed.
    pub victims_missed: u64,
    /// Number of modified victims.
    pub write_backs: u64,
}

/// The sets of a level while a batch is served.
pub(super) struct SetBatch<'a> {
    pub tags: &'a mut Table<Block>,
    pub modified: &'a mut Table<u32>,
    pub shape: Shape,
    pub kernel: Kernel,
    /// How many requests ahead a set is prefetched into the host's cache.
    pub ahead: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub sets: u32,
    pub ways: u32,
    pub leaves: EvictionOrder,
}

/// A set of tags under one kind of instructions.
pub(super) trait SetOf: Copy {
    /// Number of tags, including those beyond the ways.
    const LANES: usize;

    /// A mask of the positions that hold `tag`.
    ///
    /// # Safety
    /// `set` points to `LANES` tags and is aligned to all of them, or to a block where they are more;
    /// the host has the instructions.
    #[allow(unsafe_code)]
    unsafe fn matches(set: *const u32, tag: u32) -> u32;

    /// Moves the tags at the positions of `up_to`, which are the lowest or none, up by one and puts
    /// `tag` in front. The highest of them is dropped. Does nothing if `up_to` is empty.
    ///
    /// # Safety
    /// As [`Self::matches`].
    #[allow(unsafe_code)]
    unsafe fn renew(set: *mut u32, tag: u32, up_to: u32);

    /// Makes `lines[i]` the newest of its set, which is `offset` tags behind `sets`, under LRU. Writes
    /// it to `missed[count]`; returns the number of misses so far, which grows if the line was missing.
    ///
    /// # Safety
    /// As [`Self::matches`]; the line and its entry in `missed` exist.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn read(loads: &Loads<'_>, offset: usize, i: usize, count: usize) -> usize {
        let set = loads.sets.wrapping_add(offset);
        // SAFETY: as for the caller.
        unsafe {
            let line = *loads.lines.get_unchecked(i);
            let found = Self::matches(set, line);
            // A miss replaces the last position.
            let last = loads.places ^ loads.places >> 1;
            Self::renew(set, line, up_to_lowest(found | last));
            loads.missed.add(count).write(line);
            count + usize::from(found == 0)
        }
    }
}

/// The inputs of a batch of reads other than its set numbers.
pub(super) struct Loads<'a> {
    /// The first tag of the first set.
    pub sets: *mut u32,
    pub lines: &'a [u32],
    pub missed: *mut u32,
    /// A bit for each way.
    pub places: u32,
}

/// Gives the set of a request.
pub(super) trait SetNumbers: Copy {
    fn set_number(self, index: usize, line: u32) -> u32;
}

#[derive(Clone, Copy)]
pub(super) struct LowBits {
    pub mask: u32,
}

impl SetNumbers for LowBits {
    #[inline(always)]
    fn set_number(self, _: usize, line: u32) -> u32 {
        line & self.mask
    }
}

#[derive(Clone, Copy)]
pub(super) struct Listed<'a>(pub &'a [u32]);

impl SetNumbers for Listed<'_> {
    #[inline(always)]
    fn set_number(self, index: usize, _: u32) -> u32 {
        self.0[index]
    }
}

/// The bits of `bits` up to the lowest set bit.
#[inline(always)]
fn up_to_lowest(bits: u32) -> u32 {
    bits ^ bits.wrapping_sub(1)
}

/// The sets of a batch, as its loops use them. (These are structures with methods, since closures
/// cannot be marked for inlining, and a loop body that is not inlined is not vectorised.)
#[derive(Clone, Copy)]
struct Sets<S, N> {
    tags: *mut u32,
    numbers: N,
    last_place: usize,
    kind: PhantomData<S>,
}

impl<S: SetOf, N: SetNumbers> Sets<S, N> {
    fn new(batch: &mut SetBatch<'_>, numbers: N) -> Self {
        let tags = batch.tags.as_mut_ptr().cast();
        let last_place = batch.shape.ways as usize - 1;
        Self { tags, numbers, last_place, kind: PhantomData }
    }

    #[inline(always)]
    fn set(&self, number: usize) -> *mut u32 {
        self.tags.wrapping_add(number * S::LANES)
    }

    /// A mask of the positions that hold `line`, with the last position added. (Positions beyond the
    /// ways hold no line, so they never match.)
    ///
    /// # Safety
    /// `set` is one of these sets.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn find(&self, set: *mut u32, line: u32) -> (u32, u32) {
        debug_assert!(line != RecencySets::NO_LINE);
        // SAFETY: as for the caller.
        let found = unsafe { S::matches(set, line) };
        (found, found | 1 << self.last_place)
    }
}

struct ReadLoop<'a, S, N, const LRU: bool> {
    sets: Sets<S, N>,
    loads: Loads<'a>,
    count: usize,
}

impl<S: SetOf, N: SetNumbers, const LRU: bool> ReadLoop<'_, S, N, LRU> {
    /// # Safety
    /// The lines and their sets exist, and there is space to write.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn one(&mut self, i: usize) {
        // SAFETY: as for the caller.
        unsafe {
            let line = *self.loads.lines.get_unchecked(i);
            debug_assert!(line != RecencySets::NO_LINE);
            let offset = self.sets.numbers.set_number(i, line) as usize * S::LANES;
            if LRU {
                self.count = S::read(&self.loads, offset, i, self.count);
                return;
            }
            let set = self.sets.tags.add(offset);
            let (found, found_or_last) = self.sets.find(set, line);
            let missing = u32::from(found == 0);
            S::renew(set, line, up_to_lowest(found_or_last) & missing.wrapping_neg());
            self.loads.missed.add(self.count).write(line);
            self.count += missing as usize;
        }
    }
}

/// The loop of [`RecencySets::read`].
///
/// `S` matches the batch's ways, and the host supports it; all set numbers are below the number of
/// sets; `missed` has space for one more than `lines`.
#[inline(always)]
#[allow(unsafe_code)]
pub(super) unsafe fn read_all<S: SetOf, const LRU: bool>(
    batch: &mut SetBatch<'_>,
    lines: &[u32],
    numbers: impl SetNumbers,
    missed: &mut Vec<u32>,
) {
    let sets = Sets::<S, _>::new(batch, numbers);
    let places = u32::MAX >> (u32::BITS - batch.shape.ways);
    let loads = Loads { sets: sets.tags, lines, missed: missed.as_mut_ptr(), places };
    let mut work = ReadLoop::<S, _, LRU> { sets, loads, count: missed.len() };
    let announced = if batch.ahead == 0 { 0 } else { lines.len().saturating_sub(batch.ahead) };
    let to_come = &lines[lines.len() - announced..];
    // SAFETY: the sets exist, and there is space for each line and one more; the length given to the
    // list covers what was written.
    unsafe {
        for (i, &later) in to_come.iter().enumerate() {
            prefetch(sets.set(numbers.set_number(i + batch.ahead, later) as usize));
            work.one(i);
        }
        for i in announced..lines.len() {
            work.one(i);
        }
        missed.set_len(work.count);
    }
}

struct ServeLoop<S, N, const LRU: bool> {
    sets: Sets<S, N>,
    modified: *mut u32,
    out: *mut Request,
    count: usize,
    written: WriteBackCounts,
    asked: HeadState,
}

impl<S: SetOf, N: SetNumbers, const LRU: bool> ServeLoop<S, N, LRU> {
    /// # Safety
    /// The set and its modified bits exist, and there is space to write two requests.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn one(&mut self, i: usize, request: Request) {
        let line = request.line();
        let number = self.sets.numbers.set_number(i, line) as usize;
        let set = self.sets.set(number);
        // SAFETY: as for the caller.
        unsafe {
            let (found, found_or_last) = self.sets.find(set, line);
            let missing = u32::from(found == 0);
            let renews = missing | u32::from(LRU) & !request.written_back();
            let up_to = up_to_lowest(found_or_last) & renews.wrapping_neg();
            let victim = set.add(self.sets.last_place).read();
            S::renew(set, line, up_to);

            let bits = self.modified.add(number).read();
            let was = u32::from(bits & found != 0);
            // The line's position now: the front, or where it was.
            let place = found_or_last.trailing_zeros() & renews.wrapping_sub(1);
            let here = (was & renews | request.modifies()) << place;
            self.modified.add(number).write(bits & !up_to | bits << 1 & up_to | here);
            let leaves = missing & bits >> self.sets.last_place;

            self.out.add(self.count).write(self.asked.below(request, missing));
            self.count += missing as usize;
            self.out.add(self.count).write(Request::write_back(victim));
            self.count += leaves as usize;
            self.written.victims_missed += u64::from(missing & request.written_back());
            self.written.write_backs += u64::from(leaves);
        }
    }
}

/// The loop of [`RecencySets::serve`].
///
/// # Safety
/// As [`read_all`]; there is a word of modified bits for each set, and `below` has space for one more
/// than twice the requests.
#[inline(always)]
#[allow(unsafe_code)]
pub(super) unsafe fn serve_all<S: SetOf, const LRU: bool>(
    batch: &mut SetBatch<'_>,
    requests: &[Request],
    numbers: impl SetNumbers,
    below: &mut Vec<Request>,
) -> WriteBackCounts {
    let sets = Sets::<S, _>::new(batch, numbers);
    let modified = batch.modified.as_mut_ptr();
    let (ahead, out, count) = (batch.ahead, below.as_mut_ptr(), below.len());
    let (written, asked) = (WriteBackCounts::default(), HeadState::default());
    let mut work = ServeLoop::<S, _, LRU> { sets, modified, out, count, written, asked };
    let announced = requests.len().saturating_sub(ahead);
    let to_come = &requests[requests.len() - announced..];
    // SAFETY: the sets exist, and there is space for two of each request and one more; the length given
    // to the list covers what was written.
    unsafe {
        for (i, (&request, later)) in requests.iter().zip(to_come).enumerate() {
            let set = numbers.set_number(i + ahead, later.line()) as usize;
            prefetch(sets.set(set));
            prefetch(modified.wrapping_add(set));
            work.one(i, request);
        }
        for (i, &request) in requests.iter().enumerate().skip(announced) {
            work.one(i, request);
        }
        below.set_len(work.count);
    }
    work.written
}

/// Prefetches the value at an address, which need not exist.
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
