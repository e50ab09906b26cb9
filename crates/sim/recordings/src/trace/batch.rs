//! A batch of a trace: consecutive references, passed from a reader to a replay.

use units::Reference;

/// References that are passed together: 64 KiB, so that a block stays in the host's L2 until it is
/// replayed.
pub const BLOCK_REFERENCES: usize = 4096;

/// Loads or misses that are passed together: as many bytes as [`BLOCK_REFERENCES`] take.
pub const BLOCK_LOADS: usize = 2 * BLOCK_REFERENCES;

/// Consecutive references of a trace. Traces that consist only of loads of one line each use bare
/// addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Any references.
    References(Vec<Reference>),
    /// Addresses of bytes that are loaded.
    Loads(Vec<u64>),
}

impl Default for Batch {
    fn default() -> Self {
        Self::References(Vec::new())
    }
}

impl Batch {
    /// Number of references in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::References(references) => references.len(),
            Self::Loads(addresses) => addresses.len(),
        }
    }

    /// Whether the batch holds no references.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An empty list of references, to be filled.
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

    /// An empty list of load addresses, to be filled.
    pub fn for_loads(&mut self) -> &mut Vec<u64> {
        if let Self::References(_) = self {
            *self = Self::Loads(Vec::new());
        }
        match self {
            Self::Loads(addresses) => {
                addresses.clear();
                addresses
            }
            Self::References(_) => unreachable!("just replaced"),
        }
    }
}
