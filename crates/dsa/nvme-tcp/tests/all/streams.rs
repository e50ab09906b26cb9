//! Are PDUs found in any stream of bytes, however it is cut into pieces, and is no stream any harm?

use crate::dice::{BOTH, Dice, connection, without_devices};
use dsa_client::client::Path;
use nvme_tcp::conversation::{Sender, SentPdu};
use nvme_tcp::negotiation::EnabledDigests;
use nvme_tcp::pdu::{Header, PduKind};
use nvme_tcp::reader::{Pdu, PduReader, StreamItem};
use nvme_tcp::verify::Verifier;
use proptest::prelude::*;

const MOST: u32 = 1 << 20;

/// The bytes and headers that one side has sent.
fn sent(spoken: &[SentPdu], sender: Sender) -> (Vec<u8>, Vec<Header>) {
    let own = || spoken.iter().filter(|(by, _)| *by == sender).map(|(_, sealed)| sealed);
    (own().flat_map(|sealed| sealed.bytes()).collect(), own().map(|sealed| sealed.header).collect())
}

/// All that a reader finds in pieces.
fn read<'a>(reader: &mut PduReader, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<StreamItem> {
    let mut found = Vec::new();
    for mut piece in pieces {
        while let Some(one) = reader.take(&mut piece) {
            found.push(one);
        }
    }
    found
}

/// Pieces whose lengths are drawn.
fn cut(mut bytes: &[u8], mut lengths: impl FnMut() -> usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(lengths().clamp(1, bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// Header, place, all before the data, data, and digests of a PDU.
type Whole = (Header, u64, Vec<u8>, Vec<u8>, [Option<u32>; 2]);

fn whole(pdu: &Pdu) -> Whole {
    let digests = [pdu.header_digest(), pdu.data_digest()];
    (pdu.header, pdu.at, pdu.front.clone(), pdu.data.concat(), digests)
}

/// PDUs without regard to how their data is divided.
fn pdus(found: &[StreamItem]) -> Vec<Whole> {
    let one = |found: &StreamItem| match found {
        StreamItem::Pdu(pdu) => whole(pdu),
        StreamItem::Broken { at, fault } => panic!("at {at}: {fault}"),
    };
    found.iter().map(one).collect()
}

/// Wrong digests among what was found.
fn wrong(found: Vec<StreamItem>) -> usize {
    let mut verifier = Verifier::new(&without_devices(), Path::Cpu, 4);
    let mut wrong = 0;
    for one in found {
        if let StreamItem::Pdu(pdu) = one {
            verifier.begin((), *pdu);
        }
    }
    while let Some(verdict) = verifier.wait() {
        let verdict = verdict.expect("is judged");
        wrong += usize::from(verdict.header.is_wrong()) + usize::from(verdict.data.is_wrong());
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(soak::amount(64, 1024)))]

    #[test]
    fn any_split_of_the_bytes_gives_the_same_pdus(
        seed in any::<u64>(),
        (header, data) in any::<(bool, bool)>(),
        most_piece in 1_usize..6000,
    ) {
        let spoken = connection(seed, EnabledDigests { header, data }, 12, 20_000);
        for sender in [Sender::Host, Sender::Controller] {
            let (bytes, headers) = sent(&spoken, sender);
            let mut reader = PduReader::new(MOST);
            let at_once = pdus(&read(&mut reader, [bytes.as_slice()]));
            let found: Vec<Header> = at_once.iter().map(|pdu| pdu.0).collect();
            prop_assert_eq!(found, headers);
            let mut dice = Dice::new(seed);
            let mut reader = PduReader::new(MOST);
            let pieces = cut(&bytes, || dice.below(most_piece));
            let in_pieces = read(&mut reader, pieces);
            prop_assert_eq!(pdus(&in_pieces), at_once);
            prop_assert_eq!((reader.skipped_bytes(), reader.pending_bytes()), (0, 0));
            prop_assert_eq!(wrong(in_pieces), 0);
        }
    }

    /// Every byte belongs to a PDU, to what was skipped, or to what has not ended.
    #[test]
    fn hostile_bytes_are_no_harm_and_all_accounted_for(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                // Bytes that are nearly a header.
                (0_u8..12, any::<u8>(), prop::sample::select(vec![24_u8, 72, 128]), any::<u8>(), 0_u32..700)
                    .prop_map(|(kind, flags, length, at, bytes)| {
                        let [a, b, c, d] = bytes.to_le_bytes();
                        vec![kind, flags, length, at, a, b, c, d]
                    }),
            ],
            0..60,
        ),
        is_in_the_middle in any::<bool>(),
        lost in prop::option::of(0_usize..60),
    ) {
        let mut reader = if is_in_the_middle { PduReader::mid_stream(600) } else { PduReader::new(600) };
        let mut total = 0;
        let mut found = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            found.extend(read(&mut reader, [piece.as_slice()]));
            total += piece.len() as u64;
            if lost == Some(number) {
                reader.skip_missing(1 << 40);
            }
            prop_assert!(reader.pending_bytes() < 600);
        }
        let bytes = |one: &StreamItem| match one {
            StreamItem::Pdu(pdu) => u64::from(pdu.header.bytes),
            StreamItem::Broken { .. } => 0,
        };
        let in_pdus: u64 = found.iter().map(bytes).sum();
        prop_assert_eq!(in_pdus + reader.skipped_bytes() + reader.pending_bytes(), total);
        wrong(found);
    }

    /// A bit that turns is found by a digest, or breaks the PDU, if it is not in flags, lengths or padding.
    #[test]
    fn a_bit_that_turns_makes_one_digest_wrong(seed in any::<u64>(), place in any::<prop::sample::Index>()) {
        let spoken = connection(seed, BOTH, 6, 3000);
        let (_, sealed) = place.get(&spoken[2..]);
        prop_assume!(sealed.header.kind.has_digests());
        let mut bytes = sealed.bytes();
        let header_bytes = usize::from(sealed.header.kind.header_bytes());
        let padding = header_bytes + 4..sealed.header.front_bytes();
        let at = 8 + place.index(bytes.len() - 8);
        prop_assume!(!padding.contains(&at));
        bytes[at] ^= 1 << (seed % 8);
        prop_assert_eq!(wrong(read(&mut PduReader::new(MOST), [bytes.as_slice()])), 1);
    }
}

#[test]
fn behind_damage_the_next_pdu_is_found() {
    let spoken = connection(3, BOTH, 30, 3000);
    let (bytes, headers) = sent(&spoken, Sender::Host);
    let mut reader = PduReader::new(MOST);
    let mut damaged = bytes.clone();
    // The first command: no PDU has this type.
    damaged[128] = 0xaa;
    let found = read(&mut reader, [damaged.as_slice()]);
    assert!(matches!(found[1], StreamItem::Broken { at: 128, .. }), "{:?}", found[1]);
    let rest: Vec<Header> = found[2..].iter().filter_map(header_of).collect();
    assert_eq!(rest, headers[2..]);
    assert_eq!(reader.skipped_bytes(), headers[1].bytes.into());
}

#[test]
fn behind_a_gap_and_in_the_middle_of_a_connection_the_next_pdu_is_found() {
    let spoken = connection(5, BOTH, 30, 3000);
    let (bytes, headers) = sent(&spoken, Sender::Controller);
    let second = u64::from(headers[0].bytes) + u64::from(headers[1].bytes) - 5;
    let mut reader = PduReader::new(MOST);
    let cut = usize::try_from(second).expect("is small");
    let mut found = read(&mut reader, [&bytes[..cut - 20]]);
    reader.skip_missing(20);
    found.extend(read(&mut reader, [&bytes[cut..]]));
    let own: Vec<Header> = found.iter().filter_map(header_of).collect();
    assert_eq!(own[0], headers[0]);
    assert_eq!(own[1..], headers[2..]);
    let StreamItem::Pdu(third) = &found[1] else { panic!("is a PDU") };
    assert_eq!(third.at, second + 5);

    let mut reader = PduReader::mid_stream(MOST);
    let own = read(&mut reader, [&bytes[130..]]);
    let own: Vec<Header> = own.iter().filter_map(header_of).collect();
    assert_eq!(own, headers[2..]);
}

fn header_of(found: &StreamItem) -> Option<Header> {
    match found {
        StreamItem::Pdu(pdu) => Some(pdu.header),
        StreamItem::Broken { .. } => None,
    }
}

#[test]
fn a_length_that_is_claimed_takes_no_memory() {
    let header = Header { kind: PduKind::C2hData, flags: 0, data_at: 24, bytes: u32::MAX };
    let mut reader = PduReader::new(u32::MAX);
    let found = read(&mut reader, [&header.to_bytes()[..], &[0; 16], &[1, 2, 3]]);
    assert_eq!(found, []);
    assert_eq!(reader.pending_bytes(), 27);
    let found = read(&mut PduReader::new(MOST), [&header.to_bytes()[..]]);
    assert!(matches!(found[..], [StreamItem::Broken { at: 0, .. }]), "{found:?}");
}
