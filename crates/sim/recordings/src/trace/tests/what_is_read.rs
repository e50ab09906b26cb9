//! Every format gives the references that were written.

use super::*;

#[test]
fn lines_of_dinero_are_loads_stores_and_fetches() {
    let file = b"0 7fff0040\n1 0x7FFF0048 what follows is a comment\r\n\n 2\t401000\nr 8\nw 9\ni a";
    let expected = [
        load(0x7fff_0040, 1),
        store(0x7fff_0048, 1),
        fetch(0x40_1000, 1),
        load(8, 1),
        store(9, 1),
        fetch(10, 1),
    ];
    assert_eq!(parse_as(TraceFormat::Din, file).unwrap(), expected);
}

#[test]
fn lines_of_lackey_are_references_with_sizes_and_the_rest_is_skipped() {
    let file = b"==7006== Lackey, an example Valgrind tool\n\n--7006-- a warning\n\
        I  0401ab70,3\n S 1fff000d78,8\n L 1ffeffe7e8,16\r\n M 04026ac0,4\n**7006** note\n==7006== ";
    let expected = [
        fetch(0x0401_ab70, 3),
        store(0x1f_ff00_0d78, 8),
        load(0x1f_feff_e7e8, 16),
        reference(ReferenceKind::Modify, 0x0402_6ac0, 4),
    ];
    assert_eq!(parse_as(TraceFormat::Lackey, file).unwrap(), expected);
}

#[test]
fn an_instruction_of_champsim_is_its_fetch_its_loads_and_its_stores() {
    let mut record = [0; 64];
    record[..8].copy_from_slice(&0x40_1000_u64.to_le_bytes());
    (record[8], record[9]) = (1, 1);
    record[10..16].copy_from_slice(&[25, 26, 1, 2, 3, 255]);
    for (at, address) in [(24, 0x7ffe_0000_u64), (32, 0x1_0000), (56, u64::MAX)] {
        record[at..at + 8].copy_from_slice(&address.to_le_bytes());
    }
    let expected =
        [fetch(0x40_1000, 1), load(0x1_0000, 1), load(u64::MAX, 1), store(0x7ffe_0000, 1)];
    assert_eq!(parse_as(TraceFormat::ChampSim, &record).unwrap(), expected);
}

#[test]
fn raw_addresses_are_loads() {
    let file = [0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let expected = [load(64, 1), load(0x0807_0605_0403_0201, 1)];
    assert_eq!(parse_as(TraceFormat::Raw64, &file).unwrap(), expected);
}

#[test]
fn the_largest_instructions_fill_blocks_without_overflow() {
    let one = [1_u64, 2, 3, 4, 5, 6, 7].map(|address| match address {
        1 => fetch(address, 1),
        2..=5 => load(address, 1),
        _ => store(address, 1),
    });
    let all = one.repeat(3 * BLOCK_REFERENCES);
    let file = written(TraceFormat::ChampSim, &all);
    assert_eq!(parse_as(TraceFormat::ChampSim, &file).unwrap(), all);
}

#[test]
fn a_long_trace_comes_in_blocks_in_its_order() {
    let all: Vec<_> = (0..200_000).map(|n| load(n * 4097, 1)).collect();
    for format in [TraceFormat::Din, TraceFormat::Lackey, TraceFormat::Raw64] {
        assert_eq!(parse_as(format, &written(format, &all)).unwrap(), all, "{format}");
    }
}

#[test]
fn lines_that_are_not_plain_mean_the_same() {
    let all: Vec<_> = (1..3_000_u64)
        .map(|n| load((n * n * n).rotate_right(n as u32 % 40), 1 + n as u32 % 300))
        .collect();
    for format in [TraceFormat::Din, TraceFormat::Lackey] {
        let plain = String::from_utf8(written(format, &all)).unwrap();
        let expected = parse_as(format, plain.as_bytes()).unwrap();
        let with_carriage_returns = plain.replace('\n', "\r\n");
        assert_eq!(parse_as(format, with_carriage_returns.as_bytes()).unwrap(), expected);
        let upper = plain.to_ascii_uppercase();
        assert_eq!(parse_as(format, upper.as_bytes()).unwrap(), expected);
    }
}

#[test]
fn a_size_behind_a_din_address_is_hexadecimal_and_anything_else_a_comment() {
    let file = b"0 3c 8\n1 40 0x10\n2 80 10\n0 0 4 bytes\n0 0 0\n0 0 2000\n0 0 store\n";
    let sizes: Vec<u32> =
        parse_as(TraceFormat::Din, file).unwrap().iter().map(|reference| reference.bytes).collect();
    assert_eq!(sizes, [8, 16, 16, 1, 1, 1, 1]);
}

#[test]
fn zeros_behind_a_packed_file_are_skipped_also_between_streams() {
    for compression in Compression::ALL {
        let packed = packed(compression, b"0 40\n");
        // Padding of xz is a multiple of four bytes, as its format says.
        let padded = [&packed[..], &[0; 512], &packed[..], &[0; 1 << 17]].concat();
        assert_eq!(parse_as(TraceFormat::Din, &padded).unwrap().len(), 2, "{compression}");
        let behind = [&packed[..], &[0; 8], b"not packed"].concat();
        assert!(parse_as(TraceFormat::Din, &behind).is_err(), "{compression}");
    }
}

#[test]
fn what_other_tools_packed_is_unpacked() {
    let expected = parse_as(TraceFormat::Din, DIN).unwrap();
    assert_eq!(expected.len(), 3);
    for packed in [DIN_GZIP, DIN_XZ, DIN_ZSTD, DIN_BZIP2] {
        assert_eq!(parse_as(TraceFormat::Din, packed).unwrap(), expected);
        // As after `cat`: several streams in one file.
        let twice = parse_as(TraceFormat::Din, &packed.repeat(2)).unwrap();
        assert_eq!(twice, expected.repeat(2));
    }
}

#[test]
fn a_skippable_frame_of_zstd_is_skipped() {
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
    let file = [&skippable, DIN_ZSTD, &skippable, DIN_ZSTD].concat();
    assert_eq!(parse_as(TraceFormat::Din, &file).unwrap().len(), 6);
}

#[test]
fn an_address_that_starts_like_gzip_is_an_address() {
    let address = 0x0008_8b1f_u64;
    let file = [address.to_le_bytes(), 0x7777_u64.to_le_bytes()].concat();
    assert_eq!(parse_as(TraceFormat::Raw64, &file).unwrap()[0], load(address, 1));
}

#[test]
fn a_long_packed_trace_is_unpacked_whole() {
    let all: Vec<_> = (0..100_000_u64).map(|n| load(n * n, 1)).collect();
    let content = written(TraceFormat::Raw64, &all);
    for compression in Compression::ALL {
        let file = packed(compression, &content);
        let mut reader =
            TraceReader::from_reader("x.raw64", Cursor::new(file.clone()), None).unwrap();
        assert_eq!(reader.compression(), Some(compression));
        let mut first = Vec::new();
        assert!(reader.next_block(&mut first).unwrap());
        assert_eq!(parse("x.raw64", None, &file).unwrap(), all, "{compression}");
    }
}

#[test]
fn the_name_tells_the_format_whatever_it_is_packed_with() {
    let named = |name: &str| format_detection::by_name(Path::new(name));
    assert_eq!(named("a/trace.din"), Some(TraceFormat::Din));
    assert_eq!(named("sort.LACKEY.gz"), Some(TraceFormat::Lackey));
    assert_eq!(named("600.perlbench_s-210B.champsimtrace.xz"), Some(TraceFormat::ChampSim));
    assert_eq!(named("x.champsim.zst"), Some(TraceFormat::ChampSim));
    assert_eq!(named("random.raw64.bz2"), Some(TraceFormat::Raw64));
    for other in ["trace", "trace.gz", "din", "bfs-10.trace.gz", "..", "-"] {
        assert_eq!(named(other), None, "{other}");
    }
}

#[test]
fn the_content_tells_the_text_formats() {
    let lackey = b"==1== Lackey\n==1== \nI  0401ab70,3\n";
    for (content, expected) in
        [(DIN, TraceFormat::Din), (DIN_XZ, TraceFormat::Din), (lackey, TraceFormat::Lackey)]
    {
        let reader = TraceReader::from_reader("-", Cursor::new(content), None).unwrap();
        assert_eq!(reader.format(), expected);
    }
    assert_eq!(parse("-", None, DIN).unwrap().len(), 3);
}

#[test]
fn a_file_on_disk_is_read() {
    let path = env::temp_dir().join(format!("skipline-trace-{}.raw64", process::id()));
    fs::write(&path, [0; 24]).unwrap();
    let mut block = Vec::new();
    let read = TraceReader::open(&path, None, never_stopped())
        .and_then(|mut reader| reader.next_block(&mut block));
    fs::remove_file(&path).unwrap();
    assert!(read.unwrap());
    assert_eq!(block, [load(0, 1); 3]);
}

#[test]
fn names_of_formats_are_read_back() {
    for format in TraceFormat::ALL {
        assert_eq!(TraceFormat::from_name(format.name()), Some(format));
    }
    assert_eq!(TraceFormat::from_name("dinero"), None);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        (format, all) in prop::sample::select(TraceFormat::ALL.to_vec())
            .prop_flat_map(|format| (Just(format), references(format))),
        compression in prop::option::of(prop::sample::select(Compression::ALL.to_vec())),
    ) {
        let content = written(format, &all);
        let file = match compression {
            Some(compression) => packed(compression, &content),
            None => content,
        };
        prop_assert_eq!(parse_as(format, &file).unwrap(), all);
    }
}
