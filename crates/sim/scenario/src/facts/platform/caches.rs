//! Cores and caches of a socket as facts.

use crate::facts::platform::{SliceFunctionName, slice_table};
use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::files;
use crate::text::sourced::Sourced;
use address_map::BaseSequence;
use model::replacement::Replacement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::WayMask;

/// Cores of a socket, of which each has an owner number.
pub(crate) const MOST_CORES: u32 = 63;
pub(crate) const MOST_SLICES: u16 = 256;
pub(crate) const MOST_LLC_WAYS: u32 = 32;
pub(crate) const MOST_LLC_SETS: u32 = 1 << 20;
/// Least and greatest clock that a platform may have.
pub(crate) const GHZ: (f64, f64) = (0.1, 10.0);

/// The processor: cores, clocks, prefetchers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Number of cores of the socket.
    pub cores: Sourced<u32>,
    /// Core clock unless the scenario says otherwise.
    pub core_ghz: Sourced<f64>,
    /// Clock of mesh and LLC unless the scenario says otherwise.
    pub uncore_ghz: Sourced<f64>,
    /// Number of line fill buffers of a core.
    pub fill_buffers: Sourced<u32>,
    /// The L2 prefetcher fetches the other line of a 128-byte pair on an L2 miss.
    pub adjacent_line_prefetch: Sourced<bool>,
    /// Number of lines that the L2 streamer fetches ahead of an ascending sequence; 0 switches it
    /// off.
    pub stream_prefetch_lines: Sourced<u32>,
    /// Every request of L1D continues a stream of the L2 streamer, also one that hits L2; only misses do
    /// unless stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_prefetch_sees_hits: Option<Sourced<bool>>,
    /// Prefetches take the time of a read, those of the streamer begin this long after the access that
    /// causes them, and the use of a prefetched line continues the stream. By default prefetched lines
    /// arrive at once, and only misses cause prefetches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_prefetch_delay_cycles: Option<Sourced<f64>>,
    /// Load-to-use latency of a line that another core holds modified.
    pub core_to_core_ns: Sourced<f64>,
}

/// A private cache level of a core: shape, latency and policy.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrivateLevel {
    /// Number of sets, a power of two.
    pub sets: Sourced<u32>,
    /// Number of lines of a set.
    pub ways: Sourced<u32>,
    /// Load-to-use latency in core cycles.
    pub latency_cycles: Sourced<f64>,
    /// Replacement policy of the cache.
    pub replacement: Sourced<ReplacementName>,
}

/// The last-level cache: slices, their shape, latency and policies.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LastLevel {
    /// Number of slices of the socket.
    pub slices: Sourced<u32>,
    /// Number of sets of a slice, a power of two.
    pub sets_per_slice: Sourced<u32>,
    /// Number of data ways of a set.
    pub ways: Sourced<u32>,
    /// Relation of lines in the LLC to the private caches above it.
    pub inclusion: Sourced<InclusionName>,
    /// Non-inclusive: number of lowest ways whose lines a core may hold too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inclusive_ways: Option<Sourced<u32>>,
    /// Non-inclusive: the event at which a device's line comes to these ways; core-access unless stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inclusive_move: Option<Sourced<InclusiveMoveName>>,
    /// Replacement policy of the data ways.
    pub replacement: Sourced<ReplacementName>,
    /// A device's read that hits is a use, as far as replacement is concerned; true unless stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_reads_refresh: Option<Sourced<bool>>,
    /// Core-clock cycles of the mean load-to-use latency.
    pub latency_core_cycles: Sourced<f64>,
    /// Uncore-clock cycles of the mean load-to-use latency.
    pub latency_uncore_cycles: Sourced<f64>,
    /// How the slice of a line is chosen.
    pub slice_function: Sourced<SliceFunctionName>,
    /// The file with the processor's own function, if slice_function is table; relative to the platform
    /// file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_table: Option<Sourced<String>>,
    /// How the set inside a slice is chosen.
    pub set_function: Sourced<SetFunctionName>,
    /// L2 victims that are not newer than memory are allocated in the LLC too.
    pub clean_victims: Sourced<bool>,
}

/// Ways of the LLC that hold directory entries without data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryWays {
    /// Number of entries per set beyond those of the inclusive ways.
    pub ways: Sourced<u32>,
    /// Replacement policy of these ways.
    pub replacement: Sourced<ReplacementName>,
}

/// An inclusion policy of the LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InclusionName {
    /// Every line of a core is in the LLC; an LLC eviction invalidates the cores' copies.
    Inclusive,
    /// A victim cache of L2; lines that cores also hold are in the inclusive ways.
    NonInclusive,
    /// A victim cache of L2 that drops a line when a core fetches it.
    ExclusiveVictim,
    /// Independent levels: each is filled on its miss, and none invalidates another.
    Nine,
}

/// The event at which a device's line comes to the inclusive ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InclusiveMoveName {
    /// A core reads or writes the line, which then stays in the LLC.
    CoreAccess,
    /// A device writes a line that an L2 holds. A core's access takes the line out of the LLC.
    DeviceWrite,
}

/// A replacement policy by its name: lru, fifo, tree-plru, nru, random, srrip, brrip, or a member of
/// the QLRU family like qlru_h11_m1_r0_u0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacementName(pub Replacement);

impl Serialize for ReplacementName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ReplacementName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ReplacementName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ReplacementName".into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "lru, fifo, tree-plru, nru, random, srrip, brrip, qlru_h.._m.._r.._u..",
            "type": "string",
        })
    }
}

/// How the set of a line inside its slice is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SetFunctionName {
    /// Low address bits.
    Plain,
    /// Low address bits XORed with a mix of the others.
    Hashed,
    /// The rank among the lines of the same slice and 2 MiB page: even sets, where llc.slice_function
    /// is a published one or table.
    Ranked,
}

impl Cpu {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("cpu.cores", self.cores.value, (1, MOST_CORES), "")?;
        check.whole("cpu.fill_buffers", self.fill_buffers.value, (1, 256), "")?;
        check.number("cpu.core_ghz", self.core_ghz.value, GHZ)?;
        check.number("cpu.uncore_ghz", self.uncore_ghz.value, GHZ)?;
        check.delay("cpu.core_to_core_ns", self.core_to_core_ns.value)?;
        let streamed = self.stream_prefetch_lines.value;
        check.whole("cpu.stream_prefetch_lines", streamed, (0, 20), "lines")
    }
}

impl PrivateLevel {
    pub(super) fn check(&self, name: &str, check: &Check<'_>) -> Result<(), InputError> {
        check.power_of_two(&format!("{name}.sets"), self.sets.value)?;
        check.whole(&format!("{name}.ways"), self.ways.value, (1, 32), "")?;
        check.delay(&format!("{name}.latency_cycles"), self.latency_cycles.value)
    }
}

impl LastLevel {
    /// A mask of all data ways.
    #[must_use]
    pub(crate) fn all_ways_mask(&self) -> u32 {
        WayMask::bottom(self.ways.value).0
    }

    /// Path of the file with the processor's own slice function, if the file `platform` names one.
    pub(crate) fn slice_table_file(&self, platform: &str) -> Option<String> {
        let table = self.slice_table.as_ref()?;
        let named_in = table.origin.as_deref().unwrap_or(platform);
        Some(files::beside(named_in, &table.value))
    }

    /// The processor's own slice function, if a file is named.
    pub(super) fn base_sequence(
        &self,
        check: &Check<'_>,
    ) -> Result<Option<BaseSequence>, InputError> {
        if let SliceFunctionName::Published(published) = self.slice_function.value {
            return Ok(Some(published.sequence()));
        }
        let table = self.slice_function.value == SliceFunctionName::Table;
        let path = match (&self.slice_table, table) {
            (Some(path), true) => &path.value,
            (None, false) => return Ok(None),
            (None, true) => {
                let allowed = "needed where llc.slice_function is table".into();
                return Err(check.refuse("llc.slice_table", &"missing", allowed));
            }
            (Some(path), false) => {
                let allowed = "only where llc.slice_function is table".into();
                return Err(check.refuse("llc.slice_table", &path.value, allowed));
            }
        };
        let file = self.slice_table_file(check.file).unwrap_or_default();
        let function = slice_table::read(&file, &files::read(&file)?)?;
        if function.slices() == self.slices.value {
            return Ok(Some(function));
        }
        let allowed = format!("it is a function for {} slices", function.slices());
        Err(check.refuse("llc.slice_table", path, allowed))
    }

    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("llc.slices", self.slices.value, (1, MOST_SLICES.into()), "")?;
        check.power_of_two("llc.sets_per_slice", self.sets_per_slice.value)?;
        let sets = self.slices.value * self.sets_per_slice.value;
        check.whole("llc.slices x llc.sets_per_slice", sets, (1, MOST_LLC_SETS), "sets in all")?;
        check.whole("llc.ways", self.ways.value, (1, MOST_LLC_WAYS), "")?;
        check.delay("llc.latency_core_cycles", self.latency_core_cycles.value)?;
        check.delay("llc.latency_uncore_cycles", self.latency_uncore_cycles.value)?;
        if self.slice_function.value == SliceFunctionName::Xor {
            check.one_of("llc.slices", self.slices.value, &[2, 4, 8, 16])?;
        }
        if let SliceFunctionName::Published(published) = self.slice_function.value {
            check.one_of("llc.slices", self.slices.value, &[published.slices])?;
        }
        let is_ranked = self.set_function.value == SetFunctionName::Ranked;
        if is_ranked && !self.slice_function.value.is_base_sequence() {
            let allowed = "plain or hashed where llc.slice_function is a stand-in or xor: state \
                           llc.set_function too"
                .into();
            return Err(check.refuse("llc.set_function", &"ranked", allowed));
        }
        match (self.inclusion.value, &self.inclusive_ways) {
            (InclusionName::NonInclusive, Some(ways)) => {
                check.whole("llc.inclusive_ways", ways.value, (1, self.ways.value), "")
            }
            (InclusionName::NonInclusive, None) => {
                let allowed = "needed where llc.inclusion is non-inclusive".into();
                Err(check.refuse("llc.inclusive_ways", &"missing", allowed))
            }
            (_, Some(ways)) => {
                let allowed = "only where llc.inclusion is non-inclusive".into();
                Err(check.refuse("llc.inclusive_ways", &ways.value, allowed))
            }
            (_, None) => Ok(()),
        }?;
        // Inherited it does not matter: a file need not know what its parent has.
        let own = self.inclusive_move.as_ref().filter(|by| by.origin.is_none());
        if let Some(by) = own.filter(|_| self.inclusive_ways.is_none()) {
            let allowed = "only where llc.inclusion is non-inclusive".into();
            let name = match by.value {
                InclusiveMoveName::CoreAccess => "core-access",
                InclusiveMoveName::DeviceWrite => "device-write",
            };
            return Err(check.refuse("llc.inclusive_move", &name, allowed));
        }
        Ok(())
    }
}

impl DirectoryWays {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("directory.ways", self.ways.value, (1, 32), "")
    }
}
