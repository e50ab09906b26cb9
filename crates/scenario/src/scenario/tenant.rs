//! A tenant: an application on its cores, with devices of its own. Defaults are those of the measured
//! testbed.

use super::{check, recorded};
use crate::apps::{Application, ApplicationTables};
use crate::devices::DeviceKeys;
use crate::input::error::InputError;
use crate::input::key_groups::KeyGroups;
use crate::platform::MOST_CORES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeSet;
use toml::Table;

/// Name of the tenant that the top-level keys describe.
pub const MAIN: &str = "main";

/// An application on its cores, with devices of its own.
#[derive(Clone, Debug, JsonSchema)]
pub struct Tenant {
    /// Keys that every tenant has.
    #[serde(flatten)]
    pub keys: TenantKeys,
    /// Keys of its devices.
    #[serde(flatten)]
    pub devices: DeviceKeys,
    /// Tables of applications.
    #[serde(flatten)]
    pub tables: ApplicationTables,
    /// Keys that its own table states, dotted.
    #[schemars(skip)]
    pub stated: BTreeSet<String>,
}

/// Keys of every tenant, for any application and devices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TenantKeys {
    /// Name in results: the metrics of all tenants but the main one begin with it.
    pub name: String,
    /// Software of the cores.
    pub application: Application,
    /// Cores in use, one receive and one send queue each.
    #[schemars(range(min = 1, max = MOST_CORES))]
    pub cores: u32,
    /// The socket of the cores.
    #[schemars(range(min = 0, max = check::LAST_SOCKET))]
    pub socket: u32,
    /// The memory of buffers and rings.
    pub memory_node: MemoryNode,
    /// CAT mask of the cores. All ways by default, also for tenants beside the main one.
    #[schemars(range(min = 1, max = u32::MAX))]
    pub core_way_mask: Option<u32>,
    /// Pages of driver memory.
    pub page_size: PageSize,
    /// Content of the caches before time zero.
    pub initial_content: InitialContent,
    /// Memory bandwidth that the cores may use, in percent of their unlimited use (Intel MBA).
    #[schemars(range(min = check::MBA_PERCENT.0, max = check::MBA_PERCENT.1))]
    pub mba_percent: u32,
}

impl Default for TenantKeys {
    fn default() -> Self {
        Self {
            name: MAIN.into(),
            application: Application::default(),
            cores: 1,
            socket: 0,
            memory_node: MemoryNode::default(),
            core_way_mask: None,
            page_size: PageSize::default(),
            initial_content: InitialContent::default(),
            mba_percent: 100,
        }
    }
}

impl Tenant {
    /// Reads the table of a tenant, with what it inherits beside the keys that it states; `file` is its
    /// name in messages.
    pub(super) fn read(
        file: &str,
        table: Table,
        stated: BTreeSet<String>,
    ) -> Result<Self, InputError> {
        let mut groups = KeyGroups::of::<Self>(file, table)?;
        Ok(Self {
            keys: groups.take()?,
            devices: DeviceKeys::take(&mut groups)?,
            tables: groups.take()?,
            stated,
        })
    }
}

impl Serialize for Tenant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        recorded::serialize(self, serializer)
    }
}

/// A memory node, seen from the forwarding cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryNode {
    /// DRAM of the forwarding cores' socket.
    #[default]
    Local,
    /// DRAM of the other socket.
    OtherSocket,
    /// CXL memory attached to the forwarding cores' socket.
    Cxl,
}

/// A page size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PageSize {
    /// 2 MiB huge pages.
    #[default]
    #[serde(rename = "2M")]
    Huge2M,
    /// 1 GiB huge pages.
    #[serde(rename = "1G")]
    Huge1G,
}

impl PageSize {
    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Huge2M => 2 << 20,
            Self::Huge1G => 1 << 30,
        }
    }
}

/// Content of the caches before time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialContent {
    /// The lines that building the buffer pool and the rings leaves.
    #[default]
    PoolBuilt,
    /// As pool-built, after the pages were zeroed one after another.
    PagesZeroed,
    /// As pool-built, after a key-value store was filled item by item.
    StoreFilled,
    /// No lines.
    Empty,
}
