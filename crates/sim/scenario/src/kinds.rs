//! The only lists of the kinds of devices and of applications. Each kind has one module below: its keys with
//! their defaults, its checks, its plan, its part of the machine, its metrics. These modules know the
//! contract and each other, and never these lists. Every device is behind a [`root_port`].

mod block_io;
mod cachelib;
mod cbdma;
mod chain;
pub(crate) mod co_runner;
mod copies;
mod descriptor_replay;
mod dsa;
mod key_value;
mod key_value_memory;
mod l2_forward;
mod l3_forward;
pub(crate) mod memory_kernel;
mod message_passing;
mod nic;
mod nvme_tcp_target;
mod offload;
mod packet_sink;
mod packet_source;
mod packets;
mod ping_pong;
pub(crate) mod root_port;
mod ssd;
mod vhost_switch;

use crate::contract::application::{ApplicationModule, LogPhase, Packets};
use crate::contract::application_cores::ApplicationCores;
use crate::contract::build::Builder;
use crate::contract::device::{DeviceModule, ListedDevice};
use crate::contract::inert::Inert;
use crate::contract::input::{Defaults, TenantInput};
use crate::contract::metric::{Entry, Measured, Metric, Scope, entries, measured};
use crate::contract::port::PortPlan;
use crate::contract::sample::DeviceSample;
use crate::contract::tenant::{
    InitialContent, MemoryNode, Table, Tables, TablesMut, TenantMut, TenantRef,
};
use crate::contract::traffic::Traffic;
use crate::facts::by_name::{nic_with, ssd_with};
use crate::facts::named_devices::NamedDevices;
use crate::facts::platform::ReplacedFacts;
use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::key_groups::{KeyGroups, names};
use facts::Kind;
use hdrhistogram::Histogram;
use model::device::{Device, DeviceId};
use model::fabric::Fabric;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::{Any, TypeId};
use units::Picos;

/// Declares a struct of tables of keys. A table is looked up by its type.
macro_rules! tables {
    (
        $(#[$meta:meta])*
        $list:ident { $($(#[$field_meta:meta])* $name:ident: $keys:ty,)* }
    ) => {
        $(#[$meta])*
        pub(crate) struct $list {
            $($(#[$field_meta])* pub $name: $keys,)*
        }

        $(impl Table for $keys {})*

        impl $list {
            fn find(&self, table: TypeId) -> Option<&dyn Any> {
                let all = [$(&self.$name as &dyn Any),*];
                all.into_iter().find(|one| (**one).type_id() == table)
            }

            fn find_mut(&mut self, table: TypeId) -> Option<&mut dyn Any> {
                let all = [$(&mut self.$name as &mut dyn Any),*];
                all.into_iter().find(|one| (**one).type_id() == table)
            }
        }
    };
}

tables! {
    /// Keys of a tenant's devices.
    #[derive(Clone, Debug, Serialize, JsonSchema)]
    DeviceKeys {
        /// Keys of their root ports.
        #[serde(flatten)]
        port: root_port::PortKeys,
        /// Keys of its NIC.
        #[serde(flatten)]
        nic: nic::NicKeys,
        /// Keys of its SSDs.
        #[serde(flatten)]
        ssd: ssd::SsdKeys,
        /// Keys of its copy engines.
        #[serde(flatten)]
        dsa: dsa::DsaKeys,
        /// Keys of its channels of a CBDMA.
        #[serde(flatten)]
        cbdma: cbdma::CbdmaKeys,
    }
}

tables! {
    /// Tables of applications. A tenant may state the table of its own application, and that of the
    /// application of a tenant which inherits from it.
    #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    ApplicationTables {
        /// Block I/O.
        block_io: block_io::BlockIoKeys,
        /// Application ping-pong: its messages.
        ping_pong: ping_pong::PingPongKeys,
        /// Keys of the L3 forwarder.
        l3_forward: l3_forward::L3ForwardKeys,
        /// Keys of the packet sink.
        packet_sink: packet_sink::PacketSinkKeys,
        /// Keys of the packet source.
        packet_source: packet_source::PacketSourceKeys,
        /// Keys of the stateful chain.
        chain: chain::ChainKeys,
        /// Keys of the key-value store.
        key_value: key_value::KeyValueKeys,
        /// Operations on data in memory.
        offload: offload::OffloadKeys,
        /// Keys of the virtual switch.
        vhost_switch: vhost_switch::VhostSwitchKeys,
        /// Keys of the cache of items.
        cachelib: cachelib::CachelibKeys,
        /// Keys of message passing.
        message_passing: message_passing::MessagePassingKeys,
        /// Keys of the NVMe/TCP target.
        nvme_tcp_target: nvme_tcp_target::NvmeTcpTargetKeys,
        /// Keys of a replay of descriptors, which requires them.
        #[serde(skip_serializing_if = "Option::is_none")]
        descriptor_replay: Option<descriptor_replay::DescriptorReplayKeys>,
        /// Keys of the memory kernel, which requires them.
        #[serde(skip_serializing_if = "Option::is_none")]
        memory_kernel: Option<memory_kernel::MemoryKernelKeys>,
    }
}

/// Declares the kinds of devices: for each its name, its variant of the model's [`Device`], and its plan.
macro_rules! devices {
    ($($(#[$meta:meta])* $name:ident ($device:ident): $plan:ty,)*) => {
        /// A kind of device. Machines number their devices in this order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum DeviceClass {
            $($(#[$meta])* $name,)*
        }

        $(impl ListedDevice for $plan {
            const POSITION: usize = DeviceClass::$name as usize;
        })*

        impl DeviceClass {
            /// All kinds, in the order of their declaration.
            pub(crate) const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// The key by which a scenario names a device of this kind, the table of its facts, and the
            /// prefix of its names in results.
            pub(crate) fn key(self) -> &'static str {
                match self {
                    $(Self::$name => <$plan>::KEY,)*
                }
            }

            /// The kind of file that describes its devices, if any.
            pub(crate) fn files(self) -> Option<Kind> {
                match self {
                    $(Self::$name => <$plan>::FILES,)*
                }
            }

            /// Whether the platform's file describes the device if a tenant names none.
            pub(crate) fn is_part_of_platform(self) -> bool {
                match self {
                    $(Self::$name => <$plan>::IS_PART_OF_PLATFORM,)*
                }
            }

            /// Whether a card of this kind may have several ports, each a device.
            pub(crate) fn has_ports(self) -> bool {
                match self {
                    $(Self::$name => <$plan>::HAS_PORTS,)*
                }
            }

            /// Whether devices of this kind move data within memory. Such a device has a stop of its own on
            /// the mesh.
            pub(crate) fn is_copy_engine(self) -> bool {
                match self {
                    $(Self::$name => <$plan>::IS_COPY_ENGINE,)*
                }
            }

            /// The name of the device of this kind that a tenant states: a known device, or the path of a
            /// device file.
            pub(crate) fn named(self, tenant: TenantRef<'_>) -> Option<&String> {
                match self {
                    $(Self::$name => <$plan>::named(tenant),)*
                }
            }

            /// The metrics of devices of this kind, in the reference.
            pub(crate) fn metrics(self) -> Vec<Entry> {
                match self {
                    $(Self::$name => entries(<$plan>::METRICS, Scope::Tenant).collect(),)*
                }
            }

            /// The metrics of a tenant's devices of this kind; their names begin with `prefix`.
            pub(crate) fn tenant_metrics(self, prefix: &str, ids: &[DeviceId]) -> Vec<Measured> {
                if ids.is_empty() {
                    return Vec::new();
                }
                match self {
                    $(Self::$name => {
                        measured(<$plan>::METRICS, prefix, <$plan>::subject(ids)).collect()
                    })*
                }
            }
        }

        /// Records the defaults of the device keys that a tenant does not state, by its platform and its
        /// named devices.
        pub(crate) fn fill_in_devices(tenant: &mut TenantMut<'_>, defaults: &Defaults<'_>) {
            root_port::fill_in(tenant, defaults.platform);
            $(<$plan>::fill_in(tenant, defaults);)*
        }

        /// Checks the keys of a tenant's devices, for any application.
        ///
        /// # Errors
        /// Names the first value that is out of range.
        pub(crate) fn check_devices(input: &TenantInput<'_>) -> Result<(), InputError> {
            root_port::check(input)?;
            $(<$plan>::check(input)?;)*
            Ok(())
        }

        /// Reads the counters of a device at the simulated time `now`.
        pub(crate) fn read_device<T: Tracer>(
            device: &Device<Traffic>,
            fabric: &Fabric<T>,
            now: Picos,
        ) -> DeviceSample {
            match device {
                $(Device::$device(own) => DeviceSample::new(<$plan>::read(own, fabric, now)),)*
            }
        }

        /// Number of packets that have arrived at a device; `None` if it has no wire.
        pub(crate) fn packets_offered(device: &Device<Traffic>) -> Option<u64> {
            match device {
                $(Device::$device(own) => <$plan>::packets_offered(own),)*
            }
        }

        /// Takes the latencies, in ns, that a device has measured since the last call: of packets, or of
        /// requests that several packets answer. `None` if it measures none.
        pub(crate) fn take_latencies(device: &mut Device<Traffic>) -> Option<Histogram<u64>> {
            match device {
                $(Device::$device(own) => <$plan>::take_latencies(own),)*
            }
        }

        /// Takes the latencies, in ns, that the client at the other end of the wire has measured since
        /// the last call. `None` if there is no such client.
        pub(crate) fn take_one_way_latencies(
            device: &mut Device<Traffic>,
        ) -> Option<Histogram<u64>> {
            match device {
                $(Device::$device(own) => <$plan>::take_one_way_latencies(own),)*
            }
        }
    };
}

devices! {
    /// A network card.
    Nic(Nic): nic::NicPlan,
    /// An SSD.
    Ssd(Nvme): ssd::SsdPlan,
    /// A copy engine.
    Dsa(Dsa): dsa::DsaPlan,
    /// The copy engine of the generation before.
    Cbdma(Cbdma): cbdma::CbdmaPlan,
}

/// Declares the applications: for each its name and its plan.
macro_rules! applications {
    ($($(#[$meta:meta])* $name:ident: $plan:ty,)*) => {
        /// The software of the cores.
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema
        )]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Application {
            $($(#[$meta])* $name,)*
        }

        /// The plan of any application.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyApplication {
            $($name(Box<$plan>),)*
        }

        impl Application {
            /// All applications, in the order of their declaration.
            pub(crate) const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// The direction of the application's packets.
            pub(crate) fn packets(self) -> Packets {
                match self {
                    $(Self::$name => <$plan>::PACKETS,)*
                }
            }

            /// The name of the table of the application's keys; `None` if it has no keys of its own.
            fn table(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => <$plan>::TABLE,)*
                }
            }

            fn inert(self, tenant: TenantRef<'_>) -> Vec<Inert> {
                match self {
                    $(Self::$name => <$plan>::inert(tenant),)*
                }
            }

            /// Whether the application's cores move data, by engines or themselves. The metrics of data
            /// operations exist only then.
            pub(crate) fn moves_data(self) -> bool {
                match self {
                    $(Self::$name => <$plan>::MOVES_DATA,)*
                }
            }

            fn memory_nodes(self, tenant: TenantRef<'_>) -> Vec<MemoryNode> {
                match self {
                    $(Self::$name => <$plan>::memory_nodes(tenant),)*
                }
            }

            /// Metrics that only this application has.
            pub(crate) fn metrics(self) -> &'static [Metric<ApplicationCores>] {
                match self {
                    $(Self::$name => <$plan>::METRICS,)*
                }
            }

            /// Whether results have the 99.999th percentile of the application's latencies.
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

            /// Records the application's defaults of keys that the tenant does not state.
            pub(crate) fn fill_in(self, tenant: &mut TenantMut<'_>) {
                match self {
                    $(Self::$name => <$plan>::fill_in(tenant),)*
                }
            }

            /// Changes the keys so that cores do the operations of the engines, for the second run of a
            /// comparison. Returns whether the keys ask for one; otherwise they stay as they are.
            pub(crate) fn leave_to_cores(self, tenant: &mut TenantMut<'_>) -> bool {
                match self {
                    $(Self::$name => <$plan>::leave_to_cores(tenant),)*
                }
            }

            fn check_tables(input: &TenantInput<'_>) -> Result<(), InputError> {
                $(<$plan>::check_table(input)?;)*
                Ok(())
            }

            fn plan_application(self, input: &TenantInput<'_>) -> Result<AnyApplication, InputError> {
                Ok(match self {
                    $(Self::$name => AnyApplication::$name(Box::new(<$plan>::plan(input)?)),)*
                })
            }
        }

        impl AnyApplication {
            /// The root ports that the application uses, with their devices.
            pub(crate) fn ports(&self) -> &[PortPlan] {
                match self {
                    $(Self::$name(plan) => plan.ports(),)*
                }
            }

            /// Units of work after which the run ends, if the application replays a log.
            pub(crate) fn work_to_replay(&self) -> Option<u64> {
                match self {
                    $(Self::$name(plan) => plan.work_to_replay(),)*
                }
            }

            /// The phases of the log of descriptors that the application replays; empty for any other
            /// application.
            pub(crate) fn phases_of_log(&self) -> &[LogPhase] {
                match self {
                    $(Self::$name(plan) => plan.phases_of_log(),)*
                }
            }

            /// Puts the application's software on the tenant's cores, and its data into the machine's
            /// memory.
            pub(crate) fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
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
    L2Forward: packets::NicApplication<l2_forward::L2ForwardPlan>,
    /// L3 forwarder: routes by a table and rewrites headers.
    L3Forward: packets::NicApplication<l3_forward::L3ForwardPlan>,
    /// Receiver that reads the header of every packet and drops it.
    PacketSink: packets::NicApplication<packet_sink::PacketSinkPlan>,
    /// Sender at the rate that its send ring takes; it receives no packets.
    PacketSource: packets::NicApplication<packet_source::PacketSourcePlan>,
    /// Stateful chain: router, NAPT, load balancer.
    Chain: packets::NicApplication<chain::ChainPlan>,
    /// Key-value store whose requests are packets, as memcached over a kernel-bypass stack. Requests
    /// are packet_bytes long, the size of answers follows from the values.
    KeyValue: packets::NicApplication<key_value::KeyValuePlan>,
    /// Key-value store whose clients are on the same machine and always have a request, as redis under
    /// YCSB. It receives no packets.
    KeyValueMemory: key_value_memory::KeyValueMemoryPlan,
    /// Loads and stores over a working set: the work of a co-runner, but measured. It receives no
    /// packets.
    MemoryKernel: memory_kernel::MemoryKernelPlan,
    /// Block I/O at a fixed depth, as fio does it.
    BlockIo: block_io::BlockIoPlan,
    /// Echo server with one client that waits for each answer. Its packets are ping_pong.message_bytes
    /// and headers long; packet_bytes, offered_gbps and traffic are refused.
    PingPong: packets::NicApplication<ping_pong::PingPongPlan>,
    /// Operations on data in memory, such as copies: by copy engines, or by the cores themselves. It
    /// receives no packets.
    Offload: offload::OffloadPlan,
    /// Virtual switch on the host, which copies packets between its NIC and a guest that sends them back.
    /// Some of its cores are the guest's.
    VhostSwitch: vhost_switch::VhostSwitchPlan,
    /// Cache of items in memory, as CacheLib: gets and sets copy items of a mix of sizes. It receives no
    /// packets.
    Cachelib: cachelib::CachelibPlan,
    /// Replay of descriptors that a program submitted to copy engines. It receives no packets.
    DescriptorReplay: descriptor_replay::DescriptorReplayPlan,
    /// Ranks that pass messages through shared memory: ping-pong, remote writes, all-reduce. They receive
    /// no packets.
    MessagePassing: message_passing::MessagePassingPlan,
    /// NVMe/TCP target: reads of remote initiators, answered from SSDs with or without a data digest.
    NvmeTcpTarget: nvme_tcp_target::NvmeTcpTargetPlan,
}

/// Keys of a tenant that kinds of devices and applications declare.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct KindKeys {
    /// The key that names the application.
    #[serde(flatten)]
    pub chosen: ApplicationKey,
    /// Keys of its devices.
    #[serde(flatten)]
    pub devices: DeviceKeys,
    /// Tables of applications.
    #[serde(flatten)]
    pub tables: ApplicationTables,
}

/// The key that names an application.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ApplicationKey {
    /// Software of the cores.
    pub application: Application,
}

impl DeviceKeys {
    /// Takes the keys of devices from a tenant's groups of keys.
    ///
    /// # Errors
    /// If the value of a key is invalid.
    pub(crate) fn take(groups: &mut KeyGroups<'_>) -> Result<Self, InputError> {
        Ok(Self {
            port: groups.take()?,
            nic: groups.take()?,
            ssd: groups.take()?,
            dsa: groups.take()?,
            cbdma: groups.take()?,
        })
    }

    /// Reads the files of the devices that the keys name; `file` is the scenario's.
    ///
    /// # Errors
    /// If a device is unknown, or its file is invalid.
    pub(crate) fn read_named(
        &self,
        file: &str,
        replaced: &ReplacedFacts,
    ) -> Result<NamedDevices, InputError> {
        let nic = self.nic.nic.as_ref().map(|name| nic_with(file, name, replaced));
        let ssd = self.ssd.ssd.as_ref().map(|name| ssd_with(file, name, replaced));
        Ok(NamedDevices { nic: nic.transpose()?, ssd: ssd.transpose()? })
    }
}

impl Tables for KindKeys {
    fn find(&self, table: TypeId) -> Option<&dyn Any> {
        self.devices.find(table).or_else(|| self.tables.find(table))
    }

    fn application(&self) -> String {
        self.chosen.application.name()
    }

    fn packets(&self) -> Packets {
        self.chosen.application.packets()
    }

    fn device_keys(&self) -> Vec<String> {
        names::<DeviceKeys>()
    }
}

impl TablesMut for KindKeys {
    fn find_mut(&mut self, table: TypeId) -> Option<&mut dyn Any> {
        match self.devices.find_mut(table) {
            None => self.tables.find_mut(table),
            found => found,
        }
    }
}

impl Application {
    /// The name of the application in scenario files, in kebab case.
    pub(crate) fn name(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().into()
    }

    /// Keys that have no effect on a tenant with this application, each with the reason.
    pub(crate) fn inert_keys(self, tenant: TenantRef<'_>) -> Vec<Inert> {
        let others = names::<ApplicationTables>().into_iter();
        let others = others.filter(|table| self.table() != Some(table.as_str()));
        let because = format!("it belongs to another application than {}", self.name());
        let mut inert: Vec<Inert> = Inert::all(others, &because).collect();
        inert.extend(self.inert(tenant));
        inert
    }

    /// All memory nodes that a tenant with this application uses.
    pub(crate) fn all_memory_nodes(self, tenant: TenantRef<'_>) -> Vec<MemoryNode> {
        let mut nodes = self.memory_nodes(tenant);
        nodes.push(tenant.keys.memory_node);
        nodes
    }

    /// Checks a tenant's keys, also against platform and devices, and resolves its application.
    ///
    /// # Errors
    /// Names the first value that is out of range or contradicts another.
    pub(crate) fn plan(self, input: &TenantInput<'_>) -> Result<AnyApplication, InputError> {
        Self::check_tables(input)?;
        let filled = input.tenant.keys.initial_content == InitialContent::StoreFilled;
        if filled && !self.fills_store() {
            let allowed = "only with application = \"key-value\"".into();
            return Err(input.check.refuse("initial_content", &"store-filled", allowed));
        }
        self.plan_application(input)
    }
}

/// Checks the rules of applications about all tenants together, in a fixed order.
///
/// # Errors
/// Names the first value that contradicts another.
pub(crate) fn check_applications_together(
    tenants: &[(Application, TenantRef<'_>)],
    check: &Check<'_>,
) -> Result<(), InputError> {
    let that_run = |applications: &[Application]| -> Vec<TenantRef<'_>> {
        let of_these = tenants.iter().filter(|(own, _)| applications.contains(own));
        of_these.map(|(_, tenant)| *tenant).collect()
    };
    offload::check_together(&that_run(&[Application::Offload]), check)?;
    key_value::check_together(
        &that_run(&[Application::KeyValue, Application::KeyValueMemory]),
        check,
    )
}

/// Checks the rules of devices about the devices of all tenants together.
///
/// # Errors
/// Names the first value that contradicts another.
pub(crate) fn check_devices_together(
    tenants: &[(TenantRef<'_>, &[PortPlan])],
    check: &Check<'_>,
) -> Result<(), InputError> {
    dsa::check::check_together(tenants.iter().copied(), check)
}
