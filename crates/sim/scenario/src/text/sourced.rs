//! A number with its source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a number can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Read in the named source.
    Seen,
    /// Recalled: to be treated as a guess.
    Memory,
    /// Computed from other numbers as the source states.
    Derived,
    /// Chosen so that the model agrees with the measurements named in `fitted_on`.
    Fitted,
}

/// A value with its source; the unit is in the key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sourced<V> {
    /// The value itself.
    pub value: V,
    /// Where it was read, or how it was derived.
    pub source: String,
    /// How much the value can be trusted.
    pub confidence: Confidence,
    /// The measurements that chose a fitted value; of a guess, those of another machine that chose it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_on: Option<String>,
    /// The file that states it, if it is inherited; set when files are read, never stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub origin: Option<String>,
}
