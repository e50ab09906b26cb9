//! The interconnect of cores and slices, as facts: a ring, a mesh, or none that is known.

use super::{Cpu, LastLevel};
use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use model::mesh::{
    Mesh, MeshConfig, RingConfig, RingInterconnect, SliceLatency, Tile, Topology, TopologyError,
    column_major,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Cycles;
use units::narrow::fit;

/// A ring; stop i carries core i and slice i. Cycles are there and back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RingFacts {
    /// Uncore cycles of a hit in the core's own slice.
    pub own_stop_uncore_cycles: Sourced<f64>,
    /// From one stop to the next.
    pub hop_uncore_cycles: Sourced<f64>,
    /// Latency of slices an odd number of stops away beyond their hops.
    pub odd_extra_uncore_cycles: Sourced<f64>,
}

/// A mesh of tiles, each a pair of row and column. Cycles are there and back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MeshFacts {
    /// Number of rows of tiles.
    pub rows: Sourced<u8>,
    /// Number of columns of tiles.
    pub columns: Sourced<u8>,
    /// Tiles without a slice; the others carry the slices column by column.
    pub tiles_left_out: Sourced<Vec<(u8, u8)>>,
    /// Tile of each core; the tile of the slice of its number by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_tiles: Option<Sourced<Vec<(u8, u8)>>>,
    /// Uncore cycles of a hit on the core's own tile; by default the value that makes the mean over all
    /// cores and slices llc.latency_uncore_cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_tile_uncore_cycles: Option<Sourced<f64>>,
    /// From one row to the next.
    pub row_hop_uncore_cycles: Sourced<f64>,
    /// From each column to the next.
    pub column_hop_uncore_cycles: Sourced<Vec<f64>>,
    /// Latency of the slices of each row beyond their distance; zero by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_extra_uncore_cycles: Option<Sourced<Vec<f64>>>,
}

/// The topology of a platform, by its tables.
pub(super) fn topology(
    check: &Check<'_>,
    cpu: &Cpu,
    llc: &LastLevel,
    ring: Option<&RingFacts>,
    mesh: Option<&MeshFacts>,
) -> Result<Topology, InputError> {
    let slices = fit(llc.slices.value);
    let found = match (ring, mesh) {
        (Some(_), Some(_)) => {
            let allowed = "a platform has a ring or a mesh, not both".into();
            return Err(check.refuse("mesh", &"beside [ring]", allowed));
        }
        (Some(ring), None) => ring.topology(llc).map_err(|error| ("ring", error)),
        (None, Some(mesh)) => mesh.topology(llc).map_err(|error| ("mesh", error)),
        (None, None) => {
            let latency = SliceLatency {
                core: Cycles(llc.latency_core_cycles.value),
                uncore: Cycles(llc.latency_uncore_cycles.value),
            };
            Ok(Topology::Uniform { slices, latency })
        }
    };
    let topology =
        found.map_err(|(key, error)| check.refuse(key, &"refused", error.to_string()))?;
    if topology.slices() != slices {
        let allowed = format!("it has {} slices, llc.slices says {slices}", topology.slices());
        return Err(check.refuse("mesh.tiles_left_out", &"refused", allowed));
    }
    match topology.cores() {
        Some(places) if u32::from(places) < cpu.cores.value => {
            let allowed = format!("ring or mesh have places for {places} cores");
            Err(check.refuse("cpu.cores", &cpu.cores.value, allowed))
        }
        _ => Ok(topology),
    }
}

impl RingFacts {
    fn topology(&self, llc: &LastLevel) -> Result<Topology, TopologyError> {
        let config = RingConfig {
            stops: fit(llc.slices.value),
            latency_core_cycles: llc.latency_core_cycles.value,
            latency_uncore_cycles: self.own_stop_uncore_cycles.value,
            hop_uncore_cycles: self.hop_uncore_cycles.value,
            odd_extra_uncore_cycles: self.odd_extra_uncore_cycles.value,
        };
        Ok(Topology::Ring(RingInterconnect::new(config)?))
    }
}

impl MeshFacts {
    fn topology(&self, llc: &LastLevel) -> Result<Topology, TopologyError> {
        let (rows, columns) = (self.rows.value, self.columns.value);
        let tiles = |list: &[(u8, u8)]| -> Vec<Tile> {
            list.iter().map(|&(row, column)| Tile { row, column }).collect()
        };
        let slice_tiles = column_major(rows, columns, &tiles(&self.tiles_left_out.value));
        let core_tiles = match &self.core_tiles {
            Some(core_tiles) => tiles(&core_tiles.value),
            None => slice_tiles.clone(),
        };
        let extras = self.row_extra_uncore_cycles.as_ref();
        let config = MeshConfig {
            rows,
            columns,
            slice_tiles,
            core_tiles,
            latency_core_cycles: llc.latency_core_cycles.value,
            latency_uncore_cycles: 0.0,
            row_hop_uncore_cycles: self.row_hop_uncore_cycles.value,
            column_hop_uncore_cycles: self.column_hop_uncore_cycles.value.clone(),
            row_extra_uncore_cycles: extras
                .map_or_else(|| vec![0.0; usize::from(rows)], |extras| extras.value.clone()),
        };
        let config = match &self.own_tile_uncore_cycles {
            Some(own) => MeshConfig { latency_uncore_cycles: own.value, ..config },
            None => config.with_mean_uncore_cycles(llc.latency_uncore_cycles.value)?,
        };
        Ok(Topology::Mesh(Mesh::new(config)?))
    }
}
