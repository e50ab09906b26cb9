//! Every fault of a file is named, with its position and what is allowed.

use super::*;

#[test]
fn a_file_that_does_not_exist() {
    let message =
        TraceReader::open("no/such.din", None, never_stopped()).err().unwrap().to_string();
    assert!(message.starts_with("trace 'no/such.din' cannot be opened: "), "{message}");
}

#[test]
fn a_directory() {
    let directory = env::temp_dir();
    let message = TraceReader::open(&directory, None, never_stopped()).err().unwrap().to_string();
    let expected = format!("trace '{}' is a directory; expected is a file", directory.display());
    assert_eq!(message, expected);
}

#[test]
fn a_file_without_references() {
    for format in TraceFormat::ALL {
        assert_refused(format, b"", &["holds no references", &format!("of a {format} trace is")]);
    }
    assert_refused(TraceFormat::Din, b"\n \n", &["holds no references"]);
    assert_refused(TraceFormat::Lackey, b"==1== ERROR\n", &["holds no references"]);
}

#[test]
fn a_line_that_is_no_reference_of_dinero() {
    let words = ["trace 'x' has in line 2 '7 40': the label is not known", "0 or r: load"];
    assert_refused(TraceFormat::Din, b"0 40\n7 40\n", &words);
    for (line, problem) in [
        ("0 xyz", "there is no hexadecimal address"),
        ("0", "the label is not followed by a space"),
        ("0,40", "the label is not followed by a space"),
        ("0 40g", "the address is not hexadecimal"),
        ("0 10000000000000000", "the address has more than 64 bits"),
        ("3 40", "label 3 (miscellaneous) is not supported"),
        ("4 0", "cache flushes are not supported"),
    ] {
        let told = format!("has in line 1 '{line}': {problem}");
        assert_refused(TraceFormat::Din, line.as_bytes(), &[&told]);
    }
}

#[test]
fn a_line_that_is_no_reference_of_lackey() {
    let words = ["has in line 3 'hello': the kind of reference is not known", "--log-file"];
    assert_refused(TraceFormat::Lackey, b"==1== x\n L 40,8\nhello\n", &words);
    for (line, problem) in [
        (" L 40", "the address is not hexadecimal or not followed by a comma"),
        (" L 4g,8", "the address is not hexadecimal or not followed by a comma"),
        (" L ,8", "there is no hexadecimal address"),
        (" S 40,", "there is no size"),
        (" S 40,0", "the size is zero"),
        (" S 40,-1", "the size is not a decimal number"),
        (" M 40,8 8", "the size is not a decimal number"),
        (" M 40,4097", "the size is more than 4096 bytes"),
        (" M 40,99999999999999999999999", "the size is more than 4096 bytes"),
    ] {
        let told = format!("has in line 1 '{line}': {problem}");
        assert_refused(TraceFormat::Lackey, line.as_bytes(), &[&told]);
    }
}

#[test]
fn a_line_is_shown_shortened_and_without_control_characters() {
    let line = [b"0\x1b[31m \xff".as_slice(), &[b'a'; 100]].concat();
    let shown = refusal(TraceFormat::Din, &line);
    assert!(shown.contains("'0\\u{1b}[31m \u{fffd}aaaa"), "{shown}");
    assert!(shown.contains("aaa…'"), "{shown}");
    assert!(!shown.contains(&"a".repeat(60)), "{shown}");
}

#[test]
fn a_text_without_line_ends() {
    let words = ["has in line 1 more than 131072 bytes; this is no lackey trace"];
    assert_refused(TraceFormat::Lackey, &[b'I'; 1 << 18], &words);
}

#[test]
fn a_text_of_comments_without_end() {
    let comment = [b"==".as_slice(), &[b'x'; 100_000], b"\n"].concat();
    let comments = Cycled { piece: comment, at: 0 };
    let file = Cursor::new(b" L 10,4\n").chain(comments);
    let mut reader = TraceReader::from_reader("x", file, Some(TraceFormat::Lackey)).unwrap();
    let mut block = Vec::new();
    let fault = reader.next_block(&mut block).expect_err("is refused").to_string();
    assert!(
        fault.contains("has up to line 2687 no reference in 268435456 bytes; a line"),
        "{fault}"
    );
    assert_eq!(block, [load(16, 4)]);
    assert!(matches!(reader.next_block(&mut block), Ok(false)));
}

#[test]
fn a_file_that_ends_within_a_record() {
    let words = ["is truncated: at byte 16 are 3 of 8 bytes of a raw64 record"];
    assert_refused(TraceFormat::Raw64, &[1; 19], &words);
    let words = ["is truncated: at byte 64 are 63 of 64 bytes of a champsim record"];
    assert_refused(TraceFormat::ChampSim, &[0; 127], &words);
}

#[test]
fn a_record_that_is_no_instruction() {
    let mut file = [0; 192];
    file[128 + 9] = 7;
    let words = ["the record at byte 128 has branch_taken 7; allowed are 0 and 1"];
    assert_refused(TraceFormat::ChampSim, &file, &words);
    file[8] = 2;
    assert_refused(TraceFormat::ChampSim, &file, &["the record at byte 0 has is_branch 2"]);
}

#[test]
fn what_precedes_a_fault_has_been_read_and_nothing_comes_after_it() {
    let file = Cursor::new(b"0 40\n0 80\nx\n0 c0\n");
    let mut reader = TraceReader::from_reader("x", file, Some(TraceFormat::Din)).unwrap();
    let mut block = Vec::new();
    assert!(reader.next_block(&mut block).is_err());
    assert_eq!(block, [load(0x40, 1), load(0x80, 1)]);
    assert!(!reader.next_block(&mut block).unwrap());
    assert_eq!(block, []);
}

#[test]
fn a_packed_file_that_is_cut_off() {
    let content = b"0 40\n".repeat(50_000);
    for compression in Compression::ALL {
        let file = packed(compression, &content);
        for cut in [1, file.len() / 2] {
            let told = format!("cannot be unpacked ({compression}) beyond byte ");
            assert_refused(TraceFormat::Din, &file[..file.len() - cut], &[&told]);
        }
    }
}

#[test]
fn a_packed_file_with_a_wrong_checksum() {
    // Offsets of each format's content checksum.
    for (file, at) in [
        (DIN_GZIP, DIN_GZIP.len() - 8),
        (DIN_XZ, DIN_XZ.len() - 28),
        (DIN_ZSTD, DIN_ZSTD.len() - 1),
        (DIN_BZIP2, 10),
    ] {
        let mut file = file.to_vec();
        file[at] ^= 1;
        assert_refused(TraceFormat::Din, &file, &["cannot be unpacked ("]);
    }
}

#[test]
fn a_packed_file_that_wants_gigabytes() {
    // The header of a frame whose window is 2^41 bytes.
    let file = [0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0];
    assert_refused(TraceFormat::Din, &file, &["cannot be unpacked (zstd) beyond byte 0"]);
    // A window of 1 GiB is not too large, if nothing else is: memory grows with the content.
    let file = [0x28, 0xb5, 0x2f, 0xfd, 0, 0xa0, 0x31, 0, 0, b'0', b' ', b'1', b'0', b'0', b'\n'];
    assert_eq!(parse_as(TraceFormat::Din, &file).unwrap(), [load(256, 1)]);
    let mut file = DIN_XZ.to_vec();
    file[16] = 36;
    file[20..24].copy_from_slice(&0xf9c7_1f5e_u32.to_le_bytes());
    assert_eq!(parse_as(TraceFormat::Din, &file).unwrap().len(), 3);
    // A dictionary of 4 GiB, with a matching header checksum.
    let mut file = DIN_XZ.to_vec();
    file[16] = 40;
    file[20..24].copy_from_slice(&0xb311_a0e6_u32.to_le_bytes());
    assert_refused(TraceFormat::Din, &file, &["cannot be unpacked (xz)", "memory"]);
}

#[test]
fn a_format_that_nothing_tells() {
    for (content, found) in [
        (b"".as_slice(), "has no content"),
        (&[0; 64], "has binary content, as both champsim and raw64 do"),
        (b"hello\n", "has a first line of neither din nor lackey"),
    ] {
        let message = parse("x.trace", None, content).unwrap_err().to_string();
        for word in ["trace 'x.trace' ", found, ".champsimtrace", "--trace-format: din, lackey"] {
            assert!(message.contains(word), "'{word}' is not in: {message}");
        }
    }
}

#[test]
fn a_compression_that_cannot_be_unpacked_is_named() {
    let lz4 = [0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0, 0, 0];
    assert_refused(TraceFormat::Din, &lz4, &["is packed by lz4,", "gzip, xz, zstd and bzip2"]);
    let guessed = TraceReader::from_reader("trace.lz4", Cursor::new(lz4), None);
    let message = guessed.err().expect("it has no format").to_string();
    assert!(message.contains("is packed by lz4,"), "{message}");
}

#[test]
fn a_file_without_references_in_every_format() {
    for format in TraceFormat::ALL {
        assert_refused(format, b"", &["holds no references"]);
        for compression in Compression::ALL {
            assert_refused(format, &packed(compression, b""), &["holds no references"]);
        }
    }
    assert_refused(TraceFormat::Din, b"\n  \n\n", &["holds no references"]);
    assert_refused(TraceFormat::Lackey, b"==1== nothing\n\n", &["holds no references"]);
}
