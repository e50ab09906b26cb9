//! The terms of a connection, on which host and controller agree at its beginning: ICReq and ICResp.

use crate::pdu::{Header, PduKind};

/// Offset of the alignment (HPDA, CPDA) in both PDUs, in units of four bytes, less one.
const ALIGNMENT_AT: usize = 10;
/// Offset of the digests (DGST) in both PDUs.
const DIGESTS_AT: usize = 11;
/// Largest alignment in units of four bytes, less one.
const MOST_ALIGNMENT: u8 = 31;

/// The digests that the PDUs of a connection have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnabledDigests {
    /// HDGST_ENABLE: header digests.
    pub header: bool,
    /// DDGST_ENABLE: data digests.
    pub data: bool,
}

impl EnabledDigests {
    fn to_byte(self) -> u8 {
        u8::from(self.header) | u8::from(self.data) << 1
    }

    fn from_byte(byte: u8) -> Self {
        Self { header: byte & 1 != 0, data: byte & 2 != 0 }
    }
}

/// The terms that one side states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Digests that a host asks for, or that a controller grants.
    pub digests: EnabledDigests,
    /// HPDA or CPDA, 0 to 31: data that this side receives begins at multiples of 4 × (alignment + 1) bytes.
    pub alignment: u8,
}

impl Terms {
    /// The multiple of bytes at which data begins: 4 to 128.
    #[must_use]
    pub fn alignment_bytes(self) -> usize {
        4 * (usize::from(self.alignment.min(MOST_ALIGNMENT)) + 1)
    }

    /// An ICReq with these terms; `most_ready` is MAXR2T, one less than the R2Ts that may be open for a
    /// command.
    #[must_use]
    pub fn request(self, most_ready: u32) -> [u8; 128] {
        self.opening(PduKind::IcReq, most_ready)
    }

    /// An ICResp with these terms; `most_data_bytes` is MAXH2CDATA.
    #[must_use]
    pub fn response(self, most_data_bytes: u32) -> [u8; 128] {
        self.opening(PduKind::IcResp, most_data_bytes)
    }

    fn opening(self, kind: PduKind, last: u32) -> [u8; 128] {
        let mut bytes = [0; 128];
        let header = Header { kind, flags: 0, data_at: 0, bytes: 128 };
        bytes[..8].copy_from_slice(&header.to_bytes());
        bytes[ALIGNMENT_AT] = self.alignment.min(MOST_ALIGNMENT);
        bytes[DIGESTS_AT] = self.digests.to_byte();
        bytes[12..16].copy_from_slice(&last.to_le_bytes());
        bytes
    }

    /// Parses the terms of an ICReq or an ICResp; `None`: the PDU is too short.
    #[must_use]
    pub fn parse(opening: &[u8]) -> Option<Self> {
        let digests = EnabledDigests::from_byte(*opening.get(DIGESTS_AT)?);
        Some(Self { digests, alignment: *opening.get(ALIGNMENT_AT)? })
    }
}

/// The terms that were observed at the opening of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiation {
    /// The terms of the host's ICReq; `None`: not observed.
    pub request: Option<Terms>,
    /// The terms of the controller's ICResp; `None`: not observed.
    pub response: Option<Terms>,
}

impl Negotiation {
    /// Notes the terms of a PDU, if it is an ICReq or an ICResp; `front` are its bytes before the data.
    pub fn observe(&mut self, kind: PduKind, front: &[u8]) {
        match kind {
            PduKind::IcReq => self.request = Terms::parse(front),
            PduKind::IcResp => self.response = Terms::parse(front),
            _ => {}
        }
    }

    /// The digests that all other PDUs have, as the controller granted them; `None`: its ICResp was not
    /// observed.
    #[must_use]
    pub fn digests(&self) -> Option<EnabledDigests> {
        self.response.map(|terms| terms.digests)
    }

    /// Whether the controller grants a digest that the host has not asked for.
    #[must_use]
    pub fn grants_unrequested(&self) -> bool {
        let (Some(asked), Some(granted)) = (self.request, self.response) else { return false };
        let (asked, granted) = (asked.digests, granted.digests);
        granted.header && !asked.header || granted.data && !asked.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_states_the_other_one_reads() {
        for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
            let terms = Terms { digests: EnabledDigests { header, data }, alignment: 3 };
            let mut seen = Negotiation::default();
            seen.observe(PduKind::IcReq, &terms.request(0));
            assert_eq!((seen.request, seen.digests()), (Some(terms), None));
            seen.observe(PduKind::IcResp, &terms.response(1 << 17));
            assert_eq!(seen.digests(), Some(terms.digests));
            assert!(!seen.grants_unrequested());
        }
    }

    #[test]
    fn a_controller_that_grants_what_was_not_asked_for_is_found() {
        let terms = |data| Terms { digests: EnabledDigests { header: true, data }, alignment: 0 };
        let seen = Negotiation { request: Some(terms(false)), response: Some(terms(true)) };
        assert!(seen.grants_unrequested());
    }
}
