//! Tests whether lines evict another one from the last-level cache, by the time that a load of it takes.

use super::latency::median;
use crate::probe_memory::ProbeMemory;

/// Rounds of a test: their median decides.
const ROUNDS: usize = 5;
/// Passes over all lines in a round. One would leave lines that a policy protects once.
const PASSES: usize = 3;
/// Times of memory over those of the cache, at least: nearer ones are not told apart.
const LEAST_RATIO: f64 = 1.4;

/// Error of loads that take as long from memory as from the cache.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a load takes {memory_cycles:.0} cycles from memory and {cache_cycles:.0} from the last-level cache: too near \
     to tell apart"
)]
pub struct LoadTimesError {
    /// Cycles of a load from the cache.
    pub cache_cycles: f64,
    /// Cycles of a load after a flush.
    pub memory_cycles: f64,
}

/// A test of evictions, with the times of loads that it has learnt.
pub struct EvictionTest<'m> {
    memory: &'m mut dyn ProbeMemory,
    /// Up to this time a line was in the cache.
    kept_cycles: f64,
    /// From this time on it was in memory.
    evicted_cycles: f64,
    loads: u64,
}

impl<'m> EvictionTest<'m> {
    /// Learns how long loads of some lines take from the cache, and from memory.
    ///
    /// # Errors
    /// If these times are too near.
    pub fn learn(memory: &'m mut dyn ProbeMemory, lines: &[u64]) -> Result<Self, LoadTimesError> {
        let (mut cached, mut flushed) = (Vec::new(), Vec::new());
        for &line in lines {
            memory.load(line);
            cached.push(memory.llc_load_cycles(line));
            memory.load_and_flush(line, 1);
            flushed.push(memory.load_cycles(line));
        }
        let (cache_cycles, memory_cycles) = (median(&mut cached), median(&mut flushed));
        if memory_cycles < LEAST_RATIO * cache_cycles {
            return Err(LoadTimesError { cache_cycles, memory_cycles });
        }
        let third = (memory_cycles - cache_cycles) / 3.0;
        Ok(Self {
            memory,
            kept_cycles: cache_cycles + third,
            evicted_cycles: memory_cycles - third,
            loads: 0,
        })
    }

    /// Whether loads of `lines` evict the line at `target`; `None` if the time is between both.
    pub fn evicts(&mut self, target: u64, lines: &[u64]) -> Option<bool> {
        let mut cycles: Vec<f64> = (0..ROUNDS).map(|_| self.round(target, lines)).collect();
        let cycles = median(&mut cycles);
        if cycles <= self.kept_cycles {
            return Some(false);
        }
        (cycles >= self.evicted_cycles).then_some(true)
    }

    /// Number of loads so far.
    #[must_use]
    pub fn loads(&self) -> u64 {
        self.loads
    }

    fn round(&mut self, target: u64, lines: &[u64]) -> f64 {
        self.memory.load(target);
        for line in (0..PASSES).flat_map(|_| lines) {
            self.memory.load(*line);
        }
        self.loads += (PASSES * lines.len()) as u64 + 2;
        self.memory.load_cycles(target)
    }
}
