//! What a reader has to be told about a drawn machine, by the rules of the manuals: none of the tool's
//! own tables or decisions is asked.

use std::collections::BTreeMap;

use super::{Answer, Below, Port, Spec};

/// The state of a port's switch as the status names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// No known switch, or a capability where it would be.
    None,
    On,
    Off,
    NoResponse,
    Unavailable,
}

/// A port that the status has to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedPort {
    pub bdf: String,
    pub switch: Switch,
    /// Below it, in the order of their addresses.
    pub devices: Vec<String>,
    /// The socket that it is shown at; none where nothing tells.
    pub socket: Option<u32>,
    /// Speed and width of the first device's link, where configuration space can be read.
    pub link: Option<[u32; 2]>,
}

impl Spec {
    /// Whether registers of this machine may be believed to be those of its part.
    pub fn is_server(&self) -> bool {
        let part = self.part();
        let is_named = self.is_named || !self.tells_by_name();
        part.is_known
            && !self.is_virtual
            && is_named
            && (self.shows_uncore || part.uncore.is_none())
    }

    /// Parts without registers that are written are not told from others of the same model.
    fn tells_by_name(&self) -> bool {
        self.part().uncore.is_some()
    }

    /// The mask of I/O ways of a socket.
    pub fn io_ways(&self, socket: usize) -> Option<u64> {
        let readable = self.msr_driver == Answer::Ok && self.msr_read == Answer::Ok;
        let number = u32::try_from(socket).expect("few sockets");
        let has = self.is_server() && self.part().has_ways && self.dies == 1 && readable;
        let has = has && self.has_llc(number);
        let (ways, beside) = self.masks[socket];
        has.then_some(ways | beside)
    }

    fn switch(&self, port: &Port) -> Switch {
        if !self.is_server() || !port.is_listed(self.part()) {
            return Switch::None;
        }
        match (self.extended, port.read) {
            (Answer::Ok, _) if port.is_covered => Switch::None,
            (Answer::Ok, Answer::Ok) if port.value >> 7 & 1 == 1 => Switch::On,
            (Answer::Ok, Answer::Ok) => Switch::Off,
            (Answer::Ok, Answer::Dead) => Switch::NoResponse,
            _ => Switch::Unavailable,
        }
    }

    /// The socket at which a port of a node is shown.
    fn socket_of(&self, node: Option<u32>) -> Option<u32> {
        let is_one_node = self.sockets * self.nodes_per_socket == 1;
        match (node, self.reachable().as_slice()) {
            _ if is_one_node && self.hides_sockets() => None,
            (Some(node), _) => self.has_cpus(node).then_some(node / self.nodes_per_socket),
            (None, [only]) if !self.hides_sockets() => Some(*only),
            (None, _) => None,
        }
    }

    /// Ports by address.
    pub fn expected_ports(&self) -> BTreeMap<String, ExpectedPort> {
        let mut found = BTreeMap::new();
        for (index, port) in self.ports.iter().enumerate().filter(|(_, port)| !port.is_dead) {
            let switch = self.switch(port);
            let is_listed = self.is_server() && port.is_listed(self.part());
            let devices = port.devices(index);
            if devices.is_empty() && !is_listed {
                continue;
            }
            let has_link = matches!(port.below, Below::Nic | Below::Ssd);
            let link = (self.extended == Answer::Ok && has_link).then_some(port.link);
            let bdf = port.bdf(index);
            let socket = self.socket_of(port.node);
            let expected = ExpectedPort { bdf: bdf.clone(), switch, devices, socket, link };
            found.insert(bdf, expected);
        }
        found
    }

    /// Bridges of switches below ports that do not answer: without privilege they cannot be told from
    /// root ports.
    pub fn orphaned_switches(&self) -> Vec<String> {
        let of = |(index, port): (usize, &Port)| {
            let is_orphan = port.is_dead && port.below == Below::Switch;
            let bus = 0x11 + 8 * index;
            is_orphan.then(|| format!("{:04x}:{bus:02x}:00.0", port.domain_number()))
        };
        match self.extended {
            Answer::Ok => Vec::new(),
            _ => self.ports.iter().enumerate().filter_map(of).collect(),
        }
    }

    /// Least, most and current clock of the uncore in MHz; 0 where the current one is not told.
    pub fn uncore_clock(&self) -> Option<[u64; 3]> {
        let part = self.part();
        if part.vendor != "GenuineIntel" || !part.is_known {
            return None;
        }
        let answers = |value: &u64| self.msr_driver == Answer::Ok && *value != u64::MAX;
        let Some(clocks) = &self.uncore_mhz else {
            // A register is that of one die, and of a server.
            let is_read = self.dies == 1 && self.is_server();
            let is_ratio = |limit: &u64| answers(limit) && limit & 0x7f != 0;
            let limit = self.ratio_limit.filter(is_ratio).filter(|_| is_read)?;
            let now = self.ratio_now.filter(answers).map_or(0, |now| (now & 0x7f) * 100);
            return Some([(limit >> 8 & 0x7f) * 100, (limit & 0x7f) * 100, now]);
        };
        let [least, most, now] = clocks[0];
        let now = if clocks.iter().all(|clock| clock[2] == now) { now } else { 0 };
        clocks.iter().all(|clock| clock[..2] == [least, most]).then_some([least, most, now])
    }

    /// Huge pages and free ones of the nodes in which a socket has online CPUs.
    pub fn huge_pages_of(&self, socket: u32) -> [u64; 2] {
        let first = socket * self.nodes_per_socket;
        let own = (first..first + self.nodes_per_socket).filter(|node| self.has_cpus(*node));
        let own = own.map(|node| self.huge_pages[node as usize]);
        own.fold([0, 0], |sum, [pages, free]| [sum[0] + pages, sum[1] + free])
    }

    /// For each group and cache the ways that it shares with I/O.
    pub fn shared_with_io(&self, group: usize) -> Vec<(u32, u64)> {
        let Some(groups) = &self.groups else { return Vec::new() };
        let io = |cache: usize| match &groups.io_alloc {
            Some(Some(masks)) => groups.shareable | masks[cache],
            _ => groups.shareable,
        };
        let masks = groups.groups[group].iter().enumerate();
        masks
            .map(|(cache, mask)| (u32::try_from(cache).expect("few caches"), mask & io(cache)))
            .filter(|(_, ways)| *ways != 0)
            .collect()
    }
}
