//! Replay of a log of descriptors on copy engines, and by cores alone.

mod log;
mod metrics;
mod phases;

use crate::contract::application::LogPhase;

use crate::contract::application::ApplicationModule;
use crate::contract::application_cores::ApplicationCores;
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::metric::Metric;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{InitialContent, TenantMut, TenantRef};
use crate::kinds::cbdma::CbdmaKeys;
use crate::kinds::copies::{core_kernels, polled_engines};
use crate::kinds::dsa;
use crate::kinds::dsa::offloaders::OffloadersPlan;
use crate::kinds::nic::NicKeys;
use crate::kinds::offload::KernelName;
use crate::kinds::offload::core_loops::core_loops;
use crate::kinds::root_port::{IommuPages, PortKeys};
use crate::kinds::ssd::SsdKeys;
use crate::text::error::InputError;
use crate::text::key_groups::names;
use model::software::Software;
use model::tracer::Tracer;
use phases::{DividedLog, divide_at_pauses, divide_by_sizes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;
use units::Picos;
use units::narrow::{fit, usize_from};
use workload::app::descriptor_replay::core_replay::CoreReplay;
use workload::app::descriptor_replay::{DescriptorReplay, ReplayedOffload};
use workload::descriptor_log::{DescriptorLog, PlacedPages};
use workload::driver::core_mover::CoreLoops;

/// Descriptors in flight of each core.
const DEPTH: (u32, u32) = (1, 128);
/// Pauses that divide a log, in microseconds: up to twenty minutes.
const PAUSE_US: (u32, u32) = (1, 1_200_000_000);
/// Phases: rows of a table.
const PHASES: (u32, u32) = (1, 4096);
/// The rest of the simulated memory stays free.
const MOST_MEMORY_BYTES: u64 = 16 << 30;

/// Keys of a replay, which requires them. docs/reference/descriptor-log.md has the format of a log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DescriptorReplayKeys {
    /// The log: a path, relative to the scenario's folder or to the current one.
    pub log: String,
    /// Replayer of the operations in the log: copy engines, the cores, or both in turn.
    #[serde(default)]
    pub by: ReplayerName,
    /// Times at which descriptors are submitted.
    #[serde(default)]
    pub pace: PaceName,
    /// Number of descriptors in flight of each core; a dedicated queue takes no more than it has
    /// entries.
    #[serde(default = "depth")]
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
    /// How a core stores, where it does the operations itself; string instructions copy and fill only.
    #[serde(default)]
    pub kernel: KernelName,
    /// Division of the log into the parts that the result has times of.
    #[serde(default)]
    pub divide_by: DivisionName,
    /// Pauses between submissions that divide the log into phases.
    #[serde(default = "pause_us")]
    #[schemars(range(min = PAUSE_US.0, max = PAUSE_US.1))]
    pub pause_us: u32,
    /// Phases at most: if pauses divide the log into more, only the longest do.
    #[serde(default = "most_phases")]
    #[schemars(range(min = PHASES.0, max = PHASES.1))]
    pub most_phases: u32,
}

fn depth() -> u32 {
    32
}

fn pause_us() -> u32 {
    100
}

fn most_phases() -> u32 {
    16
}

/// Replayer of the operations of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReplayerName {
    /// Engines, whose run the metrics are of, and in a second run cores alone: the result compares both.
    #[default]
    Both,
    /// Copy engines.
    Dsa,
    /// Cores alone.
    Core,
}

/// Division of a log into parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DivisionName {
    /// Pauses between submissions: phases in the order of the log.
    #[default]
    Pauses,
    /// Sizes of submissions: powers of two.
    Sizes,
}

/// When descriptors are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PaceName {
    /// No earlier than in the log.
    #[default]
    Recorded,
    /// As soon as the queue and the depth leave room.
    BackToBack,
}

/// A replay, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorReplayPlan {
    log: Rc<DescriptorLog>,
    divided: DividedLog,
    pace: PaceName,
    mover: MoverPlan,
    page_bytes: u64,
    is_warm: bool,
}

/// Mover of the data, with its configuration resolved.
#[derive(Clone, Debug)]
enum MoverPlan {
    Engines(Box<OffloadersPlan>),
    Cores(CoreLoops),
}

impl ApplicationModule for DescriptorReplayPlan {
    const TABLE: Option<&'static str> = Some("descriptor_replay");
    const MOVES_DATA: bool = true;
    const METRICS: &'static [Metric<ApplicationCores>] = metrics::METRICS;

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        let by = tenant.table::<Option<DescriptorReplayKeys>>().as_ref().map(|keys| keys.by);
        let of_replay = |key: &str| format!("descriptor_replay.{key}");
        let keys = tenant.table::<Option<DescriptorReplayKeys>>().as_ref();
        let by_sizes = keys.is_some_and(|keys| keys.divide_by == DivisionName::Sizes);
        let of_pauses = if by_sizes { ["pause_us", "most_phases"].as_slice() } else { &[] };
        let pauses = Inert::all(of_pauses.iter().map(|key| of_replay(key)), "sizes divide the log");
        if by == Some(ReplayerName::Core) {
            let because = "cores do the operations themselves";
            return Inert::all(tenant.tables.device_keys(), because)
                .chain(Inert::all([of_replay("depth")], because))
                .chain(pauses)
                .collect();
        }
        let others = [names::<NicKeys>(), names::<SsdKeys>(), names::<CbdmaKeys>()].concat();
        let mut inert: Vec<Inert> =
            Inert::all(others, "copy engines need no other device").collect();
        if by == Some(ReplayerName::Dsa) {
            inert.extend(Inert::all([of_replay("kernel")], "no core does the operations itself"));
        }
        inert.extend(pauses);
        inert.extend(Inert::all(["placement"], "it is about the lines of packets"));
        inert.extend(dsa::inert_keys(tenant));
        inert
    }

    /// Engines translate addresses of programs: in 4 KiB pages unless stated otherwise.
    fn fill_in(tenant: &mut TenantMut<'_>) {
        let by = tenant.table::<Option<DescriptorReplayKeys>>().as_ref().map(|keys| keys.by);
        if by != Some(ReplayerName::Core) && !tenant.stated.contains("iommu") {
            tenant.table::<PortKeys>().iommu = IommuPages::Base4K;
        }
    }

    /// Sets `by` to the cores if it is `both`: the keys of the engines have no effect then.
    fn leave_to_cores(tenant: &mut TenantMut<'_>) -> bool {
        let keys = tenant.table::<Option<DescriptorReplayKeys>>().as_mut();
        let Some(keys) = keys.filter(|keys| keys.by == ReplayerName::Both) else { return false };
        keys.by = ReplayerName::Core;
        true
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let Some(keys) = input.table::<Option<DescriptorReplayKeys>>() else {
            let allowed = "needs a [descriptor_replay] table with log".into();
            return Err(input.check.refuse("application", &"descriptor-replay", allowed));
        };
        let check = &input.check;
        check.whole("descriptor_replay.depth", keys.depth, DEPTH, "descriptors in flight")?;
        check.whole("descriptor_replay.pause_us", keys.pause_us, PAUSE_US, "microseconds")?;
        check.whole("descriptor_replay.most_phases", keys.most_phases, PHASES, "phases")?;
        let refused = |fault| InputError::DescriptorLog { file: input.file.into(), fault };
        let log = log::read_log(input.file, &keys.log).map_err(refused)?;
        let most = input.platform.dsa.as_ref().map_or(u32::MAX, |dsa| dsa.max_batch.value);
        let members: u32 = fit(log.most_members());
        check.whole("descriptor_replay.log", members, (0, most), "members of a batch")?;
        let page_bytes = input.tenant.keys.page_size.bytes();
        let bytes = log.pages(page_bytes).count().saturating_mul(page_bytes);
        let what = "bytes of all pages with operands; see page_size";
        check.whole("descriptor_replay.log", bytes, (0, MOST_MEMORY_BYTES), what)?;
        let mover = match keys.by {
            ReplayerName::Core => {
                let facts = core_kernels(input, "descriptor_replay.by", "core")?;
                MoverPlan::Cores(core_loops(keys.kernel, facts))
            }
            ReplayerName::Both | ReplayerName::Dsa => {
                if keys.by == ReplayerName::Both {
                    core_kernels(input, "descriptor_replay.by", "both")?;
                }
                let engine_needs =
                    polled_engines("application", ("cores", 1), (keys.depth, members));
                MoverPlan::Engines(Box::new(OffloadersPlan::resolve(input, &engine_needs)?))
            }
        };
        let pause = Picos::from_ns(1e3 * f64::from(keys.pause_us));
        Ok(Self {
            divided: match keys.divide_by {
                DivisionName::Pauses => {
                    divide_at_pauses(&log, pause, usize_from(keys.most_phases.into()))
                }
                DivisionName::Sizes => divide_by_sizes(&log),
            },
            log: Rc::new(log),
            pace: keys.pace,
            mover,
            page_bytes,
            is_warm: input.tenant.keys.initial_content != InitialContent::Empty,
        })
    }

    fn ports(&self) -> &[PortPlan] {
        match &self.mover {
            MoverPlan::Engines(engines) => &engines.ports,
            MoverPlan::Cores(_) => &[],
        }
    }

    fn phases_of_log(&self) -> &[LogPhase] {
        &self.divided.phases
    }

    fn work_to_replay(&self) -> Option<u64> {
        Some(self.log.descriptors())
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let offloaders = match &self.mover {
            MoverPlan::Engines(engines) => {
                let devices = builder.tenant.devices.clone();
                engines.build(builder, &devices)
            }
            MoverPlan::Cores(_) => Vec::new(),
        };
        let placed = self.log.pages(self.page_bytes).place(builder.memory);
        if self.is_warm {
            builder.caches.fill(builder.tenant.cores[0], placed.lines());
        }
        let cores = &builder.tenant.cores;
        let mut offloaders = offloaders.into_iter();
        for (&core, offloads) in cores.iter().zip(self.offloads_by_core(&placed, cores.len())) {
            let core_itself = builder.machine.core(core);
            let phases = self.divided.phases.len();
            let software: Box<dyn Software<T>> = match (&self.mover, offloaders.next()) {
                (MoverPlan::Cores(loops), _) => {
                    Box::new(CoreReplay::new(core_itself, *loops, offloads, phases))
                }
                (_, Some(offloader)) => {
                    Box::new(DescriptorReplay::new(core_itself, offloader, offloads, phases))
                }
                (_, None) => continue,
            };
            builder.software.insert(core, software);
        }
    }
}

impl DescriptorReplayPlan {
    /// Operations of each core: portals in the order of their first use belong to cores in turn.
    fn offloads_by_core(&self, placed: &PlacedPages, cores: usize) -> Vec<Vec<ReplayedOffload>> {
        let portals = self.log.portals();
        let numbers: BTreeMap<u32, usize> = portals.into_iter().zip(0..).collect();
        let mut of_cores = vec![Vec::new(); cores];
        for (offload, &phase) in self.log.offloads.iter().zip(&self.divided.phase_of) {
            let members = offload.members.iter().map(|it| placed.translate(it)).collect();
            let time = match self.pace {
                PaceName::Recorded => offload.time,
                PaceName::BackToBack => Picos::ZERO,
            };
            of_cores[numbers[&offload.portal] % cores].push(ReplayedOffload {
                time,
                phase,
                members,
            });
        }
        of_cores
    }
}
