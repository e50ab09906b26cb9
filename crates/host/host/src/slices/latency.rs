//! Measures the latency of a load from each core to a line in each slice.

use std::ops::ControlFlow;

use serde::Serialize;

use crate::cpu::CpuId;
use crate::probe_memory::{ProbeMemory, ProbeMemoryError};
use units::narrow::fit;

/// Plan of a measurement of latencies: processors, lines and number of loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyPlan {
    /// The processors that load.
    pub cpus: Vec<CpuId>,
    /// Physical addresses of lines, for each slice.
    pub lines: Vec<Vec<u64>>,
    /// Number of loads of each line from each processor.
    pub samples: usize,
}

/// Latency of loads from one processor to one slice, in cycles of the time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoreToSliceLatency {
    /// Processor that loaded the lines.
    pub cpu: CpuId,
    /// Slice whose lines were loaded.
    pub slice: u16,
    /// Median latency of the loads, in cycles.
    pub cycles: f64,
    /// Lower quartile of the loads' latencies, in cycles.
    pub low_cycles: f64,
    /// Upper quartile of the loads' latencies, in cycles.
    pub high_cycles: f64,
}

/// Measures processor by processor. Each round visits all slices, so that a temporary disturbance affects
/// all of them. `watch` gets the number of finished processors, and may end the measurement, which then
/// returns no latencies.
///
/// # Errors
/// If the thread cannot move to a processor.
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

/// The median; sorts the values. Zero if there are none.
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
