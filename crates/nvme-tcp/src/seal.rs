//! Writes the digests of messages.

use crate::digests::{Covered, Digests, Ended};
use crate::message::Message;
use crate::negotiation::Terms;
use crate::pdu::{DIGEST_BYTES, Header};
use crate::tally::Tally;
use dsa_client::client::{Client, Path};
use dsa_client::error::Error;

/// A PDU as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed<T> {
    /// What it was begun with.
    pub tag: T,
    /// Its common header.
    pub header: Header,
    /// Its bytes, in order: header, digest and padding; data; digest.
    pub buffers: Vec<Vec<u8>>,
}

impl<T> Sealed<T> {
    /// Its bytes as one buffer.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.buffers.concat()
    }
}

/// Messages whose digests are under way.
pub struct Sealer<T> {
    digests: Digests<(T, Header)>,
    headers: Tally,
    data: Tally,
}

impl<T> Sealer<T> {
    /// None yet; at most so many are under way at a time.
    #[must_use]
    pub fn new(client: &Client, path: Path, most: usize) -> Self {
        let digests = Digests::new(client, path, most);
        Self { digests, headers: Tally::default(), data: Tally::default() }
    }

    /// Begins a message that its receiver's terms say the digests and the alignment of.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is longer than its length can say.
    pub fn begin(&mut self, tag: T, message: Message, terms: Terms) -> Result<(), Error> {
        let (header, front, data) = message.laid_out(terms)?;
        let covered = if header.has_header_digest() { header.kind.header_bytes() } else { 0 };
        let front = Covered { buffers: vec![front], bytes: covered.into() };
        let data = match header.has_data_digest() {
            true => Covered::all(data),
            false => Covered { buffers: data, bytes: 0 },
        };
        self.digests.begin((tag, header), front, data);
        Ok(())
    }

    /// One that is sealed, if there is one; they come in any order.
    pub fn poll(&mut self) -> Option<Result<Sealed<T>, Error>> {
        let ended = self.digests.poll()?;
        Some(ended.map(|ended| self.sealed(ended)))
    }

    /// Waits for one; `None` if none is under way.
    pub fn wait(&mut self) -> Option<Result<Sealed<T>, Error>> {
        let ended = self.digests.wait()?;
        Some(ended.map(|ended| self.sealed(ended)))
    }

    /// Who computed the digests of headers, and those of data.
    #[must_use]
    pub fn tallies(&self) -> (Tally, Tally) {
        (self.headers, self.data)
    }

    fn sealed(&mut self, ended: Ended<(T, Header)>) -> Sealed<T> {
        let Ended { tag: (tag, header), header: mut front, data } = ended;
        let mut buffers = std::mem::take(&mut front.buffers);
        if header.has_header_digest() {
            let at = usize::from(header.kind.header_bytes());
            buffers[0][at..at + DIGEST_BYTES].copy_from_slice(&front.crc.to_le_bytes());
            self.headers.count(front.share);
        }
        buffers.extend(data.buffers);
        if header.has_data_digest() {
            buffers.push(data.crc.to_le_bytes().to_vec());
            self.data.count(data.share);
        }
        Sealed { tag, header, buffers }
    }
}
