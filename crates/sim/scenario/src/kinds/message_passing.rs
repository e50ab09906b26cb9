//! Message passing between ranks, one on each core.

mod metrics;
mod programs;

use crate::contract::application::ApplicationModule;
use crate::contract::application_cores::ApplicationCores;
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::metric::Metric;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{InitialContent, TenantMut, TenantRef};
use crate::kinds::copies::{
    CopierName, core_copy, engines, fill_in_program_keys, inert_program_keys, offloaders,
    polled_engines,
};
use crate::kinds::dsa::offloaders::OffloadersPlan;
use crate::text::check::Check;
use crate::text::error::InputError;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Cycles, LINE_BYTES};
use workload::app::message_passing::{MessageRank, RankConfig};
use workload::driver::core_mover::{CoreMover, CoreMoverConfig};

const MESSAGE_BYTES: (u64, u64) = (LINE_BYTES, 64 << 20);
const SEGMENT_BYTES: (u64, u64) = (LINE_BYTES, 1 << 20);
const SEGMENTS: (u32, u32) = (1, 64);
/// Copies in flight of a rank.
const DEPTH: (u32, u32) = (1, 128);

/// Keys of message passing: ranks are the cores.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct MessagePassingKeys {
    /// Copier of messages: the cores or copy engines.
    pub by: CopierName,
    /// Pattern of the messages between ranks.
    pub pattern: MessagePattern,
    /// Size of a message, or of the data that all ranks reduce.
    #[schemars(range(min = MESSAGE_BYTES.0, max = MESSAGE_BYTES.1), extend("multipleOf" = LINE_BYTES))]
    pub message_bytes: u64,
    /// Size of a bounce buffer, and of the pieces in which messages are copied.
    #[schemars(range(min = SEGMENT_BYTES.0, max = SEGMENT_BYTES.1), extend("multipleOf" = LINE_BYTES))]
    pub segment_bytes: u64,
    /// Bounce buffers from one rank to another.
    #[schemars(range(min = SEGMENTS.0, max = SEGMENTS.1))]
    pub segments: u32,
    /// Number of copies by engines in flight of each rank.
    #[schemars(range(min = DEPTH.0, max = DEPTH.1))]
    pub depth: u32,
}

/// Pattern of the messages between ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MessagePattern {
    /// Pairs of ranks send a message back and forth, through bounce buffers.
    #[default]
    PingPong,
    /// One rank of each pair writes messages into the other's memory.
    RemoteWrite,
    /// All ranks sum up their data, by the ring algorithm through bounce buffers.
    AllReduce,
}

impl Default for MessagePassingKeys {
    fn default() -> Self {
        Self {
            by: CopierName::default(),
            pattern: MessagePattern::default(),
            message_bytes: 1 << 20,
            segment_bytes: 32 << 10,
            segments: 8,
            depth: 8,
        }
    }
}

impl MessagePassingKeys {
    fn check(&self, check: &Check<'_>, cores: u32) -> Result<(), InputError> {
        let lines = |key: &str, bytes: u64, range| {
            check.whole(key, bytes, range, "bytes")?;
            if bytes.is_multiple_of(LINE_BYTES) {
                return Ok(());
            }
            let allowed = format!("allowed: multiples of a line of {LINE_BYTES} bytes");
            Err(check.refuse(key, &bytes, allowed))
        };
        lines("message_passing.message_bytes", self.message_bytes, MESSAGE_BYTES)?;
        lines("message_passing.segment_bytes", self.segment_bytes, SEGMENT_BYTES)?;
        check.whole("message_passing.segments", self.segments, SEGMENTS, "bounce buffers")?;
        check.whole("message_passing.depth", self.depth, DEPTH, "copies in flight")?;
        let is_paired = self.pattern != MessagePattern::AllReduce;
        if cores < 2 || (is_paired && !cores.is_multiple_of(2)) {
            let allowed = match is_paired {
                true => "allowed: even numbers, because ranks are paired",
                false => "allowed: two and more ranks",
            };
            return Err(check.refuse("cores", &cores, allowed.into()));
        }
        Ok(())
    }
}

/// Message passing, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct MessagePassingPlan {
    keys: MessagePassingKeys,
    config: RankConfig,
    mover: CoreMoverConfig,
    engines: Option<OffloadersPlan>,
    is_warm: bool,
}

impl ApplicationModule for MessagePassingPlan {
    const TABLE: Option<&'static str> = Some("message_passing");
    const MOVES_DATA: bool = true;
    const METRICS: &'static [Metric<ApplicationCores>] = metrics::METRICS;

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        let keys = tenant.table::<MessagePassingKeys>();
        let mut inert = inert_program_keys(tenant, keys.by);
        if keys.pattern == MessagePattern::RemoteWrite {
            let because = "remote writes need no bounce buffers";
            inert.extend(Inert::all(["message_passing.segments"], because));
        }
        if keys.by == CopierName::Core {
            let because = "the cores copy themselves";
            inert.extend(Inert::all(["message_passing.depth"], because));
        }
        inert
    }

    /// Raises the number of cores to two, unless the tenant states it: there are two ranks at least.
    fn fill_in(tenant: &mut TenantMut<'_>) {
        if !tenant.stated.contains("cores") {
            tenant.keys.cores = tenant.keys.cores.max(2);
        }
        let by = tenant.table::<MessagePassingKeys>().by;
        fill_in_program_keys(tenant, by);
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let keys = input.table::<MessagePassingKeys>();
        keys.check(&input.check, input.tenant.keys.cores)?;
        let costs = input.costs()?;
        let needs = polled_engines("message_passing.by", ("cores", 1), (keys.depth, 1));
        Ok(Self {
            config: RankConfig {
                call: Cycles(costs.message_call_cycles.value),
                poll: Cycles(costs.message_poll_cycles.value),
                sum: Cycles(costs.message_sum_cycles.value),
            },
            keys: keys.clone(),
            mover: core_copy(input)?,
            engines: engines(input, keys.by, &needs)?,
            is_warm: input.tenant.keys.initial_content != InitialContent::Empty,
        })
    }

    fn ports(&self) -> &[PortPlan] {
        self.engines.as_ref().map_or(&[], |engines| &engines.ports)
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let devices = &builder.tenant.devices;
        let mut offloaders = offloaders(self.engines.as_ref(), builder, devices);
        let programs = self.programs(builder);
        for (&core, program) in builder.tenant.cores.iter().zip(programs) {
            let movers = (CoreMover::new(self.mover), offloaders.next());
            let software =
                MessageRank::new(self.config, builder.machine.core(core), movers, program);
            builder.software.insert(core, Box::new(software));
        }
    }
}
