//! Random machines: CPU models, sockets, dies, registers, ports and groups are drawn. Each is written as
//! a description of the library, and knows what a report about it has to contain.

#[path = "generated/boxes.rs"]
mod boxes;
#[path = "generated/expected.rs"]
pub mod expected;
#[path = "generated/layout.rs"]
mod layout;
#[path = "generated/other_user.rs"]
mod other_user;
#[path = "generated/parts.rs"]
mod parts;
#[path = "generated/text.rs"]
mod text;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use crate::machines::empty_directory;

use proptest::prelude::*;
use tempfile::TempDir;

pub use boxes::{BoxControl, Boxes};
pub use layout::{DescribedLlc, Layout};
pub use other_user::{HeldLock, OtherUser};
pub use parts::{PARTS, Part};

/// How a register answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Ok,
    Absent,
    Eperm,
    Eio,
    Short,
    /// All ones.
    Dead,
}

/// Effect of a write to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnWrite {
    Taken,
    Ignored,
    Fault,
    Refused,
    /// Some bits read back as set.
    Widened,
}

/// A root port and the devices below it.
#[derive(Clone, Debug)]
pub struct Port {
    /// Index of the CPU's root port, or another number.
    pub device: usize,
    /// NUMA node; `None` if the firmware does not name one.
    pub node: Option<u32>,
    pub domain: bool,
    /// perfctrlsts_0 and how it answers.
    pub value: u32,
    pub read: Answer,
    pub write: OnWrite,
    /// A capability reaches over the offset of the switch.
    pub is_covered: bool,
    /// Its whole configuration space is all ones.
    pub is_dead: bool,
    pub below: Below,
    /// Codes of speed and width.
    pub link: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    Nothing,
    Nic,
    Ssd,
    /// A switch with two SSDs.
    Switch,
}

#[derive(Clone, Debug)]
pub struct Groups {
    pub all_ways: u64,
    pub shareable: u64,
    pub sparse: Option<bool>,
    pub least_bits: u32,
    /// The default group first; masks by cache.
    pub groups: Vec<Vec<u64>>,
    /// Allocation for I/O: not there, off, or on with masks.
    pub io_alloc: Option<Option<Vec<u64>>>,
}

#[derive(Clone, Debug)]
pub struct Spec {
    pub part: usize,
    pub is_named: bool,
    pub is_virtual: bool,
    pub shows_uncore: bool,
    pub sockets: u32,
    pub dies: u32,
    pub nodes_per_socket: u32,
    pub layout: Layout,
    pub ways: u32,
    /// MSR 0xc8b of each socket, below its ways and above them.
    pub masks: Vec<(u64, u64)>,
    pub msr_driver: Answer,
    pub msr_read: Answer,
    pub msr_write: OnWrite,
    /// Boxes that count look-ups only through registers; else the kernel offers event sources.
    pub boxes: Option<Boxes>,
    pub extended: Answer,
    pub ports: Vec<Port>,
    pub groups: Option<Groups>,
    /// By die.
    pub uncore_mhz: Option<Vec<[u64; 3]>>,
    /// MSR 0x620, which tells the clock's range where the kernel's files do not; none where it is a
    /// fault.
    pub ratio_limit: Option<u64>,
    /// MSR 0x621, the clock now.
    pub ratio_now: Option<u64>,
    /// Pages and free ones by node.
    pub huge_pages: Vec<[u64; 2]>,
    pub others: OtherUser,
}

impl Groups {
    /// A mask like this one that the kernel would hold; nothing for one without ways.
    pub fn possible(&self, mask: u64) -> Option<u64> {
        (mask != 0).then(|| possible(mask, self.sparse == Some(true), self.all_ways))
    }
}

/// How many machines or histories are drawn: a slice of them, as many as a soak has, or PROPTEST_CASES.
pub fn cases(slice: u32, soaked: u32) -> u32 {
    let asked = env::var("PROPTEST_CASES").ok().map(|cases| cases.parse().expect("PROPTEST_CASES"));
    asked.unwrap_or_else(|| soak::amount(slice, soaked))
}

/// Cores of each socket.
pub const CORES: u32 = 4;

impl Spec {
    pub fn part(&self) -> &'static Part {
        &PARTS[self.part]
    }

    /// All ways of a cache.
    pub fn field(&self) -> u64 {
        (1 << self.ways) - 1
    }

    /// The same machine as the server that it could be: every register is there and takes values.
    fn without_obstacles(mut self) -> Self {
        (self.is_named, self.is_virtual, self.shows_uncore) = (true, false, true);
        (self.msr_driver, self.extended) = (Answer::Ok, Answer::Ok);
        (self.msr_read, self.msr_write) = (Answer::Ok, OnWrite::Taken);
        if let Some(boxes) = &mut self.boxes {
            (boxes.read, boxes.write) = (Answer::Ok, OnWrite::Taken);
        }
        self.layout = self.layout.whole();
        let ports = self.part().root_ports.len().max(1);
        for port in &mut self.ports {
            (port.read, port.write) = (Answer::Ok, OnWrite::Taken);
            (port.is_covered, port.is_dead) = (false, false);
            port.device %= ports;
        }
        self
    }

    /// The machine as a tree.
    pub fn expand(&self) -> TempDir {
        let directory = empty_directory();
        let (machine, registers) = (text::machine(self), text::registers(self));
        fake_machines::expand_described(&machine, &registers, directory.path())
            .unwrap_or_else(|error| panic!("{error}\n{machine}\n{registers}"));
        self.write_state(directory.path());
        self.others.act(directory.path());
        directory
    }

    /// Registers of the second and later sockets, which differ from the described value, and ports
    /// that do not answer.
    fn write_state(&self, root: &Path) {
        let values = self.masks.iter().enumerate();
        let mut state: BTreeMap<String, u64> = values
            .map(|(socket, (ways, beside))| (format!("socket{socket}.0xc8b"), ways | beside))
            .collect();
        for (address, value) in [(0x620, self.ratio_limit), (0x621, self.ratio_now)] {
            let of_socket = |socket| Some((format!("socket{socket}.{address:#x}"), value?));
            state.extend((0..self.sockets).filter_map(of_socket));
        }
        let text = serde_json::to_string(&state).expect("values");
        fs::write(root.join("registers.state"), text).expect("registers");
        for (index, port) in self.ports.iter().enumerate().filter(|(_, port)| port.is_dead) {
            let config = root.join(format!("sys/bus/pci/devices/{}/config", port.bdf(index)));
            fs::write(config, [0xff; 4096]).expect("configuration space");
        }
    }
}

impl Port {
    /// Ports have the buses 0x10, 0x18, 0x20 and so on; those of another domain the same ones.
    pub fn bdf(&self, index: usize) -> String {
        format!("{:04x}:{:02x}:00.0", self.domain_number(), 0x10 + 8 * index)
    }

    pub fn domain_number(&self) -> u32 {
        if self.domain { 0x10001 } else { 0 }
    }

    /// The functions below it that a reader looks for.
    pub fn devices(&self, index: usize) -> Vec<String> {
        let bus = 0x10 + 8 * index;
        let at = |bus: usize| format!("{:04x}:{bus:02x}:00.0", self.domain_number());
        match self.below {
            Below::Nothing => Vec::new(),
            Below::Nic | Below::Ssd => vec![at(bus + 1)],
            Below::Switch => vec![at(bus + 3), at(bus + 4)],
        }
    }

    pub fn is_listed(&self, part: &Part) -> bool {
        self.device < part.root_ports.len()
    }
}

pub(crate) fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        12 => Just(Answer::Ok),
        1 => Just(Answer::Eio),
        1 => Just(Answer::Eperm),
        1 => Just(Answer::Short),
        1 => Just(Answer::Dead),
    ]
}

pub(crate) fn on_write() -> impl Strategy<Value = OnWrite> {
    prop_oneof![
        6 => Just(OnWrite::Taken),
        1 => Just(OnWrite::Ignored),
        1 => Just(OnWrite::Fault),
        1 => Just(OnWrite::Refused),
        1 => Just(OnWrite::Widened),
    ]
}

fn port(nodes: u32) -> impl Strategy<Value = Port> {
    let below =
        prop_oneof![Just(Below::Nothing), Just(Below::Nic), Just(Below::Ssd), Just(Below::Switch)];
    let seldom = || prop::bool::weighted(0.15);
    let value = any::<u32>().prop_filter("all ones are no answer", |value| *value != u32::MAX);
    (
        (0usize..12, prop::option::weighted(0.9, 0..nodes), seldom(), value),
        (answer(), on_write(), seldom(), prop::bool::weighted(0.08)),
        (below, 1u32..6, 1u32..17),
    )
        .prop_map(
            |((device, node, domain, value), (read, write, is_covered, is_dead), rest)| {
                let (below, speed, width) = rest;
                let link = [speed, width];
                Port { device, node, domain, value, read, write, is_covered, is_dead, below, link }
            },
        )
}

/// A mask that the kernel would hold: of two ways at least, and without holes but where it allows them.
fn possible(mask: u64, is_sparse: bool, all: u64) -> u64 {
    let high = 63 - mask.leading_zeros();
    let filled = ((2u64 << high) - 1) & !((1 << mask.trailing_zeros()) - 1);
    let mask = if is_sparse { mask } else { filled };
    if mask.count_ones() > 1 { mask } else { (mask | mask << 1 | mask >> 1) & all }
}

fn groups(ways: u32, caches: u32) -> impl Strategy<Value = Groups> {
    let all = (1u64 << ways) - 1;
    let of_caches = move || prop::collection::vec(1..=all, caches as usize);
    let io_alloc = prop::option::of(prop::option::of(of_caches()));
    let sparse = prop::option::of(any::<bool>());
    (prop::collection::vec(of_caches(), 1..4), io_alloc, 0..=all, sparse, 0u32..3).prop_map(
        move |(mut groups, mut io_alloc, shareable, sparse, least_bits)| {
            let of_io = io_alloc.iter_mut().flatten();
            for mask in groups.iter_mut().chain(of_io).flatten() {
                *mask = possible(*mask, sparse == Some(true), all);
            }
            Groups { all_ways: all, shareable, sparse, least_bits, groups, io_alloc }
        },
    )
}

/// Any machine.
pub fn spec() -> impl Strategy<Value = Spec> {
    spec_of(0..PARTS.len())
}

/// Any machine, but most of them of parts with registers that are changed, and half of them without
/// anything that is in the way of a change.
pub fn spec_with_controls() -> impl Strategy<Value = Spec> {
    let has = |part: &Part| part.has_ways || !part.root_ports.is_empty();
    let with: Vec<usize> = (0..PARTS.len()).filter(|&number| has(&PARTS[number])).collect();
    let part = prop_oneof![6 => prop::sample::select(with), 1 => 0..PARTS.len()];
    (spec_of(part), any::<bool>()).prop_map(|(spec, is_open)| match is_open {
        true => spec.without_obstacles(),
        false => spec,
    })
}

/// Whether it is named, virtual and shows its uncore; its masks; how its MSRs answer.
type Server = (bool, bool, bool, Vec<(u64, u64)>, Answer, Answer, OnWrite);

fn server(sockets: u32, ways: u32) -> impl Strategy<Value = Server> {
    let all = (1u64 << ways) - 1;
    // Bits beside the ways are set now and then.
    let beside = prop_oneof![8 => Just(0u64), 1 => (0u64..8).prop_map(move |bits| bits << 24)];
    let masks = prop::collection::vec((0..=all, beside), sockets as usize);
    let driver = prop_oneof![
        12 => Just(Answer::Ok), 1 => Just(Answer::Absent), 1 => Just(Answer::Eperm)
    ];
    let mostly = || prop::bool::weighted(0.92);
    (mostly(), prop::bool::weighted(0.05), mostly(), masks, driver, answer(), on_write())
}

/// Clocks of the dies of a socket, alike or not.
fn clocks(dies: u32) -> impl Strategy<Value = Vec<[u64; 3]>> {
    let clock = [100u64..4000, 100u64..4000, 100u64..4000];
    // How many of least, most and now are the same for all dies.
    (prop::collection::vec(clock, dies as usize), 0usize..4).prop_map(|(mut clocks, alike)| {
        let first = clocks[0];
        clocks.iter_mut().for_each(|clock| clock[..alike].copy_from_slice(&first[..alike]));
        clocks
    })
}

fn spec_of(part: impl Strategy<Value = usize>) -> impl Strategy<Value = Spec> {
    let size = (part, 1u32..5, 1u32..3, 1u32..3, 4u32..21);
    size.prop_flat_map(|(part, sockets, dies, nodes_per_socket, ways)| {
        // Most parts have one die.
        let dies = if ways % 5 == 0 { dies } else { 1 };
        let extended = prop_oneof![
            12 => Just(Answer::Ok), 1 => Just(Answer::Short), 1 => Just(Answer::Eio)
        ];
        let nodes = sockets * nodes_per_socket;
        (
            (server(sockets, ways), layout::layout(sockets)),
            (extended, prop::collection::vec(port(nodes), 0..6), boxes::boxes()),
            prop::option::weighted(0.8, groups(ways, sockets * dies)),
            (
                prop::option::of(clocks(dies)),
                prop::option::of(prop_oneof![1 => Just(u64::MAX), 8 => any::<u64>()]),
                prop::option::of(prop_oneof![1 => Just(u64::MAX), 3 => any::<u64>()]),
            ),
            (
                prop::collection::vec([0u64..5000, 0u64..5000], nodes as usize),
                other_user::other_user(),
            ),
        )
            .prop_map(
                move |((first, layout), (extended, ports, boxes), groups, uncore, rest)| {
                    let (huge_pages, others) = rest;
                    let (uncore_mhz, ratio_limit, ratio_now) = uncore;
                    let (
                        is_named,
                        is_virtual,
                        shows_uncore,
                        masks,
                        msr_driver,
                        msr_read,
                        msr_write,
                    ) = first;
                    // A die whose CPUs are offline or without caches shows itself nowhere.
                    let layout = if dies == 1 { layout } else { layout.whole() };
                    Spec {
                        part,
                        is_named,
                        is_virtual,
                        shows_uncore,
                        sockets,
                        dies,
                        nodes_per_socket,
                        layout,
                        ways,
                        masks,
                        msr_driver,
                        msr_read,
                        msr_write,
                        boxes,
                        extended,
                        ports,
                        groups,
                        uncore_mhz,
                        ratio_limit,
                        ratio_now,
                        huge_pages,
                        others,
                    }
                },
            )
    })
}
