//! Co-runners besides the tenants: memory kernels on cores of their own, or a watcher of cache sets.

use crate::contract::machine::MachinePlan;
use crate::contract::tenant::{
    LAST_SOCKET, MBA_PERCENT, socket as check_socket, way_mask as check_way_mask,
};
use crate::facts::platform::{InclusionName, MOST_CORES, MOST_LLC_SETS, Platform};
use crate::kinds::memory_kernel::{KernelPlan, MemoryKernelKeys, WORKING_SET_BYTES};
use crate::text::check::Check;
use crate::text::error::InputError;
use model::fabric::Fabric;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::narrow::fit;
use units::{CoreId, LINE_BYTES, Picos, SocketId};
use workload::app::cache_probe::{CacheProbe, CacheProbeConfig};
use workload::host_memory::HostMemory;

/// Time between prime and probe, in microseconds.
const WAIT_US: (f64, f64) = (0.1, 1e6);

/// A memory kernel on cores after those of the tenants.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CoRunnerKeys {
    /// Number of cores that run the kernel, each with a working set of its own. 1 by default.
    #[serde(default = "one_core")]
    #[schemars(range(min = 1, max = MOST_CORES))]
    pub cores: u32,
    /// The kernel of each core.
    #[serde(flatten)]
    pub kernel: MemoryKernelKeys,
    /// The socket of these cores.
    #[serde(default)]
    #[schemars(range(min = 0, max = LAST_SOCKET))]
    pub socket: u32,
    /// CAT mask of these cores. All ways by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = u32::MAX))]
    pub way_mask: Option<u32>,
    /// Memory bandwidth that these cores may use, in percent of their unlimited use (Intel MBA).
    #[serde(default = "all_bandwidth")]
    #[schemars(range(min = MBA_PERCENT.0, max = MBA_PERCENT.1))]
    pub mba_percent: u32,
    /// It primes and probes sets of the LLC with lines of its working set, instead of accessing the set
    /// in some order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeKeys>,
}

/// A co-runner that detects I/O in sets of the LLC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ProbeKeys {
    /// Number of cache sets that the co-runner primes and then probes, spread over the LLC.
    #[schemars(range(min = 1, max = MOST_LLC_SETS))]
    pub watched_sets: u32,
    /// Time between prime and probe, in microseconds.
    #[schemars(range(min = WAIT_US.0, max = WAIT_US.1))]
    pub wait_us: f64,
}

impl Default for ProbeKeys {
    fn default() -> Self {
        Self { watched_sets: 16, wait_us: 20.0 }
    }
}

fn one_core() -> u32 {
    1
}

fn all_bandwidth() -> u32 {
    100
}

/// A co-runner, fully resolved, for any of its cores.
#[derive(Clone, Debug)]
pub(crate) enum CoRunnerPlan {
    /// A memory kernel.
    Kernel(KernelPlan),
    /// A watcher that primes and probes cache sets, and the size of its working set in bytes.
    Probe(CacheProbeConfig, u64),
}

impl CoRunnerPlan {
    /// Checks the keys of `table`, and resolves them.
    ///
    /// # Errors
    /// Names the first value that is out of range or contradicts another.
    pub(crate) fn resolve(
        table: &str,
        keys: &CoRunnerKeys,
        check: &Check<'_>,
        platform: &Platform,
    ) -> Result<Self, InputError> {
        let key = |name: &str| format!("{table}.{name}");
        check.whole(&key("cores"), keys.cores, (1, platform.cpu.cores.value), "cores")?;
        check_socket(check, &key("socket"), keys.socket, platform)?;
        keys.kernel.check(table, check, platform)?;
        check.whole(&key("mba_percent"), keys.mba_percent, MBA_PERCENT, "percent")?;
        if let Some(probe) = &keys.probe {
            check_probe(table, keys, probe, check, platform)?;
        }
        let ways = platform.llc.ways.value;
        check_way_mask(check, &key("way_mask"), keys.way_mask.unwrap_or(1), ways)?;
        Ok(match &keys.probe {
            None => Self::Kernel(KernelPlan::from_keys(&keys.kernel)),
            Some(probe) => {
                let config = CacheProbeConfig {
                    socket: SocketId(fit(keys.socket)),
                    ways: ways as usize,
                    watched_sets: probe.watched_sets as usize,
                    wait: Picos::from_ns(1e3 * probe.wait_us),
                };
                Self::Probe(config, keys.kernel.working_set_bytes)
            }
        })
    }

    /// Builds the software of the co-runner's thread number `thread`, on that one of its `cores`.
    pub(crate) fn build<T: Tracer>(
        &self,
        machine: &MachinePlan,
        memory: &mut HostMemory,
        fabric: &Fabric<T>,
        (thread, cores): (usize, &[CoreId]),
    ) -> Box<dyn Software<T>> {
        match self {
            Self::Kernel(kernel) => Box::new(kernel.build(machine, memory, (thread, cores))),
            Self::Probe(config, bytes) => {
                let (core, region) = (machine.core(cores[thread]), memory.region(*bytes));
                let lines = bytes / LINE_BYTES;
                Box::new(CacheProbe::new(config.clone(), core, &region, lines, fabric))
            }
        }
    }
}

fn check_probe(
    table: &str,
    keys: &CoRunnerKeys,
    probe: &ProbeKeys,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let key = |name: &str| format!("{table}.{name}");
    if keys.kernel.chooses_slices() {
        let allowed = format!("only without {table}.slices and {table}.nearest_slices");
        return Err(check.refuse(&key("probe"), &"set", allowed));
    }
    let llc = &platform.llc;
    if llc.inclusion.value != InclusionName::Inclusive {
        let allowed = "a platform with an inclusive LLC: what a core loads does not reach others";
        return Err(check.refuse(&key("probe"), &"set", allowed.into()));
    }
    let sets = llc.slices.value * llc.sets_per_slice.value;
    check.whole(&key("probe.watched_sets"), probe.watched_sets, (1, sets), "sets")?;
    check.number(&key("probe.wait_us"), probe.wait_us, WAIT_US)?;
    let least = 2 * u64::from(sets) * u64::from(llc.ways.value) * LINE_BYTES;
    let what = "bytes, twice the LLC: every set needs as many lines as ways";
    let bytes = keys.kernel.working_set_bytes;
    check.whole(&key("working_set_bytes"), bytes, (least, WORKING_SET_BYTES.1), what)
}
