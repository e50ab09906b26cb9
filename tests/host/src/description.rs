//! Format of `machine.toml`, which describes the files that the kernel of a server shows.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ExpandError;
use crate::config_space;
use crate::cpus::{Cache, Cpu};
use crate::tree::Tree;

const CPUS: &str = "sys/devices/system/cpu";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    cpu: Cpu,
    cache: Cache,
    #[serde(default)]
    unit: Vec<Unit>,
    #[serde(default)]
    pci: Vec<PciFunction>,
    #[serde(default)]
    extended_chain: Vec<ExtendedChain>,
    #[serde(default)]
    resctrl: BTreeMap<String, String>,
    /// Clock of the uncore in MHz.
    uncore_mhz: Option<UncoreMhz>,
    /// Huge pages by size in KiB: for each node the number of pages and of free ones.
    #[serde(default)]
    hugepages: BTreeMap<String, Vec<[u64; 2]>>,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// Least, greatest and current clock of all dies, or of each die of a socket.
#[derive(Deserialize)]
#[serde(untagged)]
enum UncoreMhz {
    Alike([u64; 3]),
    ByDie(Vec<[u64; 3]>),
}

impl UncoreMhz {
    fn of_die(&self, die: u32) -> [u64; 3] {
        match self {
            Self::Alike(clock) => *clock,
            Self::ByDie(clocks) => clocks[die as usize],
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    name: String,
    boxes: u32,
    first_type: u32,
    format: BTreeMap<String, String>,
    /// Root bus of each box, for each socket.
    #[serde(default)]
    buses: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PciFunction {
    bdf: String,
    pub(crate) vendor: u16,
    pub(crate) device: u16,
    pub(crate) class: u32,
    #[serde(default)]
    pub(crate) port: PortType,
    /// Secondary and subordinate bus of a bridge.
    pub(crate) buses: Option<[u8; 2]>,
    node: i32,
    pub(crate) link: Option<Link>,
    driver: Option<String>,
    net: Option<String>,
    nvme: Option<String>,
    /// Pairs of offset and value in configuration space.
    #[serde(default)]
    pub(crate) registers: Vec<(usize, u32)>,
    /// Extended capabilities that replace those of its kind.
    capabilities: Option<Vec<ExtendedCapability>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PortType {
    #[default]
    Endpoint,
    RootPort,
    SwitchUpstream,
    SwitchDownstream,
}

/// Extended capabilities of each function of a kind, in the order of the list that they form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtendedChain {
    vendor: u16,
    device: u16,
    capabilities: Vec<ExtendedCapability>,
}

/// An extended capability: offset, ID, version, and the words behind its header.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendedCapability {
    pub(crate) at: u16,
    pub(crate) id: u16,
    pub(crate) version: u32,
    #[serde(default)]
    pub(crate) body: Vec<u32>,
}

/// PCIe link: pairs of speed code (3 is 8 GT/s) and width; transfer sizes in bytes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    pub(crate) now: [u32; 2],
    pub(crate) most: [u32; 2],
    pub(crate) mps: u32,
    pub(crate) mrrs: u32,
}

impl Machine {
    pub(crate) fn write(&self, tree: &Tree) -> Result<(), ExpandError> {
        self.cpu.write(tree, &self.cache)?;
        for unit in &self.unit {
            unit.write(tree, &self.cpu)?;
        }
        tree.file("sys/bus/event_source/devices/software/type", "1\n")?;
        for function in &self.pci {
            let same = |chain: &&ExtendedChain| {
                (chain.vendor, chain.device) == (function.vendor, function.device)
            };
            let chain = self.extended_chain.iter().find(same).map(|chain| &chain.capabilities);
            let chain = function.capabilities.as_ref().or(chain);
            function.write(tree, chain.map_or(&[], |chain| chain))?;
        }
        for (path, text) in &self.resctrl {
            tree.file(&format!("sys/fs/resctrl/{path}"), text)?;
        }
        self.write_rest(tree)?;
        for (path, text) in &self.files {
            tree.file(path, text)?;
        }
        Ok(())
    }

    fn write_rest(&self, tree: &Tree) -> Result<(), ExpandError> {
        for socket in (0..self.cpu.sockets).filter(|socket| self.cpu.is_reachable(*socket)) {
            let Some(clock) = &self.uncore_mhz else { continue };
            for die in 0..self.cache.per_socket {
                let folder =
                    format!("{CPUS}/intel_uncore_frequency/package_{socket:02}_die_{die:02}");
                let [least, most, now] = clock.of_die(die);
                tree.line(&format!("{folder}/min_freq_khz"), least * 1000)?;
                tree.line(&format!("{folder}/max_freq_khz"), most * 1000)?;
                tree.line(&format!("{folder}/current_freq_khz"), now * 1000)?;
            }
        }
        for (size, nodes) in &self.hugepages {
            for (node, [pages, free]) in nodes.iter().enumerate() {
                let folder =
                    format!("sys/devices/system/node/node{node}/hugepages/hugepages-{size}kB");
                tree.line(&format!("{folder}/nr_hugepages"), pages)?;
                tree.line(&format!("{folder}/free_hugepages"), free)?;
            }
        }
        Ok(())
    }
}

impl Unit {
    fn write(&self, tree: &Tree, cpu: &Cpu) -> Result<(), ExpandError> {
        let readers: Vec<String> = cpu.readers().iter().map(ToString::to_string).collect();
        for number in 0..self.boxes {
            let folder = format!("sys/bus/event_source/devices/{}_{number}", self.name);
            tree.line(&format!("{folder}/type"), self.first_type + number)?;
            tree.line(&format!("{folder}/cpumask"), readers.join(","))?;
            for (field, place) in &self.format {
                tree.line(&format!("{folder}/format/{field}"), place)?;
            }
            for (socket, buses) in self.buses.iter().enumerate() {
                if let Some(bus) = buses.get(number as usize) {
                    tree.line(&format!("{folder}/die{socket}"), bus)?;
                }
            }
        }
        Ok(())
    }
}

/// Directory of a function in sysfs.
pub(crate) fn folder(bdf: &str) -> String {
    format!("sys/devices/pci{}/{bdf}", &bdf[..7.min(bdf.len())])
}

impl PciFunction {
    pub(crate) fn bus(&self) -> u8 {
        let digits = self.bdf.split(':').nth(1).unwrap_or_default();
        u8::from_str_radix(digits, 16).unwrap_or(0)
    }

    fn write(&self, tree: &Tree, chain: &[ExtendedCapability]) -> Result<(), ExpandError> {
        let place = folder(&self.bdf);
        tree.line(&format!("{place}/class"), format!("{:#08x}", self.class))?;
        tree.line(&format!("{place}/vendor"), format!("{:#06x}", self.vendor))?;
        tree.line(&format!("{place}/device"), format!("{:#06x}", self.device))?;
        tree.line(&format!("{place}/numa_node"), self.node)?;
        tree.bytes(&format!("{place}/config"), &config_space::bytes(self, chain))?;
        if let Some(driver) = &self.driver {
            tree.link(&format!("{place}/driver"), &format!("../../../bus/pci/drivers/{driver}"))?;
        }
        if let Some(name) = &self.net {
            tree.line(&format!("{place}/net/{name}/operstate"), "up")?;
        }
        if let Some(name) = &self.nvme {
            tree.line(&format!("{place}/nvme/{name}/state"), "live")?;
        }
        let link = format!("sys/bus/pci/devices/{}", self.bdf);
        tree.link(&link, &format!("../../../devices/pci{}/{}", &self.bdf[..7], self.bdf))
    }
}
