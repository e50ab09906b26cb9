//! A set served with loops that compilers turn into the vector instructions of their target.

use super::serve::SetOf;

/// A set of `LANES` tags.
#[derive(Clone, Copy)]
pub(super) struct Portable<const LANES: usize>;

impl<const LANES: usize> SetOf for Portable<LANES> {
    const LANES: usize = LANES;

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn matches(set: *const u32, tag: u32) -> u32 {
        // SAFETY: the caller's set has `LANES` tags.
        let tags = unsafe { &*set.cast::<[u32; LANES]>() };
        let mut found = 0;
        for (place, &held) in tags.iter().enumerate() {
            found |= u32::from(held == tag) << place;
        }
        found
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn renew(set: *mut u32, tag: u32, up_to: u32) {
        // SAFETY: the caller's set has `LANES` tags.
        let tags = unsafe { &mut *set.cast::<[u32; LANES]>() };
        let before = *tags;
        for place in 0..LANES {
            let from = if place == 0 { tag } else { before[place - 1] };
            tags[place] = if up_to >> place & 1 == 1 { from } else { before[place] };
        }
    }
}
