//! How long a load takes from each core to a line in each slice.

use std::ops::ControlFlow;

use serde::Serialize;

use crate::cpu::CpuId;
use crate::probe_memory::{ProbeMemory, ProbeMemoryError};
use units::narrow::fit;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyPlan {
    /// The processors that load.
    pub cpus: Vec<CpuId>,
    /// Lines of each slice, by slice.
    pub lines: Vec<Vec<u64>>,
    /// Loads of each line from each processor.
    pub samples: usize,
}

/// From one processor to one slice, in cycles of the time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoreToSliceLatency {
    /// The processor.
    pub cpu: CpuId,
    /// The slice.
    pub slice: u16,
    /// Median.
    pub cycles: f64,
    /// A quarter of the loads is at most this.
    pub low_cycles: f64,
    /// A quarter of the loads is at least this.
    pub high_cycles: f64,
}

/// Measures processor by processor; each round visits all slices, so that what disturbs for a while
/// meets all of them. `watch` is told how many processors are done, and may end it.
///
/// # Errors
/// If the thread cannot go to a processor.
pub fn measure_latencies(
    memory: &mut dyn ProbeMemory,
    plan: &LatencyPlan,
    mut watch: impl FnMut(usize) -> ControlFlow<()>,
) -> Result<Vec<CoreToSliceLatency>, ProbeMemoryError> {
    let mut latencies = Vec::new();
    for (done, &cpu) in plan.cpus.iter().enumerate() {
        memory.move_to(cpu)?;
        let mut of_slices = vec![Vec::new(); plan.lines.len()];
        for _ in 0..plan.samples {
            if watch(done).is_break() {
                return Ok(Vec::new());
            }
            for (cycles, lines) in of_slices.iter_mut().zip(&plan.lines) {
                cycles.extend(lines.iter().map(|&line| memory.llc_load_cycles(line)));
            }
        }
        let summary = |(slice, mut cycles): (usize, Vec<f64>)| {
            let median = median(&mut cycles);
            let quarter = |part: usize| cycles[(cycles.len() - 1) * part / 4];
            let (low_cycles, high_cycles) = (quarter(1), quarter(3));
            CoreToSliceLatency { cpu, slice: fit(slice), cycles: median, low_cycles, high_cycles }
        };
        latencies.extend(of_slices.into_iter().enumerate().map(summary));
    }
    Ok(latencies)
}

/// The median; sorts the values. Zero without any.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typical_value_is_the_median() {
        assert_eq!(median(&mut [5.0, 1.0, 900.0]), 5.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 900.0]), 3.0);
        assert_eq!(median(&mut []), 0.0);
    }
}
