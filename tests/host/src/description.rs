//! Format of `machine.toml`, which describes the files that the kernel of a server shows.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ExpandError;
use crate::config_space;
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cpu {
    vendor: String,
    family: u32,
    model: u32,
    stepping: u32,
    name: String,
    sockets: u32,
    cores_per_socket: u32,
    /// Number of dies, each with its own boxes.
    #[serde(default = "one")]
    dies_per_socket: u32,
    /// Number of NUMA nodes (sub-NUMA clusters).
    #[serde(default = "one")]
    nodes_per_socket: u32,
    flags: String,
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

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cache {
    size_kib: u64,
    ways: u32,
    per_socket: u32,
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
        self.write_cpus(tree)?;
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

    fn write_cpus(&self, tree: &Tree) -> Result<(), ExpandError> {
        let cpu = &self.cpu;
        let count = cpu.sockets * cpu.cores_per_socket;
        let mut cpuinfo = String::new();
        for number in 0..count {
            let (socket, core) = (number / cpu.cores_per_socket, number % cpu.cores_per_socket);
            cpuinfo += &format!(
                "processor\t: {number}\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n\
                 model name\t: {}\nstepping\t: {}\nphysical id\t: {socket}\nflags\t\t: {}\n\n",
                cpu.vendor, cpu.family, cpu.model, cpu.name, cpu.stepping, cpu.flags
            );
            let folder = format!("{CPUS}/cpu{number}");
            tree.line(&format!("{folder}/topology/physical_package_id"), socket)?;
            tree.line(&format!("{folder}/topology/core_id"), core)?;
            let cores_per_cache = (cpu.cores_per_socket / self.cache.per_socket).max(1);
            let cache = number / cores_per_cache;
            let first = cache * cores_per_cache;
            let level = format!("{folder}/cache/index3");
            tree.line(&format!("{level}/level"), 3)?;
            tree.line(&format!("{level}/id"), cache)?;
            tree.line(&format!("{level}/size"), format!("{}K", self.cache.size_kib))?;
            tree.line(&format!("{level}/ways_of_associativity"), self.cache.ways)?;
            let shared = format!("{first}-{}", first + cores_per_cache - 1);
            tree.line(&format!("{level}/shared_cpu_list"), shared)?;
        }
        tree.file("proc/cpuinfo", &cpuinfo)?;
        tree.line(&format!("{CPUS}/online"), format!("0-{}", count - 1))
    }

    fn write_rest(&self, tree: &Tree) -> Result<(), ExpandError> {
        let nodes = self.cpu.sockets * self.cpu.nodes_per_socket;
        let cores_per_node = self.cpu.cores_per_socket / self.cpu.nodes_per_socket;
        for node in 0..nodes {
            let first = node * cores_per_node;
            let cpus = format!("{first}-{}", first + cores_per_node - 1);
            tree.line(&format!("sys/devices/system/node/node{node}/cpulist"), cpus)?;
        }
        for socket in 0..self.cpu.sockets {
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
        // Linux names one CPU of each die since 5.3, before it one of each socket (recalled).
        let cores_per_die = cpu.cores_per_socket / cpu.dies_per_socket;
        let dies = 0..cpu.sockets * cpu.dies_per_socket;
        let readers: Vec<String> = dies.map(|die| (die * cores_per_die).to_string()).collect();
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
