//! Verifies the digests of PDUs.

use crate::digests::{CoveredBuffers, Digest, DigestQueue, PduDigests};
use crate::pdu::Header;
use crate::reader::Pdu;
use crate::tally::{DigestBytes, DigestTally};
use dsa_client::client::{OffloadClient, Path};
use dsa_client::error::Error;

/// The result of the check of one digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestCheck {
    /// The PDU has no such digest.
    Absent,
    /// The digest is right.
    Right,
    /// The digest is wrong.
    Wrong {
        /// The digest in the PDU.
        stated: u32,
        /// The digest of the bytes.
        computed: u32,
    },
}

impl DigestCheck {
    fn compare(stated: Option<u32>, computed: u32) -> Self {
        match stated {
            None => Self::Absent,
            Some(stated) if stated == computed => Self::Right,
            Some(stated) => Self::Wrong { stated, computed },
        }
    }

    /// Whether the digest is wrong.
    #[must_use]
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Wrong { .. })
    }
}

/// The result of the check of a PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduVerdict<T> {
    /// The tag that was given to [`Verifier::begin`].
    pub tag: T,
    /// Offset of the PDU in its stream, in bytes.
    pub at: u64,
    /// Common header of the PDU.
    pub pdu: Header,
    /// Result of the check of the header digest.
    pub header: DigestCheck,
    /// Result of the check of the data digest.
    pub data: DigestCheck,
    /// Bytes of the header digest that a device and the CPU did.
    pub header_bytes: DigestBytes,
    /// Bytes of the data digest that a device and the CPU did.
    pub data_bytes: DigestBytes,
}

/// The digests in a PDU, kept while those of its bytes are computed.
struct StatedDigests<T> {
    tag: T,
    at: u64,
    pdu: Header,
    header: Option<u32>,
    data: Option<u32>,
}

/// Verifies PDUs: computes their digests, several at a time, and compares them with those in the PDUs.
pub struct Verifier<T> {
    digests: DigestQueue<StatedDigests<T>>,
    headers: DigestTally,
    data: DigestTally,
}

impl<T> Verifier<T> {
    /// A verifier without PDUs. At most `most` are under way at a time; `path` chooses device or CPU.
    #[must_use]
    pub fn new(client: &OffloadClient, path: Path, most: usize) -> Self {
        let digests = DigestQueue::new(client, path, most);
        Self { digests, headers: DigestTally::default(), data: DigestTally::default() }
    }

    /// Begins to verify a PDU. If too many are under way, waits for another one. The verdict is kept until
    /// [`Self::poll`] or [`Self::wait`] returns it.
    pub fn begin(&mut self, tag: T, pdu: Pdu) {
        let (header, data) = (pdu.header_digest(), pdu.data_digest());
        let stated = StatedDigests { tag, at: pdu.at, pdu: pdu.header, header, data };
        let covered = match header {
            Some(_) => usize::from(pdu.header.kind.header_bytes()),
            None => 0,
        };
        let front = CoveredBuffers { buffers: vec![pdu.front], bytes: covered };
        let data =
            if data.is_some() { CoveredBuffers::all(pdu.data) } else { CoveredBuffers::default() };
        self.digests.begin(stated, front, data);
    }

    /// Returns the verdict of a PDU, if one is finished; PDUs finish in any order.
    ///
    /// # Errors
    /// The item is an error if a digest could not be computed.
    pub fn poll(&mut self) -> Option<Result<PduVerdict<T>, Error>> {
        let ended = self.digests.poll()?;
        Some(ended.map(|ended| self.finish(ended)))
    }

    /// Waits for the verdict of a PDU; `None`: no PDU is under way.
    ///
    /// # Errors
    /// The item is an error if a digest could not be computed.
    pub fn wait(&mut self) -> Option<Result<PduVerdict<T>, Error>> {
        let ended = self.digests.wait()?;
        Some(ended.map(|ended| self.finish(ended)))
    }

    /// Header digests and data digests so far, by device and CPU.
    #[must_use]
    pub fn tallies(&self) -> (DigestTally, DigestTally) {
        (self.headers, self.data)
    }

    fn finish(&mut self, ended: PduDigests<StatedDigests<T>>) -> PduVerdict<T> {
        let PduDigests {
            tag: StatedDigests { tag, at, pdu, header, data },
            header: front,
            data: body,
        } = ended;
        let (header_bytes, data_bytes) = (front.bytes, body.bytes);
        let header = check(header, &front, &mut self.headers);
        let data = check(data, &body, &mut self.data);
        PduVerdict { tag, at, pdu, header, data, header_bytes, data_bytes }
    }
}

fn check(stated: Option<u32>, digest: &Digest, tally: &mut DigestTally) -> DigestCheck {
    if stated.is_some() {
        tally.count(digest.bytes);
    }
    DigestCheck::compare(stated, digest.crc)
}
