//! Every file is read or refused, whatever its content.

use super::*;

fn valid_files() -> impl Strategy<Value = Vec<u8>> {
    let frames = || (0..5).map(|n| (n * 1_000, small_frame(n as usize)));
    let ng = |order| pcapng_of(order, frames());
    prop::sample::select(vec![
        pcap_of(frames()),
        pcap_with(Endianness::Big, TsResolution::MicroSecond, frames()),
        ng(Endianness::Little),
        ng(Endianness::Big),
        many_blocks(),
    ])
}

/// A pcapng file with options and with blocks of every kind.
fn many_blocks() -> Vec<u8> {
    let mut writer = ng_writer();
    let options = vec![
        IfOption::IfName("eth0".into()),
        IfOption::IfTsResol(9),
        IfOption::IfTsOffset(1),
        IfOption::IfFcsLen(32),
    ];
    writer.write_pcapng_block(interface(DataLink::ETHERNET, 2_000, options)).unwrap();
    writer.write_pcapng_block(interface(DataLink::RAW, 0, vec![])).unwrap();
    writer.write_pcapng_block(enhanced(0, 1 << 40, &small_frame(0))).unwrap();
    writer.write_pcapng_block(enhanced(1, 1 << 30, &ipv6_tcp(1, 2))).unwrap();
    writer.write_block(&Block::Unknown(UnknownBlock::new(4, 0, &[0; 4]))).unwrap();
    let data = Cow::Owned(small_frame(1));
    writer.write_pcapng_block(SimplePacketBlock { original_len: 93, data }).unwrap();
    writer.into_inner()
}

/// Checks that the file gives a capture that can be replayed, or a refusal.
fn survives(file: &[u8]) {
    let Ok(Recording { packets, flows, .. }) = parse(file) else { return };
    assert_eq!(packets.first().map(|first| first.since_start), Some(Picos::ZERO));
    assert!(packets.is_sorted_by_key(|packet| packet.since_start));
    assert!(packets.iter().all(|packet| packet.flow.is_none_or(|flow| flow < flows.len())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes(file in prop::collection::vec(any::<u8>(), 0..400)) {
        survives(&file);
    }

    #[test]
    fn random_bytes_after_a_valid_start(
        file in valid_files(),
        keep in 0.0..1.0,
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let kept = (file.len() as f64 * keep) as usize;
        survives(&[&file[..kept], &noise].concat());
    }

    #[test]
    fn flipped_bits(
        mut file in valid_files(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8), 1..6),
    ) {
        for (at, bit) in flips {
            let at = at.index(file.len());
            file[at] ^= 1_u8 << bit;
        }
        survives(&file);
    }

    #[test]
    fn replaced_words(
        mut file in valid_files(),
        words in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(vec![0, 1, 11, 0x7fff_ffff, u32::MAX])),
            1..4,
        ),
    ) {
        for (at, word) in words {
            let at = at.index(file.len() / 4) * 4;
            file[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        survives(&file);
    }

    #[test]
    fn a_truncated_file_is_never_a_capture_unless_it_ends_between_records(
        file in valid_files(),
        keep in any::<prop::sample::Index>(),
    ) {
        let whole = parse(&file).unwrap();
        let keep = keep.index(file.len());
        if let Ok(part) = parse(&file[..keep]) {
            prop_assert!(part.packets.len() <= whole.packets.len());
            // An accepted file ends where a further record could start.
            let noise = parse(&[&file[..keep], [0].as_slice()].concat());
            prop_assert!(
                matches!(noise, Err(CaptureFault::TruncatedRecord { .. })),
                "{noise:?}"
            );
        }
    }
}
