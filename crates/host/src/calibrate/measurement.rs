//! What was measured, as a file: every pass of it, so that it can be judged again.

use super::arena::PagesObtained;
use super::processor::Processor;
use serde::{Deserialize, Serialize};
use units::narrow::{usize_from, whole};

/// Version of the file's format.
const FORMAT: u32 = 1;

/// What a working-set size is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeRole {
    /// It chooses parameters.
    Fit,
    /// It is kept aside: it only judges them.
    Kept,
}

/// The shape of the chase, which a simulation of it repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChaseKernel {
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Neighbouring lines of which one takes part.
    pub pair_lines: u64,
    /// Bytes of a page in the order's sense.
    pub page_bytes: u64,
    /// Pages whose lines are all visited before the next ones'.
    pub window_pages: u64,
}

/// Pages behind the working sets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkingSetPages {
    /// What the system says that it gave.
    pub obtained: PagesObtained,
    /// Load latency through L1D, neighbouring lines.
    pub dense_ns: f64,
    /// The same with a page per line: more pages than an L1 TLB has entries for small ones.
    pub sparse_ns: f64,
    /// How large the processor's translations are at least, as far as this tells: memory is
    /// contiguous in pieces of this size.
    pub translation_bytes: u64,
}

/// Latencies of a working set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chase {
    /// Bytes of the lines that take part.
    pub working_set_bytes: u64,
    /// Chooses or judges.
    pub role: SizeRole,
    /// Lower quartile of the samples of each pass, load to use.
    pub latency_ns: Vec<f64>,
}

/// Streams over a working set; GB/s of each pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes of the array.
    pub array_bytes: u64,
    /// Bytes read.
    pub read_gbytes_per_s: Vec<f64>,
    /// Bytes written.
    pub write_gbytes_per_s: Vec<f64>,
    /// Bytes read plus bytes written.
    pub copy_gbytes_per_s: Vec<f64>,
}

/// Half of a cache line's round trip between two cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreToCore {
    /// The core that measures.
    pub from: u32,
    /// The core that answers.
    pub to: u32,
    /// Lower quartile of each pass.
    pub latency_ns: Vec<f64>,
}

/// Everything that was measured on a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Version of this format.
    pub format: u32,
    /// When, in seconds since 1970.
    pub measured_at_unix_s: u64,
    /// How long it took.
    pub duration_s: f64,
    /// Complete passes over everything.
    pub passes: u32,
    /// The processor as it calls itself.
    pub processor: Processor,
    /// The core that measured.
    pub cpu: u32,
    /// Its clock in each pass.
    pub core_ghz: Vec<f64>,
    /// Pages behind the working sets.
    pub pages: WorkingSetPages,
    /// Shape of the chase.
    pub kernel: ChaseKernel,
    /// The chase.
    pub chase: Vec<Chase>,
    /// Streams.
    pub bandwidth: Vec<Bandwidth>,
    /// A line between cores; empty where there is only one.
    pub core_to_core: Vec<CoreToCore>,
}

/// A file that is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not what this program writes.
    #[error("{file}: not a measurement of `skipline-host calibrate`: {reason}")]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Measurement {
    /// The format that this program writes.
    pub(super) const FORMAT: u32 = FORMAT;

    /// Reads a measurement from JSON; `file` is its name in messages.
    ///
    /// # Errors
    /// If the text is damaged or holds no complete pass.
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

    /// The measurement as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain numbers and texts: there is nothing that JSON cannot hold.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Size and robust latency of the sizes with a role.
    #[must_use]
    pub fn latencies(&self, role: SizeRole) -> Vec<(u64, f64)> {
        let chosen = self.chase.iter().filter(|chase| chase.role == role);
        chosen.map(|chase| (chase.working_set_bytes, lower_quartile(&chase.latency_ns))).collect()
    }

    /// The core's clock: what it reaches when nothing disturbs it.
    #[must_use]
    pub fn clock_ghz(&self) -> f64 {
        quantile(&self.core_ghz, 0.75)
    }
}

/// The lower quartile: whatever disturbs a latency makes it longer.
#[must_use]
pub fn lower_quartile(values: &[f64]) -> f64 {
    quantile(values, 0.25)
}

/// A quantile, 0 to 1; nearest rank.
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
