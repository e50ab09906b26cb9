//! Writes connections as a pcap file: bytes in TCP, IPv4 and Ethernet.

use nvme_tcp::conversation::Sender;
use pcap_file::PcapError;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use std::io::Write;
use std::time::Duration;
use units::narrow::fit;

/// Bytes of a segment, as on Ethernet.
const SEGMENT_BYTES: usize = 1460;
/// Port of the controller.
const CONTROLLER_PORT: u16 = 4420;
/// Addresses of host and controller.
const ADDRESSES: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];
/// Flags of TCP.
mod tcp {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const PUSH: u8 = 8;
    pub const ACK: u8 = 16;
}

/// A capture that is being written.
pub struct Frames<W: Write> {
    writer: PcapWriter<W>,
    packets: u64,
    host_port: u16,
    /// Next sequence number of host and controller.
    next: [u32; 2],
}

impl<W: Write> Frames<W> {
    /// An empty capture.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn new(writer: W) -> Result<Self, PcapError> {
        let writer = PcapWriter::with_header(writer, PcapHeader::default())?;
        Ok(Self { writer, packets: 0, host_port: 0, next: [0; 2] })
    }

    /// Opens a connection. `number` gives the host's port; `first` are the initial sequence numbers of host
    /// and controller.
    ///
    /// # Errors
    /// If a packet cannot be written.
    pub fn open(&mut self, number: u16, first: [u32; 2]) -> Result<(), PcapError> {
        self.host_port = 40_000 + number;
        self.next = first;
        self.packet(Sender::Host, tcp::SYN, &[])?;
        self.next[0] = self.next[0].wrapping_add(1);
        self.packet(Sender::Controller, tcp::SYN | tcp::ACK, &[])?;
        self.next[1] = self.next[1].wrapping_add(1);
        self.packet(Sender::Host, tcp::ACK, &[])
    }

    /// Sends bytes, in as many segments as they need.
    ///
    /// # Errors
    /// If a packet cannot be written.
    pub fn send(&mut self, sender: Sender, bytes: &[u8]) -> Result<(), PcapError> {
        for segment in bytes.chunks(SEGMENT_BYTES) {
            self.packet(sender, tcp::ACK | tcp::PUSH, segment)?;
            let next = &mut self.next[usize::from(sender == Sender::Controller)];
            *next = next.wrapping_add(fit(segment.len()));
        }
        Ok(())
    }

    /// Closes the connection by a FIN of each side.
    ///
    /// # Errors
    /// If a packet cannot be written.
    pub fn close(&mut self) -> Result<(), PcapError> {
        self.packet(Sender::Host, tcp::FIN | tcp::ACK, &[])?;
        self.packet(Sender::Controller, tcp::FIN | tcp::ACK, &[])
    }

    /// Returns the writer below.
    pub fn into_writer(self) -> W {
        self.writer.into_writer()
    }

    fn packet(&mut self, sender: Sender, flags: u8, payload: &[u8]) -> Result<(), PcapError> {
        let side = usize::from(sender == Sender::Controller);
        let (own, peer) = (ADDRESSES[side], ADDRESSES[1 - side]);
        let ports = [self.host_port, CONTROLLER_PORT];
        let mut segment = Vec::with_capacity(20 + payload.len());
        segment.extend(ports[side].to_be_bytes());
        segment.extend(ports[1 - side].to_be_bytes());
        segment.extend(self.next[side].to_be_bytes());
        let acknowledged = if flags & tcp::ACK == 0 { 0 } else { self.next[1 - side] };
        segment.extend(acknowledged.to_be_bytes());
        // Header of five words, window, checksum, no urgent data.
        segment.extend([5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend(payload);
        let bytes: u16 = fit(segment.len());
        let [high, low] = bytes.to_be_bytes();
        let pseudo = [&own[..], &peer, &[0, 6, high, low], &segment].concat();
        segment[16..18].copy_from_slice(&checksum(&pseudo).to_be_bytes());

        let mut ip = vec![0x45, 0];
        ip.extend((20 + bytes).to_be_bytes());
        ip.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        ip.extend(own);
        ip.extend(peer);
        let own_checksum = checksum(&ip);
        ip[10..12].copy_from_slice(&own_checksum.to_be_bytes());

        // Local addresses, the last byte says whose.
        let card = |side: usize| [2, 0, 0, 0, 0, 1 + u8::from(side == 1)];
        let frame = [&card(1 - side)[..], &card(side), &[8, 0], &ip, &segment].concat();
        let time = Duration::from_micros(1_700_000_000_000_000 + self.packets);
        self.packets += 1;
        self.writer.write_packet(&PcapPacket::new(time, fit(frame.len()), &frame)).map(drop)
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2);
    let sum: u64 = pairs
        .map(|pair| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !fit::<u16, _>(folded)
}
