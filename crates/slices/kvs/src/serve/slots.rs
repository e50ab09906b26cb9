//! The core of each key: each core is a node of a cluster, as in Redis Cluster.
//!
//! Source: Redis Cluster specification (hash slots, hash tags, MOVED).

use std::net::SocketAddr;
use units::SliceId;

/// Number of hash slots of a cluster.
pub const SLOTS: u16 = 16384;

/// A core that serves the keys of some slots.
#[derive(Clone, Debug)]
pub struct ClusterNode {
    pub core: usize,
    pub slice: SliceId,
    pub address: SocketAddr,
}

/// All cores, each with an even share of the slots, in order.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub nodes: Vec<ClusterNode>,
}

impl Cluster {
    /// Whether there are several cores, so that keys belong to different ones.
    pub fn is_shared(&self) -> bool {
        self.nodes.len() > 1
    }

    /// Returns the first and last slot of a node.
    pub fn slots_of(&self, node: usize) -> (u16, u16) {
        (self.first_slot(node), self.first_slot(node + 1) - 1)
    }

    /// The node that serves a slot.
    pub fn node_of(&self, slot: u16) -> usize {
        (0..self.nodes.len()).rfind(|node| self.first_slot(*node) <= slot).unwrap_or(0)
    }

    fn first_slot(&self, node: usize) -> u16 {
        let slots = usize::from(SLOTS) * node / self.nodes.len();
        u16::try_from(slots).expect("at most all slots")
    }

    /// The name of a node: 40 hexadecimal digits, as in Redis.
    pub fn name(node: usize) -> String {
        format!("{node:040x}")
    }
}

/// The hash slot of a key: of its hash tag, which is the text in the first braces, if that is not empty.
pub fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// CRC16 with the polynomial 0x1021, from zero (XMODEM).
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut at: u16 = 0;
    while at < 256 {
        let mut crc = at << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[at as usize] = crc;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12182);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
    }

    #[test]
    fn every_slot_has_one_node_and_shares_are_even() {
        let node = |core| {
            let address = "127.0.0.1:1".parse().expect("an address");
            ClusterNode { core, slice: SliceId(0), address }
        };
        for nodes in 1..=7 {
            let cluster = Cluster { nodes: (0..nodes).map(node).collect() };
            let mut next = 0;
            for node in 0..nodes {
                let (first, last) = cluster.slots_of(node);
                assert_eq!(first, next);
                assert!((first..=last).all(|slot| cluster.node_of(slot) == node));
                next = last + 1;
            }
            assert_eq!(next, SLOTS);
        }
    }
}
