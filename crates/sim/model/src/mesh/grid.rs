//! A mesh of tiles, each of which may carry a core and a slice.
//!
//! Models: the Skylake-SP mesh: a request goes along the core's column, then along the slice's row, and
//! the data returns in the same way; adjacent columns are mirrored, so that every other boundary
//! between columns is short; slices of a row may add a constant to their distance.
//! Source: Intel and WikiChip (rows, columns, 1 cycle per vertical and 2 per horizontal hop on the
//! average, CHA numbers column by column); EuroSys'19 (latencies that hops are fitted to).
//! Simplifies: a vertical hop costs the same everywhere, a horizontal one the same in each row, both
//! the same in either direction; all dies of a processor are one grid. The additions of single rows and
//! columns have no known cause: they are fitted.

use super::{SliceLatency, TopologyError, check_cycles};
use std::fmt;
use units::narrow::fit;
use units::{Cycles, SliceId};

/// A tile of the grid; row 0 is at the top, column 0 at the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// Row of the tile on the mesh.
    pub row: u8,
    /// Column of the tile on the mesh.
    pub column: u8,
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.row, self.column)
    }
}

/// Tiles and hops of a mesh. Hops are there and back, in uncore cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshConfig {
    /// Number of rows of tiles.
    pub rows: u8,
    /// Number of columns of tiles.
    pub columns: u8,
    /// Tile of each slice, by CHA number.
    pub slice_tiles: Vec<Tile>,
    /// Tile of each core.
    pub core_tiles: Vec<Tile>,
    /// Cycles of a hit in the core's clock.
    pub latency_core_cycles: f64,
    /// Cycles of a hit in the uncore's clock on the core's own tile.
    pub latency_uncore_cycles: f64,
    /// From one row to the next.
    pub row_hop_uncore_cycles: f64,
    /// From each column to the next, one less than there are columns.
    pub column_hop_uncore_cycles: Vec<f64>,
    /// Latency of the slices of each row beyond their distance; may be negative.
    pub row_extra_uncore_cycles: Vec<f64>,
}

impl MeshConfig {
    /// The same grid with the given mean latency over all pairs of core and slice, which is the
    /// published number for most processors. The own tile takes the remainder; [`Mesh::new`] refuses a
    /// negative one.
    ///
    /// # Errors
    /// If a tile lies outside or is given twice, or a list has the wrong length.
    pub fn with_mean_uncore_cycles(mut self, mean: f64) -> Result<Self, TopologyError> {
        self.check_grid()?;
        let ways = self.core_tiles.iter().flat_map(|&core| {
            let config = &self;
            config.slice_tiles.iter().map(move |&slice| config.way_uncore_cycles(core, slice))
        });
        let pairs = self.core_tiles.len() * self.slice_tiles.len();
        let mean_way = ways.sum::<f64>() / pairs as f64;
        self.latency_uncore_cycles = mean - mean_way;
        Ok(self)
    }

    fn way_uncore_cycles(&self, core: Tile, slice: Tile) -> f64 {
        let (left, right) = (core.column.min(slice.column), core.column.max(slice.column));
        let columns = &self.column_hop_uncore_cycles[usize::from(left)..usize::from(right)];
        f64::from(core.row.abs_diff(slice.row)) * self.row_hop_uncore_cycles
            + columns.iter().sum::<f64>()
            + self.row_extra_uncore_cycles[usize::from(slice.row)]
    }

    fn check_grid(&self) -> Result<(), TopologyError> {
        if self.slice_tiles.is_empty() || self.core_tiles.is_empty() {
            return Err(TopologyError::Empty);
        }
        if self.slice_tiles.len() > usize::from(u16::MAX) || self.core_tiles.len() > 1 << 8 {
            return Err(TopologyError::TooMany);
        }
        check_count("column_hop", &self.column_hop_uncore_cycles, self.columns.saturating_sub(1))?;
        check_count("row_extra", &self.row_extra_uncore_cycles, self.rows)?;
        self.check_tiles(&self.slice_tiles)?;
        self.check_tiles(&self.core_tiles)
    }

    fn check_latencies(&self) -> Result<(), TopologyError> {
        check_cycles("latency_core_cycles", self.latency_core_cycles)?;
        check_cycles("row_hop_uncore_cycles", self.row_hop_uncore_cycles)?;
        let columns = &self.column_hop_uncore_cycles;
        columns.iter().try_for_each(|&hop| check_cycles("column_hop_uncore_cycles", hop))?;
        let base = self.latency_uncore_cycles;
        check_cycles("latency_uncore_cycles", base)?;
        let extras = &self.row_extra_uncore_cycles;
        let key = "latency_uncore_cycles + row_extra_uncore_cycles";
        extras.iter().try_for_each(|&extra| check_cycles(key, base + extra))
    }

    fn check_tiles(&self, tiles: &[Tile]) -> Result<(), TopologyError> {
        let (rows, columns) = (self.rows, self.columns);
        if let Some(&tile) = tiles.iter().find(|tile| tile.row >= rows || tile.column >= columns) {
            return Err(TopologyError::Outside { tile, rows, columns });
        }
        let mut sorted = tiles.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(TopologyError::Shared { tile: pair[0] }),
            None => Ok(()),
        }
    }
}

fn check_count(key: &'static str, values: &[f64], needed: u8) -> Result<(), TopologyError> {
    let (given, needed) = (values.len(), usize::from(needed));
    if given == needed { Ok(()) } else { Err(TopologyError::Count { key, given, needed }) }
}

/// A mesh whose tiles and latencies have been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    config: MeshConfig,
}

impl Mesh {
    /// The mesh of `config`.
    ///
    /// # Errors
    /// If a tile lies outside or is given twice, a list has the wrong length, or a latency is
    /// negative.
    pub fn new(config: MeshConfig) -> Result<Self, TopologyError> {
        config.check_grid()?;
        config.check_latencies()?;
        Ok(Self { config })
    }

    /// Number of slices of the mesh.
    #[must_use]
    pub fn slices(&self) -> u16 {
        fit(self.config.slice_tiles.len())
    }

    /// Number of cores of the mesh.
    #[must_use]
    pub fn cores(&self) -> u16 {
        fit(self.config.core_tiles.len())
    }

    /// Load-to-use latency of a hit of `core` in `slice`.
    pub(super) fn latency(&self, core: u8, slice: SliceId) -> SliceLatency {
        let config = &self.config;
        let from = config.core_tiles[usize::from(core)];
        let to = config.slice_tiles[usize::from(slice.0)];
        let uncore = config.latency_uncore_cycles + config.way_uncore_cycles(from, to);
        SliceLatency { core: Cycles(config.latency_core_cycles), uncore: Cycles(uncore) }
    }
}

/// All tiles of a grid but `others` (memory controllers, disabled ones), column by column from the
/// top: the order in which Intel numbers the CHAs of Skylake-SP and its successors.
#[must_use]
pub fn column_major(rows: u8, columns: u8, others: &[Tile]) -> Vec<Tile> {
    (0..columns)
        .flat_map(|column| (0..rows).map(move |row| Tile { row, column }))
        .filter(|tile| !others.contains(tile))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(row: u8, column: u8) -> Tile {
        Tile { row, column }
    }

    fn small() -> MeshConfig {
        MeshConfig {
            rows: 2,
            columns: 3,
            slice_tiles: column_major(2, 3, &[tile(1, 1)]),
            core_tiles: vec![tile(0, 0), tile(1, 2)],
            latency_core_cycles: 10.0,
            latency_uncore_cycles: 20.0,
            row_hop_uncore_cycles: 2.0,
            column_hop_uncore_cycles: vec![3.0, 6.0],
            row_extra_uncore_cycles: vec![0.0, -1.0],
        }
    }

    fn uncore(mesh: &Mesh, core: u8, slice: u16) -> f64 {
        mesh.latency(core, SliceId(slice)).uncore.0
    }

    fn fault(change: impl FnOnce(&mut MeshConfig)) -> TopologyError {
        let mut config = small();
        change(&mut config);
        Mesh::new(config).expect_err("must be refused")
    }

    #[test]
    fn numbers_ascend_down_each_column_and_pass_over_other_tiles() {
        let tiles = [tile(0, 0), tile(1, 0), tile(0, 1), tile(0, 2), tile(1, 2)];
        assert_eq!(small().slice_tiles, tiles);
    }

    #[test]
    fn a_way_is_its_rows_its_columns_and_what_the_slices_row_adds() {
        let mesh = Mesh::new(small()).expect("is valid");
        assert_eq!(uncore(&mesh, 0, 0), 20.0);
        assert_eq!(uncore(&mesh, 0, 1), 20.0 + 2.0 - 1.0);
        assert_eq!(uncore(&mesh, 0, 4), 20.0 + 2.0 + 9.0 - 1.0);
        assert_eq!(uncore(&mesh, 1, 2), 20.0 + 2.0 + 6.0);
        assert_eq!(mesh.latency(1, SliceId(2)).core, Cycles(10.0));
    }

    #[test]
    fn a_published_mean_sets_the_latency_of_the_own_tile() {
        let with_mean = |mean| small().with_mean_uncore_cycles(mean).and_then(Mesh::new);
        let mesh = with_mean(31.0).expect("is valid");
        let pairs = (0..2).flat_map(|core| (0..5).map(move |slice| (core, slice)));
        let sum: f64 = pairs.map(|(core, slice)| uncore(&mesh, core, slice)).sum();
        assert!((sum / 10.0 - 31.0).abs() < 1e-9, "{sum}");
        assert!(matches!(
            with_mean(3.0),
            Err(TopologyError::Cycles { key: "latency_uncore_cycles", .. })
        ));
    }

    #[test]
    fn what_is_no_mesh_is_refused_with_the_reason() {
        assert_eq!(fault(|c| c.core_tiles.clear()), TopologyError::Empty);
        let outside = TopologyError::Outside { tile: tile(2, 0), rows: 2, columns: 3 };
        assert_eq!(fault(|c| c.core_tiles[1] = tile(2, 0)), outside);
        let shared = TopologyError::Shared { tile: tile(0, 1) };
        assert_eq!(fault(|c| c.slice_tiles[4] = tile(0, 1)), shared);
        let hops = TopologyError::Count { key: "column_hop", given: 1, needed: 2 };
        assert_eq!(fault(|c| c.column_hop_uncore_cycles.truncate(1)), hops);
        let extras = TopologyError::Count { key: "row_extra", given: 3, needed: 2 };
        assert_eq!(fault(|c| c.row_extra_uncore_cycles.push(0.0)), extras);
        let negative = TopologyError::Cycles { key: "row_hop_uncore_cycles", value: -1.0 };
        assert_eq!(fault(|c| c.row_hop_uncore_cycles = -1.0), negative);
        assert!(fault(|c| c.row_extra_uncore_cycles[0] = -21.0).to_string().contains("= -1;"));
        assert_eq!(outside.to_string(), OUTSIDE_TEXT);
    }

    const OUTSIDE_TEXT: &str = "tile [2, 0] lies outside; allowed: rows below 2, columns below 3";
}
