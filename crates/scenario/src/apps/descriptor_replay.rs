//! Replay of a log of descriptors on copy engines.

use super::ApplicationPlan;
use super::copies::polled_engines;
use crate::assemble::builder::Builder;
use crate::devices::PortPlan;
use crate::devices::cbdma::CbdmaKeys;
use crate::devices::dsa;
use crate::devices::dsa::offloaders::OffloadersPlan;
use crate::devices::nic::NicKeys;
use crate::devices::root_port::IommuPages;
use crate::devices::ssd::SsdKeys;
use crate::input::builtin;
use crate::input::error::InputError;
use crate::input::key_groups::names;
use crate::metrics::application::{ApplicationCores, REPLAY};
use crate::metrics::declaration::Metric;
use crate::plan::TenantInput;
use crate::plan::inert::Inert;
use crate::scenario::{InitialContent, Tenant};
use model::tracer::Tracer;
use recordings::descriptor_log::{self, DescriptorLogError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use units::Picos;
use units::narrow::fit;
use workload::app::descriptor_replay::{DescriptorReplay, ReplayedOffload};
use workload::descriptor_log::DescriptorLog;
use workload::host_memory::touch;

/// Descriptors in flight of each core.
const DEPTH: (u32, u32) = (1, 128);
/// The rest of the simulated memory stays free.
const MOST_MEMORY_BYTES: u64 = 16 << 30;

/// Keys of a replay, which requires them. docs/descriptor-log.md has the format of a log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DescriptorReplayKeys {
    /// The log: a path, relative to the scenario's folder or to the current one.
    pub log: String,
    /// When its descriptors are submitted.
    #[serde(default)]
    pub pace: PaceName,
    /// Descriptors in flight of each core; a dedicated queue takes no more than it has entries.
    #[serde(default = "depth")]
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
}

fn depth() -> u32 {
    32
}

/// When descriptors are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PaceName {
    /// No earlier than in the log.
    #[default]
    Recorded,
    /// As soon as there is room.
    BackToBack,
}

/// Reads the log that the scenario `file` names, from disk or, as that of an example, built in.
fn read_log(file: &str, named: &str) -> Result<DescriptorLog, DescriptorLogError> {
    let path = builtin::beside(file, named);
    let beside = Path::new(file).with_file_name(named);
    match builtin::file(&beside.display().to_string()) {
        Some(text) if !Path::new(&path).is_file() => descriptor_log::of_text(beside, text),
        _ => descriptor_log::read(path),
    }
}

/// A replay, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorReplayPlan {
    log: Rc<DescriptorLog>,
    pace: PaceName,
    engines: OffloadersPlan,
    page_bytes: u64,
    is_warm: bool,
}

impl ApplicationPlan for DescriptorReplayPlan {
    const TABLE: Option<&'static str> = Some("descriptor_replay");
    const MOVES_DATA: bool = true;
    const METRICS: &'static [Metric<ApplicationCores>] = REPLAY;

    fn inert(tenant: &Tenant) -> Vec<Inert> {
        let others = [names::<NicKeys>(), names::<SsdKeys>(), names::<CbdmaKeys>()].concat();
        let mut inert: Vec<Inert> =
            Inert::all(others, "copy engines need no other device").collect();
        inert.extend(Inert::all(["placement"], "it is about the lines of packets"));
        inert.extend(dsa::inert(tenant));
        inert
    }

    /// Engines translate addresses of programs: in 4 KiB pages unless stated otherwise.
    fn fill_in(tenant: &mut Tenant) {
        if !tenant.stated.contains("iommu") {
            tenant.devices.port.iommu = IommuPages::Base4K;
        }
    }

    fn of(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let Some(keys) = &input.tenant.tables.descriptor_replay else {
            let allowed = "needs a [descriptor_replay] table with log".into();
            return Err(input.check.refuse("application", &"descriptor-replay", allowed));
        };
        let check = &input.check;
        check.whole("descriptor_replay.depth", keys.depth, DEPTH, "descriptors in flight")?;
        let refused = |fault| InputError::DescriptorLog { file: input.file.into(), fault };
        let log = read_log(input.file, &keys.log).map_err(refused)?;
        let most = input.platform.dsa.as_ref().map_or(u32::MAX, |dsa| dsa.max_batch.value);
        let members: u32 = fit(log.most_members());
        check.whole("descriptor_replay.log", members, (0, most), "members of a batch")?;
        let page_bytes = input.tenant.keys.page_size.bytes();
        let bytes = log.pages(page_bytes).count().saturating_mul(page_bytes);
        let what = "bytes of all pages with operands; see page_size";
        check.whole("descriptor_replay.log", bytes, (0, MOST_MEMORY_BYTES), what)?;
        let wanted = polled_engines("application", ("cores", 1), (keys.depth, members));
        Ok(Self {
            log: Rc::new(log),
            pace: keys.pace,
            engines: OffloadersPlan::of(input, &wanted)?,
            page_bytes,
            is_warm: input.tenant.keys.initial_content != InitialContent::Empty,
        })
    }

    fn ports(&self) -> &[PortPlan] {
        &self.engines.ports
    }

    fn work_to_replay(&self) -> Option<u64> {
        Some(self.log.descriptors())
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let devices = builder.tenant.devices.clone();
        let offloaders = self.engines.build(builder, &devices);
        let placed = self.log.pages(self.page_bytes).place(builder.memory);
        if self.is_warm {
            touch(builder.fabric, builder.tenant.cores[0], placed.lines());
        }
        let cores = &builder.tenant.cores;
        let portals = self.log.portals();
        let numbers: BTreeMap<u32, usize> = portals.into_iter().zip(0..).collect();
        let mut of_cores = vec![Vec::new(); cores.len()];
        for offload in &self.log.offloads {
            let members = offload.members.iter().map(|it| placed.translate(it)).collect();
            let time = match self.pace {
                PaceName::Recorded => offload.time,
                PaceName::BackToBack => Picos::ZERO,
            };
            of_cores[numbers[&offload.portal] % cores.len()]
                .push(ReplayedOffload { time, members });
        }
        for ((&core, offloader), offloads) in cores.iter().zip(offloaders).zip(of_cores) {
            let core_itself = builder.machine.core(core);
            let software = DescriptorReplay::new(core_itself, offloader, offloads);
            builder.software.insert(core, Box::new(software));
        }
    }
}
