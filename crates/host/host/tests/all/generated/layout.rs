//! CPUs of a drawn machine: threads, numbering, offline ones, and caches as their CPUs describe them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{CORES, Spec};

/// The last-level cache as the kernel describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribedLlc {
    Level3,
    /// Another cache is behind it.
    WithLevel4,
    /// The last cache is one of level 2.
    OnlyLevel2,
    /// The last socket has a way more than the others.
    DifferentWays,
}

/// Layout of the CPUs of all sockets.
#[derive(Clone, Debug)]
pub struct Layout {
    pub threads: u32,
    pub is_interleaved: bool,
    /// Parts of a socket in which numbers of cores begin with 0, and their kind.
    pub groups: u32,
    pub group_kind: &'static str,
    pub offline: Vec<u32>,
    pub without_caches: Vec<u32>,
    pub llc: DescribedLlc,
}

impl Layout {
    /// The same layout, with all CPUs online and all caches described.
    pub fn whole(self) -> Self {
        let llc = DescribedLlc::Level3;
        Self { offline: Vec::new(), without_caches: Vec::new(), llc, ..self }
    }
}

/// The CPUs of a socket, all of them, in a layout.
fn cpus_of(socket: u32, sockets: u32, threads: u32, is_interleaved: bool) -> Vec<u32> {
    let all = sockets * CORES;
    let of = move |number: &u32| {
        let first_thread = number % all;
        let at = if is_interleaved { first_thread % sockets } else { first_thread / CORES };
        at == socket
    };
    (0..all * threads).filter(of).collect()
}

/// Most machines have all CPUs online; of the others some lack a few, some whole sockets.
pub fn layout(sockets: u32) -> impl Strategy<Value = Layout> {
    let shape = (1u32..3, any::<bool>(), prop_oneof![Just(1u32), Just(2), Just(4)]);
    let kind = prop_oneof![Just("die"), Just("cluster"), Just("module")];
    let sockets_off = prop::collection::btree_set(0..sockets, 0..sockets as usize);
    let some_off = prop::collection::btree_set(0..sockets * CORES * 2, 1..4);
    let off = prop_oneof![
        5 => Just((BTreeSet::new(), BTreeSet::new())),
        1 => sockets_off.clone().prop_map(|off| (off, BTreeSet::new())),
        1 => some_off.clone().prop_map(|off| (BTreeSet::new(), off)),
        1 => (sockets_off, some_off),
    ];
    let without = prop_oneof![
        8 => Just(BTreeSet::new()),
        1 => prop::collection::btree_set(0..sockets * CORES, 1..3),
    ];
    let llc = prop_oneof![
        8 => Just(DescribedLlc::Level3),
        2 => Just(DescribedLlc::WithLevel4),
        1 => Just(DescribedLlc::OnlyLevel2),
        1 => Just(DescribedLlc::DifferentWays),
    ];
    (shape, kind, off, without, llc).prop_map(
        move |((threads, is_interleaved, groups), group_kind, off, without, llc)| {
            let (sockets_off, some_off) = off;
            let all = sockets * CORES * threads;
            let of_sockets =
                sockets_off.iter().flat_map(|&it| cpus_of(it, sockets, threads, is_interleaved));
            let mut offline: BTreeSet<u32> = of_sockets.chain(some_off).collect();
            offline.retain(|cpu| *cpu < all);
            if offline.len() == all as usize {
                offline.clear();
            }
            let llc = match llc {
                // With one socket, or one that is left, nothing differs.
                DescribedLlc::DifferentWays if sockets == 1 || !offline.is_empty() => {
                    DescribedLlc::Level3
                }
                llc => llc,
            };
            Layout {
                threads,
                is_interleaved,
                groups,
                group_kind,
                offline: offline.into_iter().collect(),
                without_caches: without.into_iter().collect(),
                llc,
            }
        },
    )
}

impl Spec {
    /// Online CPUs of a socket.
    pub fn cpus(&self, socket: u32) -> Vec<u32> {
        let layout = &self.layout;
        let mut cpus = cpus_of(socket, self.sockets, layout.threads, layout.is_interleaved);
        cpus.retain(|cpu| !layout.offline.contains(cpu));
        cpus
    }

    /// Sockets with online CPUs.
    pub fn reachable(&self) -> Vec<u32> {
        (0..self.sockets).filter(|&socket| !self.cpus(socket).is_empty()).collect()
    }

    /// Number of a CPU's core within its socket.
    fn core_of(&self, cpu: u32) -> u32 {
        let first_thread = cpu % (self.sockets * CORES);
        match self.layout.is_interleaved {
            true => first_thread / self.sockets,
            false => first_thread % CORES,
        }
    }

    /// Number of cores with an online CPU.
    pub fn cores(&self, socket: u32) -> usize {
        let cores = self.cpus(socket).into_iter().map(|cpu| self.core_of(cpu));
        cores.collect::<BTreeSet<u32>>().len()
    }

    /// Whether a node has an online CPU.
    pub fn has_cpus(&self, node: u32) -> bool {
        let (socket, part) = (node / self.nodes_per_socket, node % self.nodes_per_socket);
        let cores_per_node = CORES / self.nodes_per_socket;
        self.cpus(socket).into_iter().any(|cpu| self.core_of(cpu) / cores_per_node == part)
    }

    /// Whether a socket may be hidden: a node has no online CPU, or there is one node only, which tells
    /// nothing, and as many CPUs are offline as online.
    pub fn hides_sockets(&self) -> bool {
        let nodes = self.sockets * self.nodes_per_socket;
        match nodes {
            1 => {
                let offline = self.layout.offline.len();
                offline > 0 && offline >= self.cpus(0).len()
            }
            _ => (0..nodes).any(|node| !self.has_cpus(node)),
        }
    }

    /// Ways of a socket's cache.
    pub fn ways_of(&self, socket: u32) -> u32 {
        let is_other = self.layout.llc == DescribedLlc::DifferentWays && socket + 1 == self.sockets;
        self.ways + u32::from(is_other)
    }

    /// Whether a CPU of a socket describes a cache of level 3.
    pub fn has_llc(&self, socket: u32) -> bool {
        let has = |cpu: &u32| !self.layout.without_caches.contains(cpu);
        self.layout.llc != DescribedLlc::OnlyLevel2 && self.cpus(socket).iter().any(has)
    }

    /// Whether all online CPUs describe the same kind of last-level cache.
    pub fn describes_one_llc(&self) -> bool {
        let online = self.reachable().into_iter().flat_map(|socket| self.cpus(socket));
        let mut without = online.filter(|cpu| self.layout.without_caches.contains(cpu));
        let has_level =
            !matches!(self.layout.llc, DescribedLlc::OnlyLevel2 | DescribedLlc::DifferentWays);
        has_level && without.next().is_none()
    }
}
