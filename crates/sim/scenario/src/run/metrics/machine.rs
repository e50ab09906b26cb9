//! The subject of metrics of the whole machine: all its counters, and the names of its agents.

use crate::contract::metric::Subject;
use crate::contract::sample::Sample;
use model::counters::CoreCounters;
use model::software::Account;

/// All agents of the machine, in whose names its metrics count.
pub(crate) struct MachineAgents {
    /// Names of agents in the order of their numbers.
    pub agents: Vec<String>,
}

/// The machine in a sample.
pub(crate) struct MachineView<'a> {
    /// All counters of the machine.
    pub sample: &'a Sample,
    /// Names of agents in the order of their numbers.
    pub agents: &'a [String],
}

impl Subject for MachineAgents {
    type View<'a> = MachineView<'a>;

    fn view<'a>(&'a self, sample: &'a Sample) -> MachineView<'a> {
        MachineView { sample, agents: &self.agents }
    }
}

impl MachineView<'_> {
    /// Rate per second of a counter of the caches of each core, by the name of the core.
    pub(super) fn each_core(&self, of: fn(&CoreCounters) -> u64) -> Vec<(String, f64)> {
        let seconds = self.sample.span.as_seconds();
        by_core(self.sample.cores.iter().map(|core| of(core) as f64 / seconds))
    }

    /// Rate per second of a counter of the software of each core, by the name of the core.
    pub(super) fn each_account(&self, of: fn(&Account) -> f64) -> Vec<(String, f64)> {
        let seconds = self.sample.span.as_seconds();
        by_core(self.sample.software.iter().map(|account| of(account) / seconds))
    }
}

fn by_core(numbers: impl Iterator<Item = f64>) -> Vec<(String, f64)> {
    numbers.enumerate().map(|(core, number)| (format!("core{core}"), number)).collect()
}
