//! The NVMe/TCP connections of a capture: their PDUs, as segments bring them, and the digests of these.

use super::report::{Connection, Report};
use super::stream::{Next, Stream};
use dsa_client::client::{Client, Path};
use dsa_client::error::Error;
use nvme_tcp::conversation::Sender;
use nvme_tcp::negotiation::Negotiation;
use nvme_tcp::pdu::{Header, PduKind};
use nvme_tcp::reader::{PduReader, StreamItem};
use nvme_tcp::verify::Verifier;
use recordings::capture::Segment;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A PDU of more bytes is taken for damage.
const MOST_PDU_BYTES: u32 = 16 << 20;
/// PDUs whose digests are under way at a time.
const MOST_UNDER_WAY: usize = 64;

/// Where a PDU is: connection, who has sent it, and the packet with its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The number of the connection.
    pub connection: usize,
    /// Who has sent it.
    pub sender: Sender,
    /// Number of the packet.
    pub packet: u64,
}

/// One direction.
struct Direction {
    stream: Stream,
    reader: PduReader,
}

/// A connection that goes on.
struct Open {
    /// Its number among the reported ones.
    number: usize,
    host: SocketAddr,
    negotiation: Negotiation,
    /// Of the host, and of the controller.
    directions: [Option<Direction>; 2],
    /// The last packet.
    packet: u64,
}

/// What connects two addresses.
enum Pair {
    NvmeTcp(Box<Open>),
    /// Nothing was sent yet; the sequence number of the first byte of each SYN, by who has sent it.
    Unknown(BTreeMap<SocketAddr, u32>),
    Other,
}

/// All connections.
pub struct Connections {
    ports: Vec<u16>,
    pairs: BTreeMap<[SocketAddr; 2], Pair>,
    verifier: Verifier<Origin>,
    report: Report,
}

impl Connections {
    /// None yet. Connections with one of these ports are NVMe/TCP, whatever they begin with.
    pub fn new(ports: &[u16], client: &Client, path: Path) -> Self {
        let verifier = Verifier::new(client, path, MOST_UNDER_WAY);
        let ports = ports.to_vec();
        Self { ports, pairs: BTreeMap::new(), verifier, report: Report::default() }
    }

    /// Takes a segment.
    ///
    /// # Errors
    /// That of a digest which could not be computed.
    pub fn take(&mut self, segment: &Segment<'_>) -> Result<(), Error> {
        let mut key = [segment.source, segment.destination];
        key.sort();
        let pair = self.pairs.remove(&key).unwrap_or_else(|| Pair::Unknown(BTreeMap::new()));
        let pair = self.go_on(pair, segment);
        self.pairs.insert(key, pair);
        while let Some(verdict) = self.verifier.poll() {
            self.report.judge(&verdict?);
        }
        Ok(())
    }

    /// What all of them came to.
    ///
    /// # Errors
    /// That of a digest which could not be computed.
    pub fn end(mut self, cut_in: Option<String>) -> Result<Report, Error> {
        for pair in std::mem::take(&mut self.pairs).into_values() {
            match pair {
                Pair::NvmeTcp(open) => self.close(*open),
                Pair::Unknown(_) | Pair::Other => self.report.others += 1,
            }
        }
        while let Some(verdict) = self.verifier.wait() {
            self.report.judge(&verdict?);
        }
        self.report.cut_in = cut_in;
        Ok(self.report)
    }

    fn go_on(&mut self, pair: Pair, segment: &Segment<'_>) -> Pair {
        let first = segment.sequence.wrapping_add(segment.is_syn.into());
        match pair {
            Pair::NvmeTcp(open) if segment.is_syn && open.is_another(segment.source, first) => {
                self.close(*open);
                self.go_on(Pair::Unknown(BTreeMap::new()), segment)
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
                        self.go_on(Pair::NvmeTcp(open), segment)
                    }
                    Some(false) => Pair::Other,
                    None => Pair::Unknown(begins),
                }
            }
            Pair::Other if segment.is_syn => {
                self.report.others += 1;
                self.go_on(Pair::Unknown(BTreeMap::new()), segment)
            }
            Pair::Other => Pair::Other,
        }
    }

    /// Whether a connection is one; `None`: its first bytes have not come.
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

    fn open(&mut self, begins: &BTreeMap<SocketAddr, u32>, segment: &Segment<'_>) -> Open {
        // Who sends first is the host, unless it has a controller's port.
        let is_host = !self.ports.contains(&segment.source.port())
            || self.ports.contains(&segment.destination.port());
        let (host, controller) = match is_host {
            true => (segment.source, segment.destination),
            false => (segment.destination, segment.source),
        };
        let begun = |address: SocketAddr| {
            let first = *begins.get(&address)?;
            Some(Direction { stream: Stream::new(first), reader: PduReader::new(MOST_PDU_BYTES) })
        };
        self.report.connections.push(Connection::new(host, controller));
        Open {
            number: self.report.connections.len() - 1,
            host,
            negotiation: Negotiation::default(),
            directions: [begun(host), begun(controller)],
            packet: segment.packet,
        }
    }

    /// Finds the PDUs that a segment ends.
    fn read(&mut self, open: &mut Open, segment: &Segment<'_>, first: u32) {
        let Open { number, host, negotiation, directions, packet } = open;
        let sender = if segment.source == *host { Sender::Host } else { Sender::Controller };
        let slot = &mut directions[usize::from(sender == Sender::Controller)];
        if slot.is_none() && segment.payload.is_empty() && !segment.is_syn {
            return;
        }
        let Direction { stream, reader } = slot.get_or_insert_with(|| Direction {
            stream: Stream::new(first),
            reader: match segment.is_syn {
                true => PduReader::new(MOST_PDU_BYTES),
                false => PduReader::mid_stream(MOST_PDU_BYTES),
            },
        });
        *packet = segment.packet;
        let origin = Origin { connection: *number, sender, packet: *packet };
        let report = &mut self.report.connections[*number];
        let mut finder =
            Finder { reader, negotiation, report, verifier: &mut self.verifier, origin };
        stream.take(first, segment.payload, &mut |next| finder.take(&next));
    }

    /// Nothing else comes of a connection.
    fn close(&mut self, mut open: Open) {
        let report = &mut self.report.connections[open.number];
        for (slot, sender) in open.directions.iter_mut().zip([Sender::Host, Sender::Controller]) {
            let Some(Direction { stream, reader }) = slot else { continue };
            let origin = Origin { connection: open.number, sender, packet: open.packet };
            let (negotiation, verifier) = (&mut open.negotiation, &mut self.verifier);
            let mut finder = Finder { reader, negotiation, report, verifier, origin };
            stream.end(&mut |next| finder.take(&next));
            report.skipped_bytes += reader.skipped_bytes();
            report.cut_bytes += reader.pending_bytes();
        }
        report.negotiation = open.negotiation;
    }
}

/// Finds PDUs in what comes next of a stream.
struct Finder<'a> {
    reader: &'a mut PduReader,
    negotiation: &'a mut Negotiation,
    report: &'a mut Connection,
    verifier: &'a mut Verifier<Origin>,
    origin: Origin,
}

impl Finder<'_> {
    fn take(&mut self, next: &Next<'_>) {
        let mut bytes = match next {
            Next::Bytes(bytes) => *bytes,
            Next::Lost(bytes) => {
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
                StreamItem::Broken { at, fault } => self.report.broken(self.origin, at, fault),
            }
        }
    }
}

impl Open {
    /// Whether a SYN opens another connection with the same addresses.
    fn is_another(&self, source: SocketAddr, first: u32) -> bool {
        let own = &self.directions[usize::from(source != self.host)];
        own.as_ref().is_some_and(|direction| direction.stream.first() != first)
    }
}
