//! A tenant as the rooms of kinds see it: the keys that every tenant has, and the table of each kind.

use crate::contract::application::Packets;
use crate::facts::platform::{MOST_CORES, Platform};
use crate::text::check::Check;
use crate::text::error::InputError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::{Any, TypeId};
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Name of the tenant that the top-level keys describe.
pub(crate) const MAIN: &str = "main";

/// Percent of the memory bandwidth.
pub(crate) const MBA_PERCENT: (u32, u32) = (10, 100);
/// Largest number of sockets of a machine.
pub(crate) const SOCKETS: usize = 2;
/// Number of the last socket.
pub(crate) const LAST_SOCKET: u32 = 1;
const _: () = assert!(LAST_SOCKET as usize + 1 == SOCKETS);

/// Keys of every tenant, for any application and devices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct TenantKeys {
    /// Name in results: the metrics of all tenants but the main one begin with it.
    pub name: String,
    /// Cores in use, one receive and one send queue each.
    #[schemars(range(min = 1, max = MOST_CORES))]
    pub cores: u32,
    /// The socket of the cores.
    #[schemars(range(min = 0, max = LAST_SOCKET))]
    pub socket: u32,
    /// The memory of buffers and rings.
    pub memory_node: MemoryNode,
    /// CAT mask of the cores. All ways by default, also for tenants beside the main one.
    #[schemars(range(min = 1, max = u32::MAX))]
    pub core_way_mask: Option<u32>,
    /// Size of the pages of driver memory.
    pub page_size: PageSize,
    /// Content of the caches before time zero.
    pub initial_content: InitialContent,
    /// Memory bandwidth that the cores may use, in percent of their unlimited use (Intel MBA).
    #[schemars(range(min = MBA_PERCENT.0, max = MBA_PERCENT.1))]
    pub mba_percent: u32,
}

impl Default for TenantKeys {
    fn default() -> Self {
        Self {
            name: MAIN.into(),
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

/// A memory node, seen from the forwarding cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MemoryNode {
    /// DRAM of the forwarding cores' socket.
    #[default]
    Local,
    /// DRAM of the other socket.
    OtherSocket,
    /// CXL memory attached to the forwarding cores' socket.
    Cxl,
}

/// Size of the pages of a tenant's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum PageSize {
    /// 2 MiB huge pages.
    #[default]
    #[serde(rename = "2M")]
    Huge2M,
    /// 1 GiB huge pages.
    #[serde(rename = "1G")]
    Huge1G,
}

impl PageSize {
    /// Bytes of a page.
    #[must_use]
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Huge2M => 2 << 20,
            Self::Huge1G => 1 << 30,
        }
    }
}

/// Content of the caches before time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InitialContent {
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

/// The keys of a kind, as a tenant has them: a table, or a group of keys.
///
/// `kinds.rs` implements it for each type that it lists, so that no room can ask for another.
pub(crate) trait Table: Any {}

/// The tables of all kinds, as the list of kinds holds them.
pub(crate) trait Tables: Debug {
    /// The table of a type.
    fn find(&self, table: TypeId) -> Option<&dyn Any>;

    /// Name of the tenant's application in scenario files.
    fn application(&self) -> String;

    /// Direction of the packets of the tenant's application.
    fn packets(&self) -> Packets;

    /// Names of the keys of all devices.
    fn device_keys(&self) -> Vec<String>;
}

/// The tables of a tenant, to be changed.
pub(crate) trait TablesMut: Tables {
    /// The table of a type.
    fn find_mut(&mut self, table: TypeId) -> Option<&mut dyn Any>;
}

/// A tenant, read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TenantRef<'t> {
    /// Keys that every tenant has.
    pub keys: &'t TenantKeys,
    /// The tables of all kinds.
    pub tables: &'t dyn Tables,
}

impl<'t> TenantRef<'t> {
    /// The table of a kind.
    ///
    /// # Panics
    /// Never: a type is a [`Table`] only if the list of kinds has it.
    pub(crate) fn table<K: Table>(self) -> &'t K {
        let found = self.tables.find(TypeId::of::<K>());
        found.and_then(<dyn Any>::downcast_ref).expect("the list of kinds has every table")
    }

    /// Name of its application in scenario files.
    pub(crate) fn application(self) -> String {
        self.tables.application()
    }
}

/// A tenant whose defaults are filled in.
#[derive(Debug)]
pub(crate) struct TenantMut<'t> {
    /// Keys that every tenant has.
    pub keys: &'t mut TenantKeys,
    /// The tables of all kinds.
    pub tables: &'t mut dyn TablesMut,
    /// Dotted keys that the tenant's own table states.
    pub stated: &'t BTreeSet<String>,
}

impl TenantMut<'_> {
    /// The table of a kind, to be changed.
    ///
    /// # Panics
    /// Never: a type is a [`Table`] only if the list of kinds has it.
    pub(crate) fn table<K: Table>(&mut self) -> &mut K {
        let found = self.tables.find_mut(TypeId::of::<K>());
        found.and_then(<dyn Any>::downcast_mut).expect("the list of kinds has every table")
    }
}

/// Tables of which one is replaced.
#[derive(Debug)]
pub(crate) struct ReplacedTable<'t, K> {
    /// The table in place of that of the same type.
    pub table: K,
    /// All other tables.
    pub others: &'t dyn Tables,
}

impl<K: Table + Debug> Tables for ReplacedTable<'_, K> {
    fn find(&self, table: TypeId) -> Option<&dyn Any> {
        if table == TypeId::of::<K>() { Some(&self.table) } else { self.others.find(table) }
    }

    fn application(&self) -> String {
        self.others.application()
    }

    fn packets(&self) -> Packets {
        self.others.packets()
    }

    fn device_keys(&self) -> Vec<String> {
        self.others.device_keys()
    }
}

/// A memory node that the platform has.
pub(crate) fn memory_node(
    check: &Check<'_>,
    key: &str,
    node: MemoryNode,
    platform: &Platform,
) -> Result<(), InputError> {
    match node {
        MemoryNode::OtherSocket if platform.upi.is_none() => {
            let allowed = "a second socket needs a platform with a [upi] table".into();
            Err(check.refuse(key, &"other-socket", allowed))
        }
        MemoryNode::Cxl if platform.cxl.is_none() => {
            let allowed = "needs a platform with a [cxl] table".into();
            Err(check.refuse(key, &"cxl", allowed))
        }
        _ => Ok(()),
    }
}

/// A socket that the platform has.
pub(crate) fn socket(
    check: &Check<'_>,
    key: &str,
    socket: u32,
    platform: &Platform,
) -> Result<(), InputError> {
    check.whole(key, socket, (0, LAST_SOCKET), "")?;
    if socket > 0 && platform.upi.is_none() {
        let allowed = "a second socket needs a platform with a [upi] table".into();
        return Err(check.refuse(key, &socket, allowed));
    }
    Ok(())
}

/// A mask that CAT accepts for an LLC of `ways` ways.
pub(crate) fn way_mask(
    check: &Check<'_>,
    key: &str,
    mask: u32,
    ways: u32,
) -> Result<(), InputError> {
    // 64 bits, because all of 32 ways are a mask.
    let wide = u64::from(mask);
    let contiguous = mask != 0 && ((wide >> mask.trailing_zeros()) + 1).is_power_of_two();
    if contiguous && wide < 1 << ways {
        return Ok(());
    }
    let all = (1u64 << ways) - 1;
    let allowed = format!("allowed: 0x1 to {all:#x}, contiguous ways, as CAT requires");
    Err(check.refuse(key, &format!("{mask:#x}"), allowed))
}
