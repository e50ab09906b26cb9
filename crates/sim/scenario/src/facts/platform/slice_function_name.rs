//! The names of slice functions in platform files.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use slices::published::{self, Published};
use std::fmt;

/// A slice function by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceFunctionName {
    /// The published XOR masks, for 2, 4, 8 or 16 slices.
    Xor,
    /// The published function of a die and a number of slices, like skx-18.
    Published(&'static Published),
    /// The processor's own base sequence, from llc.slice_table.
    Table,
    /// A stand-in for any number that spreads a huge page as evenly as XOR masks do.
    Balanced,
    /// A stand-in for any number, in which lines of each set index go to the slices in turn.
    Rotating,
    /// A uniform mixing stand-in for any number.
    Mixing,
}

/// The names that are not those of published base sequences.
const OTHERS: [(&str, SliceFunctionName); 5] = [
    ("xor", SliceFunctionName::Xor),
    ("table", SliceFunctionName::Table),
    ("balanced", SliceFunctionName::Balanced),
    ("rotating", SliceFunctionName::Rotating),
    ("mixing", SliceFunctionName::Mixing),
];

impl SliceFunctionName {
    /// Whether the function is a sequence of slice numbers, rearranged in each repetition.
    #[must_use]
    pub(crate) fn is_base_sequence(self) -> bool {
        matches!(self, Self::Published(_) | Self::Table)
    }

    fn all() -> impl Iterator<Item = (&'static str, Self)> {
        let published = published::all().iter().map(|one| (one.name, Self::Published(one)));
        OTHERS.into_iter().chain(published)
    }
}

impl fmt::Display for SliceFunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::all().find_map(|(name, function)| (function == *self).then_some(name));
        f.write_str(name.unwrap_or_default())
    }
}

impl Serialize for SliceFunctionName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SliceFunctionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = String::deserialize(deserializer)?;
        let found = Self::all().find_map(|(name, function)| (name == given).then_some(function));
        found.ok_or_else(|| {
            let names: Vec<_> = Self::all().map(|(name, _)| name).collect();
            Error::custom(format!(
                "unknown slice function `{given}`; allowed: {}",
                names.join(", ")
            ))
        })
    }
}

impl JsonSchema for SliceFunctionName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SliceFunctionName".into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = Self::all().map(|(name, _)| name).collect();
        schemars::json_schema!({
            "description": "A slice function: xor (published masks), a published base sequence by die \
                            and number of slices, table (llc.slice_table), or a stand-in.",
            "type": "string",
            "enum": names,
        })
    }
}
