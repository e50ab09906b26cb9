//! The logical CPUs of a machine: their sockets, cores, caches and nodes, online or not.
//!
//! As the kernel does, an offline CPU has a directory and a link from its node, and nothing else: its
//! topology, its caches and its registers are not shown.

use serde::Deserialize;

use crate::ExpandError;
use crate::tree::Tree;

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cpu {
    vendor: String,
    family: u32,
    model: u32,
    stepping: u32,
    name: String,
    pub(crate) sockets: u32,
    cores_per_socket: u32,
    /// Number of dies, each with its own boxes.
    #[serde(default = "one")]
    dies_per_socket: u32,
    /// Number of NUMA nodes (sub-NUMA clusters).
    #[serde(default = "one")]
    nodes_per_socket: u32,
    /// Number of threads of a core; the second ones are numbered after all first ones.
    #[serde(default = "one")]
    threads_per_core: u32,
    #[serde(default)]
    numbering: Numbering,
    /// Number of parts of a socket in each of which the kernel's core numbers begin with 0.
    #[serde(default = "one")]
    core_groups_per_socket: u32,
    /// The kind of these parts: whether the kernel numbers them.
    #[serde(default)]
    core_groups: CoreGroups,
    /// CPUs that are present and offline.
    #[serde(default)]
    offline: Vec<u32>,
    /// CPUs without cache files.
    #[serde(default)]
    without_caches: Vec<u32>,
    flags: String,
}

/// Order of the CPUs' numbers.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Numbering {
    /// Socket after socket.
    #[default]
    Blocks,
    /// One of each socket in turn.
    Interleaved,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum CoreGroups {
    #[default]
    Die,
    Cluster,
    /// The kernel shows no number of modules.
    Module,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cache {
    size_kib: u64,
    ways: u32,
    pub(crate) per_socket: u32,
    /// Level of the cache; a machine whose last one is of level 2 has no LLC.
    #[serde(default = "three")]
    level: u32,
    /// Ways of each socket's caches where they differ.
    #[serde(default)]
    ways_by_socket: Vec<u32>,
    /// Size of a cache of level 4 behind them, in KiB.
    level_4_kib: Option<u64>,
}

fn three() -> u32 {
    3
}

/// A logical CPU and its place.
#[derive(Clone, Copy)]
struct LogicalCpu {
    number: u32,
    socket: u32,
    /// Number of the core within the socket.
    core: u32,
}

impl Cpu {
    /// Number of NUMA nodes.
    pub(crate) fn nodes(&self) -> u32 {
        self.sockets * self.nodes_per_socket
    }

    fn all(&self) -> Vec<LogicalCpu> {
        let (sockets, cores) = (self.sockets, self.cores_per_socket);
        let place = |number: u32| {
            let first_thread = number % (sockets * cores);
            let (socket, core) = match self.numbering {
                Numbering::Blocks => (first_thread / cores, first_thread % cores),
                Numbering::Interleaved => (first_thread % sockets, first_thread / sockets),
            };
            LogicalCpu { number, socket, core }
        };
        (0..sockets * cores * self.threads_per_core).map(place).collect()
    }

    fn online(&self) -> Vec<LogicalCpu> {
        let mut all = self.all();
        all.retain(|cpu| !self.offline.contains(&cpu.number));
        all
    }

    /// Number of a part of the machine: each socket has so many, and its cores are divided among them.
    fn part(&self, cpu: LogicalCpu, per_socket: u32) -> u32 {
        let cores_per_part = (self.cores_per_socket / per_socket).max(1);
        cpu.socket * per_socket + (cpu.core / cores_per_part).min(per_socket - 1)
    }

    /// Whether a socket has online CPUs.
    pub(crate) fn is_reachable(&self, socket: u32) -> bool {
        self.online().iter().any(|cpu| cpu.socket == socket)
    }

    /// First online CPU of each die. Linux names one CPU of each die since 5.3, before it one of each
    /// socket (recalled).
    pub(crate) fn readers(&self) -> Vec<u32> {
        let online = self.online();
        let die = |cpu: LogicalCpu| self.part(cpu, self.dies_per_socket);
        let first = |wanted| online.iter().find(|&&cpu| die(cpu) == wanted).map(|cpu| cpu.number);
        (0..self.sockets * self.dies_per_socket).filter_map(first).collect()
    }

    pub(crate) fn write(&self, tree: &Tree, cache: &Cache) -> Result<(), ExpandError> {
        let online = self.online();
        let mut cpuinfo = String::new();
        for &cpu in &online {
            let LogicalCpu { number, socket, .. } = cpu;
            cpuinfo += &format!(
                "processor\t: {number}\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n\
                 model name\t: {}\nstepping\t: {}\nphysical id\t: {socket}\nflags\t\t: {}\n\n",
                self.vendor, self.family, self.model, self.name, self.stepping, self.flags
            );
            self.write_topology(tree, &online, cpu)?;
            if !self.without_caches.contains(&number) {
                self.write_caches(tree, &online, cpu, cache)?;
            }
        }
        tree.file("proc/cpuinfo", &cpuinfo)?;
        let all = self.all();
        for cpu in &all {
            let switch = u32::from(!self.offline.contains(&cpu.number));
            tree.line(&format!("{CPUS}/cpu{}/online", cpu.number), switch)?;
        }
        tree.line(&format!("{CPUS}/online"), list(&online))?;
        tree.line(&format!("{CPUS}/present"), list(&all))?;
        self.write_nodes(tree, &all, &online)
    }

    fn write_topology(
        &self,
        tree: &Tree,
        online: &[LogicalCpu],
        cpu: LogicalCpu,
    ) -> Result<(), ExpandError> {
        let topology = format!("{CPUS}/cpu{}/topology", cpu.number);
        let cores_per_group = (self.cores_per_socket / self.core_groups_per_socket).max(1);
        let (group, core) = (cpu.core / cores_per_group, cpu.core % cores_per_group);
        tree.line(&format!("{topology}/physical_package_id"), cpu.socket)?;
        tree.line(&format!("{topology}/core_id"), core)?;
        match self.core_groups {
            CoreGroups::Die => tree.line(&format!("{topology}/die_id"), group)?,
            CoreGroups::Cluster => tree.line(&format!("{topology}/cluster_id"), group)?,
            CoreGroups::Module => {}
        }
        let siblings = among(online, |it| (it.socket, it.core) == (cpu.socket, cpu.core));
        tree.line(&format!("{topology}/core_cpus_list"), &siblings)?;
        tree.line(&format!("{topology}/thread_siblings_list"), &siblings)
    }

    fn write_caches(
        &self,
        tree: &Tree,
        online: &[LogicalCpu],
        cpu: LogicalCpu,
        cache: &Cache,
    ) -> Result<(), ExpandError> {
        let folder = format!("{CPUS}/cpu{}/cache", cpu.number);
        let number = self.part(cpu, cache.per_socket);
        let ways = cache.ways_by_socket.get(cpu.socket as usize).unwrap_or(&cache.ways);
        let put = |index: u32, level: u32, id: u32, size_kib: u64, shared: &str| {
            let place = format!("{folder}/index{index}");
            tree.line(&format!("{place}/level"), level)?;
            tree.line(&format!("{place}/id"), id)?;
            tree.line(&format!("{place}/type"), "Unified")?;
            tree.line(&format!("{place}/size"), format!("{size_kib}K"))?;
            tree.line(&format!("{place}/ways_of_associativity"), ways)?;
            tree.line(&format!("{place}/shared_cpu_list"), shared)
        };
        let shared = among(online, |it| self.part(*it, cache.per_socket) == number);
        put(3, cache.level, number, cache.size_kib, &shared)?;
        if let Some(size_kib) = cache.level_4_kib {
            let shared = among(online, |it| it.socket == cpu.socket);
            put(4, 4, cpu.socket, size_kib, &shared)?;
        }
        Ok(())
    }

    fn write_nodes(
        &self,
        tree: &Tree,
        all: &[LogicalCpu],
        online: &[LogicalCpu],
    ) -> Result<(), ExpandError> {
        for node in 0..self.nodes() {
            let folder = format!("{NODES}/node{node}");
            let is_in = |cpu: &LogicalCpu| self.part(*cpu, self.nodes_per_socket) == node;
            tree.line(&format!("{folder}/cpulist"), among(online, is_in))?;
            for cpu in all.iter().filter(|cpu| is_in(cpu)) {
                let name = format!("cpu{}", cpu.number);
                tree.link(&format!("{folder}/{name}"), &format!("../../cpu/{name}"))?;
            }
        }
        Ok(())
    }
}

fn among(cpus: &[LogicalCpu], is_in: impl Fn(&LogicalCpu) -> bool) -> String {
    list(&cpus.iter().copied().filter(|cpu| is_in(cpu)).collect::<Vec<_>>())
}

/// Ascending numbers as the kernel lists them, like `0-3,8`.
fn list(cpus: &[LogicalCpu]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu.number => *last = cpu.number,
            _ => runs.push((cpu.number, cpu.number)),
        }
    }
    let run = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(",")
}
