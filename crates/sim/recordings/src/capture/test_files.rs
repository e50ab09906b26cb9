//! PacketConsumer and capture files for the tests of this folder, written by the crate's own writer.

use std::borrow::Cow;
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, TsResolution};

/// An IPv4 packet from 10.0.0.1 to 10.0.0.2 with a UDP payload of zeros.
pub(super) fn ipv4_udp(source_port: u16, destination_port: u16, payload_bytes: usize) -> Vec<u8> {
    let udp_bytes = (payload_bytes + 8) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend((udp_bytes + 20).to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    ip.extend(source_port.to_be_bytes());
    ip.extend(destination_port.to_be_bytes());
    ip.extend(udp_bytes.to_be_bytes());
    ip.resize(ip.len() + 2 + payload_bytes, 0);
    ip
}

/// An IPv6 packet from 2001:db8::1 to ::1 with a TCP header.
pub(super) fn ipv6_tcp(source_port: u16, destination_port: u16) -> Vec<u8> {
    let mut ip = vec![0x60, 0, 0, 0, 0, 20, 6, 64];
    ip.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    ip.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    ip.extend(source_port.to_be_bytes());
    ip.extend(destination_port.to_be_bytes());
    ip.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
    ip
}

/// An Ethernet frame.
pub(super) fn on_ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A small Ethernet frame of one of a hundred flows.
pub(super) fn small_frame(number: usize) -> Vec<u8> {
    on_ethernet(0x0800, &ipv4_udp(1_000 + (number % 100) as u16, 53, 50 + number % 7))
}

/// A pcap file of Ethernet frames with times in nanoseconds.
pub(super) fn pcap_of(frames: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Vec<u8> {
    pcap_with(Endianness::Little, TsResolution::NanoSecond, frames)
}

/// A pcap file of Ethernet frames in any variant of the format.
pub(super) fn pcap_with(
    endianness: Endianness,
    ts_resolution: TsResolution,
    frames: impl IntoIterator<Item = (u64, Vec<u8>)>,
) -> Vec<u8> {
    let header = PcapHeader { endianness, ts_resolution, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (time_ns, frame) in frames {
        let time = Duration::from_nanos(time_ns);
        writer.write_packet(&PcapPacket::new(time, frame.len() as u32, &frame)).unwrap();
    }
    writer.into_writer()
}

/// An interface of a pcapng file.
pub(super) fn interface(
    link: DataLink,
    snap_length_bytes: u32,
    options: Vec<InterfaceDescriptionOption<'static>>,
) -> InterfaceDescriptionBlock<'static> {
    InterfaceDescriptionBlock { linktype: link, snaplen: snap_length_bytes, options }
}

/// An enhanced packet block, complete, with its time in ticks of its interface.
pub(super) fn enhanced(interface_id: u32, ticks: u64, data: &[u8]) -> EnhancedPacketBlock<'_> {
    EnhancedPacketBlock {
        interface_id,
        // The writer writes nanoseconds as ticks, for any interface.
        timestamp: Duration::from_nanos(ticks),
        original_len: data.len() as u32,
        data: Cow::Borrowed(data),
        options: Vec::new(),
    }
}

/// A pcapng file of Ethernet frames on one interface with times in microseconds.
pub(super) fn pcapng_of(
    endianness: Endianness,
    frames: impl IntoIterator<Item = (u64, Vec<u8>)>,
) -> Vec<u8> {
    let mut writer = PcapNgWriter::with_endianness(Vec::new(), endianness).unwrap();
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 65_535, Vec::new())).unwrap();
    for (time_us, frame) in frames {
        writer.write_pcapng_block(enhanced(0, time_us, &frame)).unwrap();
    }
    writer.into_inner()
}

/// A pcapng file of one Ethernet interface with these options, and of two packets, five ticks apart.
pub(super) fn pcapng_with_options(options: &[(u16, &[u8])], is_ended: bool) -> Vec<u8> {
    let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0];
    for (code, value) in options {
        body.extend(code.to_le_bytes());
        body.extend((value.len() as u16).to_le_bytes());
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    if is_ended {
        body.extend([0; 4]);
    }
    let length = (body.len() as u32 + 12).to_le_bytes();
    let mut file =
        PcapNgWriter::with_endianness(Vec::new(), Endianness::Little).unwrap().into_inner();
    file.extend([[1, 0, 0, 0], length].concat());
    file.extend(body);
    file.extend(length);
    let frames = pcapng_of(Endianness::Little, [(0, small_frame(0)), (5, small_frame(0))]);
    // Without its section header and its interface.
    file.extend(&frames[48..]);
    file
}
