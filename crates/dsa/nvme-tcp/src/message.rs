//! PDUs that are to be sent: fields and data, without digests.

use crate::negotiation::Terms;
use crate::pdu::{DIGEST_BYTES, Header, MOST_FRONT_BYTES, MOST_QUOTED_BYTES, PduKind, flags};
use dsa_client::error::Error;
use units::narrow::fit;

/// Common header, all bytes before the data, data.
type PduLayout = (Header, Vec<u8>, Vec<Vec<u8>>);

/// A PDU that is to be sent, without digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduMessage {
    kind: PduKind,
    flags: u8,
    /// The type-specific header: the bytes from the common header up to HLEN.
    specific: Vec<u8>,
    data: Vec<Vec<u8>>,
}

impl PduMessage {
    fn new(kind: PduKind, flags: u8, fields: &[&[u8]], data: Vec<Vec<u8>>) -> Self {
        let mut specific = fields.concat();
        specific.resize(usize::from(kind.header_bytes()) - 8, 0);
        Self { kind, flags, specific, data }
    }

    /// A CapsuleCmd with a submission queue entry of 64 bytes and, if there are any, in-capsule data.
    #[must_use]
    pub fn command(command: &[u8; 64], data: Vec<Vec<u8>>) -> Self {
        Self::new(PduKind::CapsuleCmd, 0, &[command], data)
    }

    /// A CapsuleResp with a completion queue entry of 16 bytes.
    #[must_use]
    pub fn response(completion: &[u8; 16]) -> Self {
        Self::new(PduKind::CapsuleResp, 0, &[completion], Vec::new())
    }

    /// An H2CData: data for the controller. `command` is CCCID, `tag` the TTAG of the R2T, `at` the offset
    /// DATAO in bytes, `is_last` the flag LAST_PDU.
    #[must_use]
    pub fn h2c_data(command: u16, tag: u16, at: u32, data: Vec<Vec<u8>>, is_last: bool) -> Self {
        let flags = if is_last { flags::LAST } else { 0 };
        Self::with_data_fields(PduKind::H2cData, flags, (command, tag), at, data)
    }

    /// A C2HData: data for the host. `command` is CCCID, `at` the offset DATAO in bytes, `is_last` the flag
    /// LAST_PDU.
    #[must_use]
    pub fn c2h_data(command: u16, at: u32, data: Vec<Vec<u8>>, is_last: bool) -> Self {
        let flags = if is_last { flags::LAST } else { 0 };
        Self::with_data_fields(PduKind::C2hData, flags, (command, 0), at, data)
    }

    fn with_data_fields(
        kind: PduKind,
        flags: u8,
        (command, tag): (u16, u16),
        at: u32,
        data: Vec<Vec<u8>>,
    ) -> Self {
        // Data that is too long for the field is refused by `lay_out`.
        let bytes = u32::try_from(data.iter().map(Vec::len).sum::<usize>()).unwrap_or(u32::MAX);
        let fields: [&[u8]; 4] =
            [&command.to_le_bytes(), &tag.to_le_bytes(), &at.to_le_bytes(), &bytes.to_le_bytes()];
        Self::new(kind, flags, &fields, data)
    }

    /// An R2T: the controller asks for `bytes` of a command's data from the offset `at` on. `command` is
    /// CCCID, `tag` TTAG.
    #[must_use]
    pub fn ready(command: u16, tag: u16, at: u32, bytes: u32) -> Self {
        let fields: [&[u8]; 4] =
            [&command.to_le_bytes(), &tag.to_le_bytes(), &at.to_le_bytes(), &bytes.to_le_bytes()];
        Self::new(PduKind::R2t, 0, &fields, Vec::new())
    }

    /// An H2CTermReq or C2HTermReq: a side ends the connection. `status` is FES, `information` FEI, `header`
    /// the header of the refused PDU, of which at most 128 bytes are quoted.
    #[must_use]
    pub fn termination(by_host: bool, status: u16, information: u32, header: &[u8]) -> Self {
        let kind = if by_host { PduKind::H2cTermReq } else { PduKind::C2hTermReq };
        let quoted = header[..header.len().min(MOST_QUOTED_BYTES)].to_vec();
        let fields: [&[u8]; 2] = [&status.to_le_bytes(), &information.to_le_bytes()];
        Self::new(kind, 0, &fields, vec![quoted])
    }

    /// Type of the PDU.
    #[must_use]
    pub fn kind(&self) -> PduKind {
        self.kind
    }

    /// Lays the PDU out under the terms of the receiver: common header, all bytes before the data (digest and
    /// padding are zeros), data.
    ///
    /// # Errors
    /// [`Error::Argument`] if the PDU is too long for the field PLEN.
    pub(crate) fn lay_out(self, terms: Terms) -> Result<PduLayout, Error> {
        let digests = if self.kind.has_digests() { terms.digests } else { Default::default() };
        let data_bytes: usize = self.data.iter().map(Vec::len).sum();
        let has_data = data_bytes > 0;
        let mut fixed_bytes = usize::from(self.kind.header_bytes());
        let mut flags = self.flags;
        if digests.header {
            flags |= flags::HEADER_DIGEST;
            fixed_bytes += DIGEST_BYTES;
        }
        let has_data_digest = digests.data && has_data;
        if has_data_digest {
            flags |= flags::DATA_DIGEST;
        }
        let is_aligned = has_data && self.kind.has_digests();
        let aligned = fixed_bytes.next_multiple_of(terms.alignment_bytes());
        let front_bytes = if is_aligned { aligned } else { fixed_bytes };
        debug_assert!(front_bytes <= MOST_FRONT_BYTES, "72 + 4, up to a multiple of 128");
        let total = front_bytes + data_bytes + if has_data_digest { DIGEST_BYTES } else { 0 };
        let data_at = if is_aligned { fit(front_bytes) } else { 0 };
        let bytes = u32::try_from(total).map_err(|_| too_long(self.kind, total))?;
        let header = Header { kind: self.kind, flags, data_at, bytes };
        let mut front = header.to_bytes().to_vec();
        front.extend(&self.specific);
        front.resize(front_bytes, 0);
        Ok((header, front, self.data))
    }
}

fn too_long(kind: PduKind, bytes: usize) -> Error {
    let why = format!("{kind} has {bytes} bytes; at most {} are allowed", u32::MAX);
    Error::Argument { operation: "NVMe/TCP PDU", why }
}
