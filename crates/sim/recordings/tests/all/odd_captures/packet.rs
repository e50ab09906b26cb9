//! Packets: what a file records of each, and their bytes on each link.

use super::byte_order::ByteOrder;
use super::dice::Dice;

/// Link types that are read, and the bytes that each has before its IP packet.
pub const LINKS: [(u16, usize); 10] = [
    (1, 14),
    (0, 4),
    (12, 0),
    (14, 0),
    (101, 0),
    (108, 4),
    (113, 16),
    (276, 20),
    (228, 0),
    (229, 0),
];
pub const ETHERNET: u16 = 1;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const UDP: u8 = 17;
const UDP_HEADER_BYTES: usize = 8;

/// How much of a packet's time tshark keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsharkTime {
    /// All but what is finer than a nanosecond.
    Nanoseconds,
    /// The seconds are right, the fraction is not.
    Seconds,
    /// Neither is right.
    Wrong,
}

/// A packet as its file records it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Bytes before the IP packet; `None` if the link type is not one that is read.
    pub link_header_bytes: Option<usize>,
    /// Time since 1970; `None` if the file has none for this packet.
    pub time_ps: Option<i128>,
    pub tshark_time: TsharkTime,
    pub original_bytes: usize,
    pub captured_bytes: usize,
    /// Bytes of FCS that the file says to be at the end of the packet.
    pub fcs_bytes: usize,
    /// The UDP source port, if its header was captured.
    pub source_port: Option<u16>,
}

/// The bytes of a packet on its link.
pub struct Frame {
    pub bytes: Vec<u8>,
    /// The UDP source port, and the end of its header within `bytes`.
    port: Option<(u16, usize)>,
}

impl Frame {
    /// A packet on a link of this type, without FCS.
    pub fn draw(dice: &mut Dice, link: u16, order: ByteOrder) -> Self {
        let is_read = LINKS.iter().any(|(number, _)| *number == link);
        if !is_read || dice.happens(10) {
            let length = dice.pick(&[0, 1, 3, 13, 14, 40, 59, 60, 700, 70_000, 200_000]);
            return Self { bytes: dice.draw_bytes(length), port: None };
        }
        let port = 50_000 + dice.below(10_000) as u16;
        let is_ipv6 = link == 229 || link != 228 && dice.happens(30);
        let mut bytes = link_header(dice, link, order, is_ipv6);
        let ip_header_bytes = if is_ipv6 { 40 } else { 20 };
        let port_end = bytes.len() + ip_header_bytes + UDP_HEADER_BYTES;
        bytes.extend(udp_packet(dice, is_ipv6, port));
        Self { bytes, port: Some((port, port_end)) }
    }

    /// The UDP source port, if the captured bytes reach to the end of its header.
    pub fn source_port(&self, captured_bytes: usize) -> Option<u16> {
        self.port.filter(|(_, end)| *end <= captured_bytes).map(|(port, _)| port)
    }
}

fn link_header(dice: &mut Dice, link: u16, order: ByteOrder, is_ipv6: bool) -> Vec<u8> {
    let ether_type = if is_ipv6 { IPV6 } else { IPV4 }.to_be_bytes();
    let family = if is_ipv6 { dice.pick(&[24, 28, 30]) } else { 2 };
    match link {
        ETHERNET => {
            let vlan = if dice.happens(10) { vec![0x81, 0, 0, 7] } else { Vec::new() };
            [&[2; 12], &vlan[..], &ether_type].concat()
        }
        0 => order.encode_u32(family).to_vec(),
        108 => family.to_be_bytes().to_vec(),
        113 => [&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0][..], &ether_type].concat(),
        276 => {
            [&ether_type[..], &[0; 2], &[0, 0, 0, 3, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0]].concat()
        }
        _ => Vec::new(),
    }
}

fn udp_packet(dice: &mut Dice, is_ipv6: bool, port: u16) -> Vec<u8> {
    let payload_bytes = match dice.below(10) {
        0..4 => dice.below(64),
        4..8 => dice.below(1473),
        8 => dice.pick(&[1472, 1473, 8972, 9000]),
        _ => dice.below(40_000),
    };
    let udp_bytes = (UDP_HEADER_BYTES + payload_bytes) as u16;
    let mut packet = if is_ipv6 {
        let head = [&[0x60, 0, 0, 0][..], &udp_bytes.to_be_bytes(), &[UDP, 64]].concat();
        [&head[..], &[0xfd; 16], &[0xfc; 16]].concat()
    } else {
        let total_bytes = (udp_bytes + 20).to_be_bytes();
        [&[0x45, 0], &total_bytes[..], &[0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]]
            .concat()
    };
    packet.extend([port.to_be_bytes(), [0xc0, 1], udp_bytes.to_be_bytes(), [0, 0]].concat());
    packet.extend(dice.draw_bytes(payload_bytes));
    packet
}
