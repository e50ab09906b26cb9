//! Latency from each core to each slice of the last-level cache.
//!
//! Models: the load-to-use latency of an LLC hit as a term in the core's clock, which is the same for
//! all slices, and a term in the uncore's clock, which depends on the path between the two.
//! Source: EuroSys'19 (latency by slice on a Haswell ring and a Skylake mesh); Intel (ring, mesh).
//! Simplifies: no contention on the interconnect; a path costs the same at any load.

mod grid;
mod ring;

pub use grid::{Mesh, MeshConfig, Tile, column_major};
pub use ring::{RingConfig, RingInterconnect};

use crate::llc::LlcLatency;
use std::fmt;
use units::{Cycles, Gigahertz, Picos, SliceId};

/// Load-to-use latency of an LLC hit, by clock domain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceLatency {
    /// Cycles of the core's clock.
    pub core: Cycles,
    /// Cycles of the uncore's clock.
    pub uncore: Cycles,
}

impl SliceLatency {
    /// The latency as a duration, at these clocks.
    #[must_use]
    pub fn at(self, core: Gigahertz, uncore: Gigahertz) -> Picos {
        Picos::from_ns(self.core.0 / core.0 + self.uncore.0 / uncore.0)
    }

    /// The latency in cycles of the core, as software measures it, at these clocks.
    #[must_use]
    pub fn in_core_cycles(self, core: Gigahertz, uncore: Gigahertz) -> Cycles {
        Cycles(self.core.0 + self.uncore.0 * core.0 / uncore.0)
    }
}

/// Interconnect between the cores of a socket and the slices.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Every slice is equally far.
    Uniform {
        /// Slices of the socket.
        slices: u16,
        /// Latency of each.
        latency: SliceLatency,
    },
    /// One bidirectional ring.
    Ring(RingInterconnect),
    /// Rows and columns of tiles.
    Mesh(Mesh),
}

impl Topology {
    /// Slices of the socket.
    #[must_use]
    pub fn slices(&self) -> u16 {
        match self {
            Self::Uniform { slices, .. } => *slices,
            Self::Ring(ring) => ring.stops(),
            Self::Mesh(mesh) => mesh.slices(),
        }
    }

    /// Number of cores that the topology has; `None` if it supports any number.
    #[must_use]
    pub fn cores(&self) -> Option<u16> {
        match self {
            Self::Uniform { .. } => None,
            Self::Ring(ring) => Some(ring.stops()),
            Self::Mesh(mesh) => Some(mesh.cores()),
        }
    }

    /// Load-to-use latency of a hit of `core` in `slice`.
    ///
    /// # Panics
    /// If the topology has no such `core` or `slice`. Platforms are checked before they get here.
    #[must_use]
    pub fn latency(&self, core: u8, slice: SliceId) -> SliceLatency {
        match self {
            Self::Uniform { slices, latency } => {
                assert!(slice.0 < *slices);
                *latency
            }
            Self::Ring(ring) => ring.latency(core, slice),
            Self::Mesh(mesh) => mesh.latency(core, slice),
        }
    }

    /// Mean of [`Self::latency`] over all slices.
    #[must_use]
    pub fn mean_latency(&self, core: u8) -> SliceLatency {
        let slices = f64::from(self.slices());
        let sum = self.all_slices().fold((0.0, 0.0), |(in_core, in_uncore), slice| {
            let latency = self.latency(core, slice);
            (in_core + latency.core.0, in_uncore + latency.uncore.0)
        });
        SliceLatency { core: Cycles(sum.0 / slices), uncore: Cycles(sum.1 / slices) }
    }

    /// All slices, the nearest to `core` first; ties by number.
    #[must_use]
    pub fn nearest_slices(&self, core: u8) -> Vec<SliceId> {
        self.nearest_slices_for(&[core])
    }

    /// All slices by the sum of their latencies over `cores`, the lowest first; ties by number.
    #[must_use]
    pub fn nearest_slices_for(&self, cores: &[u8]) -> Vec<SliceId> {
        let mut slices: Vec<SliceId> = self.all_slices().collect();
        slices.sort_by(|&one, &other| self.way(cores, one).total_cmp(&self.way(cores, other)));
        slices
    }

    /// The slice with the lowest sum of latencies over `cores`: the best one for data that they share.
    /// Ties go to the lowest number.
    #[must_use]
    pub fn best_slice_for(&self, cores: &[u8]) -> SliceId {
        let ways = self.all_slices().map(|slice| (slice, self.way(cores, slice)));
        ways.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(SliceId(0), |best| best.0)
    }

    /// Assigns all slices to `cores`: in turn, each core takes the nearest remaining one, so that no
    /// two cores share a slice.
    #[must_use]
    pub fn isolated_slices(&self, cores: &[u8]) -> Vec<Vec<SliceId>> {
        let mut left: Vec<Vec<SliceId>> =
            cores.iter().map(|&core| self.nearest_slices(core)).collect();
        let mut shares = vec![Vec::new(); cores.len()];
        for turn in (0..cores.len()).cycle().take(usize::from(self.slices())) {
            let taken = left[turn].remove(0);
            left.iter_mut().for_each(|left| left.retain(|&slice| slice != taken));
            shares[turn].push(taken);
        }
        shares
    }

    /// All latencies at these clocks, for cores 0 to `cores` - 1.
    ///
    /// # Panics
    /// If there are fewer cores or none are asked for.
    #[must_use]
    pub fn at(&self, cores: u8, core: Gigahertz, uncore: Gigahertz) -> LlcLatency {
        LlcLatency::by_slice(cores, self.slices(), |of, slice| {
            self.latency(of.0, slice).at(core, uncore)
        })
    }

    fn all_slices(&self) -> impl Iterator<Item = SliceId> + '_ {
        (0..self.slices()).map(SliceId)
    }

    /// The term that differs between slices, summed over `cores`, in thousandths of a cycle: an
    /// integer, so that paths of equal length compare as equal.
    fn way(&self, cores: &[u8], slice: SliceId) -> f64 {
        let sum: f64 = cores.iter().map(|&core| self.latency(core, slice).uncore.0).sum();
        (sum * 1e3).round()
    }
}

/// Errors in the description of a ring or mesh.
#[derive(Clone, Debug, PartialEq)]
pub enum TopologyError {
    /// There must be a slice and a core.
    Empty,
    /// More slices or cores than can be numbered: 256 cores, 65535 slices.
    TooMany,
    /// A latency or hop is negative or not a number.
    Cycles {
        /// Key of the value.
        key: &'static str,
        /// The refused value.
        value: f64,
    },
    /// A tile outside the grid.
    Outside {
        /// The tile.
        tile: Tile,
        /// Rows of the grid.
        rows: u8,
        /// Columns of the grid.
        columns: u8,
    },
    /// Two slices, or two cores, on one tile.
    Shared {
        /// The tile.
        tile: Tile,
    },
    /// A list does not have one value for each row, or for each boundary between columns.
    Count {
        /// Key of the list.
        key: &'static str,
        /// Values given.
        given: usize,
        /// Values needed.
        needed: usize,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => write!(f, "needed: at least one slice and one core"),
            Self::TooMany => write!(f, "allowed: up to 256 cores and 65535 slices"),
            Self::Cycles { key, value } => write!(f, "`{key}` = {value}; allowed: 0 or more"),
            Self::Outside { tile, rows, columns } => {
                write!(
                    f,
                    "tile {tile} lies outside; allowed: rows below {rows}, columns below {columns}"
                )
            }
            Self::Shared { tile } => write!(f, "tile {tile} is given twice"),
            Self::Count { key, given, needed } => {
                write!(f, "`{key}` has {given} values; needed: {needed}")
            }
        }
    }
}

impl std::error::Error for TopologyError {}

/// Refuses values that are not durations.
fn check_cycles(key: &'static str, cycles: f64) -> Result<(), TopologyError> {
    if cycles.is_finite() && cycles >= 0.0 {
        return Ok(());
    }
    Err(TopologyError::Cycles { key, value: cycles })
}
