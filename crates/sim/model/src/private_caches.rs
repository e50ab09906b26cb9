//! The private caches of one core together: L1D, L2, and L1I where instruction fetches are replayed.
//!
//! Models: which of these caches hold a line, and in which state the core may use it.
//! Source: platform file (sizes, ways, policies).
//! Simplifies: L1 is included in L2 (DEVIATIONS.md, 4) unless levels are independent
//! ([`crate::llc::Inclusion::Nine`]); a store does not look up L1I.

mod prefetcher;
mod private_cache;

pub use prefetcher::{Prefetch, PrefetchInFlight, Prefetcher, PrefetcherConfig};
pub use private_cache::{FillEffect, MesiState, PrivateCache, PrivateCacheConfig};

use crate::counters::CoreCounters;
use units::LineAddr;

/// Sizes and policies of a core's caches.
#[derive(Clone, Debug)]
pub struct PrivateCachesConfig {
    /// Parameters of the L1 data cache.
    pub l1: PrivateCacheConfig,
    /// L1 instruction cache; without one, instructions are not fetched.
    pub l1i: Option<PrivateCacheConfig>,
    /// Parameters of the L2.
    pub l2: PrivateCacheConfig,
    /// Parameters of the prefetchers of L2.
    pub prefetcher: PrefetcherConfig,
}

/// The caches of one core.
#[derive(Clone, Debug)]
pub struct PrivateCaches {
    /// L1 data cache.
    pub l1: PrivateCache,
    /// L1 instruction cache.
    pub l1i: Option<PrivateCache>,
    /// L2.
    pub l2: PrivateCache,
    /// The prefetchers of L2.
    pub prefetcher: Prefetcher,
    /// Counters of the core's caches.
    pub counters: CoreCounters,
}

impl PrivateCaches {
    /// Empty caches.
    #[must_use]
    pub fn new(config: &PrivateCachesConfig, seed: u64) -> Self {
        Self {
            l1: PrivateCache::new(config.l1, seed),
            l1i: config.l1i.map(|l1i| PrivateCache::new(l1i, seed.wrapping_add(1 << 32))),
            l2: PrivateCache::new(config.l2, seed.wrapping_add(1)),
            prefetcher: Prefetcher::new(config.prefetcher),
            counters: CoreCounters::default(),
        }
    }

    /// The strongest state in which any of these caches holds `line`.
    #[inline]
    #[must_use]
    pub fn state(&self, line: LineAddr) -> Option<MesiState> {
        let instructions = self.l1i.as_ref().and_then(|l1i| l1i.state(line));
        self.l1.state(line).max(self.l2.state(line)).max(instructions)
    }

    /// Whether a data cache has `line` modified.
    #[inline]
    #[must_use]
    pub fn is_modified(&self, line: LineAddr) -> bool {
        self.l1.state(line) == Some(MesiState::Modified)
            || self.l2.state(line) == Some(MesiState::Modified)
    }

    /// Invalidates `line` in all caches; returns the strongest state it had.
    #[inline]
    pub fn invalidate(&mut self, line: LineAddr) -> Option<MesiState> {
        let instructions = self.l1i.as_mut().and_then(|l1i| l1i.invalidate(line));
        self.l1.invalidate(line).max(self.l2.invalidate(line)).max(instructions)
    }

    /// Invalidates `line` in the caches above L2; returns the state it had.
    #[inline]
    pub fn invalidate_l1(&mut self, line: LineAddr) -> Option<MesiState> {
        let instructions = self.l1i.as_mut().and_then(|l1i| l1i.invalidate(line));
        self.l1.invalidate(line).max(instructions)
    }

    /// Makes every copy of `line` Shared; returns whether one was modified.
    #[inline]
    pub fn downgrade(&mut self, line: LineAddr) -> bool {
        let modified = self.is_modified(line);
        self.l1.set_state(line, MesiState::Shared);
        self.l2.set_state(line, MesiState::Shared);
        if let Some(l1i) = &mut self.l1i {
            l1i.set_state(line, MesiState::Shared);
        }
        modified
    }
}
