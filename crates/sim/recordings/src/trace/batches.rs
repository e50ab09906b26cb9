//! Sources of the batches of a trace: the trait, and a list of loads in memory.

use std::vec;

use super::{BLOCK_LOADS, Batch, TraceError};

/// A source of the batches of a trace.
pub trait Batches: Send {
    /// Replaces the content of `into` by the next references; returns false if there are none left.
    ///
    /// # Errors
    /// If the trace is damaged, or holds no reference.
    fn next_batch(&mut self, into: &mut Batch) -> Result<bool, TraceError>;

    /// Share of the trace that has been returned, 0 to 1; none if its size is unknown.
    fn fraction(&self) -> Option<f64>;

    /// Name of the trace's format.
    fn format(&self) -> &'static str;
}

/// Addresses of loads, all of them in memory.
pub struct LoadList {
    /// Blocks that have not been returned, each as a whole, so that nothing is copied again.
    blocks: vec::IntoIter<Vec<u64>>,
    count: usize,
    format: &'static str,
}

impl LoadList {
    /// A list of these addresses; `format` is the name of the format in results.
    #[must_use]
    pub fn new(addresses: impl Iterator<Item = u64>, format: &'static str) -> Self {
        let mut addresses = addresses.peekable();
        let mut blocks = Vec::new();
        while addresses.peek().is_some() {
            blocks.push(addresses.by_ref().take(BLOCK_LOADS).collect());
        }
        Self { count: blocks.len(), blocks: blocks.into_iter(), format }
    }
}

impl Batches for LoadList {
    fn next_batch(&mut self, into: &mut Batch) -> Result<bool, TraceError> {
        let next = self.blocks.next();
        let goes_on = next.is_some();
        *into = Batch::Loads(next.unwrap_or_default());
        Ok(goes_on)
    }

    fn fraction(&self) -> Option<f64> {
        Some(1.0 - self.blocks.len() as f64 / self.count.max(1) as f64)
    }

    fn format(&self) -> &'static str {
        self.format
    }
}
