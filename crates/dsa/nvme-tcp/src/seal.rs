//! Computes the digests of messages, and puts them into the PDUs.

use crate::digests::{CoveredBuffers, DigestQueue, PduDigests};
use crate::message::PduMessage;
use crate::negotiation::Terms;
use crate::pdu::{DIGEST_BYTES, Header};
use crate::tally::DigestTally;
use dsa_client::client::{OffloadClient, Path};
use dsa_client::error::Error;

/// A PDU with its digests, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed<T> {
    /// The tag that was given to [`Sealer::begin`].
    pub tag: T,
    /// Common header of the PDU.
    pub header: Header,
    /// All bytes, in order: header, digest and padding; data; digest.
    pub buffers: Vec<Vec<u8>>,
}

impl<T> Sealed<T> {
    /// All bytes of the PDU as one buffer.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.buffers.concat()
    }
}

/// Seals messages: computes their digests, several at a time.
pub struct Sealer<T> {
    digests: DigestQueue<(T, Header)>,
    headers: DigestTally,
    data: DigestTally,
}

impl<T> Sealer<T> {
    /// A sealer without messages. At most `most` are under way at a time; `path` chooses device or CPU.
    #[must_use]
    pub fn new(client: &OffloadClient, path: Path, most: usize) -> Self {
        let digests = DigestQueue::new(client, path, most);
        Self { digests, headers: DigestTally::default(), data: DigestTally::default() }
    }

    /// Begins to seal a message, with digests and alignment as the receiver's `terms` ask for.
    ///
    /// # Errors
    /// [`Error::Argument`] if the message is too long for the field PLEN.
    pub fn begin(&mut self, tag: T, message: PduMessage, terms: Terms) -> Result<(), Error> {
        let (header, front, data) = message.lay_out(terms)?;
        let covered = if header.has_header_digest() { header.kind.header_bytes() } else { 0 };
        let front = CoveredBuffers { buffers: vec![front], bytes: covered.into() };
        let data = match header.has_data_digest() {
            true => CoveredBuffers::all(data),
            false => CoveredBuffers { buffers: data, bytes: 0 },
        };
        self.digests.begin((tag, header), front, data);
        Ok(())
    }

    /// Returns a sealed PDU, if one is finished; PDUs finish in any order.
    ///
    /// # Errors
    /// The item is an error if a digest could not be computed.
    pub fn poll(&mut self) -> Option<Result<Sealed<T>, Error>> {
        let ended = self.digests.poll()?;
        Some(ended.map(|ended| self.finish(ended)))
    }

    /// Waits for a sealed PDU; `None`: no message is under way.
    ///
    /// # Errors
    /// The item is an error if a digest could not be computed.
    pub fn wait(&mut self) -> Option<Result<Sealed<T>, Error>> {
        let ended = self.digests.wait()?;
        Some(ended.map(|ended| self.finish(ended)))
    }

    /// Header digests and data digests so far, by device and CPU.
    #[must_use]
    pub fn tallies(&self) -> (DigestTally, DigestTally) {
        (self.headers, self.data)
    }

    fn finish(&mut self, ended: PduDigests<(T, Header)>) -> Sealed<T> {
        let PduDigests { tag: (tag, header), header: mut front, data } = ended;
        let mut buffers = std::mem::take(&mut front.buffers);
        if header.has_header_digest() {
            let at = usize::from(header.kind.header_bytes());
            buffers[0][at..at + DIGEST_BYTES].copy_from_slice(&front.crc.to_le_bytes());
            self.headers.count(front.bytes);
        }
        buffers.extend(data.buffers);
        if header.has_data_digest() {
            buffers.push(data.crc.to_le_bytes().to_vec());
            self.data.count(data.bytes);
        }
        Sealed { tag, header, buffers }
    }
}
