//! Converts a captured packet to the Ethernet frame that it was or would have been.
//!
//! Models: link-layer framing and the flow tuple in the headers.
//! Source: tcpdump.org link-layer header types; IEEE 802.3 for header and least frame size;
//! header parsing by the `etherparse` crate.
//! Simplifies: frames of links other than Ethernet get a plain 14-byte header, no VLAN tag.

use std::net::{Ipv4Addr, Ipv6Addr};

use etherparse::{EtherType, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket};
use pcap_file::DataLink;

use super::error::{CaptureFault, RecordPosition};
use units::narrow::usize_from;
use units::{FlowAddresses, FlowPorts, FlowTuple};

const ETHERNET_HEADER_BYTES: u64 = 14;
/// Ethernet's least frame of 64 bytes without its FCS.
const LEAST_FRAME_BYTES: u64 = 60;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A link type whose packets can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Ethernet frames, with this many bytes of FCS at their end (usually none).
    Ethernet { fcs_bytes: u64 },
    /// IP packets without any header before them.
    RawIp,
    /// Linux "cooked" packets of the `any` device.
    LinuxSll,
    /// Linux "cooked" packets in the version that tcpdump has written since 4.99.
    LinuxSll2,
    /// BSD loopback: four bytes of address family, in the host's byte order (0) or the network's (108).
    Null,
}

impl Link {
    /// The link type with a number in the registry; `fcs_bytes` applies to Ethernet only.
    pub(super) fn from_number(number: u32, fcs_bytes: u64) -> Option<Self> {
        match number {
            0 | 108 => Some(Self::Null),
            1 => Some(Self::Ethernet { fcs_bytes }),
            // 12 and 14 are the numbers of BSD and OpenBSD, which old writers stored.
            12 | 14 | 101 | 228 | 229 => Some(Self::RawIp),
            113 => Some(Self::LinuxSll),
            276 => Some(Self::LinuxSll2),
            _ => None,
        }
    }

    /// The same link with so many bytes of FCS, if it is one that can have them.
    pub(super) fn with_fcs(self, fcs_bytes: u64) -> Self {
        match self {
            Self::Ethernet { .. } => Self::Ethernet { fcs_bytes },
            other => other,
        }
    }

    /// Bytes of the captured packet before its IP packet that an Ethernet frame would not carry.
    fn header_bytes(self) -> usize {
        match self {
            Self::Ethernet { .. } => usize_from(ETHERNET_HEADER_BYTES),
            Self::RawIp => 0,
            Self::LinuxSll => 16,
            Self::LinuxSll2 => 20,
            Self::Null => 4,
        }
    }

    /// Size without FCS of the Ethernet frame for a packet of `original_bytes` on its own link.
    pub(super) fn frame_bytes(self, original_bytes: u32) -> u64 {
        let fcs_bytes = match self {
            Self::Ethernet { fcs_bytes } => fcs_bytes,
            _ => 0,
        };
        let payload_bytes =
            u64::from(original_bytes).saturating_sub(self.header_bytes() as u64 + fcs_bytes);
        (ETHERNET_HEADER_BYTES + payload_bytes).max(LEAST_FRAME_BYTES)
    }

    /// The headers of a packet, `None` if too few bytes were captured.
    pub(super) fn headers(self, captured: &[u8]) -> Option<LaxSlicedPacket<'_>> {
        let payload = captured.get(self.header_bytes()..)?;
        match self {
            Self::Ethernet { .. } => LaxSlicedPacket::from_ethernet(captured).ok(),
            Self::RawIp | Self::Null => LaxSlicedPacket::from_ip(payload).ok(),
            Self::LinuxSll => Some(cooked(&captured[14..], payload)),
            Self::LinuxSll2 => Some(cooked(captured, payload)),
        }
    }

    /// The flow of a packet, `None` if it is not IP or too few bytes were captured.
    pub(super) fn flow(self, captured: &[u8]) -> Option<FlowTuple> {
        let packet = self.headers(captured)?;
        let (addresses, payload) = match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let source = Ipv4Addr::from(ip.header().source());
                let destination = Ipv4Addr::from(ip.header().destination());
                (FlowAddresses::V4 { source, destination }, ip.payload())
            }
            LaxNetSlice::Ipv6(ip) => {
                let source = Ipv6Addr::from(ip.header().source());
                let destination = Ipv6Addr::from(ip.header().destination());
                (FlowAddresses::V6 { source, destination }, ip.payload())
            }
            LaxNetSlice::Arp(_) => return None,
        };
        Some(FlowTuple { addresses, protocol: payload.ip_number.0, ports: ports(payload) })
    }
}

/// The refusal of a link type, with its name if it is known.
pub(super) fn unsupported_link(number: u32, position: Option<RecordPosition>) -> CaptureFault {
    let name = match DataLink::from(number) {
        DataLink::Unknown(_) => "no registered name".to_owned(),
        known => format!("{known:?}"),
    };
    CaptureFault::UnsupportedLinkType { position, number, name }
}

/// A packet after a cooked header, whose protocol field starts at `protocol`.
fn cooked<'a>(protocol: &[u8], payload: &'a [u8]) -> LaxSlicedPacket<'a> {
    let ether_type = EtherType(u16::from_be_bytes([protocol[0], protocol[1]]));
    LaxSlicedPacket::from_ether_type(ether_type, payload)
}

/// The ports, read separately: a short snap length may have cut off the rest of the header.
fn ports(payload: &LaxIpPayloadSlice) -> Option<FlowPorts> {
    if payload.fragmented || !matches!(payload.ip_number.0, TCP | UDP) {
        return None;
    }
    let bytes: [u8; 4] = payload.payload.get(..4)?.try_into().ok()?;
    Some(FlowPorts {
        source: u16::from_be_bytes([bytes[0], bytes[1]]),
        destination: u16::from_be_bytes([bytes[2], bytes[3]]),
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_files::{ipv4_udp, ipv6_tcp, on_ethernet};
    use super::*;

    const ETHERNET: Link = Link::Ethernet { fcs_bytes: 0 };

    fn ipv4_flow(source_port: u16, destination_port: u16) -> FlowTuple {
        FlowTuple {
            addresses: FlowAddresses::V4 {
                source: Ipv4Addr::new(10, 0, 0, 1),
                destination: Ipv4Addr::new(10, 0, 0, 2),
            },
            protocol: UDP,
            ports: Some(FlowPorts { source: source_port, destination: destination_port }),
        }
    }

    #[test]
    fn an_ethernet_frame_is_as_long_as_captured() {
        assert_eq!(ETHERNET.frame_bytes(1_514), 1_514);
    }

    #[test]
    fn a_captured_fcs_does_not_count() {
        assert_eq!(Link::Ethernet { fcs_bytes: 4 }.frame_bytes(1_518), 1_514);
    }

    #[test]
    fn short_frames_are_padded_to_60_bytes() {
        assert_eq!(ETHERNET.frame_bytes(42), 60);
        assert_eq!(ETHERNET.frame_bytes(0), 60);
        assert_eq!(Link::RawIp.frame_bytes(46), 60);
        assert_eq!(Link::RawIp.frame_bytes(47), 61);
    }

    #[test]
    fn other_links_get_an_ethernet_header_in_place_of_their_own() {
        assert_eq!(Link::RawIp.frame_bytes(1_500), 1_514);
        assert_eq!(Link::LinuxSll.frame_bytes(1_516), 1_514);
        assert_eq!(Link::LinuxSll2.frame_bytes(1_520), 1_514);
        assert_eq!(Link::Null.frame_bytes(1_504), 1_514);
    }

    #[test]
    fn a_udp_packet_has_its_flow_on_every_link() {
        let ip = ipv4_udp(1_000, 2_000, 100);
        let flow = Some(ipv4_flow(1_000, 2_000));
        let sll = [[0; 14].as_slice(), &[0x08, 0x00], &ip].concat();
        let sll2 = [[0x08, 0x00].as_slice(), &[0; 18], &ip].concat();
        assert_eq!(ETHERNET.flow(&on_ethernet(0x0800, &ip)), flow);
        assert_eq!(Link::RawIp.flow(&ip), flow);
        assert_eq!(Link::LinuxSll.flow(&sll), flow);
        assert_eq!(Link::LinuxSll2.flow(&sll2), flow);
        assert_eq!(Link::Null.flow(&[&[2, 0, 0, 0], ip.as_slice()].concat()), flow);
    }

    #[test]
    fn vlan_tags_are_looked_through() {
        let tagged = [&[0, 5, 0x08, 0x00], ipv4_udp(1, 2, 10).as_slice()].concat();
        let twice = [&[0, 9, 0x81, 0x00], tagged.as_slice()].concat();
        assert_eq!(ETHERNET.flow(&on_ethernet(0x8100, &tagged)), Some(ipv4_flow(1, 2)));
        assert_eq!(ETHERNET.flow(&on_ethernet(0x88a8, &twice)), Some(ipv4_flow(1, 2)));
    }

    #[test]
    fn ports_survive_a_snap_length_that_cuts_the_transport_header() {
        let ip = ipv4_udp(1_000, 2_000, 100);
        assert_eq!(Link::RawIp.flow(&ip[..24]), Some(ipv4_flow(1_000, 2_000)));
    }

    #[test]
    fn a_packet_cut_before_its_ports_has_a_flow_without_ports() {
        let ip = ipv4_udp(1_000, 2_000, 100);
        let expected = FlowTuple { ports: None, ..ipv4_flow(0, 0) };
        assert_eq!(Link::RawIp.flow(&ip[..23]), Some(expected));
    }

    #[test]
    fn fragments_have_no_ports() {
        let mut ip = ipv4_udp(1_000, 2_000, 100);
        ip[6] = 0x20; // more fragments
        assert_eq!(Link::RawIp.flow(&ip).unwrap().ports, None);
    }

    #[test]
    fn icmp_has_a_flow_without_ports() {
        let mut ip = ipv4_udp(1_000, 2_000, 100);
        ip[9] = 1;
        let expected = FlowTuple { protocol: 1, ports: None, ..ipv4_flow(0, 0) };
        assert_eq!(Link::RawIp.flow(&ip), Some(expected));
    }

    #[test]
    fn a_tcp_packet_over_ipv6_has_its_flow() {
        let flow = ETHERNET.flow(&on_ethernet(0x86dd, &ipv6_tcp(80, 4_000))).unwrap();
        assert_eq!(flow.protocol, TCP);
        assert_eq!(flow.ports, Some(FlowPorts { source: 80, destination: 4_000 }));
        let FlowAddresses::V6 { source, destination } = flow.addresses else {
            panic!("{flow:?} is not IPv6");
        };
        assert_eq!((source, destination), ("2001:db8::1".parse().unwrap(), Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn what_is_not_ip_has_no_flow() {
        assert_eq!(ETHERNET.flow(&on_ethernet(0x88cc, &[0; 50])), None);
        assert_eq!(ETHERNET.flow(&on_ethernet(0x0806, &[0; 28])), None);
        assert_eq!(ETHERNET.flow(&[0; 10]), None);
        assert_eq!(Link::LinuxSll.flow(&[0; 15]), None);
        assert_eq!(Link::LinuxSll2.flow(&[0; 19]), None);
        assert_eq!(Link::Null.flow(&[]), None);
    }
}
