//! A piece of a trace on its way from where it comes from to where it is replayed.

use super::{BLOCK_LOADS, Reference, ReferenceKind, TraceError};
use units::LINE_BYTES;

/// Consecutive references of a trace. Loads of one line each, all that some traces consist of, come
/// as bare line numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Any references.
    References(Vec<Reference>),
    /// The lines of loads, of the program's 64-bit addresses.
    Loads(Vec<u64>),
}

impl Default for Batch {
    fn default() -> Self {
        Self::References(Vec::new())
    }
}

impl Batch {
    /// The number of references.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::References(references) => references.len(),
            Self::Loads(lines) => lines.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Room for references, empty.
    pub fn for_references(&mut self) -> &mut Vec<Reference> {
        if let Self::Loads(_) = self {
            *self = Self::References(Vec::new());
        }
        match self {
            Self::References(references) => {
                references.clear();
                references
            }
            Self::Loads(_) => unreachable!("just replaced"),
        }
    }

    /// Room for lines of loads, empty.
    pub fn for_loads(&mut self) -> &mut Vec<u64> {
        if let Self::References(_) = self {
            *self = Self::Loads(Vec::new());
        }
        match self {
            Self::Loads(lines) => {
                lines.clear();
                lines
            }
            Self::References(_) => unreachable!("just replaced"),
        }
    }
}

/// The reference that a bare line stands for.
#[must_use]
pub(super) fn load_of_line(line: u64) -> Reference {
    Reference { address: line.wrapping_mul(LINE_BYTES), bytes: 1, kind: ReferenceKind::Load }
}

/// Where the batches of a trace come from.
pub trait Batches: Send {
    /// Replaces what is in `into` by the next references; false if there are none left.
    ///
    /// # Errors
    /// If the trace is damaged, or holds no reference at all.
    fn next_batch(&mut self, into: &mut Batch) -> Result<bool, TraceError>;

    /// Share of the trace that has been given, 0 to 1; none where its size is not known.
    fn fraction(&self) -> Option<f64>;

    /// What kind of trace it is, in a word.
    fn format(&self) -> &'static str;
}

/// The lines of loads, all of them at hand.
pub struct LoadList {
    lines: Vec<u64>,
    given: usize,
    format: &'static str,
}

impl LoadList {
    /// Of these lines; `format` is what results call a trace of this kind.
    #[must_use]
    pub fn new(lines: Vec<u64>, format: &'static str) -> Self {
        Self { lines, given: 0, format }
    }
}

impl Batches for LoadList {
    fn next_batch(&mut self, into: &mut Batch) -> Result<bool, TraceError> {
        let left = &self.lines[self.given..];
        let next = &left[..left.len().min(BLOCK_LOADS)];
        into.for_loads().extend_from_slice(next);
        self.given += next.len();
        Ok(!next.is_empty())
    }

    fn fraction(&self) -> Option<f64> {
        Some(self.given as f64 / self.lines.len().max(1) as f64)
    }

    fn format(&self) -> &'static str {
        self.format
    }
}
