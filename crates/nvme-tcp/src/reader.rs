//! Finds the PDUs in the bytes of one direction of a connection, in whatever pieces these come.
//!
//! Memory is bounded by the largest PDU that is allowed, and grows with the bytes that are there, never
//! with a length that a header claims. Behind bytes that are no PDU, or that are missing, it searches for
//! the next common header that makes sense; what looks like one within data may mislead it.

use crate::pdu::{COMMON_BYTES, DIGEST_BYTES, Fault, Header, flags};
use units::narrow::usize_from;

/// Bytes of a piece of data from which on the next one has a buffer of its own.
const PIECE_BYTES: usize = 4096;

/// A PDU that is there in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Where it begins, in bytes of the stream.
    pub at: u64,
    /// Its common header.
    pub header: Header,
    /// All before its data: header, header digest, padding.
    pub front: Vec<u8>,
    /// Its data, in order.
    pub data: Vec<Vec<u8>>,
    /// Bytes of it.
    data_bytes: usize,
    /// The data digest as it is in the stream, if there is one.
    tail: Vec<u8>,
}

impl Pdu {
    /// The header digest that it states.
    #[must_use]
    pub fn header_digest(&self) -> Option<u32> {
        let at = usize::from(self.header.kind.header_bytes());
        let is_there = self.header.has_header_digest();
        is_there.then(|| digest_in(self.front.get(at..))).flatten()
    }

    /// The data digest that it states.
    #[must_use]
    pub fn data_digest(&self) -> Option<u32> {
        digest_in(Some(&self.tail))
    }

    fn gathered_bytes(&self) -> usize {
        self.front.len() + self.data_bytes + self.tail.len()
    }
}

/// Digests are in memory with the least significant byte first.
fn digest_in(bytes: Option<&[u8]>) -> Option<u32> {
    bytes?.first_chunk::<DIGEST_BYTES>().map(|bytes| u32::from_le_bytes(*bytes))
}

/// What the bytes of a stream come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A PDU.
    Pdu(Box<Pdu>),
    /// No PDU begins where one had to; the search for the next one has begun.
    Broken {
        /// Where, in bytes of the stream.
        at: u64,
        /// Why not.
        fault: Fault,
    },
}

enum State {
    /// A PDU has to begin here.
    Begin,
    /// A PDU may begin anywhere.
    Search,
    /// Within a PDU.
    Within(Box<Pdu>),
}

/// Finds PDUs.
pub struct Reader {
    most_bytes: u32,
    state: State,
    /// The last bytes that may begin a PDU: fewer than a common header has.
    window: Vec<u8>,
    /// Bytes of the stream behind which it is.
    position: u64,
    skipped: u64,
}

impl Reader {
    /// At the beginning of a connection; PDUs of more than so many bytes are taken for damage.
    #[must_use]
    pub fn new(most_bytes: u32) -> Self {
        let window = Vec::with_capacity(COMMON_BYTES);
        Self { most_bytes, state: State::Begin, window, position: 0, skipped: 0 }
    }

    /// In the middle of a connection: the first PDU is searched for.
    #[must_use]
    pub fn searching(most_bytes: u32) -> Self {
        Self { state: State::Search, ..Self::new(most_bytes) }
    }

    /// Bytes that belong to no PDU that was returned, or will be.
    #[must_use]
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }

    /// Bytes of a PDU whose end has not come.
    #[must_use]
    pub fn pending_bytes(&self) -> u64 {
        let pending = match &self.state {
            State::Within(pdu) => pdu.gathered_bytes(),
            State::Begin | State::Search => 0,
        };
        (pending + self.window.len()) as u64
    }

    /// So many bytes of the stream are missing: what has begun is given up.
    pub fn lose(&mut self, bytes: u64) {
        self.skipped += self.pending_bytes();
        self.window.clear();
        self.state = State::Search;
        self.position += bytes;
    }

    /// Takes bytes up to the end of a PDU, and takes them away from `bytes`; `None` when all are taken.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Option<Found> {
        while !bytes.is_empty() {
            let found = match std::mem::replace(&mut self.state, State::Begin) {
                State::Within(pdu) => self.go_on(pdu, bytes),
                State::Begin => self.begin(bytes, false),
                State::Search => self.begin(bytes, true),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Looks for a common header, here or, in a search, from here on.
    fn begin(&mut self, bytes: &mut &[u8], is_search: bool) -> Option<Found> {
        let wanted = COMMON_BYTES - self.window.len();
        let window = split(bytes, wanted);
        self.window.extend_from_slice(window);
        self.position += window.len() as u64;
        let kept = if is_search { State::Search } else { State::Begin };
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
                self.state = State::Within(Box::new(pdu));
                None
            }
            other => {
                self.window.remove(0);
                self.skipped += 1;
                self.state = State::Search;
                other.err().filter(|_| !is_search).map(|fault| Found::Broken { at, fault })
            }
        }
    }

    /// Takes what belongs to a PDU.
    fn go_on(&mut self, mut pdu: Box<Pdu>, bytes: &mut &[u8]) -> Option<Found> {
        let before = bytes.len();
        let (front_bytes, data) = (pdu.header.front_bytes(), pdu.header.data());
        let end = usize_from(pdu.header.bytes.into());
        pdu.front.extend_from_slice(split(bytes, front_bytes - pdu.front.len()));
        let piece = split(bytes, data.len() - pdu.data_bytes);
        append(&mut pdu.data, piece);
        pdu.data_bytes += piece.len();
        pdu.tail.extend_from_slice(split(bytes, end - data.end - pdu.tail.len()));
        self.position += (before - bytes.len()) as u64;
        if pdu.gathered_bytes() == end {
            return Some(Found::Pdu(pdu));
        }
        self.state = State::Within(pdu);
        None
    }
}

/// Takes at most so many bytes away.
fn split<'a>(bytes: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (first, rest) = bytes.split_at(most.min(bytes.len()));
    *bytes = rest;
    first
}

/// Appends to the last piece while that one is small.
fn append(pieces: &mut Vec<Vec<u8>>, bytes: &[u8]) {
    match pieces.last_mut() {
        _ if bytes.is_empty() => {}
        Some(last) if last.len() < PIECE_BYTES => last.extend_from_slice(bytes),
        _ => pieces.push(bytes.to_vec()),
    }
}
