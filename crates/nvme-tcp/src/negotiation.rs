//! What host and controller agree on when a connection begins: ICReq and ICResp.

use crate::pdu::{Header, Kind};

/// Where both state the alignment that they want (HPDA, CPDA), in units of four bytes, less one.
const ALIGNMENT_AT: usize = 10;
/// Where both state digests (DGST).
const DIGESTS_AT: usize = 11;
/// Most units of an alignment, less one.
const MOST_ALIGNMENT: u8 = 31;

/// Which digests PDUs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// HDGST.
    pub header: bool,
    /// DDGST.
    pub data: bool,
}

impl Digests {
    fn to_byte(self) -> u8 {
        u8::from(self.header) | u8::from(self.data) << 1
    }

    fn of_byte(byte: u8) -> Self {
        Self { header: byte & 1 != 0, data: byte & 2 != 0 }
    }
}

/// What one side states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Digests that a host asks for, or that a controller grants.
    pub digests: Digests,
    /// Data that it receives begins at multiples of four bytes, times this and one more: 0 to 31.
    pub alignment: u8,
}

impl Terms {
    /// The multiple at which data begins.
    #[must_use]
    pub fn alignment_bytes(self) -> usize {
        4 * (usize::from(self.alignment.min(MOST_ALIGNMENT)) + 1)
    }

    /// An ICReq; `most_ready` is MAXR2T, one less than the R2Ts that may be open for a command.
    #[must_use]
    pub fn request(self, most_ready: u32) -> [u8; 128] {
        self.opening(Kind::IcReq, most_ready)
    }

    /// An ICResp; `most_data_bytes` is MAXH2CDATA.
    #[must_use]
    pub fn response(self, most_data_bytes: u32) -> [u8; 128] {
        self.opening(Kind::IcResp, most_data_bytes)
    }

    fn opening(self, kind: Kind, last: u32) -> [u8; 128] {
        let mut bytes = [0; 128];
        let header = Header { kind, flags: 0, data_at: 0, bytes: 128 };
        bytes[..8].copy_from_slice(&header.to_bytes());
        bytes[ALIGNMENT_AT] = self.alignment.min(MOST_ALIGNMENT);
        bytes[DIGESTS_AT] = self.digests.to_byte();
        bytes[12..16].copy_from_slice(&last.to_le_bytes());
        bytes
    }

    /// What an ICReq or an ICResp states; `None` of what is too short to be one.
    #[must_use]
    pub fn of(opening: &[u8]) -> Option<Self> {
        let digests = Digests::of_byte(*opening.get(DIGESTS_AT)?);
        Some(Self { digests, alignment: *opening.get(ALIGNMENT_AT)? })
    }
}

/// What was seen of the opening of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiation {
    /// What the host asked for.
    pub request: Option<Terms>,
    /// What the controller granted.
    pub response: Option<Terms>,
}

impl Negotiation {
    /// Takes a PDU, if it is an opening one.
    pub fn see(&mut self, kind: Kind, front: &[u8]) {
        match kind {
            Kind::IcReq => self.request = Terms::of(front),
            Kind::IcResp => self.response = Terms::of(front),
            _ => {}
        }
    }

    /// Digests that all other PDUs have: those that the controller granted. `None`: it was not seen.
    #[must_use]
    pub fn digests(&self) -> Option<Digests> {
        self.response.map(|terms| terms.digests)
    }

    /// Whether the controller grants what the host has not asked for.
    #[must_use]
    pub fn is_more_than_asked(&self) -> bool {
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
            let terms = Terms { digests: Digests { header, data }, alignment: 3 };
            let mut seen = Negotiation::default();
            seen.see(Kind::IcReq, &terms.request(0));
            assert_eq!((seen.request, seen.digests()), (Some(terms), None));
            seen.see(Kind::IcResp, &terms.response(1 << 17));
            assert_eq!(seen.digests(), Some(terms.digests));
            assert!(!seen.is_more_than_asked());
        }
    }

    #[test]
    fn a_controller_that_grants_what_was_not_asked_for_is_found() {
        let terms = |data| Terms { digests: Digests { header: true, data }, alignment: 0 };
        let seen = Negotiation { request: Some(terms(false)), response: Some(terms(true)) };
        assert!(seen.is_more_than_asked());
    }
}
