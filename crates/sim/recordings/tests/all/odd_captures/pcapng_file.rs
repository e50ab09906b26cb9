//! pcapng files: several sections, each with interfaces, packets and blocks of other kinds.
//!
//! Source: draft-ietf-opsawg-pcapng.

use super::byte_order::ByteOrder;
use super::dice::Dice;
use super::interface::Interface;
use super::odd_file::OddFile;
use super::other_blocks;
use super::packet::{Frame, Packet, TsharkTime};
use super::pcapng_options::{draw_option, encode_options};
use super::times::Clock;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const EPB_FLAGS: u16 = 2;
const LENGTH_UNKNOWN: i64 = -1;

/// A block with these fields, padded.
pub fn encode_block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
    let length = order.encode_u32((12 + body.len() + padding.len()) as u32);
    [&order.encode_u32(kind)[..], &length, body, &padding, &length].concat()
}

pub fn draw(dice: &mut Dice) -> OddFile {
    let mut file = OddFile::without_packets();
    let mut clock = Clock::draw(dice);
    let has_malformed_options = dice.happens(8);
    for _ in 0..dice.pick(&[1, 1, 1, 2, 3, 5]) {
        let order = dice.pick(&ByteOrder::BOTH);
        let mut section = Section { order, interfaces: Vec::new(), content: Vec::new() };
        for _ in 0..dice.pick(&[0, 1, 3, 10, 30]) {
            match dice.below(10) {
                0 | 1 => section.content.extend(other_blocks::draw(
                    dice,
                    order,
                    section.interfaces.len(),
                )),
                2 => section.add_interface(&mut file, dice, &clock),
                _ if section.interfaces.is_empty() => {
                    section.add_interface(&mut file, dice, &clock);
                }
                3 => section.add_simple_packet(&mut file, dice),
                _ => section.add_packet(&mut file, dice, &mut clock, has_malformed_options),
            }
        }
        file.content.extend(section.encode_header(dice));
        file.content.extend(section.content);
    }
    file
}

struct Section {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    content: Vec<u8>,
}

impl Section {
    fn encode_header(&self, dice: &mut Dice) -> Vec<u8> {
        let order = self.order;
        let minor_version = if dice.happens(10) { 2 } else { 0 };
        let length =
            if dice.happens(50) { LENGTH_UNKNOWN } else { self.content.len().cast_signed() as i64 };
        let count = dice.pick(&[0, 0, 1, 3]);
        let options: Vec<_> = (0..count).map(|_| draw_option(dice, order, &[2, 3, 4])).collect();
        let body = [
            &order.encode_u32(BYTE_ORDER_MAGIC)[..],
            &order.encode_u16(1),
            &order.encode_u16(minor_version),
            &order.encode_i64(length),
            &encode_options(dice, order, &options),
        ];
        encode_block(order, SECTION_HEADER, &body.concat())
    }

    fn add_interface(&mut self, file: &mut OddFile, dice: &mut Dice, clock: &Clock) {
        let interface = Interface::draw(dice, self.order, clock);
        file.oddities.options += u64::from(interface.has_malformed_fcs_length());
        file.is_refused_by_tshark |= interface.is_refused_by_tshark();
        let body = interface.encode(dice, self.order);
        self.content.extend(encode_block(self.order, INTERFACE_DESCRIPTION, &body));
        self.interfaces.push(interface);
    }

    /// A simple packet: it has no time, and belongs to the first interface.
    fn add_simple_packet(&mut self, file: &mut OddFile, dice: &mut Dice) {
        let (order, interface) = (self.order, &self.interfaces[0]);
        let mut frame = Frame::draw(dice, interface.link, order);
        frame.bytes.extend(dice.draw_bytes(interface.fcs_bytes()));
        let original_bytes = frame.bytes.len();
        let captured_bytes = match interface.snap_length_bytes {
            0 => original_bytes,
            limit => limit.min(original_bytes),
        };
        let body = [&order.encode_u32(original_bytes as u32)[..], &frame.bytes[..captured_bytes]];
        self.content.extend(encode_block(order, SIMPLE_PACKET, &body.concat()));
        let packet = Packet {
            link_header_bytes: interface.link_header_bytes(),
            time_ps: None,
            tshark_time: TsharkTime::Nanoseconds,
            original_bytes,
            captured_bytes,
            fcs_bytes: interface.fcs_bytes(),
            source_port: frame.source_port(captured_bytes),
        };
        file.add(packet, interface.link, interface.snap_length_bytes);
    }

    fn add_packet(
        &mut self,
        file: &mut OddFile,
        dice: &mut Dice,
        clock: &mut Clock,
        has_malformed_options: bool,
    ) {
        let order = self.order;
        let id = dice.below(self.interfaces.len());
        let interface = &self.interfaces[id];
        let mut options = PacketOptions::draw(dice, order, interface);
        if has_malformed_options && dice.happens(30) {
            options.add_malformed(dice);
            file.is_refused_by_tshark = true;
            let is_counted = interface.link_header_bytes().is_some();
            file.oddities.options += u64::from(is_counted && options.has_malformed_flags());
        }
        let mut frame = Frame::draw(dice, interface.link, order);
        frame.bytes.extend(dice.draw_bytes(options.fcs_bytes));
        let (captured_bytes, original_bytes) =
            draw_lengths(dice, frame.bytes.len(), interface.snap_length_bytes);
        let ticks = interface.ticks(clock.advance(dice));
        let is_obsolete = dice.happens(10);
        let mut body = if is_obsolete {
            let drops = dice.pick(&[0, 3, 0xffff]);
            [order.encode_u16(id as u16), order.encode_u16(drops)].concat()
        } else {
            order.encode_u32(id as u32).to_vec()
        };
        let high_low = [(ticks >> 32) as u32, ticks as u32];
        for field in [high_low[0], high_low[1], captured_bytes as u32, original_bytes as u32] {
            body.extend(order.encode_u32(field));
        }
        body.extend(&frame.bytes[..captured_bytes]);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(encode_options(dice, order, &options.encoded));
        let kind = if is_obsolete { OBSOLETE_PACKET } else { ENHANCED_PACKET };
        self.content.extend(encode_block(order, kind, &body));
        let packet = Packet {
            link_header_bytes: interface.link_header_bytes(),
            time_ps: Some(interface.time_ps(ticks)),
            tshark_time: interface.tshark_time(),
            original_bytes,
            captured_bytes,
            fcs_bytes: options.fcs_bytes,
            source_port: frame.source_port(captured_bytes),
        };
        file.add(packet, interface.link, interface.snap_length_bytes);
    }
}

/// Captured and original length of a packet of so many bytes.
fn draw_lengths(dice: &mut Dice, whole: usize, snap_length_bytes: usize) -> (usize, usize) {
    let limit = if snap_length_bytes == 0 { whole } else { snap_length_bytes };
    let captured_bytes = match dice.below(20) {
        0 => whole,
        1 => dice.below(whole + 1),
        _ => whole.min(limit),
    };
    let original_bytes = match dice.below(20) {
        0 => dice.below(captured_bytes + 1),
        1 => whole + 70_000,
        _ => whole,
    };
    (captured_bytes, original_bytes)
}

/// The options of a packet, and the bytes of FCS that they or its interface state.
struct PacketOptions {
    encoded: Vec<(u16, Vec<u8>)>,
    fcs_bytes: usize,
}

impl PacketOptions {
    fn draw(dice: &mut Dice, order: ByteOrder, interface: &Interface) -> Self {
        let mut encoded = Vec::new();
        let mut fcs_bytes = interface.fcs_bytes();
        for _ in 0..dice.pick(&[0, 0, 0, 1, 4]) {
            encoded.push(match dice.below(6) {
                0 => (3, dice.draw_bytes(5)),
                1 => (dice.pick(&[4, 5]), dice.draw_bytes(8)),
                2 => (6, dice.draw_bytes(4)),
                3 => {
                    let size = dice.below(20);
                    (7, [vec![0], dice.draw_bytes(size)].concat())
                }
                _ => draw_option(dice, order, &[1]),
            });
        }
        if dice.happens(20) {
            // Direction, reception type and errors of the link layer; bits 5 to 8 are the bytes of the FCS.
            let is_with_fcs = interface.is_ethernet() && dice.happens(50);
            let flags = dice.draw_u32() & !0x1e0 | if is_with_fcs { 4 << 5 } else { 0 };
            let at = dice.below(encoded.len() + 1);
            encoded.insert(at, (EPB_FLAGS, order.encode_u32(flags).to_vec()));
            if is_with_fcs {
                fcs_bytes = 4;
            }
        }
        Self { encoded, fcs_bytes }
    }

    /// Adds an option whose length is not that of its code.
    fn add_malformed(&mut self, dice: &mut Dice) {
        let (code, size) = dice.pick(&[(EPB_FLAGS, 3), (4, 4), (5, 7), (6, 0), (7, 0)]);
        self.encoded.push((code, dice.draw_bytes(size)));
    }

    fn has_malformed_flags(&self) -> bool {
        self.encoded.last().is_some_and(|(code, value)| *code == EPB_FLAGS && value.len() != 4)
    }
}
