//! Applications: the only list of them. Each has a file here with its keys and their defaults, its
//! checks, its plan, and the software that its cores run. The work of a core for each packet, block or
//! line is in `workload::app`.

mod block_io;
mod cachelib;
mod chain;
mod copies;
mod costs;
mod descriptor_replay;
mod key_value;
mod key_value_memory;
mod l2_forward;
mod l3_forward;
pub(crate) mod memory_kernel;
mod message_passing;
mod nvme_tcp_target;
mod offload;
mod packet_sink;
mod packet_source;
mod packets;
mod ping_pong;
mod vhost_switch;

pub use costs::ApplicationFacts;
pub use ping_pong::PingPongFacts;

use crate::assemble::builder::Builder;
use crate::devices::{DeviceKeys, PortPlan};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::input::key_groups::names;
use crate::metrics::application::ApplicationCores;
use crate::metrics::declaration::Metric;
use crate::plan::TenantInput;
use crate::plan::inert::Inert;
use crate::scenario::{InitialContent, MemoryNode, Tenant};
use block_io::{BlockIoKeys, BlockIoPlan};
use cachelib::{CachelibKeys, CachelibPlan};
use chain::{ChainKeys, ChainPlan};
use descriptor_replay::{DescriptorReplayKeys, DescriptorReplayPlan};
pub(crate) use descriptor_replay::{PhaseOfLog, without_engines};
use key_value::{KeyValueKeys, KeyValuePlan};
use key_value_memory::KeyValueMemoryPlan;
use l2_forward::L2ForwardPlan;
use l3_forward::{L3ForwardKeys, L3ForwardPlan};
use memory_kernel::{MemoryKernelKeys, MemoryKernelPlan};
use message_passing::{MessagePassingKeys, MessagePassingPlan};
use model::tracer::Tracer;
use nvme_tcp_target::{NvmeTcpTargetKeys, NvmeTcpTargetPlan};
use offload::{OffloadKeys, OffloadPlan};
use packet_sink::{PacketSinkKeys, PacketSinkPlan};
use packet_source::{PacketSourceKeys, PacketSourcePlan};
use packets::OverNic;
use ping_pong::{PingPongKeys, PingPongPlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use vhost_switch::{VhostSwitchKeys, VhostSwitchPlan};

/// Declares the applications: the name of each and the software of its cores.
macro_rules! applications {
    ($($(#[$meta:meta])* $name:ident: $plan:ty,)*) => {
        /// The software of the cores.
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Application {
            $($(#[$meta])* $name,)*
        }

        /// The plan of any application.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyApplication {
            $($name(Box<$plan>),)*
        }

        impl Application {
            /// The direction of its packets.
            #[must_use]
            pub fn packets(self) -> Packets {
                match self {
                    $(Self::$name => <$plan>::PACKETS,)*
                }
            }

            /// The table of its keys, if it has one.
            fn table(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => <$plan>::TABLE,)*
                }
            }

            fn inert(self, tenant: &Tenant) -> Vec<Inert> {
                match self {
                    $(Self::$name => <$plan>::inert(tenant),)*
                }
            }

            /// Whether its cores move data by engines or by themselves, and are measured at that.
            #[must_use]
            pub fn moves_data(self) -> bool {
                match self {
                    $(Self::$name => <$plan>::MOVES_DATA,)*
                }
            }

            fn memory_nodes(self, tenant: &Tenant) -> Vec<MemoryNode> {
                match self {
                    $(Self::$name => <$plan>::memory_nodes(tenant),)*
                }
            }

            /// Metrics that only it has.
            pub(crate) fn metrics(self) -> &'static [Metric<ApplicationCores>] {
                match self {
                    $(Self::$name => <$plan>::METRICS,)*
                }
            }

            /// Whether the farthest tail of its latencies is reported.
            pub(crate) fn has_far_tail(self) -> bool {
                match self {
                    $(Self::$name => <$plan>::HAS_FAR_TAIL,)*
                }
            }

            fn fills_store(self) -> bool {
                match self {
                    $(Self::$name => <$plan>::FILLS_STORE,)*
                }
            }

            /// Records an application's defaults of keys that the tenant does not state.
            pub(crate) fn fill_in(tenant: &mut Tenant) {
                match tenant.keys.application {
                    $(Self::$name => <$plan>::fill_in(tenant),)*
                }
            }

            fn plan_own(self, input: &TenantInput<'_>) -> Result<AnyApplication, InputError> {
                Ok(match self {
                    $(Self::$name => AnyApplication::$name(Box::new(<$plan>::of(input)?)),)*
                })
            }
        }

        impl AnyApplication {
            /// Its root ports with their devices.
            pub fn ports(&self) -> &[PortPlan] {
                match self {
                    $(Self::$name(plan) => plan.ports(),)*
                }
            }

            /// Work after which the run ends, if it replays a log.
            pub fn work_to_replay(&self) -> Option<u64> {
                match self {
                    $(Self::$name(plan) => plan.work_to_replay(),)*
                }
            }

            /// The phases of its log, if it replays one of descriptors.
            pub fn phases_of_log(&self) -> &[PhaseOfLog] {
                match self {
                    $(Self::$name(plan) => plan.phases_of_log(),)*
                }
            }

            /// Puts its software on the tenant's cores, and its memory into the machine's memory.
            pub fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
                match self {
                    $(Self::$name(plan) => plan.build(builder),)*
                }
            }
        }
    };
}

applications! {
    /// Run-to-completion L2 forwarder.
    #[default]
    L2Forward: OverNic<L2ForwardPlan>,
    /// L3 forwarder: routes by a table and rewrites headers.
    L3Forward: OverNic<L3ForwardPlan>,
    /// Receiver that reads the header of every packet and drops it.
    PacketSink: OverNic<PacketSinkPlan>,
    /// Sender at the rate that its send ring takes; it receives no packets.
    PacketSource: OverNic<PacketSourcePlan>,
    /// Stateful chain: router, NAPT, load balancer.
    Chain: OverNic<ChainPlan>,
    /// Key-value store whose requests are packets, as memcached over a kernel-bypass stack. Requests
    /// are packet_bytes long, the size of answers follows from the values.
    KeyValue: OverNic<KeyValuePlan>,
    /// Key-value store whose clients are on the same machine and always have a request, as redis under
    /// YCSB. It receives no packets.
    KeyValueMemory: KeyValueMemoryPlan,
    /// Loads and stores over a working set: the work of a co-runner, but measured. It receives no
    /// packets.
    MemoryKernel: MemoryKernelPlan,
    /// Block I/O at a fixed depth, as fio does it.
    BlockIo: BlockIoPlan,
    /// Echo server with one client that waits for each answer. Its packets are ping_pong.message_bytes
    /// and headers long; packet_bytes, offered_gbps and traffic are refused.
    PingPong: OverNic<PingPongPlan>,
    /// Operations on data in memory, such as copies: by copy engines, or by the cores themselves. It
    /// receives no packets.
    Offload: OffloadPlan,
    /// Virtual switch on the host, which copies packets between its NIC and a guest that sends them back.
    /// Some of its cores are the guest's.
    VhostSwitch: VhostSwitchPlan,
    /// Cache of items in memory, as CacheLib: gets and sets copy items of a mix of sizes. It receives no
    /// packets.
    Cachelib: CachelibPlan,
    /// Replay of descriptors that a program submitted to copy engines. It receives no packets.
    DescriptorReplay: DescriptorReplayPlan,
    /// Ranks that pass messages through shared memory: ping-pong, remote writes, all-reduce. They receive
    /// no packets.
    MessagePassing: MessagePassingPlan,
    /// NVMe/TCP target: reads of remote initiators, answered from SSDs with or without a data digest.
    NvmeTcpTarget: NvmeTcpTargetPlan,
}

/// Tables of applications. A tenant states its own application's, or one that a tenant which inherits it
/// uses.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ApplicationTables {
    /// Block I/O.
    pub block_io: BlockIoKeys,
    /// Application ping-pong: its messages.
    pub ping_pong: PingPongKeys,
    /// Keys of the L3 forwarder.
    pub l3_forward: L3ForwardKeys,
    /// Keys of the packet sink.
    pub packet_sink: PacketSinkKeys,
    /// Keys of the packet source.
    pub packet_source: PacketSourceKeys,
    /// Keys of the stateful chain.
    pub chain: ChainKeys,
    /// Keys of the key-value store.
    pub key_value: KeyValueKeys,
    /// Operations on data in memory.
    pub offload: OffloadKeys,
    /// Keys of the virtual switch.
    pub vhost_switch: VhostSwitchKeys,
    /// Keys of the cache of items.
    pub cachelib: CachelibKeys,
    /// Keys of message passing.
    pub message_passing: MessagePassingKeys,
    /// Keys of the NVMe/TCP target.
    pub nvme_tcp_target: NvmeTcpTargetKeys,
    /// Keys of a replay of descriptors, which requires them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptor_replay: Option<DescriptorReplayKeys>,
    /// Keys of the memory kernel, which requires them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_kernel: Option<MemoryKernelKeys>,
}

impl ApplicationTables {
    /// Checks the keys whose ranges do not depend on the tenant's application.
    fn check(&self, input: &TenantInput<'_>) -> Result<(), InputError> {
        self.l3_forward.check(&input.check)?;
        self.chain.check(&input.check)?;
        self.key_value.check(&input.check, input.platform)?;
        let kernel = self.memory_kernel.as_ref();
        kernel.map_or(Ok(()), |keys| keys.check("memory_kernel", &input.check, input.platform))
    }
}

/// Direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packets {
    /// There are no packets.
    None,
    /// The application only receives.
    Received,
    /// It only sends.
    Sent,
    /// It sends what it receives, or answers.
    Forwarded,
}

impl Packets {
    /// Whether packets arrive.
    #[must_use]
    pub fn are_received(self) -> bool {
        matches!(self, Self::Received | Self::Forwarded)
    }

    /// Whether packets leave, and a run therefore counts them.
    #[must_use]
    pub fn are_sent(self) -> bool {
        matches!(self, Self::Sent | Self::Forwarded)
    }
}

/// The interface of each application's file, with all of its configuration resolved.
pub(crate) trait ApplicationPlan: Sized + Clone + Debug {
    /// The direction of its packets.
    const PACKETS: Packets = Packets::None;
    /// Whether its memory can be filled before time zero as `initial_content = "store-filled"` asks.
    const FILLS_STORE: bool = false;
    /// Whether its cores move data by engines or by themselves: their results have metrics of that.
    const MOVES_DATA: bool = false;

    /// Metrics that only it has.
    const METRICS: &'static [Metric<ApplicationCores>] = &[];
    /// Whether the farthest tail of its latencies is reported: that of short and many requests.
    const HAS_FAR_TAIL: bool = false;

    /// The table of its keys in a scenario, if it has one.
    const TABLE: Option<&'static str> = None;

    /// Keys of devices and cores that have no effect on a tenant with it: by default, as it has no device,
    /// all keys of devices.
    fn inert(tenant: &Tenant) -> Vec<Inert> {
        without_device(tenant)
    }

    /// Memory nodes that it uses beside that of its tenant.
    fn memory_nodes(_tenant: &Tenant) -> Vec<MemoryNode> {
        Vec::new()
    }

    /// Records the application's defaults of keys that the tenant does not state.
    fn fill_in(_tenant: &mut Tenant) {}

    /// Checks its keys, also against platform and devices, and resolves them.
    fn of(input: &TenantInput<'_>) -> Result<Self, InputError>;

    /// Its root ports with their devices.
    fn ports(&self) -> &[PortPlan] {
        &[]
    }

    /// Work after which a run ends: that of a replay, whose end is known.
    fn work_to_replay(&self) -> Option<u64> {
        None
    }

    /// The phases of the log of descriptors that it replays.
    fn phases_of_log(&self) -> &[PhaseOfLog] {
        &[]
    }

    /// Puts software on the tenant's cores, and its memory into the machine's memory.
    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>);
}

impl Application {
    /// Its name in scenario files.
    #[must_use]
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().into()
    }

    /// Checks a tenant's keys, also against platform and devices, and resolves its application.
    pub(crate) fn plan(input: &TenantInput<'_>) -> Result<AnyApplication, InputError> {
        input.tenant.tables.check(input)?;
        let own = input.tenant.keys.application;
        let filled = input.tenant.keys.initial_content == InitialContent::StoreFilled;
        if filled && !own.fills_store() {
            let allowed = "only with application = \"key-value\"".into();
            return Err(input.check.refuse("initial_content", &"store-filled", allowed));
        }
        own.plan_own(input)
    }
}

/// Keys of devices: they have no effect on a tenant without any.
fn without_device(tenant: &Tenant) -> Vec<Inert> {
    let because = format!("{} uses no device", tenant.keys.application.name());
    Inert::all(names::<DeviceKeys>(), &because).collect()
}

impl Tenant {
    /// Memory nodes that it uses.
    pub(crate) fn memory_nodes(&self) -> Vec<MemoryNode> {
        let mut nodes = self.keys.application.memory_nodes(self);
        nodes.push(self.keys.memory_node);
        nodes
    }

    /// Keys that have no effect on it.
    pub(crate) fn inert(&self) -> Vec<Inert> {
        let own = self.keys.application;
        let others = names::<ApplicationTables>().into_iter();
        let others = others.filter(|table| own.table() != Some(table.as_str()));
        let because = format!("it belongs to another application than {}", own.name());
        let mut inert: Vec<Inert> = Inert::all(others, &because).collect();
        inert.extend(own.inert(self));
        inert
    }
}

impl Tenant {
    /// Why a key has no effect on it, if so.
    pub(crate) fn why_inert(&self, key: &str) -> Option<String> {
        let inert = self.inert().into_iter().find(|inert| inert.is_about(key));
        inert.map(|inert| inert.because)
    }
}

/// Checks the combined requirements of all tenants' applications.
pub(crate) fn check_together<'t>(
    tenants: impl Iterator<Item = &'t Tenant>,
    check: &Check<'_>,
) -> Result<(), InputError> {
    let tenants: Vec<&Tenant> = tenants.collect();
    offload::check_together(&tenants, check)?;
    key_value::check_together(tenants.into_iter(), check)
}
