//! Slice functions that are published, by the CPUs that have them.
//!
//! Source: J. D. McCalpin, TACC TR-2021-03, and its data sets (BSD-3-Clause: `data/published/LICENSE`).
//! They were measured with uncore counters, and not for sub-NUMA clustering. A function belongs to a CPU
//! model and a number of slices; it does not depend on which slices of the die are in use.

use crate::slice_map::SliceMap;
use crate::table_file::TableFile;
use address_map::BaseSequence;
use std::ops::RangeInclusive;
use std::path::Path;

/// A published slice function.
#[derive(Debug, PartialEq, Eq)]
pub struct Published {
    /// Name of the function, made of die and number of slices: `skx-18`.
    pub name: &'static str,
    /// Number of slices.
    pub slices: u32,
    model: u32,
    steppings: RangeInclusive<u32>,
    text: &'static str,
}

/// A CPU as its identification instruction and the kernel name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuIdentity<'a> {
    /// Vendor; `GenuineIntel` for all CPUs with a published function.
    pub vendor: &'a str,
    /// Display family of the CPU, as CPUID gives it.
    pub family: u32,
    /// Display model of the CPU, as CPUID gives it.
    pub model: u32,
    /// Stepping of the CPU, as CPUID gives it.
    pub stepping: u32,
}

/// Error of a name under which no function is published; its message lists the names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no slice function \"{0}\" is published; there are: {list}", list = names())]
pub struct UnknownName(pub String);

macro_rules! published {
    ($($name:literal: $slices:literal slices, model $model:literal, steppings $steppings:expr;)*) => {
        &[$(Published {
            name: $name,
            slices: $slices,
            model: $model,
            steppings: $steppings,
            text: include_str!(concat!("../data/published/", $name, ".toml")),
        }),*]
    };
}

/// Steppings of model 0x55 that are Skylake-SP (0 to 4) or Cascade Lake (5 to 7). Cooper Lake has the
/// same number, and nothing was published for it.
const SKX: RangeInclusive<u32> = 0..=7;
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

static ALL: &[Published] = published! {
    "skx-14": 14 slices, model 0x55, steppings SKX;
    "skx-16": 16 slices, model 0x55, steppings SKX;
    "skx-18": 18 slices, model 0x55, steppings SKX;
    "skx-20": 20 slices, model 0x55, steppings SKX;
    "skx-22": 22 slices, model 0x55, steppings SKX;
    "skx-24": 24 slices, model 0x55, steppings SKX;
    "skx-26": 26 slices, model 0x55, steppings SKX;
    "skx-28": 28 slices, model 0x55, steppings SKX;
    "icx-28": 28 slices, model 0x6a, steppings ANY;
    "icx-40": 40 slices, model 0x6a, steppings ANY;
    "spr-56": 56 slices, model 0x8f, steppings ANY;
    "spr-60": 60 slices, model 0x8f, steppings ANY;
};

/// All published functions.
#[must_use]
pub fn all() -> &'static [Published] {
    ALL
}

/// Finds the published function of a name like `skx-18`.
///
/// # Errors
/// If no function of that name is published; the message lists the names.
pub fn named(name: &str) -> Result<&'static Published, UnknownName> {
    ALL.iter().find(|known| known.name == name).ok_or_else(|| UnknownName(name.into()))
}

/// Finds the published function that a path names: `published:skx-18`. `None` for paths of files.
///
/// # Errors
/// If no function of that name is published.
#[must_use]
pub fn from_path(path: &Path) -> Option<Result<&'static Published, UnknownName>> {
    path.to_str()?.strip_prefix("published:").map(named)
}

/// Finds the published function of a CPU whose socket has so many slices.
#[must_use]
pub fn find_for_cpu(cpu: CpuIdentity<'_>, slices: u32) -> Option<&'static Published> {
    ALL.iter().find(|known| known.belongs_to(cpu) && known.slices == slices)
}

fn names() -> String {
    ALL.iter().map(|known| known.name).collect::<Vec<_>>().join(", ")
}

impl Published {
    /// The function as a table file, which covers all addresses of its valid range.
    ///
    /// # Panics
    /// If a built-in table is malformed, which a test excludes.
    #[must_use]
    pub fn file(&self) -> TableFile {
        TableFile::read(self.text).expect("the built-in tables are well-formed")
    }

    /// The function as a base sequence, for a simulator.
    ///
    /// # Panics
    /// If a built-in table is malformed, which a test excludes.
    #[must_use]
    pub fn sequence(&self) -> BaseSequence {
        BaseSequence::new(&self.file().table).expect("the built-in tables are slice functions")
    }

    /// The function as a map that looks up slices of covered addresses.
    ///
    /// # Panics
    /// If a built-in table is malformed, which a test excludes.
    #[must_use]
    pub fn map(&self) -> SliceMap {
        SliceMap::new(&self.file()).expect("the built-in tables are slice functions")
    }

    fn belongs_to(&self, cpu: CpuIdentity<'_>) -> bool {
        const FAMILY: u32 = 6;
        cpu.vendor == "GenuineIntel"
            && cpu.family == FAMILY
            && cpu.model == self.model
            && self.steppings.contains(&cpu.stepping)
    }
}
