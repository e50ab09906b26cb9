//! Selects the loop for a batch: kind of instructions, size of sets, policy, set numbers.

use super::portable::Portable;
use super::serve::{Listed, LowBits, SetBatch, SetOf, WriteBackCounts, read_all, serve_all};
use super::{EvictionOrder, Kernel, Places, Request};
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512};

/// A batch of either kind, as the loops of one kind of instructions receive it.
trait BatchWork {
    type Done;

    /// # Safety
    /// `S` matches the batch's ways, and the host supports it.
    #[allow(unsafe_code)]
    unsafe fn run<S: SetOf>(self) -> Self::Done;
}

struct Read<'a, 'b>(SetBatch<'a>, &'b [u32], Places<'b>, &'b mut Vec<u32>);

impl BatchWork for Read<'_, '_> {
    type Done = ();

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn run<S: SetOf>(self) {
        // SAFETY: as for the caller.
        unsafe {
            match self.0.shape.leaves {
                EvictionOrder::LeastRecentlyUsed => self.leaving::<S, true>(),
                EvictionOrder::FirstIn => self.leaving::<S, false>(),
            }
        }
    }
}

impl Read<'_, '_> {
    /// # Safety
    /// As [`BatchWork::run`].
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn leaving<S: SetOf, const LRU: bool>(self) {
        let Self(mut batch, lines, places, missed) = self;
        let low = LowBits { mask: batch.shape.sets - 1 };
        // SAFETY: the caller has checked the set numbers and reserved the space.
        unsafe {
            match places {
                Places::LowBits => read_all::<S, LRU>(&mut batch, lines, low, missed),
                Places::Listed(sets) => {
                    read_all::<S, LRU>(&mut batch, lines, Listed(sets), missed);
                }
            }
        }
    }
}

struct Serve<'a, 'b>(SetBatch<'a>, &'b [Request], Places<'b>, &'b mut Vec<Request>);

impl BatchWork for Serve<'_, '_> {
    type Done = WriteBackCounts;

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn run<S: SetOf>(self) -> WriteBackCounts {
        // SAFETY: as for the caller.
        unsafe {
            match self.0.shape.leaves {
                EvictionOrder::LeastRecentlyUsed => self.leaving::<S, true>(),
                EvictionOrder::FirstIn => self.leaving::<S, false>(),
            }
        }
    }
}

impl Serve<'_, '_> {
    /// # Safety
    /// As [`BatchWork::run`].
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn leaving<S: SetOf, const LRU: bool>(self) -> WriteBackCounts {
        let Self(mut batch, requests, places, below) = self;
        let low = LowBits { mask: batch.shape.sets - 1 };
        // SAFETY: the caller has checked the set numbers and reserved the space.
        unsafe {
            match places {
                Places::LowBits => serve_all::<S, LRU>(&mut batch, requests, low, below),
                Places::Listed(sets) => {
                    serve_all::<S, LRU>(&mut batch, requests, Listed(sets), below)
                }
            }
        }
    }
}

pub(super) fn read(batch: SetBatch<'_>, lines: &[u32], places: Places<'_>, missed: &mut Vec<u32>) {
    let (kernel, ways) = (batch.kernel, batch.shape.ways);
    choose(kernel, ways, Read(batch, lines, places, missed));
}

pub(super) fn serve(
    batch: SetBatch<'_>,
    requests: &[Request],
    places: Places<'_>,
    below: &mut Vec<Request>,
) -> WriteBackCounts {
    let (kernel, ways) = (batch.kernel, batch.shape.ways);
    choose(kernel, ways, Serve(batch, requests, places, below))
}

#[allow(unsafe_code)]
fn choose<W: BatchWork>(kernel: Kernel, ways: u32, work: W) -> W::Done {
    // SAFETY: a kernel is chosen when sets are made, and only if the host supports it; the number of
    // lanes is that of the sets.
    unsafe {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => with_avx512(ways, work),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => with_avx2(ways, work),
            _ => match super::lanes(ways) {
                8 => work.run::<Portable<8>>(),
                16 => work.run::<Portable<16>>(),
                _ => work.run::<Portable<32>>(),
            },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,bmi1")]
#[allow(unsafe_code)]
unsafe fn with_avx512<W: BatchWork>(ways: u32, work: W) -> W::Done {
    // SAFETY: as for the caller.
    unsafe {
        match super::lanes(ways) {
            8 => work.run::<avx512::Half>(),
            16 => work.run::<avx512::One>(),
            _ => work.run::<avx512::Two>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
#[allow(unsafe_code)]
unsafe fn with_avx2<W: BatchWork>(ways: u32, work: W) -> W::Done {
    // SAFETY: as for the caller.
    unsafe {
        match super::lanes(ways) {
            8 => work.run::<Avx2<8>>(),
            16 => work.run::<Avx2<16>>(),
            _ => work.run::<Avx2<32>>(),
        }
    }
}
