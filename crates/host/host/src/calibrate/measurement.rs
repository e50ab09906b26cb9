//! A measurement as a file, with the values of every pass, so that it can be judged again.

use super::arena::PagesObtained;
use super::processor::Processor;
use serde::{Deserialize, Serialize};
use units::narrow::{usize_from, whole};

/// Version of the file's format.
const FORMAT: u32 = 1;

/// Use of a working-set size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeRole {
    /// The size chooses parameters.
    Fit,
    /// The size is kept aside: it only judges the parameters.
    Kept,
}

/// Shape of the chase, which a simulation of it repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChaseKernel {
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Number of neighbouring lines of which the chase visits one.
    pub pair_lines: u64,
    /// Bytes of a page, as the order of the chase counts pages.
    pub page_bytes: u64,
    /// Number of pages of a window, whose lines are all visited before those of the next window.
    pub window_pages: u64,
}

/// Pages behind the working sets, and the latencies that show the size of translations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkingSetPages {
    /// Kind of pages, as the system reports it.
    pub obtained: PagesObtained,
    /// Load latency of a chase through L1D over neighbouring lines, in ns.
    pub dense_ns: f64,
    /// Load latency of a chase through L1D with a page for each line: more pages than an L1 TLB has
    /// entries for small pages.
    pub sparse_ns: f64,
    /// Least size of the processor's translations, as far as the latencies show it: memory is contiguous
    /// in pieces of this size.
    pub translation_bytes: u64,
}

/// Latencies of a working set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chase {
    /// Bytes of the lines that the chase visits.
    pub working_set_bytes: u64,
    /// Whether the size chooses or judges parameters.
    pub role: SizeRole,
    /// Load-to-use latency in each pass: the lower quartile of its samples.
    pub latency_ns: Vec<f64>,
}

/// Bandwidth of streams over an array, in GB/s in each pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes of the array.
    pub array_bytes: u64,
    /// Bandwidth of reading the array in each pass.
    pub read_gbytes_per_s: Vec<f64>,
    /// Bandwidth of writing the array in each pass.
    pub write_gbytes_per_s: Vec<f64>,
    /// Bandwidth of copying in each pass: bytes read plus bytes written.
    pub copy_gbytes_per_s: Vec<f64>,
}

/// Half of a cache line's round trip between two cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreToCore {
    /// Logical CPU that measures.
    pub from: u32,
    /// Logical CPU that answers.
    pub to: u32,
    /// Latency in each pass: the lower quartile of its samples.
    pub latency_ns: Vec<f64>,
}

/// All measured values of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Version of the format of the measurement's file.
    pub format: u32,
    /// Begin of the measurement, in seconds since 1970.
    pub measured_at_unix_s: u64,
    /// Duration of the measurement, in seconds.
    pub duration_s: f64,
    /// Number of complete passes over all sizes.
    pub passes: u32,
    /// Description of the processor.
    pub processor: Processor,
    /// Logical CPU that measured.
    pub cpu: u32,
    /// Clock of the core in each pass, in GHz.
    pub core_ghz: Vec<f64>,
    /// Pages behind the working sets.
    pub pages: WorkingSetPages,
    /// Shape of the chase.
    pub kernel: ChaseKernel,
    /// Latencies of the chase, by working set.
    pub chase: Vec<Chase>,
    /// Bandwidths of streams, by size of the array.
    pub bandwidth: Vec<Bandwidth>,
    /// Latencies between cores; empty if the process may use one CPU only.
    pub core_to_core: Vec<CoreToCore>,
}

/// Error of a file that is not a measurement.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file is not one that this program writes.
    #[error("{file}: not a measurement of `skipline-host calibrate`: {reason}")]
    Damaged {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
}

impl Measurement {
    /// The format that this program writes.
    pub(super) const FORMAT: u32 = FORMAT;

    /// Parses a measurement from JSON; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is damaged or contains no complete pass.
    pub fn read(file: &str, text: &str) -> Result<Self, RecordError> {
        let damaged = |reason: String| RecordError::Damaged { file: file.into(), reason };
        let read: Self = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        if read.format != FORMAT {
            return Err(damaged(format!("format {}; this program knows {FORMAT}", read.format)));
        }
        let good = |values: &[f64]| {
            !values.is_empty() && values.iter().all(|value| value.is_finite() && *value > 0.0)
        };
        let streams_good = read.bandwidth.iter().all(|stream| {
            let all =
                [&stream.read_gbytes_per_s, &stream.write_gbytes_per_s, &stream.copy_gbytes_per_s];
            all.iter().all(|values| good(values))
        });
        let all_good = good(&read.core_ghz)
            && !read.chase.is_empty()
            && read.chase.iter().all(|chase| good(&chase.latency_ns))
            && read.core_to_core.iter().all(|pair| good(&pair.latency_ns))
            && streams_good;
        if all_good { Ok(read) } else { Err(damaged("a number is missing or not above 0".into())) }
    }

    /// Formats the measurement as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain numbers and texts: JSON can represent all of them.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Pairs of working set and latency (the lower quartile of its passes) of the sizes with a role.
    #[must_use]
    pub fn latencies(&self, role: SizeRole) -> Vec<(u64, f64)> {
        let chosen = self.chase.iter().filter(|chase| chase.role == role);
        chosen.map(|chase| (chase.working_set_bytes, lower_quartile(&chase.latency_ns))).collect()
    }

    /// Clock of the core when nothing disturbs it: the upper quartile of the passes.
    #[must_use]
    pub fn clock_ghz(&self) -> f64 {
        quantile(&self.core_ghz, 0.75)
    }
}

/// Lower quartile of latencies: a robust value, because every disturbance makes a latency longer.
#[must_use]
pub fn lower_quartile(values: &[f64]) -> f64 {
    quantile(values, 0.25)
}

/// Quantile of values by nearest rank; `part` is 0 to 1.
pub(super) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = usize_from(whole((part * (sorted.len().saturating_sub(1)) as f64).round()));
    sorted.get(rank).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_a_measurement_is_refused_with_its_name() {
        for text in ["", "{}", "[1]", "{\"format\": 1}"] {
            let error = Measurement::read("a.json", text).unwrap_err().to_string();
            assert!(error.starts_with("a.json: not a measurement"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_few_disturbed_passes_do_not_move_the_robust_value(
            quiet in prop::collection::vec(10.0..11.0_f64, 6..20),
            loud in prop::collection::vec(20.0..1e6_f64, 0..6),
        ) {
            let all: Vec<f64> = quiet.iter().chain(&loud).copied().collect();
            prop_assert!((10.0..11.0).contains(&lower_quartile(&all)));
        }
    }
}
