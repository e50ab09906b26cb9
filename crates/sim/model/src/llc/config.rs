//! Shape and policies of a last-level cache.
//!
//! Models: slices and sets (the address map), ways, inclusion, victim choice.
//! Source: platform file.

use super::inclusion::Inclusion;
use crate::replacement::Replacement;
use address_map::AddressMap;

/// Shape and policies of an LLC.
#[derive(Clone, Debug)]
pub struct LlcConfig {
    /// Address to slice and set.
    pub map: AddressMap,
    /// Number of data ways of each set.
    pub ways: u32,
    /// The relation of lines here to lines in the cores.
    pub inclusion: Inclusion,
    /// Victim choice in the data ways.
    pub replacement: Replacement,
    /// A device's read that hits is a use, as far as victim choice is concerned.
    pub device_reads_refresh: bool,
}
