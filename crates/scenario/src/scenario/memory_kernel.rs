//! Keys of software that does nothing but touch memory, and of the slices that memory lies in.

use super::{AccessPattern, defaults};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::Platform;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Accesses in flight of a kernel at most: more than any core has buffers for.
const MOST_IN_FLIGHT: u32 = 64;
/// A working set in chosen slices takes pages for all slices: bytes of one at most.
const MOST_BYTES_IN_SLICES: u64 = 256 << 20;

/// What a memory kernel does, as tenant or beside tenants: each core has a working set of its own. That
/// of a tenant has been written once before time zero unless initial_content is empty.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemoryKernelKeys {
    /// Working set of each core.
    pub working_set_bytes: u64,
    /// Order in which it is touched.
    #[serde(default)]
    pub pattern: AccessPattern,
    /// Share of stores.
    #[serde(default)]
    pub store_percent: u32,
    /// Work between two accesses.
    #[serde(default = "defaults::cycles_per_access")]
    pub cycles_per_access: f64,
    /// Accesses in flight at most. As many as fill buffers by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses_in_flight: Option<u32>,
    /// The working set lies in that many slices nearest to its core. In all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_slices: Option<u32>,
    /// The slices are dealt out to the cores that run this, the nearest ones first, so that none is shared:
    /// each working set lies in its core's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub isolated_slices: bool,
    /// The working set lies in these slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Vec<u16>>,
}

/// Slices that memory lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceChoice<'a> {
    /// So many, nearest to the core.
    Nearest(u32),
    /// The core's own.
    Isolated,
    /// These.
    Listed(&'a [u16]),
}

impl MemoryKernelKeys {
    /// The slices of its working set; `None` if they do not matter.
    #[must_use]
    pub fn slice_choice(&self) -> Option<SliceChoice<'_>> {
        let isolated = self.isolated_slices.then_some(SliceChoice::Isolated);
        let nearest = self.nearest_slices.map(SliceChoice::Nearest);
        nearest.or(isolated).or(self.slices.as_deref().map(SliceChoice::Listed))
    }

    pub(super) fn check(
        &self,
        table: &str,
        check: &Check<'_>,
        platform: &Platform,
    ) -> Result<(), InputError> {
        let key = |name: &str| format!("{table}.{name}");
        let bytes = self.working_set_bytes;
        check.whole(&key("working_set_bytes"), bytes, (64, 4 << 30), "bytes")?;
        check.whole(&key("store_percent"), self.store_percent, (0, 100), "percent")?;
        check.number(&key("cycles_per_access"), self.cycles_per_access, (0.0, 1e6))?;
        let in_flight = self.accesses_in_flight.unwrap_or(1);
        check.whole(&key("accesses_in_flight"), in_flight, (1, MOST_IN_FLIGHT), "accesses")?;
        let count = platform.llc.slices.value;
        self.check_single_choice(table, check)?;
        match self.slice_choice() {
            None => return Ok(()),
            Some(SliceChoice::Isolated) => {}
            Some(SliceChoice::Nearest(wanted)) => {
                check.whole(&key("nearest_slices"), wanted, (1, count), "slices of the LLC")?;
            }
            Some(SliceChoice::Listed([])) => {
                let allowed = "allowed: at least one slice".into();
                return Err(check.refuse(&key("slices"), &"[]", allowed));
            }
            Some(SliceChoice::Listed(listed)) => {
                let most = count - 1;
                for &slice in listed {
                    check.whole(
                        &key("slices"),
                        u32::from(slice),
                        (0, most),
                        "slices of the LLC",
                    )?;
                }
            }
        }
        let what = "bytes of a working set in chosen slices";
        check.whole(&key("working_set_bytes"), bytes, (64, MOST_BYTES_IN_SLICES), what)
    }
}

impl MemoryKernelKeys {
    fn check_single_choice(&self, table: &str, check: &Check<'_>) -> Result<(), InputError> {
        let stated = [
            ("nearest_slices", self.nearest_slices.is_some()),
            ("isolated_slices", self.isolated_slices),
            ("slices", self.slices.is_some()),
        ];
        let mut stated = stated.into_iter().filter(|(_, is_stated)| *is_stated);
        let (Some((first, _)), Some((second, _))) = (stated.next(), stated.next()) else {
            return Ok(());
        };
        Err(InputError::WrongValue {
            file: check.file.into(),
            key: format!("{table}.{second}"),
            reason: format!("is stated beside {table}.{first}: one of the two decides"),
        })
    }
}
