//! Judges the digests of PDUs.

use crate::digests::{Covered, Digest, Digests, Ended};
use crate::pdu::Header;
use crate::reader::Pdu;
use crate::tally::{Share, Tally};
use dsa_client::client::{Client, Path};
use dsa_client::error::Error;

/// What a digest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The PDU states none.
    Absent,
    /// It is that of the bytes.
    Right,
    /// It is not.
    Wrong {
        /// What the PDU states.
        stated: u32,
        /// That of the bytes.
        computed: u32,
    },
}

impl Judged {
    fn of(stated: Option<u32>, computed: u32) -> Self {
        match stated {
            None => Self::Absent,
            Some(stated) if stated == computed => Self::Right,
            Some(stated) => Self::Wrong { stated, computed },
        }
    }

    /// Whether it is wrong.
    #[must_use]
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Wrong { .. })
    }
}

/// What the digests of a PDU are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<T> {
    /// What it was begun with.
    pub tag: T,
    /// Where the PDU begins, in bytes of its stream.
    pub at: u64,
    /// Its common header.
    pub pdu: Header,
    /// Header digest.
    pub header: Judged,
    /// Data digest.
    pub data: Judged,
    /// Who computed the header digest, if there is one.
    pub header_share: Share,
    /// Who computed the data digest, if there is one.
    pub data_share: Share,
}

/// What a PDU states, while its digests are computed.
struct Stated<T> {
    tag: T,
    at: u64,
    pdu: Header,
    header: Option<u32>,
    data: Option<u32>,
}

/// PDUs whose digests are under way.
pub struct Verifier<T> {
    digests: Digests<Stated<T>>,
    headers: Tally,
    data: Tally,
}

impl<T> Verifier<T> {
    /// None yet; at most so many are under way at a time.
    #[must_use]
    pub fn new(client: &Client, path: Path, most: usize) -> Self {
        let digests = Digests::new(client, path, most);
        Self { digests, headers: Tally::default(), data: Tally::default() }
    }

    /// Begins a PDU, after the end of another one if too many are under way. Its verdict is kept until it
    /// is taken.
    pub fn begin(&mut self, tag: T, pdu: Pdu) {
        let (header, data) = (pdu.header_digest(), pdu.data_digest());
        let stated = Stated { tag, at: pdu.at, pdu: pdu.header, header, data };
        let covered = match header {
            Some(_) => usize::from(pdu.header.kind.header_bytes()),
            None => 0,
        };
        let front = Covered { buffers: vec![pdu.front], bytes: covered };
        let data = if data.is_some() { Covered::all(pdu.data) } else { Covered::default() };
        self.digests.begin(stated, front, data);
    }

    /// A verdict, if there is one; they come in any order.
    pub fn poll(&mut self) -> Option<Result<Verdict<T>, Error>> {
        let ended = self.digests.poll()?;
        Some(ended.map(|ended| self.judged(ended)))
    }

    /// Waits for one; `None` if none is under way.
    pub fn wait(&mut self) -> Option<Result<Verdict<T>, Error>> {
        let ended = self.digests.wait()?;
        Some(ended.map(|ended| self.judged(ended)))
    }

    /// Who computed the digests of headers, and those of data.
    #[must_use]
    pub fn tallies(&self) -> (Tally, Tally) {
        (self.headers, self.data)
    }

    fn judged(&mut self, ended: Ended<Stated<T>>) -> Verdict<T> {
        let Ended { tag: Stated { tag, at, pdu, header, data }, header: front, data: body } = ended;
        let (header_share, data_share) = (front.share, body.share);
        let header = judge(header, &front, &mut self.headers);
        let data = judge(data, &body, &mut self.data);
        Verdict { tag, at, pdu, header, data, header_share, data_share }
    }
}

fn judge(stated: Option<u32>, digest: &Digest, tally: &mut Tally) -> Judged {
    if stated.is_some() {
        tally.count(digest.share);
    }
    Judged::of(stated, digest.crc)
}
