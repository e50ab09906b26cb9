//! The NVMe/TCP connections of a capture: finds their PDUs in TCP segments, and verifies the digests.

use super::report::{ConnectionReport, DigestReport};
use super::stream::{OrderedStream, StreamPiece};
use dsa_client::client::{OffloadClient, Path};
use dsa_client::error::Error;
use nvme_tcp::conversation::Sender;
use nvme_tcp::negotiation::Negotiation;
use nvme_tcp::pdu::{Header, PduKind};
use nvme_tcp::reader::{PduReader, StreamItem};
use nvme_tcp::verify::Verifier;
use recordings::capture::Segment;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A PDU of more bytes counts as damage.
const MOST_PDU_BYTES: u32 = 16 << 20;
/// PDUs whose digests are under way at a time.
const MOST_UNDER_WAY: usize = 64;

/// The origin of a PDU: connection, sender, and the packet with its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduOrigin {
    /// Number of the connection among the reported ones.
    pub connection: usize,
    /// The side that has sent the PDU.
    pub sender: Sender,
    /// Number of the packet in the capture.
    pub packet: u64,
}

/// One direction of a connection.
struct StreamDirection {
    stream: OrderedStream,
    reader: PduReader,
}

/// A connection whose end was not seen yet.
struct OpenConnection {
    /// Number of the connection among the reported ones.
    number: usize,
    host: SocketAddr,
    negotiation: Negotiation,
    /// Data of the host, and data of the controller; `None`: nothing was seen yet.
    directions: [Option<StreamDirection>; 2],
    /// Number of its last packet.
    packet: u64,
}

/// The connection between two addresses.
enum Pair {
    NvmeTcp(Box<OpenConnection>),
    /// No data was sent yet; the sequence number of the first byte after each SYN, by its sender.
    Unknown(BTreeMap<SocketAddr, u32>),
    Other,
}

/// All connections of a capture.
pub struct Connections {
    ports: Vec<u16>,
    pairs: BTreeMap<[SocketAddr; 2], Pair>,
    verifier: Verifier<PduOrigin>,
    report: DigestReport,
}

impl Connections {
    /// An empty set of connections. Connections with one of `ports` are NVMe/TCP, whatever they begin with.
    pub fn new(ports: &[u16], client: &OffloadClient, path: Path) -> Self {
        let verifier = Verifier::new(client, path, MOST_UNDER_WAY);
        let ports = ports.to_vec();
        Self { ports, pairs: BTreeMap::new(), verifier, report: DigestReport::default() }
    }

    /// Adds the next segment of the capture.
    ///
    /// # Errors
    /// If a digest could not be computed.
    pub fn take(&mut self, segment: &Segment<'_>) -> Result<(), Error> {
        let mut key = [segment.source, segment.destination];
        key.sort();
        let pair = self.pairs.remove(&key).unwrap_or_else(|| Pair::Unknown(BTreeMap::new()));
        let pair = self.add_to(pair, segment);
        self.pairs.insert(key, pair);
        while let Some(verdict) = self.verifier.poll() {
            self.report.count(&verdict?);
        }
        Ok(())
    }

    /// Ends all connections; returns the report. `cut_in` names the packet in which the file ends.
    ///
    /// # Errors
    /// If a digest could not be computed.
    pub fn end(mut self, cut_in: Option<String>) -> Result<DigestReport, Error> {
        for pair in std::mem::take(&mut self.pairs).into_values() {
            match pair {
                Pair::NvmeTcp(open) => self.close(*open),
                Pair::Unknown(_) | Pair::Other => self.report.others += 1,
            }
        }
        while let Some(verdict) = self.verifier.wait() {
            self.report.count(&verdict?);
        }
        self.report.cut_in = cut_in;
        Ok(self.report)
    }

    fn add_to(&mut self, pair: Pair, segment: &Segment<'_>) -> Pair {
        let first = segment.sequence.wrapping_add(segment.is_syn.into());
        match pair {
            Pair::NvmeTcp(open) if segment.is_syn && open.is_another(segment.source, first) => {
                self.close(*open);
                self.add_to(Pair::Unknown(BTreeMap::new()), segment)
            }
            Pair::NvmeTcp(mut open) => {
                self.read(&mut open, segment, first);
                Pair::NvmeTcp(open)
            }
            Pair::Unknown(mut begins) => {
                if segment.is_syn {
                    begins.insert(segment.source, first);
                }
                match self.is_nvme_tcp(segment) {
                    Some(true) => {
                        let open = Box::new(self.open(&begins, segment));
                        self.add_to(Pair::NvmeTcp(open), segment)
                    }
                    Some(false) => Pair::Other,
                    None => Pair::Unknown(begins),
                }
            }
            Pair::Other if segment.is_syn => {
                self.report.others += 1;
                self.add_to(Pair::Unknown(BTreeMap::new()), segment)
            }
            Pair::Other => Pair::Other,
        }
    }

    /// Whether a connection is NVMe/TCP; `None`: it has no data yet.
    fn is_nvme_tcp(&self, segment: &Segment<'_>) -> Option<bool> {
        if segment.payload.is_empty() {
            return None;
        }
        let ports = [segment.source.port(), segment.destination.port()];
        let is_known = ports.iter().any(|port| self.ports.contains(port));
        let opens = || {
            let first = segment.payload.first_chunk()?;
            Header::parse(*first, MOST_PDU_BYTES).ok().filter(|it| it.kind == PduKind::IcReq)
        };
        Some(is_known || opens().is_some())
    }

    fn open(
        &mut self,
        begins: &BTreeMap<SocketAddr, u32>,
        segment: &Segment<'_>,
    ) -> OpenConnection {
        // The host sends first; but the side with a controller's port is the controller.
        let is_host = !self.ports.contains(&segment.source.port())
            || self.ports.contains(&segment.destination.port());
        let (host, controller) = match is_host {
            true => (segment.source, segment.destination),
            false => (segment.destination, segment.source),
        };
        let begun = |address: SocketAddr| {
            let first = *begins.get(&address)?;
            Some(StreamDirection {
                stream: OrderedStream::new(first),
                reader: PduReader::new(MOST_PDU_BYTES),
            })
        };
        self.report.connections.push(ConnectionReport::new(host, controller));
        OpenConnection {
            number: self.report.connections.len() - 1,
            host,
            negotiation: Negotiation::default(),
            directions: [begun(host), begun(controller)],
            packet: segment.packet,
        }
    }

    /// Finds the PDUs that are complete with a segment.
    fn read(&mut self, open: &mut OpenConnection, segment: &Segment<'_>, first: u32) {
        let OpenConnection { number, host, negotiation, directions, packet } = open;
        let sender = if segment.source == *host { Sender::Host } else { Sender::Controller };
        let slot = &mut directions[usize::from(sender == Sender::Controller)];
        if slot.is_none() && segment.payload.is_empty() && !segment.is_syn {
            return;
        }
        let StreamDirection { stream, reader } = slot.get_or_insert_with(|| StreamDirection {
            stream: OrderedStream::new(first),
            reader: match segment.is_syn {
                true => PduReader::new(MOST_PDU_BYTES),
                false => PduReader::mid_stream(MOST_PDU_BYTES),
            },
        });
        *packet = segment.packet;
        let origin = PduOrigin { connection: *number, sender, packet: *packet };
        let report = &mut self.report.connections[*number];
        let mut finder =
            Finder { reader, negotiation, report, verifier: &mut self.verifier, origin };
        stream.take(first, segment.payload, &mut |next| finder.take(&next));
    }

    /// Ends a connection.
    fn close(&mut self, mut open: OpenConnection) {
        let report = &mut self.report.connections[open.number];
        for (slot, sender) in open.directions.iter_mut().zip([Sender::Host, Sender::Controller]) {
            let Some(StreamDirection { stream, reader }) = slot else { continue };
            let origin = PduOrigin { connection: open.number, sender, packet: open.packet };
            let (negotiation, verifier) = (&mut open.negotiation, &mut self.verifier);
            let mut finder = Finder { reader, negotiation, report, verifier, origin };
            stream.end(&mut |next| finder.take(&next));
            report.skipped_bytes += reader.skipped_bytes();
            report.cut_bytes += reader.pending_bytes();
        }
        report.negotiation = open.negotiation;
    }
}

/// Finds PDUs in the next bytes of a stream.
struct Finder<'a> {
    reader: &'a mut PduReader,
    negotiation: &'a mut Negotiation,
    report: &'a mut ConnectionReport,
    verifier: &'a mut Verifier<PduOrigin>,
    origin: PduOrigin,
}

impl Finder<'_> {
    fn take(&mut self, next: &StreamPiece<'_>) {
        let mut bytes = match next {
            StreamPiece::Bytes(bytes) => *bytes,
            StreamPiece::Lost(bytes) => {
                self.report.lost_bytes += bytes;
                return self.reader.skip_missing(*bytes);
            }
        };
        while let Some(found) = self.reader.take(&mut bytes) {
            match found {
                StreamItem::Pdu(pdu) => {
                    self.negotiation.observe(pdu.header.kind, &pdu.front);
                    self.verifier.begin(self.origin, *pdu);
                }
                StreamItem::Broken { at, fault } => self.report.note_broken(self.origin, at, fault),
            }
        }
    }
}

impl OpenConnection {
    /// Whether a SYN opens another connection with the same addresses.
    fn is_another(&self, source: SocketAddr, first: u32) -> bool {
        let own = &self.directions[usize::from(source != self.host)];
        own.as_ref().is_some_and(|direction| direction.stream.first() != first)
    }
}
