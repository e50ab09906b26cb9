//! Finds the PDUs in the bytes of one direction of a connection, however these are cut into pieces.
//!
//! Memory is bounded by the largest allowed PDU, and grows with the bytes that have arrived, never with a
//! length that a header claims. Behind bytes that are not a PDU, or that are missing, the reader searches for
//! the next valid common header; data that looks like one may mislead it.

use crate::pdu::{COMMON_BYTES, DIGEST_BYTES, Header, HeaderFault, flags};
use units::narrow::usize_from;

/// Size of a data buffer from which on further data goes into a new buffer.
const PIECE_BYTES: usize = 4096;

/// A complete PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Offset of the PDU's first byte in the stream.
    pub at: u64,
    /// Common header of the PDU.
    pub header: Header,
    /// The bytes before the data: header, header digest, padding.
    pub front: Vec<u8>,
    /// Data of the PDU, in order, in any number of buffers.
    pub data: Vec<Vec<u8>>,
    /// Bytes of the data.
    data_bytes: usize,
    /// The bytes of the data digest, if there is one.
    tail: Vec<u8>,
}

impl Pdu {
    /// The header digest in the PDU; `None`: it has none.
    #[must_use]
    pub fn header_digest(&self) -> Option<u32> {
        let at = usize::from(self.header.kind.header_bytes());
        self.header.has_header_digest().then(|| parse_digest(self.front.get(at..))).flatten()
    }

    /// The data digest in the PDU; `None`: it has none.
    #[must_use]
    pub fn data_digest(&self) -> Option<u32> {
        parse_digest(Some(&self.tail))
    }

    fn gathered_bytes(&self) -> usize {
        self.front.len() + self.data_bytes + self.tail.len()
    }
}

/// Parses a digest: the least significant byte is first.
fn parse_digest(bytes: Option<&[u8]>) -> Option<u32> {
    bytes?.first_chunk::<DIGEST_BYTES>().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A PDU, or damage, that was found in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamItem {
    /// A PDU.
    Pdu(Box<Pdu>),
    /// The bytes where a PDU has to begin are not a PDU; the reader searches for the next one.
    Broken {
        /// Offset in the stream where the PDU had to begin.
        at: u64,
        /// The invalid field of the header.
        fault: HeaderFault,
    },
}

enum ReaderState {
    /// A PDU has to begin at the next byte.
    Begin,
    /// A PDU may begin at any byte.
    Search,
    /// The next byte belongs to this PDU.
    Within(Box<Pdu>),
}

/// Finds the PDUs of one direction of a connection.
pub struct PduReader {
    most_bytes: u32,
    state: ReaderState,
    /// The last bytes that may begin a PDU: fewer than those of a common header.
    window: Vec<u8>,
    /// Offset of the next byte in the stream.
    position: u64,
    skipped: u64,
}

impl PduReader {
    /// A reader at the beginning of a connection. PDUs of more than `most_bytes` count as damage.
    #[must_use]
    pub fn new(most_bytes: u32) -> Self {
        let window = Vec::with_capacity(COMMON_BYTES);
        Self { most_bytes, state: ReaderState::Begin, window, position: 0, skipped: 0 }
    }

    /// A reader in the middle of a connection, which searches for the first PDU. PDUs of more than
    /// `most_bytes` count as damage.
    #[must_use]
    pub fn mid_stream(most_bytes: u32) -> Self {
        Self { state: ReaderState::Search, ..Self::new(most_bytes) }
    }

    /// Number of bytes that were skipped: they belong to no PDU.
    #[must_use]
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }

    /// Number of bytes of a PDU that is not complete yet.
    #[must_use]
    pub fn pending_bytes(&self) -> u64 {
        let pending = match &self.state {
            ReaderState::Within(pdu) => pdu.gathered_bytes(),
            ReaderState::Begin | ReaderState::Search => 0,
        };
        (pending + self.window.len()) as u64
    }

    /// Notes that the next `bytes` of the stream are missing. A PDU that is not complete is dropped, and its
    /// bytes count as skipped; the reader searches for the next one.
    pub fn skip_missing(&mut self, bytes: u64) {
        self.skipped += self.pending_bytes();
        self.window.clear();
        self.state = ReaderState::Search;
        self.position += bytes;
    }

    /// Reads up to the end of the next PDU or damage, and removes the bytes that were read from `bytes`;
    /// `None`: all bytes are read, and the next PDU is not complete.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Option<StreamItem> {
        while !bytes.is_empty() {
            let item = match std::mem::replace(&mut self.state, ReaderState::Begin) {
                ReaderState::Within(pdu) => self.continue_pdu(pdu, bytes),
                ReaderState::Begin => self.begin(bytes, false),
                ReaderState::Search => self.begin(bytes, true),
            };
            if item.is_some() {
                return item;
            }
        }
        None
    }

    /// Reads a common header; in a search at the first byte where one is valid.
    fn begin(&mut self, bytes: &mut &[u8], is_search: bool) -> Option<StreamItem> {
        let wanted = COMMON_BYTES - self.window.len();
        let window = split_front(bytes, wanted);
        self.window.extend_from_slice(window);
        self.position += window.len() as u64;
        let kept = if is_search { ReaderState::Search } else { ReaderState::Begin };
        let Some(first) = self.window.first_chunk::<COMMON_BYTES>() else {
            self.state = kept;
            return None;
        };
        let at = self.position - COMMON_BYTES as u64;
        let parsed = Header::parse(*first, self.most_bytes);
        match parsed {
            Ok(header) if !is_search || header.flags & !flags::ALL == 0 => {
                let front = std::mem::take(&mut self.window);
                let (data, tail) = (Vec::new(), Vec::new());
                let pdu = Pdu { at, header, front, data, data_bytes: 0, tail };
                self.state = ReaderState::Within(Box::new(pdu));
                None
            }
            other => {
                self.window.remove(0);
                self.skipped += 1;
                self.state = ReaderState::Search;
                other.err().filter(|_| !is_search).map(|fault| StreamItem::Broken { at, fault })
            }
        }
    }

    /// Reads bytes that belong to a PDU.
    fn continue_pdu(&mut self, mut pdu: Box<Pdu>, bytes: &mut &[u8]) -> Option<StreamItem> {
        let before = bytes.len();
        let (front_bytes, data) = (pdu.header.front_bytes(), pdu.header.data());
        let end = usize_from(pdu.header.bytes.into());
        pdu.front.extend_from_slice(split_front(bytes, front_bytes - pdu.front.len()));
        let piece = split_front(bytes, data.len() - pdu.data_bytes);
        append(&mut pdu.data, piece);
        pdu.data_bytes += piece.len();
        pdu.tail.extend_from_slice(split_front(bytes, end - data.end - pdu.tail.len()));
        self.position += (before - bytes.len()) as u64;
        if pdu.gathered_bytes() == end {
            return Some(StreamItem::Pdu(pdu));
        }
        self.state = ReaderState::Within(pdu);
        None
    }
}

/// Removes up to `most` bytes from the front of `bytes`, and returns them.
fn split_front<'a>(bytes: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (first, rest) = bytes.split_at(most.min(bytes.len()));
    *bytes = rest;
    first
}

/// Appends bytes to the last buffer while that has fewer than [`PIECE_BYTES`], else as a new buffer.
fn append(pieces: &mut Vec<Vec<u8>>, bytes: &[u8]) {
    match pieces.last_mut() {
        _ if bytes.is_empty() => {}
        Some(last) if last.len() < PIECE_BYTES => last.extend_from_slice(bytes),
        _ => pieces.push(bytes.to_vec()),
    }
}
