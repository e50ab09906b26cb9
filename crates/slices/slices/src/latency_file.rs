//! Latencies from cores to slices as a file: measured on the machine, or those of a model.
//!
//! ```toml
//! part = "Xeon Gold 6134"
//! source = "who measured or modelled it, how, on which machine"
//! kind = "measured"                    # or "modelled"
//! cycles = [                           # read latency in core cycles
//!   [41.5, 49.4, 43.5],                # core 0 to slices 0, 1, 2
//!   [47.4, 45.4, 45.4],                # core 1
//! ]
//! ```

use crate::nearest::{Latencies, LatenciesError};
use serde::Deserialize;
use std::fmt::Write;
use units::narrow::fit;
use units::{Cycles, SliceId};

/// The origin of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyKind {
    /// Loads timed on the machine.
    Measured,
    /// Distances on the ring or mesh of a model of the CPU.
    Modelled,
}

/// Latencies and their origin.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyFile {
    /// CPU model that the latencies belong to.
    pub part: String,
    /// Source: author, method and machine of the measurement or model.
    pub source: String,
    /// Whether the latencies are measured or modelled.
    pub kind: LatencyKind,
    /// The latencies, in core cycles.
    pub latencies: Latencies,
}

/// Error of a text that is not a latency file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LatencyFileError {
    /// The text is not valid TOML, or a key is missing, unknown or of the wrong type.
    #[error("{0}")]
    Syntax(String),
    /// The numbers are not latencies.
    #[error("`cycles`: {0}")]
    Cycles(#[from] LatenciesError),
}

/// The keys of a latency file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLatencies {
    part: String,
    source: String,
    kind: LatencyKind,
    cycles: Vec<Vec<f64>>,
}

impl LatencyFile {
    /// Reads a latency file.
    ///
    /// # Errors
    /// If the text is not valid TOML, a key is unknown or missing, or the numbers are not latencies.
    pub fn read(text: &str) -> Result<Self, LatencyFileError> {
        let written: WrittenLatencies =
            toml::from_str(text).map_err(|error| LatencyFileError::Syntax(error.to_string()))?;
        let rows = written.cycles.iter().map(|row| row.iter().copied().map(Cycles).collect());
        Ok(Self {
            part: written.part,
            source: written.source,
            kind: written.kind,
            latencies: Latencies::new(&rows.collect::<Vec<Vec<Cycles>>>())?,
        })
    }
}

impl LatencyFile {
    /// The text of the file, which [`Self::read`] reads back.
    #[must_use]
    pub fn write(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.into()).to_string();
        let kind = match self.kind {
            LatencyKind::Measured => "measured",
            LatencyKind::Modelled => "modelled",
        };
        let (part, source) = (quoted(&self.part), quoted(&self.source));
        let mut text = format!("part = {part}\nsource = {source}\nkind = \"{kind}\"\ncycles = [\n");
        for core in 0..self.latencies.cores() {
            let slices = (0..fit(self.latencies.slices())).map(SliceId);
            let row = slices.map(|slice| format!("{:?}", self.latencies.latency(core, slice).0));
            // Writing to a string does not fail.
            let _ = writeln!(text, "  [{}],", row.collect::<Vec<_>>().join(", "));
        }
        text.push_str("]\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CORES: &str = "part = 'p'\nsource = 's'\nkind = 'measured'\n\
                             cycles = [[41.5, 49, 43.5], [47.4, 45.4, 45.4]]\n";

    fn message(text: &str) -> String {
        LatencyFile::read(text).expect_err("must be refused").to_string()
    }

    #[test]
    fn rows_are_cores_and_columns_are_slices() {
        let file = LatencyFile::read(TWO_CORES).expect("is valid");
        assert_eq!((file.part.as_str(), file.kind), ("p", LatencyKind::Measured));
        assert_eq!(file.latencies.by_distance(0), [SliceId(0), SliceId(2), SliceId(1)]);
        assert_eq!(file.latencies.by_distance(1), [SliceId(1), SliceId(2), SliceId(0)]);
        assert_eq!(LatencyFile::read(&file.write()), Ok(file));
    }

    #[test]
    fn a_fault_says_what_and_where() {
        assert!(message(&TWO_CORES.replace("kind", "king")).contains("unknown field `king`"));
        assert!(message(&TWO_CORES.replace("measured", "guessed")).contains("`modelled`"));
        let uneven = message(&TWO_CORES.replace("45.4, 45.4]", "45.4]"));
        assert!(uneven.starts_with("`cycles`: core 1 has latencies to 2 slices"), "{uneven}");
        let zero = message(&TWO_CORES.replace("41.5", "0"));
        assert_eq!(zero, "`cycles`: core 0 to slice 0: 0 cycles; allowed: above 0");
    }
}
