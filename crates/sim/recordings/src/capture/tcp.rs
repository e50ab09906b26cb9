//! Segments of TCP in a capture, with their payload.
//!
//! Models: ports, sequence number, SYN, FIN and RST; payload as far as it was captured.
//! Source: RFC 9293; headers parsed by the `etherparse` crate.
//! Simplifies: checksums are not looked at (cards compute them behind the capture), IP fragments are
//! left out, and so are packets whose TCP header was cut off.

use std::fmt;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use etherparse::{LaxNetSlice, TransportSlice};
use units::FlowTuple;

use super::packet_consumer::{PacketConsumer, Recorded};
use super::{
    CaptureError, CaptureFault, CutShort, FileEnd, Oddities, RecordPosition, read_packets,
};

/// A segment, as it passed the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Number of the packet in the file, from 1.
    pub packet: u64,
    /// Address and port of the sender.
    pub source: SocketAddr,
    /// Address and port of the receiver.
    pub destination: SocketAddr,
    /// Number of its first byte; of the SYN itself, if it is one.
    pub sequence: u32,
    /// Whether the segment opens a connection (SYN).
    pub is_syn: bool,
    /// The sender sends nothing after this segment.
    pub is_fin: bool,
    /// Whether the segment ends the connection (RST).
    pub is_reset: bool,
    /// Payload of the segment, as far as it was captured.
    pub payload: &'a [u8],
}

/// Numbers of packets and TCP segments in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// Number of packets of any kind.
    pub packets: u64,
    /// Number of packets with a segment of TCP.
    pub segments: u64,
    /// Packets in tunnels, whose segments are not looked for.
    pub tunnels: Tunnels,
    /// The record within which the file ends.
    pub cut_in: Option<RecordPosition>,
    /// Deviations from the format.
    pub oddities: Oddities,
}

/// Numbers of packets by the tunnel that they are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tunnels {
    packets: [u64; TUNNELS.len()],
}

/// Tunnels: the number of their protocol in IP, the port of UDP if they are in that, their name [IANA].
const TUNNELS: [(u8, Option<u16>, &str); 8] = [
    (UDP, Some(4789), "VXLAN"),
    (UDP, Some(8472), "VXLAN"),
    (UDP, Some(6081), "Geneve"),
    (UDP, Some(2152), "GTP-U"),
    (4, None, "IP in IP"),
    (41, None, "IPv6 in IP"),
    (47, None, "GRE"),
    (50, None, "ESP"),
];
const UDP: u8 = 17;

impl Tunnels {
    /// Number of packets in tunnels of any kind.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.packets.iter().sum()
    }

    fn add(&mut self, flow: &FlowTuple) {
        let is_in = |(protocol, port, _): &(u8, Option<u16>, &str)| {
            let to_port =
                port.is_none_or(|port| flow.ports.is_some_and(|it| it.destination == port));
            *protocol == flow.protocol && to_port
        };
        if let Some(kind) = TUNNELS.iter().position(is_in) {
            self.packets[kind] += 1;
        }
    }
}

impl fmt::Display for Tunnels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = TUNNELS.iter().zip(self.packets).filter(|(_, packets)| *packets > 0);
        for (number, ((_, _, name), packets)) in counted.enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{name} {packets}")?;
        }
        Ok(())
    }
}

/// Calls `each` with every segment of a pcap or pcapng file, in the order of the file.
///
/// # Errors
/// As for [`super::read`]; segments before the fault were handed over.
pub fn read_tcp(
    path: impl AsRef<Path>,
    cut_short: CutShort,
    each: impl FnMut(&Segment<'_>),
) -> Result<Segments, CaptureError> {
    let path = path.as_ref();
    inputs::streams::open(path)
        .map_err(CaptureFault::CannotOpen)
        .and_then(|file| from_reader(file, cut_short, each))
        .map_err(|fault| CaptureError { path: path.to_owned(), fault })
}

fn from_reader(
    reader: impl Read + Send,
    cut_short: CutShort,
    each: impl FnMut(&Segment<'_>),
) -> Result<Segments, CaptureFault> {
    let mut consumer =
        SegmentConsumer { each, packets: 0, segments: 0, tunnels: Tunnels::default() };
    let FileEnd { cut_in, oddities } = read_packets(reader, cut_short, &mut consumer)?;
    let SegmentConsumer { packets, segments, tunnels, .. } = consumer;
    Ok(Segments { packets, segments, tunnels, cut_in, oddities })
}

struct SegmentConsumer<F> {
    each: F,
    packets: u64,
    segments: u64,
    tunnels: Tunnels,
}

impl<F: FnMut(&Segment<'_>)> PacketConsumer for SegmentConsumer<F> {
    fn count(&self) -> u64 {
        self.packets
    }

    fn add(&mut self, packet: &Recorded) -> Result<(), CaptureFault> {
        self.packets += 1;
        if let Some(segment) = segment(packet, self.packets) {
            self.segments += 1;
            (self.each)(&segment);
        } else if let Some(flow) = packet.link.flow(packet.captured) {
            self.tunnels.add(&flow);
        }
        Ok(())
    }
}

fn segment<'a>(recorded: &Recorded<'a>, packet: u64) -> Option<Segment<'a>> {
    let headers = recorded.link.headers(recorded.captured)?;
    let (source, destination): (IpAddr, IpAddr) = match headers.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        LaxNetSlice::Ipv6(ip) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let Some(TransportSlice::Tcp(tcp)) = headers.transport else { return None };
    Some(Segment {
        packet,
        source: SocketAddr::new(source, tcp.source_port()),
        destination: SocketAddr::new(destination, tcp.destination_port()),
        sequence: tcp.sequence_number(),
        is_syn: tcp.syn(),
        is_fin: tcp.fin(),
        is_reset: tcp.rst(),
        payload: tcp.payload(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_files::{ipv4_udp, ipv6_tcp, on_ethernet, pcap_of};
    use super::*;

    /// A SYN over IPv6 with four bytes of data.
    fn opening() -> Vec<u8> {
        let mut ip = ipv6_tcp(40_000, 4420);
        ip[5] = 24;
        ip[44..48].copy_from_slice(&0xffff_fff0_u32.to_be_bytes());
        ip[53] = 2;
        on_ethernet(0x86dd, &[&ip[..], b"data"].concat())
    }

    #[test]
    fn segments_have_payload_and_number_and_all_else_is_left_out() {
        let udp = on_ethernet(0x0800, &ipv4_udp(1, 4420, 20));
        // A frame that is padded, and one whose header was cut off.
        let padded = [&opening()[..], &[0; 9]].concat();
        let frames = [udp, padded, opening()[..60].to_vec()];
        let file = pcap_of((0..).zip(frames));
        let mut taken = Vec::new();
        let read = from_reader(file.as_slice(), CutShort::Refused, |segment| {
            assert_eq!(segment.payload, b"data");
            assert_eq!((segment.source.port(), segment.destination.port()), (40_000, 4420));
            assert_eq!(segment.destination.ip().to_string(), "::1");
            assert!(segment.is_syn && !segment.is_fin && !segment.is_reset);
            taken.push((segment.packet, segment.sequence));
        });
        assert_eq!(taken, [(2, 0xffff_fff0)]);
        let counted = Segments { packets: 3, segments: 1, ..Segments::default() };
        assert_eq!(read.expect("is read"), counted);
    }

    #[test]
    fn a_file_that_is_cut_short_is_read_if_that_is_allowed() {
        let file = pcap_of([(0, opening()), (1, opening())]);
        let cut = &file[..file.len() - 1];
        let read = from_reader(cut, CutShort::Read, |_| {}).expect("is read");
        assert_eq!((read.segments, read.cut_in.and_then(|cut| cut.packet)), (1, Some(2)));
        assert!(from_reader(cut, CutShort::Refused, |_| {}).is_err());
    }

    #[test]
    fn packets_in_tunnels_are_counted_by_their_kind() {
        let udp = |port| on_ethernet(0x0800, &ipv4_udp(1, port, 20));
        let mut gre = ipv4_udp(1, 2, 20);
        gre[9] = 47;
        let frames = [udp(4789), udp(4789), on_ethernet(0x0800, &gre), udp(53)];
        let file = pcap_of((0..).zip(frames));
        let read = from_reader(file.as_slice(), CutShort::Refused, |_| panic!("no segment"));
        let Segments { packets, segments, tunnels, .. } = read.expect("is a capture");
        assert_eq!((packets, segments, tunnels.total()), (4, 0, 3));
        assert_eq!(tunnels.to_string(), "VXLAN 2, GRE 1");
    }
}
