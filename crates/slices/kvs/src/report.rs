//! The results of a run.

use crate::placement::{PlacedValues, ValuePlacement, count_in_slice};
use crate::run::Round;
use serde::Serialize;
use slices::SliceMap;
use std::error::Error;
use std::fmt;
use std::process::ExitCode;
use units::SliceId;
use units::narrow::{usize_from, whole};

/// A placement with its measured rounds.
#[derive(Debug, Serialize)]
pub struct Setting {
    placement: ValuePlacement,
    /// The reason why memory is allocated regardless of slices, if it is.
    plain_because: Option<String>,
    hot_lines: usize,
    /// Number of hot lines in the slice of their core, by their physical addresses.
    hot_lines_in_slice: Option<usize>,
    /// Share of the lines that no owner can use, from 0 to 1.
    unclaimed_share: f64,
    /// Throughput of each round, in order; so are the latencies.
    operations_per_s: Vec<f64>,
    p50_ns: Vec<u64>,
    p99_ns: Vec<u64>,
    wrong_answers: u64,
}

impl Setting {
    /// A setting without rounds, with the slices of its hot lines.
    ///
    /// # Errors
    /// If the kernel no longer reports physical addresses.
    pub fn new(
        placement: ValuePlacement,
        map: &SliceMap,
        placed: &PlacedValues,
        of_cores: &[SliceId],
        hot: &[Vec<u64>],
    ) -> Result<Self, Box<dyn Error>> {
        let mut inside = Some(0);
        for ((lines, hot), &slice) in placed.lines.iter().zip(hot).zip(of_cores) {
            let lines: Vec<u64> = hot.iter().map(|&key| lines[usize_from(key)]).collect();
            let more = count_in_slice(map, &placed.memory, &lines, slice)?;
            inside = inside.zip(more).map(|(inside, more)| inside + more);
        }
        Ok(Self {
            placement,
            plain_because: placed.memory.plain_reason().map(String::from),
            hot_lines: hot.iter().map(Vec::len).sum(),
            hot_lines_in_slice: inside,
            unclaimed_share: placed.memory.statistics().unclaimed_share(),
            operations_per_s: Vec::new(),
            p50_ns: Vec::new(),
            p99_ns: Vec::new(),
            wrong_answers: 0,
        })
    }

    /// Adds the times of a round.
    pub fn add(&mut self, round: &Round) {
        self.operations_per_s.push(round.operations_per_s);
        self.p50_ns.push(round.latencies_ns.value_at_quantile(0.5));
        self.p99_ns.push(round.latencies_ns.value_at_quantile(0.99));
        self.wrong_answers += round.wrong;
    }
}

/// All placements, measured in turn.
#[derive(Debug, Serialize)]
pub struct KvsReport {
    caveats: Vec<String>,
    cores: Vec<usize>,
    slices_of_cores: Vec<u16>,
    placements: Vec<Setting>,
    /// Throughput of each further placement relative to the first, for each round.
    throughput_ratios: Vec<Vec<f64>>,
}

impl KvsReport {
    pub fn new(
        caveats: Vec<String>,
        cores: &[usize],
        of_cores: &[SliceId],
        placements: Vec<Setting>,
    ) -> Self {
        let ratios = |setting: &Setting| {
            let rounds = setting.operations_per_s.iter().zip(&placements[0].operations_per_s);
            rounds.map(|(own, first)| own / first).collect()
        };
        Self {
            caveats,
            cores: cores.to_vec(),
            slices_of_cores: of_cores.iter().map(|slice| slice.0).collect(),
            throughput_ratios: placements.iter().skip(1).map(ratios).collect(),
            placements,
        }
    }

    /// Exit code 1 if the store gave a wrong answer, else 0.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(u8::from(self.placements.iter().any(|setting| setting.wrong_answers > 0)))
    }
}

/// Lower quartile, median, upper quartile.
fn quartiles(values: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| {
        // Interpolates between the two neighbours of the rank.
        let rank = f64::from(quarter) * (values.len() - 1) as f64 / 4.0;
        let [below, above] = [rank.floor(), rank.ceil()].map(|at| values[usize_from(whole(at))]);
        below + (above - below) * rank.fract()
    })
}

impl fmt::Display for KvsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for caveat in &self.caveats {
            writeln!(f, "note: {caveat}")?;
        }
        for (core, slice) in self.cores.iter().zip(&self.slices_of_cores) {
            writeln!(f, "core {core}: slice {slice}")?;
        }
        for setting in &self.placements {
            let name = setting.placement.name();
            if let Some(reason) = &setting.plain_because {
                writeln!(f, "note: {name}: memory without regard to slices: {reason}")?;
            }
            let inside = match setting.hot_lines_in_slice {
                Some(inside) => inside.to_string(),
                None => "unknown how many".into(),
            };
            let [low, middle, high] =
                quartiles(setting.operations_per_s.iter().map(|rate| rate / 1e6));
            let median = |values: &[u64]| quartiles(values.iter().map(|&value| value as f64))[1];
            writeln!(
                f,
                "{name:<11} {middle:6.2} M answers/s ({low:.2} to {high:.2}), median {:.0} ns, p99 \
                 {:.0} ns; hot lines in their core's slice: {inside} of {}; wrong answers: {}",
                median(&setting.p50_ns),
                median(&setting.p99_ns),
                setting.hot_lines,
                setting.wrong_answers,
            )?;
        }
        for ratios in &self.throughput_ratios {
            let [low, middle, high] = quartiles(ratios.iter().copied());
            writeln!(f, "throughput relative to the first: {middle:.3} ({low:.3} to {high:.3})")?;
        }
        Ok(())
    }
}
