//! The answer to a read: a PDU of data, cut into TCP segments.
//!
//! Models: the bytes of a C2HData PDU with or without its data digest; segments of the MTU; units of
//! segmentation offload, of 64 KiB at most, in which the network stack handles them.
//! Source: NVM Express TCP transport specification (C2HData PDU, DDGST); Linux (GSO, TCP timestamps).
//! Simplifies: an answer begins a segment of its own; the headers of a segment are read by the card like
//! data, from the lines behind its payload.

use units::{Bytes, LINE_BYTES};

/// Header of a C2HData PDU.
const PDU_HEADER_BYTES: u64 = 24;
/// Bytes of a data digest, a CRC-32C.
const DIGEST_BYTES: u64 = 4;
/// Bytes of an Ethernet header.
const ETHERNET_BYTES: u64 = 14;
/// IPv4 header, and TCP header with timestamps.
const IP_TCP_BYTES: u64 = 20 + 32;
/// Headers of a segment on the wire.
const HEADER_BYTES: u64 = ETHERNET_BYTES + IP_TCP_BYTES;
/// A command capsule PDU: its header, and a submission entry.
const CAPSULE_BYTES: u64 = 8 + 64;
/// Most data of a unit of segmentation offload.
const UNIT_BYTES: u64 = 64 << 10;
/// Memory that is pinned at once.
const PAGE_BYTES: u64 = 4096;

/// Size of a request on the wire, without FCS.
pub const REQUEST_BYTES: u64 = HEADER_BYTES + CAPSULE_BYTES;

/// Shape of a target's answers, which are all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetAnswer {
    /// Bytes of data of a read.
    pub read_bytes: u64,
    /// Whether the PDU ends with a digest of the data.
    pub has_digest: bool,
    /// Size of the largest IP packet (MTU).
    pub mtu_bytes: u64,
}

impl TargetAnswer {
    /// Size of the answer's PDU in bytes: header, data and digest.
    #[must_use]
    pub fn pdu_bytes(&self) -> u64 {
        let digest = if self.has_digest { DIGEST_BYTES } else { 0 };
        PDU_HEADER_BYTES + self.read_bytes + digest
    }

    /// Payload of a full segment.
    fn segment_bytes(&self) -> u64 {
        self.mtu_bytes - IP_TCP_BYTES
    }

    /// Number of TCP segments of an answer.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.pdu_bytes().div_ceil(self.segment_bytes())
    }

    /// Number of units of segmentation offload of an answer.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.pdu_bytes().div_ceil(UNIT_BYTES)
    }

    /// Number of pages of the answer's data.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.read_bytes.div_ceil(PAGE_BYTES)
    }

    /// Size of a segment on the wire without FCS, and its first line counted from that of the data. A
    /// segment does not reach beyond the lines of the data.
    #[must_use]
    pub fn segment(&self, number: u64) -> (Bytes, u64) {
        let offset = number * self.segment_bytes();
        let payload = self.segment_bytes().min(self.pdu_bytes() - offset);
        let frame = HEADER_BYTES + payload;
        let lines = frame.div_ceil(LINE_BYTES);
        let first = (offset / LINE_BYTES).min((self.read_bytes / LINE_BYTES).saturating_sub(lines));
        (Bytes(frame), first)
    }

    /// Bytes of all segments of an answer on the wire without FCS.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        self.pdu_bytes() + self.segments() * HEADER_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: TargetAnswer =
        TargetAnswer { read_bytes: 16 << 10, has_digest: true, mtu_bytes: 1500 };

    #[test]
    fn a_read_of_16_kib_is_twelve_segments_of_one_unit() {
        // 16412 bytes in segments of 1448.
        assert_eq!((ANSWER.segments(), ANSWER.units(), ANSWER.pages()), (12, 1, 4));
        assert_eq!(ANSWER.segment(0), (Bytes(1514), 0));
        assert_eq!(ANSWER.segment(1), (Bytes(1514), 22));
        assert_eq!(ANSWER.segment(11).0, Bytes(66 + 16_412 - 11 * 1448));
    }

    #[test]
    fn segments_are_the_pdu_and_a_header_each_and_stay_within_the_data() {
        for read_bytes in [4096, 16 << 10, 128 << 10, 1 << 20] {
            for mtu_bytes in [576, 1500, 9000] {
                let answer = TargetAnswer { read_bytes, has_digest: false, mtu_bytes };
                let all: Vec<_> = (0..answer.segments()).map(|it| answer.segment(it)).collect();
                let bytes: u64 = all.iter().map(|(bytes, _)| bytes.0).sum();
                assert_eq!(bytes, answer.wire_bytes());
                let with_digest = TargetAnswer { has_digest: true, ..answer };
                assert_eq!(with_digest.pdu_bytes(), answer.pdu_bytes() + 4);
                for (bytes, first) in all {
                    assert!(bytes.0 <= mtu_bytes + 14);
                    let end = first + bytes.0.div_ceil(LINE_BYTES);
                    assert!(end <= (read_bytes / LINE_BYTES).max(bytes.0.div_ceil(LINE_BYTES)));
                }
            }
        }
    }
}
