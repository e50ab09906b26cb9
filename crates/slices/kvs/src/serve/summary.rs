//! Statistics of all cores, for people and programs.

use super::commands::{CoreCounts, ServingCore};
use super::keyspace::LookUps;
use serde::Serialize;
use std::fmt;

/// Statistics of all cores at the end.
#[derive(Debug, Serialize)]
pub struct Summary {
    placement: &'static str,
    cores: Vec<CoreSummary>,
}

/// Statistics of one core.
#[derive(Debug, Serialize)]
struct CoreSummary {
    core: usize,
    slice: u16,
    keys: usize,
    hot_keys: usize,
    used_lines: usize,
    look_ups: LookUps,
    #[serde(flatten)]
    counts: CoreCounts,
}

impl Summary {
    pub fn new(cores: &[ServingCore<'_>]) -> Self {
        let of_core = |core: &ServingCore<'_>| {
            let node = &core.cluster.nodes[core.node];
            let lines = core.keys.lines();
            CoreSummary {
                core: node.core,
                slice: node.slice.0,
                keys: core.keys.len(),
                hot_keys: core.keys.hot_keys(),
                used_lines: lines.count() - lines.free_count(),
                look_ups: core.keys.look_ups,
                counts: core.counts,
            }
        };
        Self {
            placement: cores.first().map_or("", |core| core.placement.name()),
            cores: cores.iter().map(of_core).collect(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for core in &self.cores {
            let LookUps { hot, cold, missed } = core.look_ups;
            let found = hot + cold;
            let share = 100.0 * hot as f64 / found.max(1) as f64;
            let CoreCounts { connections, commands, errors, rankings, .. } = core.counts;
            writeln!(
                f,
                "core {}: {commands} commands of {connections} clients, {errors} errors; {found} look-ups \
                 found ({share:.1} % in hot lines), {missed} missed; {} keys, {} of them hot by {rankings} \
                 rankings",
                core.core, core.keys, core.hot_keys
            )?;
        }
        Ok(())
    }
}
