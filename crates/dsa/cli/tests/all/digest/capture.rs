//! Captures of connections at random, sealed by the CPU, with and without damage.

use super::frames::Frames;
use dsa_client::client::{OffloadClient, Options, Path};
use nvme_tcp::conversation::{self, ConnectionShape, Sender};
use nvme_tcp::negotiation::{EnabledDigests, Terms};
use nvme_tcp::pdu::{Header, PduKind};
use nvme_tcp::seal::Sealer;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub const BOTH: EnabledDigests = EnabledDigests { header: true, data: true };
/// Bytes of a segment.
const SEGMENT_BYTES: usize = 1460;

/// A PDU on its way.
pub struct SentPdu {
    pub sender: Sender,
    pub header: Header,
    pub bytes: Vec<u8>,
}

impl SentPdu {
    /// Bytes that are no PDU.
    pub fn plain(sender: Sender, bytes: &[u8]) -> Self {
        let header = Header { kind: PduKind::R2t, flags: 0, data_at: 0, bytes: 24 };
        Self { sender, header, bytes: bytes.to_vec() }
    }

    /// Where the header digest is.
    fn header_digest_at(&self) -> usize {
        self.header.kind.header_bytes().into()
    }
}

/// A connection at random, without padding, which tshark 4.0 does not know.
pub fn spoken(
    seed: u64,
    digests: EnabledDigests,
    pdus: usize,
    most_data_bytes: u32,
) -> Vec<SentPdu> {
    let nowhere = std::path::PathBuf::from("/nonexistent");
    let client = OffloadClient::open(&Options { sysfs: nowhere, ..Options::default() });
    let mut sealer = Sealer::new(&client.expect("is opened"), Path::Cpu, 8);
    let is_terminated = seed.is_multiple_of(2);
    let shape = ConnectionShape { digests, pdus, most_data_bytes, is_padded: false, is_terminated };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let spoken = conversation::generate(&mut random, &shape, &mut sealer).expect("is sealed");
    let one = |(sender, sealed): conversation::SentPdu| {
        let bytes = sealed.bytes();
        SentPdu { sender, header: sealed.header, bytes }
    };
    spoken.into_iter().map(one).collect()
}

/// Which digests of a PDU are wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Damage {
    pub header: bool,
    pub data: bool,
}

/// Turns a bit in some: of what a digest covers, or of the digest.
pub fn damaged(seed: u64, mut spoken: Vec<SentPdu>) -> (Vec<SentPdu>, Vec<Damage>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below =
        |bound: usize| usize::try_from(random.next_u64() % bound.max(1) as u64).expect("fits");
    let mut damages = vec![Damage::default(); spoken.len()];
    for (pdu, damage) in spoken.iter_mut().zip(&mut damages) {
        if below(3) != 0 {
            continue;
        }
        let header_digest_at = pdu.header_digest_at();
        let data = pdu.header.data();
        let (is_header, at) = match below(4) {
            // Behind the common header, which has the lengths.
            0 => (true, 8 + below(header_digest_at - 8)),
            1 => (true, header_digest_at + below(4)),
            2 => (false, data.start + below(data.len())),
            _ => (false, data.end + below(4)),
        };
        let is_there = match is_header {
            true => pdu.header.has_header_digest(),
            false => pdu.header.has_data_digest(),
        };
        if is_there {
            pdu.bytes[at] ^= 1 << below(8);
            *(if is_header { &mut damage.header } else { &mut damage.data }) = true;
        }
    }
    (spoken, damages)
}

/// A function in place of the digest.
pub type DigestOf = fn(&[u8]) -> u32;

/// Puts other digests in place of the right ones.
pub fn replace_digests(spoken: &mut [SentPdu], other: DigestOf) {
    for pdu in spoken {
        let (at, data) = (pdu.header_digest_at(), pdu.header.data());
        if pdu.header.has_header_digest() {
            let digest = other(&pdu.bytes[..at]).to_le_bytes();
            pdu.bytes[at..at + 4].copy_from_slice(&digest);
        }
        if pdu.header.has_data_digest() {
            let digest = other(&pdu.bytes[data.clone()]).to_le_bytes();
            pdu.bytes[data.end..].copy_from_slice(&digest);
        }
    }
}

/// The CRC-32 of Ethernet and zip, bit by bit.
pub fn crc_32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        let step = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        (0..8).fold(crc ^ u32::from(*byte), step)
    })
}

/// Says in the opening that these digests are agreed on.
pub fn agree(spoken: &mut [SentPdu], digests: EnabledDigests) {
    let terms = Terms { digests, alignment: 0 };
    spoken[0].bytes = terms.request(0).to_vec();
    spoken[1].bytes = terms.response(4096).to_vec();
}

/// A capture in which each PDU has segments of its own.
pub fn file(connections: &[Vec<SentPdu>]) -> Vec<u8> {
    let mut frames = Frames::new(Vec::new()).expect("is written");
    for (number, spoken) in (0..).zip(connections) {
        // Numbers pass their end, too.
        frames.open(number, [u32::MAX - 1000, 7]).expect("is written");
        for pdu in spoken {
            frames.send(pdu.sender, &pdu.bytes).expect("is written");
        }
        frames.close().expect("is written");
    }
    frames.into_writer()
}

/// The frames in which PDUs end, from 1, by connection.
pub fn last_frames(connections: &[Vec<SentPdu>]) -> Vec<Vec<u64>> {
    let mut frame = 0;
    let of = |spoken: &Vec<SentPdu>| {
        frame += 3;
        let ends = spoken.iter().map(|pdu| {
            frame += pdu.bytes.len().div_ceil(SEGMENT_BYTES) as u64;
            frame
        });
        let ends: Vec<u64> = ends.collect();
        frame += 2;
        ends
    };
    connections.iter().map(of).collect()
}

#[test]
fn the_null_model_is_the_plain_crc_32() {
    assert_eq!(crc_32(b"123456789"), 0xcbf4_3926);
}
